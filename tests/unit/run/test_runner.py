"""The runner: order, outcomes, retries, the ledger, and what a user's interruption leaves."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tranche.errors import CommitLost, StateLocked, StatementFailed
from tranche.model.plan import Plan, Request, Step
from tranche.model.project import Project
from tranche.planning.plan import build_plan
from tranche.ports import Written
from tranche.projects.config import parse_settings
from tranche.run.runner import RunResult, run_plan
from tranche.script.names import Lakes
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryEngine, MemoryStore, MemoryTrial

DAY = "-- pipeline\n-- partitioned daily\n"
CHAIN = {
    "a": f"{DAY}-- materialize lake://main/a\nSELECT 1 AS x",
    "b": f"{DAY}-- on lake://main/a\n-- materialize lake://main/b\nSELECT x FROM a",
    "c": f"{DAY}-- on lake://main/b\n-- materialize lake://main/c\nSELECT x FROM b",
    "other": f"{DAY}-- on lake://main/a\n-- materialize lake://main/other\nSELECT x FROM a",
}
START = datetime(2026, 5, 16, 21, 59, 59, tzinfo=UTC)


class Ticking:
    """A clock that moves on by a minute each time it is asked."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


class Bench:
    """Scripts by their text, run on doubles."""

    def __init__(self, scripts: dict[str, str]) -> None:
        lakes = Lakes(frozenset({"main"}), "main")
        reads = [read_sql_script(n, f"pipelines/{n}.sql", t, lakes) for n, t in scripts.items()]
        assert all(read.script for read in reads), [read.faults for read in reads]
        self.project = Project(
            settings=parse_settings("", Path("/project"), None, {}),
            scripts=tuple(read.script for read in reads if read.script),
        )
        self.engine = MemoryEngine()
        self.store = MemoryStore()
        self.slept: list[float] = []
        self.clock = Ticking()

    def plan(self, target: str, **request: Any) -> Plan:
        asked = Request(**{"target": target, "fire_time": START, **request})
        return build_plan(self.project, asked, self.store)

    def run(self, target: str, **request: Any) -> RunResult:
        plan = self.plan(target, **request)
        return run_plan(plan, self.engine, self.store, self.clock, sleep=self.slept.append)


def outcomes(result: RunResult) -> dict[str, str]:
    return {step.record.script: step.record.status for step in result.steps}


def failing(*errors: Exception) -> Any:
    """Fails with each error in turn, then gives one row."""
    left = list(errors)

    def answer(step: Step) -> Sequence[dict[str, Any]]:
        if left:
            raise left.pop(0)
        return [{"x": 1}]

    return answer


def passing(text: str) -> StatementFailed:
    error = StatementFailed(text)
    error.transient = True
    return error


def test_a_chain_keeps_the_key_that_was_resolved_at_its_top() -> None:
    text = {name: t.replace("daily", 'daily tz="Europe/Paris"') for name, t in CHAIN.items()}
    bench = Bench(text)
    # 23:59:59 in Paris; by the time that later steps start, it is the next day there.
    result = bench.run("a")
    assert {step.record.partition for step in result.steps} == {"2026-05-16"}
    assert len(bench.engine.executed) == 4
    started = [step.record.started_at for step in result.steps]
    assert started[-1] is not None
    assert started[-1] > START + timedelta(minutes=1)


def test_a_failure_skips_what_depends_on_it_and_nothing_else() -> None:
    bench = Bench(CHAIN)
    bench.engine.answers["b"] = failing(StatementFailed("no such column"))
    result = bench.run("a", partition="2026-05-16")
    assert result.status == "failed"
    assert outcomes(result) == {
        "a": "succeeded",
        "b": "failed",
        "c": "skipped",
        "other": "succeeded",
    }
    reasons = {step.record.script: step.record.error for step in result.steps}
    assert reasons["b"] == "no such column"
    assert reasons["c"] == "lake://main/b failed"


