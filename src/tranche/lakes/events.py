"""What Spark writes down about a query while it runs it: its event log.

Spark's log has each figure as it was counted, where Spark's pages have only texts for people, and
it needs no port. It is local to the driver, which is ours, unless Spark runs elsewhere: then it is
whatever log the server keeps, if this machine can read it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from tranche.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Mapping[str, str] = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.overwrite": "true",
    # Events that do not fit are dropped, and the figures would be too small.
    "spark.scheduler.listenerbus.eventqueue.eventLog.capacity": "200000",
}
DESCRIPTIONS: Mapping[str, str] = {
    "spark.sql.maxMetadataStringLength": "100000",
    "spark.sql.debug.maxToStringFields": "1000",
}
"""What a session needs so that Spark does not cut short what it says about a scan."""

_FOLDER = "spark.eventLog.dir"
_READABLE = ("spark.eventLog.enabled", "spark.eventLog.compress", "spark.eventLog.rolling.enabled")
_PATIENCE = 60.0
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_START, _UPDATE, _END, _DRIVER = (
    f"{_SQL}SQLExecutionStart",
    f"{_SQL}SQLAdaptiveExecutionUpdate",
    f"{_SQL}SQLExecutionEnd",
    f"{_SQL}DriverAccumUpdates",
)
_JOB, _STAGE, _TASK = (
    "SparkListenerJobStart",
    "SparkListenerStageCompleted",
    "SparkListenerTaskEnd",
)

Event: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a plan, and what it counted.

    `metrics` goes by the names that Spark has for its own figures, and by the classes of those
    that a table format brings.
    """

    name: str
    text: str
    metadata: Mapping[str, str]
    metrics: Mapping[str, int]
    bytes: int | None
    """What its tasks fetched from files; None if others did so in the same tasks."""
    final: bool
    """Whether it stands in the plan with which the query ended; plans change while they run."""
    above: tuple[str, ...] = ()
    """The operators that its rows go to, the nearest last."""


@dataclass(slots=True)
class _Plan:
    """The operators that a query had at any time, by the counters that are only theirs."""

    nodes: dict[tuple[int, ...], Event] = field(default_factory=dict)
    above: dict[tuple[int, ...], tuple[str, ...]] = field(default_factory=dict)
    final: set[tuple[int, ...]] = field(default_factory=set)

    def take(self, root: Event) -> None:
        self.final = set()
        for node, above in _walk(root):
            counters = tuple(sorted(metric["accumulatorId"] for metric in node["metrics"]))
            if counters:
                # What is used again is drawn again, with the same counters.
                self.nodes[counters] = node
                self.above[counters] = above
                self.final.add(counters)


@dataclass(slots=True)
class _Tasks:
    """What the tasks of a query counted."""

    done: dict[int, int] = field(default_factory=dict)
    """How many there were, by stage."""
    totals: dict[int, int] = field(default_factory=dict)
    fetched: dict[tuple[int, frozenset[tuple[int, ...]]], int] = field(default_factory=dict)
    """Bytes by stage and by the operators that read in the same task."""


def new_log() -> EventLog:
    """A log in a folder that only its owner may read: Spark notes its settings there too."""
    return EventLog(Path(tempfile.mkdtemp(prefix="tranche-events-")))


def server_log(session: SparkSession) -> EventLog:
    """The log that the Spark of a session keeps by itself, where it runs."""
    wanted = {name: SETTINGS[name] for name in _READABLE}
    known = {name: session.conf.get(name, None) for name in wanted}
    place = urlsplit(session.conf.get(_FOLDER, None) or "")
    folder = Path(unquote(place.path))
    if known != wanted or place.scheme not in ("", "file") or not folder.is_dir():
        lines = "".join(f"\n  {name} {value}" for name, value in wanted.items())
        raise EngineError(
            "the Spark that runs elsewhere does not note what its queries read, or not where this"
            " machine can read it",
            f"run Spark here for this, with spark.master; or have the server started with{lines}"
            f"\n  {_FOLDER} file:///<a folder that both have>",
        )
    return EventLog(folder, session.conf.get("spark.app.id"))


