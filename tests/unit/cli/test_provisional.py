"""How people are told that a slice is provisional."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tranche.cli.output import Output
from tranche.cli.progress import RunProgress
from tranche.cli.statuses import show_asset, show_grid
from tranche.model.asset import LakeTable
from tranche.model.partitioning import Daily
from tranche.model.plan import InputKey, Plan, Request, SliceKey, Step
from tranche.model.run import PartitionState, StepRecord
from tranche.planning.grid import Grid, Line
from tranche.run.attempts import KeyOutcome, StepResult
from tranche.run.news import StepFinished, named, without
from tranche.run.runner import RunResult
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script
from tranche.service import PartitionPage
from tranche.views.assets import partition_view
from tranche.views.runs import key_view, plan_view, run_view

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
H = LakeTable("main", "h")


def a_step(*slice_: SliceKey) -> Step:
    text = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/d\nSELECT 1 AS a"
    read = read_sql_script("d", "pipelines/d.sql", text, Lakes(frozenset({"main"}), "main"))
    assert read.script is not None
    return Step(position=0, script=read.script, slice=slice_)


def early(key: str, *missing: str | None) -> SliceKey:
    lacked = tuple(InputKey(H, each) for each in missing)
    return SliceKey(partition=key, provisional=True, without=lacked)


EARLY = a_step(early("2026-05-16", "2026-05-16T22", "2026-05-16T23"))
RECORD = StepRecord(
    run="r",
    position=0,
    script="d",
    asset="lake://main/d",
    partition="2026-05-16",
    ordinal=None,
    strategy="replace",
    status="succeeded",
)
STATE = PartitionState(
    asset="lake://main/d",
    partition="2026-05-16",
    ordinal=None,
    status="succeeded",
    run="r",
    at=NOON,
    provisional=True,
)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (EARLY, "provisional: without lake://main/h 2026-05-16T22, lake://main/h 2026-05-16T23"),
        (a_step(early("k", None)), "provisional: without lake://main/h"),
        (a_step(early("k")), "provisional"),
        (
            a_step(early("a", "1", "2", "3"), early("b", "3", "4", "5"), SliceKey(partition="c")),
            "provisional (2 of 3 keys): without lake://main/h 1, lake://main/h 2, lake://main/h 3"
            " and 2 more",
        ),
    ],
)
def test_what_a_step_runs_without(step: Step, words: str) -> None:
    assert without(step) == words


def test_a_run_tells_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    result = StepResult(RECORD, provisional=True)
    RunProgress(Output())(StepFinished(named(EARLY), "succeeded", provisional=without(EARLY)))
    RunProgress(Output())(StepFinished(named(EARLY), "succeeded"))
    told = capsys.readouterr().out
    assert told.count(without(EARLY)) == 1
    assert run_view(RunResult("r", "succeeded", (result,)))["steps"][0]["provisional"] is True
    outcome = KeyOutcome(partition="k", status="succeeded", provisional=True)
    assert key_view(outcome)["provisional"] is True


def test_so_does_a_plan() -> None:
    plan = Plan(request=Request(target="d", fire_time=NOON), steps=(EARLY,))
    assert plan_view(plan)["steps"][0]["provisional"] is True


def test_a_list_of_keys_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    failed = replace(STATE, partition="2026-05-17", status="failed")
    show_asset(PartitionPage("lake://main/d", (STATE, failed), False), None, Output())
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [["2026-05-16", "provisional"], ["2026-05-17", "failed"]]
    # In JSON it stands beside the status, and tells of what readers see.
    assert partition_view(failed)["provisional"] is True


def test_a_picture_of_keys_has_a_sign_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    days = Daily().keys(start="2026-05-01", end="2026-05-02")
    show_grid(Grid("lake://main/d", "daily", days, (Line("sp"),)), Output())
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["2026-05  ■◧", "■ 1 succeeded   ◧ 1 provisional", "provisional  2026-05-02"]
