"""Two runs and one slice: who waits for whom, for how long, and what a dead holder means."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tranche.model.run import Attempt

from .processes import HOLDER, KEY, Processes, nothing
from .test_runner import CHAIN, DAY, outcomes

A = "lake://main/a"
HISTORY = {
    "h": f"{DAY}-- materialize lake://main/h key=x history at=partition\nSELECT 1 AS x",
}


def interrupted() -> None:
    raise KeyboardInterrupt


def ended(bench: Processes, attempt: Attempt) -> datetime:
    """The holder is done, and gives its slice back."""
    at = bench.clock()
    bench.store.finish_attempt(replace(attempt, status="succeeded", finished_at=at))
    bench.store.finish_run(HOLDER, "succeeded", at=at)
    return at


class TestWaiting:
    def test_a_step_goes_on_when_the_other_run_has_ended(self) -> None:
        bench = Processes(CHAIN)
        held = bench.hold(A)
        released: list[datetime] = []
        bench.meanwhile = [nothing, nothing, lambda: released.append(ended(bench, held))]
        result = bench.run("a")
        assert set(outcomes(result).values()) == {"succeeded"}
        assert bench.slept == [0.5, 0.5, 0.5]
        assert bench.noted.waits == [("lake://main/a", HOLDER)]
        first = bench.store.attempts(result.id)[0]
        # Waiting is no try, and the work begins when it is over.
        assert (first.position, first.number, first.status) == (0, 1, "succeeded")
        assert first.started_at > released[0]
        assert bench.store.abandoned() == ()

    def test_nothing_is_recorded_or_executed_while_it_waits(self) -> None:
        bench = Processes(CHAIN)
        held = bench.hold(A)

        def look() -> None:
            run = bench.store.runs(limit=1)[0].id
            assert run != HOLDER
            assert bench.store.steps(run)[0].status == "waiting"
            assert bench.store.attempts(run) == ()
            assert bench.engine.executed == []
            ended(bench, held)

        bench.meanwhile = [look]
        assert bench.run("a", only=True).status == "succeeded"
        assert bench.meanwhile == []

    def test_nobody_waits_for_another_key_or_another_asset(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A, "2026-05-15")
        assert bench.run("a", patience=0).status == "succeeded"
        assert bench.slept == []

    def test_the_slices_of_a_history_take_turns(self) -> None:
        bench = Processes(HISTORY)
        bench.hold("lake://main/h", "2026-05-15")
        result = bench.run("h", patience=0)
        assert result.status == "failed"
        assert HOLDER in str(result.steps[0].record.error)

    def test_an_interruption_ends_the_wait(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A)
        bench.meanwhile = [nothing, interrupted]
        result = bench.run("a")
        assert result.status == "cancelled"
        assert set(outcomes(result).values()) == {"cancelled"}
        assert bench.store.attempts(result.id) == ()
        assert bench.store.partition(A, KEY) is None
        holder = bench.store.run(HOLDER)
        assert holder is not None
        assert holder.status == "running"


class TestPatience:
    def test_without_patience_the_step_is_refused_and_told_who_holds_the_slice(self) -> None:
        bench = Processes(CHAIN)
        held = bench.hold(A)
        result = bench.run("a", patience=0)
        assert result.status == "failed"
        assert outcomes(result) == {
            "a": "failed",
            "b": "skipped",
            "c": "skipped",
            "other": "skipped",
        }
        since = held.started_at.isoformat(timespec="seconds")
        assert result.steps[0].record.error == (
            f"{A} {KEY} is being written by the run {HOLDER} since {since}; wait for it, or stop it"
        )
        assert bench.slept == []
        assert bench.noted.waits == []

    def test_what_was_refused_was_not_tried(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A)
        result = bench.run("a", patience=0)
        assert bench.engine.executed == []
        assert bench.store.attempts(result.id) == ()
        assert bench.store.materializations(A, KEY, limit=9) == ()
        assert [attempt.status for attempt in bench.store.attempts(HOLDER)] == ["running"]

    def test_patience_ends(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A)
        result = bench.run("a", only=True, patience=1.5)
        assert result.status == "failed"
        assert bench.slept == [0.5, 0.5, 0.5]
        assert f"the run {HOLDER}" in str(result.steps[0].record.error)

    def test_a_step_that_is_refused_leaves_others_alone(self) -> None:
        bench = Processes(CHAIN)
        bench.hold("lake://main/b")
        assert outcomes(bench.run("a", patience=0)) == {
            "a": "succeeded",
            "b": "failed",
            "c": "skipped",
            "other": "succeeded",
        }


class TestDeadHolders:
    def test_the_step_goes_on_once_the_process_of_the_other_run_is_gone(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A)
        bench.meanwhile = [nothing, lambda: bench.store.process_ends(HOLDER)]
        result = bench.run("a")
        assert set(outcomes(result).values()) == {"succeeded"}
        # Two looks, and the time that a last commit of the holder might have needed.
        assert bench.slept == [0.5, 0.5, bench.engine.linger]
        (recovered,) = bench.noted.runs
        assert (recovered.run, recovered.status, recovered.published) == (HOLDER, "failed", ())
        holder = bench.store.run(HOLDER)
        assert holder is not None
        assert holder.status == "failed"
        entries = bench.store.materializations(A, KEY, limit=9)
        assert [(entry.run, entry.status) for entry in entries] == [
            (result.id, "succeeded"),
            (HOLDER, "failed"),
        ]

    def test_a_dead_holder_needs_no_patience(self) -> None:
        bench = Processes(CHAIN)
        bench.hold(A)
        bench.store.process_ends(HOLDER)
        assert bench.run("a", patience=0).status == "succeeded"
        assert bench.noted.waits == []

    def test_who_waits_for_a_holder_that_another_process_brings_to_its_end(self) -> None:
        bench = Processes(CHAIN)
        held = bench.hold(A)

        def adopted_by_another() -> None:
            bench.store.process_ends(HOLDER)
            assert bench.store.adopt(HOLDER)

        bench.meanwhile = [adopted_by_another, nothing, lambda: ended(bench, held)]
        assert bench.run("a", only=True).status == "succeeded"
        assert bench.slept == [0.5, 0.5, 0.5]
        assert bench.noted.runs == []
        assert bench.engine.asked == []
