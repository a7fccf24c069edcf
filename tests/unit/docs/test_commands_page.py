"""The command reference names every command and option, and its JSON has the right names."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import click
import pytest
from pages import blocks, page, section
from typer.main import get_command

from tranche.cli.app import app
from tranche.cli.lineage_command import LineageFormat
from tranche.cli.project_commands import GraphFormat
from tranche.model.asset import LakeTable
from tranche.model.columns import ColumnChange, SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.explanation import Explanation, FilesView, SentStatement
from tranche.model.lineage import Doubt, Kind, Link, Point, Trace, Unknown, Why
from tranche.model.pending import Pending, Rejected
from tranche.model.plan import InputKey, Plan, Request, SliceKey, Step
from tranche.model.rows import Rows
from tranche.model.run import Materialization, PartitionState, StepRecord
from tranche.model.scan import Portion, Scan
from tranche.model.script import Script
from tranche.model.snapshot import Preview, SeenSnapshot, Snapshots
from tranche.model.story import (
    KeyFacts,
    KeyStatus,
    KeyVerdict,
    Need,
    ScheduleFacts,
    Story,
    Working,
)
from tranche.run.attempts import StepResult
from tranche.run.runner import RunResult
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script
from tranche.service import ColumnsLog, ColumnsVersion, Violations
from tranche.views.assets import (
    columns_view,
    partition_view,
    preview_view,
    script_view,
    snapshots_view,
    violations_view,
)
from tranche.views.explanation import explanation_view
from tranche.views.lineage import trace_view
from tranche.views.runs import plan_view, run_view

PAGE = "docs/commands.md"
_COMMON = section(PAGE, "Options of every command")
_NOW = datetime(2026, 5, 16, tzinfo=UTC)


def commands() -> dict[str, click.Command]:
    group = get_command(app)
    return dict(group.commands)  # type: ignore[attr-defined]


OPTIONS = [
    pytest.param(name, flag, id=f"{name} {flag}")
    for name, command in commands().items()
    for parameter in command.params
    for flag in (*parameter.opts, *parameter.secondary_opts)
    if flag.startswith("-")
]


@pytest.mark.parametrize("name", commands())
def test_every_command_has_a_section_and_an_example(name: str) -> None:
    text = section(PAGE, f"`{name}`")
    assert f"`tranche {name}" in text
    assert f"tranche {name}" in text.partition("```")[2]
    assert f"[`{name}`](#{name})" in page(PAGE)
    assert "```json" in text or "The JSON" in text


@pytest.mark.parametrize(("name", "flag"), OPTIONS)
def test_every_option_is_documented(name: str, flag: str) -> None:
    assert f"`{flag}`" in section(PAGE, f"`{name}`")


@pytest.mark.parametrize("name", commands())
def test_every_argument_is_named(name: str) -> None:
    for parameter in commands()[name].params:
        if parameter.param_type_name == "argument":
            shown = parameter.metavar or str(parameter.name).upper()
            assert shown.strip("{}[]") in section(PAGE, f"`{name}`")


def test_no_option_is_documented_that_is_not_there() -> None:
    known = {flag.id.partition(" ")[2] for flag in OPTIONS} | {"--help", "--version"}
    cells = [line.split("|")[1] for line in page(PAGE).splitlines() if line.startswith("| `-")]
    named = {word.strip("`, ") for cell in cells for word in cell.split(",")}
    assert named <= known


def test_options_of_the_whole_command_are_documented() -> None:
    for parameter in get_command(app).params:
        assert any(f"tranche {flag}" in _COMMON for flag in parameter.opts)


def test_the_formats_of_the_graph_are_documented() -> None:
    for format_ in GraphFormat:
        assert f"`{format_}`" in section(PAGE, "`graph`")


def test_the_words_of_lineage_are_documented() -> None:
    text = section(PAGE, "`lineage`")
    for word in (*LineageFormat, *get_args(Kind), *get_args(Why)):
        assert f"`{word}`" in text, word


# Names in the JSON


def script() -> Script:
    text = "-- pipeline\n-- materialize lake://main/a\nSELECT 1 AS a"
    found = read_sql_script("a", "pipelines/a.sql", text, Lakes(frozenset({"main"}), "main"))
    assert found.script is not None
    return found.script


def record() -> StepRecord:
    return StepRecord(
        run="r",
        position=0,
        script="a",
        asset=None,
        partition=None,
        ordinal=None,
        strategy=None,
        status="succeeded",
    )


def views() -> dict[str, dict[str, Any]]:
    """What the program prints, as in the named section."""
    request = Request(target="a", fire_time=_NOW)
    return {
        "run": run_view(RunResult("r", "succeeded", (StepResult(record()),))),
        "plan": plan_view(Plan(request=request, steps=(Step(position=0, script=script()),))),
        "result": run_view(
            RunResult("r", "succeeded", (StepResult(record(), Rows((("a", "int"),), ((1,),))),))
        ),
        "check": script_view(script()),
        "status": partition_view(
            PartitionState(
                asset="a", partition=None, ordinal=None, status="succeeded", run="r", at=_NOW
            )
        ),
    }


def documented(name: str) -> list[Any]:
    text = section(PAGE, f"`{name}`")
    return [json.loads(b.text) for b in blocks(PAGE, "json") if b.text in text]


def names(value: Any) -> Any:
    """The names of an object and of the objects in its lists, without values."""
    if isinstance(value, dict):
        return {key: names(item) for key, item in value.items() if key != "arguments"}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [names(value[0])]
    return None


def test_every_json_block_is_json() -> None:
    assert blocks(PAGE, "json")
    for block in blocks(PAGE, "json"):
        json.loads(block.text)


def test_the_json_of_lineage() -> None:
    [trace] = documented("lineage")
    point = Point(LakeTable("main", "a"), "x")
    link = Link(point, point, "identity", "a", 1)
    doubt = Doubt("a", "a.sql", Unknown("what"))
    assert names(trace) == names(trace_view(Trace(point, "up", (), (link,), (doubt,))))


def test_the_json_of_run() -> None:
    plan, run, result = documented("run")
    assert names(plan) == names(views()["plan"])
    assert names(run) == names(views()["run"])
    step = views()["result"]["steps"][0]
    assert set(result) == set(step) - set(views()["run"]["steps"][0])


def test_the_json_of_check() -> None:
    [check] = documented("check")
    assert names(check["scripts"][0]) == names(views()["check"])


def test_the_json_of_show() -> None:
    preview, snapshots, violations, columns = documented("show")
    rows = Rows((("a", "int"),), ((1,),))
    table = LakeTable("main", "a")
    seen = SeenSnapshot(id="1", at=_NOW)
    assert set(preview) == set(preview_view(table, None, Preview(rows, seen), ()))
    assert names(snapshots) == names(snapshots_view(table, Snapshots((seen,))))
    test = DataTestResult(test="unique a", violations=1, sample=rows)
    found = violations_view(Violations("a", None, entry(), (test,)))
    assert set(violations) == set(found)
    assert set(violations["tests"][0]) == set(found["tests"][0])
    version = SchemaVersion(asset="a", version=1, columns=(("a", "int"),), run="r", at=_NOW)
    change = ColumnChange(retyped=(("a", "int", "bigint"),))
    log = columns_view(ColumnsLog("a", (ColumnsVersion(version, change),), more=False))
    assert names(columns) == names(log)


def test_the_json_of_explain() -> None:
    [explained] = documented("explain")
    portion = Portion(1, 1, 2)
    scan = Scan(source="lake://main/b", snapshot="1", files=portion, partitions=portion)
    read = InputKey(LakeTable("main", "b"), None)
    step = Step(position=0, script=script(), slice=(SliceKey(inputs=(read,)),))
    statement = SentStatement(
        kind="select",
        line=1,
        text="SELECT 1",
        parameters=(("_tranche_key", "k"),),
        files=(FilesView("v", "csv", "p", (("header", "true"),)),),
    )
    view = explanation_view(
        Explanation(
            request=Request(target="a", fire_time=_NOW),
            step=step,
            statements=(statement,),
            scans=(scan,),
            story=told(),
        )
    )
    assert names(explained) == names(view)


def told() -> Story:
    """A story in which there is something of everything."""
    built = replace(entry(), tests=(DataTestResult(test="unique a"),))
    facts = KeyFacts(
        schedules=(ScheduleFacts(cron="0 6 * * *", tz="UTC", next=_NOW),),
        needs=(Need(asset="b", triggers=True),),
        pending=Pending(consumer="a", partition=None, since=_NOW, fire_time=_NOW),
        rejected=(Rejected("a", "e", "no", _NOW),),
        working=Working(run="r"),
        standing=PartitionState(
            asset="a", partition=None, ordinal=None, status="succeeded", run="r", at=_NOW
        ),
        built=built,
        tested=built,
        log=(built,),
    )
    return Story(
        label="a",
        partition=None,
        verdict=KeyVerdict("built", "it was built"),
        facts=facts,
        violations="tranche show a --violations",
    )


def test_every_status_of_a_key_is_documented() -> None:
    for status in get_args(KeyStatus):
        assert f"`{status}`" in section(PAGE, "`explain`")


def entry() -> Materialization:
    return Materialization(
        id="m",
        asset="a",
        partition=None,
        ordinal=None,
        status="failed",
        run="r",
        attempt="t",
        fingerprint="f",
        started_at=_NOW,
        finished_at=_NOW,
    )


def test_the_json_of_status() -> None:
    _, partitions, ranges = documented("status")
    assert set(ranges["ranges"][0]) == {"start", "end", "status", "partitions"}
    assert names(partitions["partitions"][0]) == names(views()["status"])
