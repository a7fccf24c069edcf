"""Runs whose process was killed: what their tables say, and how they are brought to their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tranche.errors import CommitUnknown, StatementFailed
from tranche.model.asset import AssetUri, LakeTable
from tranche.model.data_test import DataTestResult
from tranche.model.plan import SliceKey
from tranche.model.run import Attempt, Run
from tranche.ports import Written
from tranche.run.reconcile import Recovered, reconcile
from tranche.run.runner import run_plan

from .processes import KEY, Killed, Moment, Processes, ToldEngine, die
from .test_runner import CHAIN, DAY, START, outcomes

A, B = "lake://main/a", "lake://main/b"
GONE = "its process ended before it did"
RETRIED = {"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2 delay=10s\n")}


def left_by(target: str, script: str, moment: Moment, **request: Any) -> tuple[Processes, str]:
    """What a run leaves that is killed at a moment of a script, and its id."""
    bench = Processes(CHAIN)
    bench.engine.answers[script] = lambda step: [{"x": 1}, {"x": 2}, {"x": 3}]
    bench.engine.fails(script, moment, Killed())
    return bench, bench.killed(target, **request)


def mended(bench: Processes) -> Sequence[Recovered]:
    """What a process does about all that was abandoned."""
    return reconcile(bench.store.abandoned(), bench.engine, bench.store, bench.clock, bench.sleep)


def statuses(bench: Processes, run: str) -> dict[str, str]:
    return {step.script: step.status for step in bench.store.steps(run)}


def ended(bench: Processes, run: str) -> Run:
    found = bench.store.run(run)
    assert found is not None
    return found


class TestPublished:
    def test_the_step_succeeded_with_what_the_table_says(self) -> None:
        bench, run = left_by("a", "a", "published", only=True)
        assert bench.store.partition(A, KEY) is None
        assert mended(bench) == (Recovered(run, "succeeded", (A,)),)
        (written,) = bench.engine.published.values()
        (step,) = bench.store.steps(run)
        assert (step.status, step.rows, step.snapshot) == ("succeeded", 3, written.snapshot)
        assert step.error is None
        (attempt,) = bench.store.attempts(run)
        assert (attempt.status, attempt.error) == ("succeeded", None)
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert (entry.status, entry.run, entry.attempt) == ("succeeded", run, attempt.id)
        assert (entry.rows, entry.snapshot, entry.digest) == (3, written.snapshot, written.digest)
        state = bench.store.partition(A, KEY)
        assert state is not None
        assert (state.status, state.rows, state.materialization) == ("succeeded", 3, entry.id)
        assert (ended(bench, run).status, ended(bench, run).error) == ("succeeded", None)

    def test_the_entry_is_whole(self) -> None:
        bench = Processes(CHAIN)
        warned = DataTestResult(test="not_null x", severity="warn", violations=1)
        bench.engine.found["b"] = (warned,)
        bench.engine.fails("b", "published", Killed())
        bench.killed("a")
        mended(bench)
        (entry,) = bench.store.materializations(B, KEY, limit=9)
        upstream = bench.store.partition(A, KEY)
        assert upstream is not None
        assert [(i.asset, i.partition, i.materialization, i.snapshot) for i in entry.inputs] == [
            (A, KEY, upstream.materialization, "s1")
        ]
        assert entry.tests == (warned,)
        assert entry.fingerprint == bench.project.scripts[1].fingerprint
        assert entry.ordinal == upstream.ordinal

    def test_it_is_as_old_as_its_commit_and_its_columns_are_captured(self) -> None:
        bench, run = left_by("a", "a", "published", only=True)
        committed = START + timedelta(minutes=2, seconds=30)
        (attempt,) = bench.engine.published
        bench.engine.published[attempt] = replace(
            bench.engine.published[attempt], committed_at=committed, columns=(("x", "int"),)
        )
        mended(bench)
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        (step,) = bench.store.steps(run)
        assert entry.finished_at == step.finished_at == committed
        (version,) = bench.store.schemas(A, limit=9)
        assert (version.columns, version.run, version.at) == ((("x", "int"),), run, committed)

    def test_what_lands_after_the_death_of_its_process_is_found(self) -> None:
        bench, run = left_by("a", "a", "publishing", only=True)
        (attempt,) = bench.store.attempts(run)

        def lands() -> None:
            assert bench.engine.asked == []
            bench.engine.published[attempt.id] = Written(rows=3, snapshot="late")

        bench.meanwhile = [lands]
        assert mended(bench) == (Recovered(run, "succeeded", (A,)),)
        assert bench.slept == [bench.engine.linger]
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert (entry.status, entry.snapshot) == ("succeeded", "late")


class TestNotPublished:
    @pytest.mark.parametrize("moment", ["staging", "publishing"])
    def test_the_step_failed(self, moment: Moment) -> None:
        bench, run = left_by("a", "a", moment, only=True)
        assert mended(bench) == (Recovered(run, "failed"),)
        (step,) = bench.store.steps(run)
        (attempt,) = bench.store.attempts(run)
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert [(each.status, each.error) for each in (step, attempt, entry)] == [
            ("failed", GONE)
        ] * 3
        assert (entry.run, entry.attempt, entry.rows, entry.snapshot) == (
            run,
            attempt.id,
            None,
            None,
        )
        assert (ended(bench, run).status, ended(bench, run).error) == ("failed", GONE)
        assert bench.engine.asked == [attempt.id]

    def test_the_last_success_stays(self) -> None:
        bench = Processes(CHAIN)
        bench.run("a", only=True)
        before = bench.store.partition(A, KEY)
        bench.engine.fails("a", "publishing", Killed())
        bench.killed("a", only=True)
        mended(bench)
        after = bench.store.partition(A, KEY)
        assert before is not None
        assert after is not None
        assert after.status == "failed"
        assert (after.materialization, after.snapshot) == (before.materialization, before.snapshot)

    def test_the_slice_is_free_again(self) -> None:
        bench, _ = left_by("a", "a", "staging", only=True)
        mended(bench)
        assert bench.run("a", only=True, patience=0).status == "succeeded"

    def test_a_script_that_writes_by_itself_is_not_looked_for(self) -> None:
        text = f"{DAY}-- materialize manual {A}\nINSERT INTO a SELECT 1 AS x"
        bench = Processes({"a": text})
        bench.engine.fails("a", "published", Killed())
        run = bench.killed("a")
        assert mended(bench) == (Recovered(run, "failed"),)
        assert bench.engine.asked == []

    def test_a_script_that_materializes_nothing_is_in_no_ledger(self) -> None:
        bench = Processes({"look": f"{DAY}SELECT 1 AS x"})
        bench.engine.fails("look", "staging", Killed())
        run = bench.killed("look")
        assert mended(bench) == (Recovered(run, "failed"),)
        assert statuses(bench, run) == {"look": "failed"}
        assert bench.engine.asked == []


class TestRestOfTheRun:
    def test_steps_that_waited_are_cancelled_and_the_run_failed(self) -> None:
        bench, run = left_by("a", "b", "published")
        assert mended(bench) == (Recovered(run, "failed", (B,)),)
        assert statuses(bench, run) == {
            "a": "succeeded",
            "b": "succeeded",
            "c": "cancelled",
            "other": "cancelled",
        }
        waited = [step for step in bench.store.steps(run) if step.status == "cancelled"]
        assert {step.error for step in waited} == {GONE}
        assert (ended(bench, run).status, ended(bench, run).error) == ("failed", GONE)
        # Steps that were never tried are not in the ledger.
        assert bench.store.materializations("lake://main/c", KEY, limit=9) == ()

    def test_a_run_that_only_lacks_its_end_gets_it(self) -> None:
        bench = Processes(CHAIN)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(bench.store, "finish_run", die)
            run = bench.killed("a")
        assert set(statuses(bench, run).values()) == {"succeeded"}
        assert mended(bench) == (Recovered(run, "succeeded"),)
        assert ended(bench, run).status == "succeeded"
        # Nothing was under way, so nothing has to be waited for or looked at.
        assert bench.slept == []
        assert bench.engine.asked == []

    def test_a_step_between_two_tries_has_failed(self) -> None:
        bench = Processes(RETRIED)
        lost = StatementFailed("lost")
        lost.transient = True
        bench.engine.fails("a", "staging", lost)
        bench.meanwhile = [die]
        run = bench.killed("a")
        assert mended(bench) == (Recovered(run, "failed"),)
        assert statuses(bench, run) == {"a": "failed"}
        assert [attempt.error for attempt in bench.store.attempts(run)] == ["lost"]


class TestWhoDoesIt:
    def test_the_next_run_whatever_it_is_for(self) -> None:
        bench, run = left_by("a", "a", "published", only=True)
        result = bench.run("a", only=True, partition="2026-05-15", patience=0)
        assert result.status == "succeeded"
        assert bench.noted.runs == [Recovered(run, "succeeded", (A,))]
        assert bench.store.abandoned() == ()

    def test_the_next_run_builds_on_what_it_found(self) -> None:
        bench, _ = left_by("a", "a", "published", only=True)
        assert bench.run("b", only=True).status == "succeeded"
        found = bench.store.partition(A, KEY)
        assert found is not None
        (entry,) = bench.store.materializations(B, KEY, limit=9)
        assert [read.materialization for read in entry.inputs] == [found.materialization]

    def test_a_run_that_executes_nothing_leaves_it_to_others(self) -> None:
        header = DAY.replace("daily", 'daily start="2030-01-01"')
        late = f"{header}-- materialize lake://main/late\nSELECT 1 AS x"
        bench = Processes({**CHAIN, "late": late})
        bench.engine.fails("a", "published", Killed())
        run = bench.killed("a", only=True)
        assert outcomes(bench.run("late", partition=None)) == {"late": "skipped"}
        assert [left.id for left in bench.store.abandoned()] == [run]
        assert bench.engine.asked == []

    def test_of_two_that_try_one_does_it(self) -> None:
        bench, run = left_by("a", "a", "published", only=True)
        left = bench.store.abandoned()
        others: list[Sequence[Recovered]] = []

        def another() -> None:
            assert bench.store.abandoned() == ()
            others.append(reconcile(left, bench.engine, bench.store, bench.clock, bench.sleep))

        bench.meanwhile = [another]
        assert mended(bench) == (Recovered(run, "succeeded", (A,)),)
        assert others == [()]
        # Nor does one that found it abandoned and comes when it has ended.
        another()
        assert others == [(), ()]
        assert len(bench.engine.asked) == 1
        assert bench.slept == [bench.engine.linger]
        assert len(bench.store.materializations(A, KEY, limit=9)) == 1

    def test_who_dies_over_it_leaves_it_to_the_next(self) -> None:
        bench, run = left_by("a", "a", "published", only=True)
        bench.meanwhile = [die]
        with pytest.raises(Killed):
            mended(bench)
        bench.store.process_ends(run)
        assert mended(bench) == (Recovered(run, "succeeded", (A,)),)
        assert len(bench.store.materializations(A, KEY, limit=9)) == 1

    def test_all_of_them_after_one_wait(self) -> None:
        bench = Processes(CHAIN)
        runs = []
        for day in ("2026-05-14", "2026-05-15"):
            bench.engine.fails("a", "published", Killed())
            # Of what is abandoned, a run mends all; these two died at the same time.
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(bench.store, "abandoned", lambda: ())
                runs.append(bench.killed("a", only=True, partition=day))
        assert [found.run for found in mended(bench)] == runs
        assert bench.slept == [bench.engine.linger]


class Unreadable(ToldEngine):
    """An engine that cannot look at one of the tables."""

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        if asset == LakeTable("main", "a"):
            raise StatementFailed("the lake of a is not there any more")
        return super().recover(asset, keys, attempt)


def test_a_table_that_cannot_be_looked_at_does_not_stop_runs_of_others() -> None:
    bench = Processes({**CHAIN, "apart": f"{DAY}-- materialize lake://main/apart\nSELECT 1 AS x"})
    bench.engine = Unreadable()
    bench.engine.fails("a", "published", Killed())
    run = bench.killed("a", only=True)
    result = bench.run("apart")
    assert result.status == "succeeded"
    assert ended(bench, result.id).status == "succeeded"
    # Nobody knows how it ended, so it is not said to have ended.
    assert ended(bench, run).status == "running"


class OncePerStep(ToldEngine):
    """Like Spark's engine, it finds what any attempt of the step published; here is one step."""

    blind = True

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        if self.blind:
            raise StatementFailed("the lake cannot be reached")
        return next(iter(self.published.values()), None)


