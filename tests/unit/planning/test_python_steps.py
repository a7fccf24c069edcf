"""Plans of steps that are Python: payloads, ranges, and runs without a key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche.errors import ArgumentRejected, TrancheError
from tranche.model.backfill import BackfillRequest
from tranche.model.event import Event
from tranche.model.pending import Pending
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.asking import Consumers
from tranche.planning.backfill import plan_backfill
from tranche.planning.graph import build_graph
from tranche.planning.plan import build_plan
from tranche.planning.triggered import triggered_plan
from tranche.projects.config import parse_settings
from tranche.script.lakes import Lakes
from tranche.script.python import read_python_script
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryStore

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
LAKES = Lakes(frozenset({"main"}), "main")
TENANTS = '# pipeline\n# partitioned dynamic key="$.tenant_id"\n# on s3:///inbox.json\n'


def script(text: str, name: str = "s") -> Script:
    path = f"pipelines/{name}.py"
    if text.startswith("--"):
        read = read_sql_script(name, path.replace(".py", ".sql"), text, LAKES)
    else:
        read = read_python_script(name, path, text, LAKES)
    assert [str(fault) for fault in read.faults] == []
    assert read.script is not None
    return read.script


def project(*texts: str) -> Project:
    scripts = tuple(script(text, "abcdef"[n]) for n, text in enumerate(texts))
    return Project(settings=parse_settings("", Path("/p"), None, {}), scripts=scripts)


def plan(text: str, **request: Any) -> Plan:
    asked = Request(**{"target": "a", "fire_time": NOON, **request})
    return build_plan(project(text), asked, MemoryStore())


PAYLOAD = TENANTS + "def main(partition, tenant_id, plan='free'): ...\n"


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"payload": {"tenant_id": "acme", "plan": {"a": 1}}}, {"tenant_id": "acme", "plan": {"a": 1}}),
        ({"payload": {"trigger": {"tenant_id": 7}}}, {"tenant_id": 7}),
        ({"payload": {"tenant_id": "acme"}, "arguments": {"plan": "gold"}}, {"tenant_id": "acme", "plan": "gold"}),
        # The field that the key is taken from is the key.
        ({"partition": "acme"}, {"tenant_id": "acme"}),
        ({"arguments": {"tenant_id": "acme"}}, {"tenant_id": "acme"}),
    ],
)  # fmt: skip
def test_fields_of_the_payload_fill_parameters(
    given: dict[str, Any], fields: dict[str, Any]
) -> None:
    (step,) = plan(PAYLOAD, **given).steps
    assert step.verdict == "run"
    assert dict(step.fields) == fields


@pytest.mark.parametrize(
    ("type_", "payload", "value"),
    [
        ("str", "gold", "gold"), ("int", 5, 5), ("float", 5, 5.0), ("float", 1.5, 1.5), ("bool", True, True),
        ("dict", {"a": 1}, {"a": 1}), ("list[int]", [1], [1]), ("int | None", None, None),
        ("typing.Optional[int]", None, None), ("Plan", "any", "any"),
    ],
)  # fmt: skip
def test_fields_have_the_type_of_their_parameter(type_: str, payload: Any, value: Any) -> None:
    text = TENANTS + f"import typing\ndef main(partition, plan: {type_}): ...\n"
    (step,) = plan(text, payload={"tenant_id": "acme", "plan": payload}).steps
    found = dict(step.fields)["plan"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "payload"),
    [("str", 5), ("int", "5"), ("int", True), ("int", 1.5), ("float", "x"), ("bool", 1), ("dict", []), ("list", "ab"), ("int", None)],
)  # fmt: skip
def test_a_field_of_another_type_is_told_before_anything_runs(type_: str, payload: Any) -> None:
    text = TENANTS + f"def main(partition, plan: {type_}): ...\n"
    with pytest.raises(ArgumentRejected) as caught:
        plan(text, payload={"tenant_id": "acme", "plan": payload})
    what = f"pipelines/a.py takes 'plan' as {type_}, and the run has {payload!r}; give "
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [("int", "5", 5), ("str", "5", "5"), ("bool", "true", True), ("dict", '{"a": 1}', {"a": 1})],
)
def test_an_argument_for_a_field_is_read_as_its_type(type_: str, text: str, value: Any) -> None:
    script = TENANTS + f"def main(partition, plan: {type_}): ...\n"
    (step,) = plan(script, partition="acme", arguments={"plan": text}).steps
    assert dict(step.fields)["plan"] == value
    (number,) = plan(TENANTS + "def main(tenant_id: int): ...\n", partition="7").steps
    assert dict(number.fields) == {"tenant_id": 7}


def test_a_field_that_is_missing_is_told_before_anything_runs() -> None:
    text = TENANTS + "def main(partition, plan): ...\n"
    with pytest.raises(ArgumentRejected) as caught:
        plan(text, payload={"tenant_id": "acme"})
    assert str(caught.value) == (
        "pipelines/a.py:4: pipelines/a.py takes 'plan' from the payload, and the run has no such"
        " field; give it with --payload '{\"plan\": …}' or --arg plan=<value>, or give the parameter"
        " a default"
    )


def test_an_argument_that_nobody_takes_is_still_rejected() -> None:
    with pytest.raises(ArgumentRejected, match="takes the argument 'other'"):
        plan(PAYLOAD, partition="acme", arguments={"other": "1"})


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ('partitioned dynamic key="$.tenant_id"', "acme"),
        ("partitioned daily", "2026-05-16"),
        ("retry 3", None),
    ],
)
def test_the_payload_of_the_event_that_asked_fills_parameters(header: str, key: str | None) -> None:
    text = f"# pipeline\n# {header}\n# on s3:///inbox.json\ndef main(size: int = 0): ...\n"
    loaded, store = project(text), MemoryStore()
    events = [("e1", key, 1), ("e2", key, 2), ("e3", "other", 3)]
    for name, about, size in events:
        fits = about is None or key == about or key == "acme"
        payload = {"size": size, "tenant_id": about}
        if fits:
            store.emit(Event(id=name, asset="s3:///inbox.json", partition=about, at=NOON, payload=payload))  # fmt: skip
    store.emit(Event(id="e4", asset="s3:///inbox.json", partition=key, at=NOON))
    row = Pending(consumer="a", partition=key, since=NOON, fire_time=NOON, asked_by=("s3:///inbox.json", "schedule"))  # fmt: skip
    made = triggered_plan(loaded, loaded.scripts[0], [row], store, only_key_by_key)
    (step,) = made.steps
    assert (step.partition, dict(step.fields)) == (key, {"size": 2})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# writes s3:///{partition}\ndef main(partition): ...", "main takes one key; let it take partitions: list[str] instead"),
        ("# writes s3:///{partition}\ndef main(spark): ...", "main takes one key; let it take partitions: list[str] instead"),
        ("# writes s3:///{partition}\ndef main(partitions, window): ...", "main takes one key; let it take partitions: list[str] instead"),
        ("# on lake://main/x\n# writes s3:///{partition}\ndef main(partitions, size: int): ...", "a payload is of one key"),
        ("# writes s3:///{partition}\n# reads s3:///{partition}\ndef main(partitions): ...", "it reads its own table, so that each key builds on the one before"),
        ("# writes s3:///{partition}\ndef main(partitions): ...", None),
        ("# materialize lake://main/t\ndef main(spark, partitions): return spark", None),
    ],
)  # fmt: skip
def test_which_code_takes_several_keys(text: str, reason: str | None) -> None:
    assert only_key_by_key(script(f"# pipeline\n# partitioned daily\n{text}\n")) == reason


@pytest.mark.parametrize(("parameter", "steps"), [("partition", 3), ("partitions", 1)])
def test_a_backfill_calls_it_once_or_for_each(parameter: str, steps: int) -> None:
    text = f"# pipeline\n# partitioned daily\n# writes s3:///{{partition}}\ndef main({parameter}): ...\n"
    request = BackfillRequest(target="a", at=NOON, start="2026-05-01", end="2026-05-03")
    planned = plan_backfill(project(text), request, MemoryStore(), only_key_by_key)
    assert len(planned.plan.steps) == steps
    assert sum(len(step.slice) for step in planned.plan.steps) == 3


def test_before_start_code_that_writes_by_itself_runs_without_a_key() -> None:
    header = '# pipeline\n# partitioned daily start="2027-01-01"\n'
    made = plan(header + "# writes s3:///{partition}\ndef main(partition): ...\n", scheduled=True)
    assert [(step.verdict, step.partition) for step in made.steps] == [("run", None)]
    assert made.warnings == (
        "s3:///{partition} runs without a partition: it starts at 2027-01-01, and the run fired at"
        " 2026-05-16T12:00:00+00:00",
    )
    made = plan(
        header + "# materialize lake://main/t\ndef main(partition): return partition\n",
        scheduled=True,
    )
    assert [step.verdict for step in made.steps] == ["skip"]


WRITER = "# pipeline\n# partitioned daily\n# writes s3:///a/{partition}\n# writes s3:///b/{partition}\ndef main(partition): ...\n"


def test_what_is_downstream_of_any_of_its_files_follows() -> None:
    reader = "-- pipeline\n-- partitioned daily\n-- on s3:///b/{partition}\n-- materialize lake://main/t\nSELECT 1 AS x"
    loaded = project(WRITER, reader)
    asked = Request(target="a", fire_time=NOON, partition="2026-05-16")
    steps = build_plan(loaded, asked, MemoryStore()).steps
    assert [(step.script.name, step.partition) for step in steps] == [
        ("a", "2026-05-16"),
        ("b", "2026-05-16"),
    ]
    # Of what a run published, the asset that the script is known by tells, and nothing else does.
    consumers = Consumers(build_graph(loaded.scripts))
    published = {
        name: Event(id=name, asset=f"s3:///{name}/{{partition}}", partition="2026-05-16", at=NOON, run="r")
        for name in "ab"
    }  # fmt: skip
    assert [asked.keys for asked in consumers.asked_by(published["a"])] == [("2026-05-16",)]
    assert consumers.asked_by(published["b"]) == []


def test_a_cycle_through_files_is_found() -> None:
    from tranche.planning.graph import graph_faults

    back = "# pipeline\n# partitioned daily\n# on s3:///b/{partition}\n# writes s3:///c/{partition}\ndef main(): ...\n"
    loaded = project(
        WRITER.replace("# pipeline\n", "# pipeline\n# reads s3:///c/{partition}\n"), back
    )
    assert any("wait for each other" in fault.what for fault in graph_faults(loaded.scripts))


def test_errors_are_ours() -> None:
    with pytest.raises(TrancheError):
        plan(PAYLOAD)
