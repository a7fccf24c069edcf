"""Ctrl-C: what it stops, and that what was published is recorded all the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from tranche.errors import Cancelled, StatementFailed
from tranche.model.asset import AssetUri
from tranche.model.run import Attempt, Claim
from tranche.ports import Trial, Work, Written

from .processes import KEY, Processes, SharedStore, ToldEngine
from .test_runner import CHAIN, DAY, outcomes

A = "lake://main/a"
STOPPED = {"b": "cancelled", "c": "cancelled", "other": "cancelled"}


def interrupt() -> None:
    raise KeyboardInterrupt


def cancel() -> None:
    raise Cancelled("stopped by the user")


def press() -> None:
    """What a terminal does on Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


class TestPublishing:
    @pytest.mark.parametrize("stop", [interrupt, cancel, press])
    def test_a_slice_that_readers_see_is_recorded_and_the_rest_cancelled(self, stop: Any) -> None:
        bench = Processes(CHAIN)
        bench.engine.answers["a"] = lambda step: [{"x": 1}, {"x": 2}]
        bench.engine.happens["a", "published"] = stop
        result = bench.run("a")
        assert result.status == "cancelled"
        assert outcomes(result) == {"a": "succeeded", **STOPPED}
        (attempt,) = bench.store.attempts(result.id)
        assert attempt.status == "succeeded"
        assert bench.engine.asked == [attempt.id]
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert (entry.status, entry.rows, entry.snapshot) == ("succeeded", 2, "1")
        run = bench.store.run(result.id)
        assert run is not None
        assert run.status == "cancelled"

    @pytest.mark.parametrize("stop", [interrupt, cancel, press])
    def test_a_slice_that_nobody_sees_is_cancelled(self, stop: Any) -> None:
        bench = Processes(CHAIN)
        bench.engine.happens["a", "publishing"] = stop
        result = bench.run("a")
        assert result.status == "cancelled"
        assert outcomes(result) == {"a": "cancelled", **STOPPED}
        (attempt,) = bench.store.attempts(result.id)
        assert (attempt.status, attempt.error) == ("cancelled", "stopped by the user")
        assert bench.engine.asked == [attempt.id]
        assert bench.engine.tables == {}
        (entry,) = bench.store.materializations(A, KEY, limit=9)
        assert (entry.status, entry.rows, entry.snapshot) == ("cancelled", None, None)

    def test_it_can_be_run_again_at_once(self) -> None:
        bench = Processes(CHAIN)
        bench.engine.happens["a", "publishing"] = interrupt
        bench.run("a")
        bench.engine.happens.clear()
        assert bench.run("a", patience=0).status == "succeeded"
        assert bench.noted.runs == []

    def test_a_script_that_writes_by_itself_is_cancelled_unseen(self) -> None:
        text = f"{DAY}-- materialize manual {A}\nINSERT INTO a SELECT 1 AS x"
        bench = Processes({"a": text})
        bench.engine.happens["a", "published"] = interrupt
        assert outcomes(bench.run("a")) == {"a": "cancelled"}
        assert bench.engine.asked == []

    def test_nothing_is_looked_for_before_it_was_to_be_published(self) -> None:
        bench = Processes(CHAIN)
        bench.engine.happens["a", "staging"] = interrupt
        assert outcomes(bench.run("a"))["a"] == "cancelled"
        assert bench.engine.asked == []


class WorksOn(ToldEngine):
    """Like Spark, it works on and commits when its caller goes away, unless it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.works_on = False

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        try:
            with super().attempt(work) as trial:
                yield trial
        except KeyboardInterrupt:
            self.works_on = False
            raise

    def cancel(self, attempt: str | None = None) -> None:
        self.works_on = False

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        found = super().recover(asset, keys, attempt)
        if self.works_on:
            self.published[attempt.id] = Written(rows=1, snapshot="late")
        return found


def test_what_is_found_after_an_interruption_stays_true() -> None:
    bench = Processes(CHAIN)
    engine = bench.engine = WorksOn()

    def interrupted_at_work() -> None:
        engine.works_on = True
        raise KeyboardInterrupt

    engine.happens["a", "publishing"] = interrupted_at_work
    result = bench.run("a", only=True)
    (attempt,) = bench.store.attempts(result.id)
    seen = attempt.id in engine.published
    assert result.steps[0].record.status == ("succeeded" if seen else "cancelled")


class TestRetries:
    SCRIPT: ClassVar = {"a": CHAIN["a"].replace(DAY, f"{DAY}-- retry 2 delay=10s\n")}

    @staticmethod
    def passing() -> StatementFailed:
        error = StatementFailed("lost")
        error.transient = True
        return error

    @pytest.mark.parametrize("stop", [interrupt, press])
    def test_a_step_that_is_interrupted_before_its_next_try_is_not_tried_again(
        self, stop: Any
    ) -> None:
        bench = Processes(self.SCRIPT)
        bench.engine.fails("a", "staging", self.passing())
        bench.meanwhile = [stop]
        result = bench.run("a")
        assert result.status == "cancelled"
        assert outcomes(result) == {"a": "cancelled"}
        assert len(bench.engine.executed) == 1
        assert bench.slept == [10.0]


class PressedWhileRecording(SharedStore):
    """Ctrl-C comes while the store is at work."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when

    def begin_attempt(self, *args: Any, **options: Any) -> Sequence[Claim]:
        if self.when == "begin_attempt":
            press()
        return super().begin_attempt(*args, **options)

    def stage(self, *args: Any) -> None:
        if self.when == "stage":
            press()
        super().stage(*args)


@pytest.mark.parametrize("when", ["begin_attempt", "stage"])
def test_an_interruption_that_was_noted_is_obeyed_before_more_work(when: str) -> None:
    bench = Processes(CHAIN)
    bench.store = PressedWhileRecording(when)
    result = bench.run("a")
    assert result.status == "cancelled"
    assert outcomes(result) == {"a": "cancelled", **STOPPED}
    assert bench.engine.tables == {}