class EventLog:
    """The log of one Spark application.

    The folder holds nothing else, unless the name of the application is given.
    """

    def __init__(self, folder: Path, application: str | None = None) -> None:
        self.folder = folder
        self._application = application or ""

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def settings(self) -> dict[str, str]:
        return {**SETTINGS, "spark.eventLog.dir": self.folder.as_uri()}

    def mark(self) -> int:
        """A place from which on to read, so that what was before need not be read again."""
        return self._file().stat().st_size

    def query(self, tag: str, since: int) -> tuple[Node, ...]:
        """The operators of the query that ran under a tag, once Spark has noted its end."""
        plan = _Plan()
        driver: dict[int, int] = {}
        stages: set[int] = set()
        execution: int | None = None
        for kind, event in self._until_end(tag, since):
            if kind == _START:
                execution = event["executionId"]
                plan.take(event["sparkPlanInfo"])
            elif kind == _JOB:
                properties = event.get("Properties") or {}
                if properties.get("spark.sql.execution.id") == str(execution):
                    stages.update(event["Stage IDs"])
            elif kind == _UPDATE:
                plan.take(event["sparkPlanInfo"])
            elif kind == _DRIVER:
                driver.update(dict(event["accumUpdates"]))
        tasks = self._tasks(since, stages, plan)
        return tuple(_nodes(plan, driver, tasks))

    def _until_end(self, tag: str, since: int) -> Iterator[tuple[str, Event]]:
        """The events of one query, without those of its tasks."""
        wanted: int | None = None
        deadline = time.monotonic() + _PATIENCE
        with self._file().open("rb") as lines:
            lines.seek(since)
            rest = b""
            while time.monotonic() < deadline:
                rest += lines.readline()
                if not rest.endswith(b"\n"):
                    time.sleep(0.05)
                    continue
                line, rest = rest, b""
                deadline = time.monotonic() + _PATIENCE
                kind = _kind(line)
                if kind not in (_START, _UPDATE, _END, _DRIVER, _JOB):
                    continue
                event = json.loads(line)
                if kind == _START and any(tag in text for text in event.get("jobTags", ())):
                    wanted = event["executionId"]
                if wanted is None or (kind != _JOB and event["executionId"] != wanted):
                    continue
                yield kind, event
                if kind == _END:
                    return
        raise EngineError("Spark did not note what the query did", "try again")

    def _tasks(self, since: int, stages: set[int], plan: _Plan) -> _Tasks:
        owners = {counter: key for key in plan.nodes for counter in key if _reads(plan.nodes[key])}
        tasks = _Tasks()
        with self._file().open("rb") as lines:
            lines.seek(since)
            for line in lines:
                kind = _kind(line)
                if kind not in (_TASK, _STAGE) or not line.endswith(b"\n"):
                    continue
                event = json.loads(line)
                if kind == _STAGE:
                    _check_complete(event["Stage Info"], stages, tasks)
                elif event["Stage ID"] in stages and _succeeded(event):
                    _count(event, owners, tasks)
        return tasks

    def _file(self) -> Path:
        for path in self.folder.iterdir():
            if not path.name.startswith(".") and path.name.startswith(self._application):
                return path
        raise EngineError(
            "Spark has made no event log", f"see whether {self.folder} can be written"
        )


def _succeeded(event: Event) -> bool:
    return bool(event["Task End Reason"]["Reason"] == "Success")


def _check_complete(stage: Event, stages: set[int], tasks: _Tasks) -> None:
    """Spark drops events when it cannot keep up, and then these are not all."""
    number = stage["Stage ID"]
    if number not in stages or stage.get("Failure Reason"):
        return
    if tasks.done.get(number, 0) < stage["Number of Tasks"]:
        raise EngineError("Spark did not note all that the query did", "try again")


def _count(event: Event, owners: Mapping[int, tuple[int, ...]], tasks: _Tasks) -> None:
    stage = event["Stage ID"]
    tasks.done[stage] = tasks.done.get(stage, 0) + 1
    readers = set()
    for counter in event["Task Info"]["Accumulables"]:
        if counter.get("Metadata") != "sql":
            continue
        number = counter["ID"]
        tasks.totals[number] = tasks.totals.get(number, 0) + int(counter["Update"])
        if number in owners:
            readers.add(owners[number])
    fetched = (event.get("Task Metrics") or {}).get("Input Metrics", {}).get("Bytes Read", 0)
    key = stage, frozenset(readers)
    tasks.fetched[key] = tasks.fetched.get(key, 0) + fetched


def _nodes(plan: _Plan, driver: Mapping[int, int], tasks: _Tasks) -> Iterator[Node]:
    fetched = _by_reader(tasks.fetched)
    for key, node in plan.nodes.items():
        metrics = {
            _named(metric): tasks.totals.get(number, driver.get(number, 0))
            for metric in node["metrics"]
            if (number := metric["accumulatorId"]) in tasks.totals or number in driver
        }
        yield Node(
            name=node["nodeName"],
            text=node["simpleString"],
            metadata=node.get("metadata") or {},
            metrics=metrics,
            bytes=fetched.get(key, 0),
            final=key in plan.final,
            above=plan.above[key],
        )


def _named(metric: Event) -> str:
    kind: str = metric["metricType"]
    return kind.rpartition(".")[2] if kind.startswith("v2Custom_") else str(metric["name"])


def _by_reader(
    fetched: Mapping[tuple[int, frozenset[tuple[int, ...]]], int],
) -> dict[tuple[int, ...], int | None]:
    """The bytes of each operator; None where they cannot be told from those of another."""
    in_stage: dict[int, set[tuple[int, ...]]] = {}
    for stage, readers in fetched:
        in_stage.setdefault(stage, set()).update(readers)
    found: dict[tuple[int, ...], int | None] = {}
    for (stage, readers), number in fetched.items():
        # A task in which nothing came out of the files names no operator.
        mine = readers or in_stage[stage]
        for reader in mine:
            before = found.get(reader, 0)
            alone = len(mine) == 1 or number == 0
            found[reader] = before + number if alone and before is not None else None
    return found


def _kind(line: bytes) -> str:
    """
    >>> _kind(b'{"Event":"SparkListenerTaskEnd","Stage ID":1}')
    'SparkListenerTaskEnd'
    """
    start = len(b'{"Event":"')
    return line[start : line.find(b'"', start)].decode(errors="replace")


def _walk(node: Event, above: tuple[str, ...] = ()) -> Iterator[tuple[Event, tuple[str, ...]]]:
    yield node, above
    for child in node["children"]:
        yield from _walk(child, (*above, node["nodeName"]))


def _reads(node: Event) -> bool:
    """Whether an operator is one that gets its rows from outside."""
    return str(node["nodeName"]).startswith(("BatchScan ", "Scan "))
