"""What an event log tells about one query among others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import EngineError
from tranche.lakes import events
from tranche.lakes.events import SETTINGS, EventLog, Node, server_log

SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def node(name: str, metrics: dict[str, int], *children: Any, text: str = "") -> dict[str, Any]:
    return {
        "nodeName": name,
        "simpleString": text or name,
        "children": list(children),
        "metadata": {},
        "metrics": [
            {
                "name": each,
                "accumulatorId": number,
                "metricType": f"v2Custom_org.x.{each}" if each[0].isupper() else "sum",
            }
            for each, number in metrics.items()
        ],
    }


def start(number: int, plan: Any, tag: str = "") -> dict[str, Any]:
    return {
        "Event": f"{SQL}SQLExecutionStart",
        "executionId": number,
        "sparkPlanInfo": plan,
        "jobTags": [f"session-1-tag-{tag}"],
    }


def update(number: int, plan: Any) -> dict[str, Any]:
    return {
        "Event": f"{SQL}SQLAdaptiveExecutionUpdate",
        "executionId": number,
        "sparkPlanInfo": plan,
    }


def driver(number: int, *values: tuple[int, int]) -> dict[str, Any]:
    return {
        "Event": f"{SQL}DriverAccumUpdates",
        "executionId": number,
        "accumUpdates": [list(value) for value in values],
    }


def end(number: int) -> dict[str, Any]:
    return {"Event": f"{SQL}SQLExecutionEnd", "executionId": number}


def job(execution: int, *stages: int) -> dict[str, Any]:
    return {
        "Event": "SparkListenerJobStart",
        "Stage IDs": list(stages),
        "Properties": {"spark.sql.execution.id": str(execution)},
    }


def task(
    stage: int, counted: dict[int, int], bytes_: int = 0, reason: str = "Success"
) -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task End Reason": {"Reason": reason},
        "Task Info": {
            "Accumulables": [
                {"ID": number, "Update": str(value), "Metadata": "sql"}
                for number, value in counted.items()
            ]
            + [{"ID": 999, "Update": 5, "Name": "internal.metrics.runTime"}]
        },
        "Task Metrics": {"Input Metrics": {"Bytes Read": bytes_}},
    }


def stage(number: int, tasks: int) -> dict[str, Any]:
    info = {"Stage ID": number, "Number of Tasks": tasks}
    return {"Event": "SparkListenerStageCompleted", "Stage Info": info}


def logged(folder: Path, *written: dict[str, Any]) -> EventLog:
    (folder / ".app.crc").write_bytes(b"x")
    lines = (json.dumps(event, separators=(",", ":")) for event in written)
    (folder / "app.inprogress").write_text("".join(f"{line}\n" for line in lines))
    return EventLog(folder)


def by_name(found: tuple[Node, ...]) -> dict[str, Node]:
    return {each.name: each for each in found}


def test_one_query_among_others(tmp_path: Path) -> None:
    first = node("Write", {}, node("BatchScan a", {"rows": 1, "ResultDataFiles": 2}))
    later = node(
        "Write",
        {},
        node("GlobalLimit", {}, node("BatchScan a", {"rows": 11, "ResultDataFiles": 12})),
        node("BatchScan b", {"rows": 21}),
        node("BatchScan b", {"rows": 21}),
    )
    log = logged(
        tmp_path,
        start(6, first, "other"),
        start(7, first, "mine"),
        job(7, 1, 2),
        job(6, 3),
        update(7, later),
        driver(7, (12, 4)),
        driver(6, (2, 99)),
        task(1, {11: 10, 5: 1}, 100),
        task(1, {11: 5}, 50),
        task(1, {11: 7}, 70, reason="ExceptionFailure"),
        task(2, {21: 3}, 30),
        task(3, {21: 3}, 1000),
        stage(1, 2),
        stage(3, 50),
        end(6),
        end(7),
    )
    found = log.query("mine", 0)
    assert [(each.name, each.final) for each in found] == [
        ("BatchScan a", False),
        ("BatchScan a", True),
        ("BatchScan b", True),
    ]
    replaced, a, b = found
    assert replaced.metrics == {}
    assert (a.metrics, a.bytes) == ({"rows": 15, "ResultDataFiles": 4}, 150)
    assert a.above == ("Write", "GlobalLimit")
    assert (b.metrics, b.bytes) == ({"rows": 3}, 30)


def test_bytes_of_tasks_that_read_for_several(tmp_path: Path) -> None:
    scans = [node(f"Scan {name}", {"rows": n}) for n, name in enumerate("abcd", 1)]
    log = logged(
        tmp_path,
        start(1, node("Union", {}, *scans), "mine"),
        job(1, 1, 2, 3),
        task(1, {1: 5}, 10),
        # Nothing came out of its files, and in this stage only one reads.
        task(1, {}, 1),
        task(2, {2: 5, 3: 5}, 10),
        task(2, {2: 5}, 10),
        task(3, {4: 5}, 10),
        end(1),
    )
    found = by_name(log.query("mine", 0))
    assert [found[f"Scan {name}"].bytes for name in "abcd"] == [11, None, None, 10]


def test_what_came_before_the_mark_is_passed_over(tmp_path: Path) -> None:
    log = logged(tmp_path, start(1, node("Scan a", {"rows": 1}), "mine"), end(1))
    size = log.mark()
    with (tmp_path / "app.inprogress").open("a") as file:
        for event in (start(2, node("Scan b", {"rows": 2}), "mine"), end(2)):
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    assert list(by_name(log.query("mine", size))) == ["Scan b"]


def test_events_that_were_dropped_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = node("Scan a", {"rows": 1})
    log = logged(tmp_path, start(1, plan, "mine"), job(1, 1), task(1, {1: 1}), stage(1, 2), end(1))
    with pytest.raises(EngineError, match="did not note all"):
        log.query("mine", 0)
    monkeypatch.setattr(events, "_PATIENCE", 0.1)
    with pytest.raises(EngineError, match="did not note what"):
        logged(tmp_path, start(1, plan, "mine")).query("mine", 0)
    (tmp_path / "app.inprogress").unlink()
    with pytest.raises(EngineError, match="no event log"):
        log.mark()


class Conf:
    """What a session of a server says of its settings."""

    def __init__(self, known: dict[str, str]) -> None:
        self.conf = self
        self.known = known

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.known.get(name, default)


def test_the_log_of_a_server(tmp_path: Path) -> None:
    (tmp_path / "app-1").write_text("")
    (tmp_path / "app-2.inprogress").write_text("12345")
    known = {
        **SETTINGS,
        "spark.eventLog.dir": tmp_path.as_uri(),
        "spark.app.id": "app-2",
    }
    assert server_log(Conf(known)).mark() == 5
    for name, value in {
        "spark.eventLog.enabled": "false",
        "spark.eventLog.compress": "true",
        "spark.eventLog.dir": "s3a://bucket/events",
    }.items():
        with pytest.raises(EngineError, match="or have the server started with"):
            server_log(Conf({**known, name: value}))