def test_every_step_is_in_the_ledger_with_its_inputs() -> None:
    bench = Bench(CHAIN)
    bench.engine.answers["a"] = lambda step: [{"x": 1}, {"x": 2}]
    result = bench.run("a", partition="2026-05-16")
    state = bench.store.partition("lake://main/a", "2026-05-16")
    assert state is not None
    assert (state.status, state.rows, state.run) == ("succeeded", 2, result.id)
    assert state.ordinal == datetime(2026, 5, 16, tzinfo=UTC)
    (entry,) = bench.store.materializations("lake://main/b", "2026-05-16", limit=9)
    (read,) = entry.inputs
    assert (read.asset, read.partition) == ("lake://main/a", "2026-05-16")
    assert read.materialization == state.materialization
    assert entry.fingerprint == bench.project.scripts[1].fingerprint
    run = bench.store.run(result.id)
    assert run is not None
    assert (run.status, run.partition, run.fire_time) == ("succeeded", "2026-05-16", START)


def test_a_failure_is_in_the_ledger_and_leaves_the_last_success() -> None:
    bench = Bench(CHAIN)
    bench.run("a", partition="2026-05-16", only=True)
    before = bench.store.partition("lake://main/a", "2026-05-16")
    bench.engine.answers["a"] = failing(StatementFailed("broken"))
    bench.run("a", partition="2026-05-16", only=True)
    after = bench.store.partition("lake://main/a", "2026-05-16")
    assert before is not None
    assert after is not None
    assert (after.status, after.error) == ("failed", "broken")
    assert (after.snapshot, after.materialization) == (before.snapshot, before.materialization)


class TestRetries:
    SCRIPT: ClassVar = {"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2 delay=10s\n")}

    def test_a_passing_failure_is_tried_again_for_the_same_key(self) -> None:
        bench = Bench(self.SCRIPT)
        bench.engine.answers["a"] = failing(passing("lost"), passing("lost again"))
        result = bench.run("a")
        assert result.status == "succeeded"
        assert bench.slept == [10.0, 20.0]
        assert {step.partition for step in bench.engine.executed} == {"2026-05-16"}
        tries = [(a.number, a.status, a.error) for a in bench.store.attempts(result.id)]
        assert tries == [(1, "failed", "lost"), (2, "failed", "lost again"), (3, "succeeded", None)]
        assert len(bench.store.materializations("lake://main/a", "2026-05-16", limit=9)) == 1

    def test_it_ends_after_the_last_try(self) -> None:
        bench = Bench(self.SCRIPT)
        bench.engine.answers["a"] = failing(*(passing(f"lost {n}") for n in range(5)))
        result = bench.run("a")
        assert result.status == "failed"
        assert len(bench.engine.executed) == 3
        assert result.steps[0].record.error == "lost 2"

    def test_a_lost_race_is_run_again_without_being_asked_to(self) -> None:
        bench = Bench(CHAIN)
        bench.engine.answers["a"] = failing(*(CommitLost(f"lost {n}") for n in range(3)))
        assert bench.run("a", only=True).status == "succeeded"
        bench.engine.answers["a"] = failing(*(CommitLost(f"lost {n}") for n in range(4)))
        assert bench.run("a", only=True).status == "failed"

    def test_a_lasting_failure_is_not_tried_again(self) -> None:
        bench = Bench(self.SCRIPT)
        bench.engine.answers["a"] = failing(StatementFailed("no such column"))
        assert bench.run("a").status == "failed"
        assert len(bench.engine.executed) == 1


def test_an_interruption_is_recorded_and_cancels_the_rest() -> None:
    bench = Bench(CHAIN)

    def interrupted(step: Step) -> Sequence[dict[str, Any]]:
        raise KeyboardInterrupt

    bench.engine.answers["b"] = interrupted
    result = bench.run("a", partition="2026-05-16")
    assert result.status == "cancelled"
    assert outcomes(result) == {
        "a": "succeeded",
        "b": "cancelled",
        "other": "cancelled",
        "c": "cancelled",
    }
    run = bench.store.run(result.id)
    assert run is not None
    assert run.status == "cancelled"
    assert {a.status for a in bench.store.attempts(result.id)} == {"succeeded", "cancelled"}
    state = bench.store.partition("lake://main/b", "2026-05-16")
    assert state is not None
    assert (state.status, state.materialization) == ("cancelled", None)