class TestEarlierAttempts:
    """A try publishes, its answer is lost, and the process dies before another try comes so far."""

    @staticmethod
    def unanswered() -> Processes:
        bench = Processes(RETRIED)
        bench.engine = OncePerStep()
        unknown = CommitUnknown("the catalog did not say whether the commit arrived")
        bench.engine.fails("a", "published", unknown)
        return bench

    @staticmethod
    def check(bench: Processes, run: str) -> None:
        assert isinstance(bench.engine, OncePerStep)
        bench.engine.blind = False
        mended(bench)
        assert len(bench.engine.published) == 1
        assert statuses(bench, run) == {"a": "succeeded"}
        state = bench.store.partition(A, KEY)
        assert state is not None
        assert (state.status, state.snapshot) == ("succeeded", "1")

    def test_it_dies_in_the_next_try(self) -> None:
        bench = self.unanswered()
        bench.meanwhile = [lambda: bench.engine.fails("a", "staging", Killed())]
        self.check(bench, bench.killed("a"))

    def test_it_dies_before_the_next_try(self) -> None:
        bench = self.unanswered()
        bench.meanwhile = [die]
        self.check(bench, bench.killed("a"))


def test_a_rollback_that_did_not_come_to_it_leaves_the_ledger_alone() -> None:
    bench = Processes(CHAIN)
    bench.engine.fails("a", "publishing", Killed())
    plan = bench.plan("a", partition=KEY, only=True)
    plan = replace(plan, steps=(replace(plan.steps[0], slice=(SliceKey(),), restores="7"),))
    with pytest.raises(Killed):
        run_plan(plan, bench.engine, bench.store, bench.clock, sleep=bench.sleep)
    run = bench.store.runs(limit=1)[0].id
    bench.store.process_ends(run)
    assert mended(bench) == (Recovered(run, "failed"),)
    assert bench.store.materializations(A, None, limit=9) == ()
    assert [step.strategy for step in bench.store.steps(run)] == ["rollback"]