def test_an_error_that_nobody_foresaw_fails_the_step_and_closes_the_run() -> None:
    bench = Bench(CHAIN)
    bench.engine.answers["b"] = failing(RuntimeError("surprise"))
    with pytest.raises(RuntimeError, match="surprise"):
        bench.run("a", partition="2026-05-16")
    (run,) = bench.store.runs(limit=1)
    assert (run.status, run.error) == ("failed", "unexpected RuntimeError: surprise")
    statuses = {step.script: step.status for step in bench.store.steps(run.id)}
    assert statuses == {"a": "succeeded", "b": "failed", "c": "skipped", "other": "succeeded"}


def test_before_its_start_a_managed_step_is_skipped_with_all_that_follows() -> None:
    late = {name: t.replace("daily", 'daily start="2030-01-01"') for name, t in CHAIN.items()}
    bench = Bench(late)
    result = bench.run("a")
    assert set(outcomes(result).values()) == {"skipped"}
    assert result.status == "succeeded"
    assert bench.engine.executed == []
    assert "starts at 2030-01-01" in result.warnings[0]


def test_the_rows_of_a_script_that_materializes_nothing_come_back() -> None:
    bench = Bench({"look": "-- pipeline\nSELECT 1 AS x"})
    bench.engine.answers["look"] = lambda step: [{"x": 1}]
    result = bench.run("look")
    assert result.steps[0].result is not None
    assert result.steps[0].result.records() == [{"x": 1}]
    assert bench.store.outcomes(["look"]) == {"look": {}}


class Locked(MemoryStore):
    """A store that another process holds for the first writes of an outcome."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def finish_step(self, *args: Any, **options: Any) -> None:
        if self.times > 0:
            self.times -= 1
            raise StateLocked("held by another process")
        super().finish_step(*args, **options)


class TestRecording:
    SCRIPT: ClassVar = {"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2 delay=10s\n")}

    def test_a_store_that_is_held_for_a_while_does_not_undo_what_was_written(self) -> None:
        bench = Bench(self.SCRIPT)
        bench.store = Locked(3)
        result = bench.run("a")
        assert result.status == "succeeded"
        assert len(bench.engine.executed) == 1
        assert bench.slept == [0.5, 1.0, 2.0]
        assert len(bench.store.materializations("lake://main/a", "2026-05-16", limit=9)) == 1

    def test_a_store_that_stays_held_is_an_error_and_the_step_runs_once(self) -> None:
        bench = Bench(self.SCRIPT)
        bench.store = Locked(99)
        with pytest.raises(StateLocked):
            bench.run("a")
        assert len(bench.engine.executed) == 1
        assert bench.store.partition("lake://main/a", "2026-05-16") is None

    def test_an_interruption_while_recording_waits_for_its_end(self) -> None:
        bench = Bench(CHAIN)

        class Interrupted(MemoryStore):
            def finish_step(self, *args: Any, **options: Any) -> None:
                signal.raise_signal(signal.SIGINT)
                super().finish_step(*args, **options)

        bench.store = Interrupted()
        before = signal.getsignal(signal.SIGINT)
        result = bench.run("a", partition="2026-05-16")
        assert signal.getsignal(signal.SIGINT) is before
        assert result.status == "cancelled"
        assert outcomes(result)["a"] == "succeeded"
        assert set(list(outcomes(result).values())[1:]) == {"cancelled"}
        (attempt,) = bench.store.attempts(result.id)
        assert attempt.status == "succeeded"

    def test_the_commit_that_came_last_is_what_readers_see(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench = Bench(self.SCRIPT)
        for committed, rows in ((START + timedelta(hours=2), 2), (START + timedelta(hours=1), 1)):
            written = Written(rows=rows, snapshot=f"s{rows}", committed_at=committed)
            with monkeypatch.context() as patched:
                patched.setattr(MemoryTrial, "publish", lambda *_, w=written: w)
                bench.run("a")
        state = bench.store.partition("lake://main/a", "2026-05-16")
        assert state is not None
        assert (state.snapshot, state.rows) == ("s2", 2)
