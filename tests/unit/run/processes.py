"""Runs on doubles: processes that die at a moment of their work, and others that find out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import pytest

from tranche.model.asset import AssetUri
from tranche.model.data_test import DataTestResult
from tranche.model.plan import Step
from tranche.model.run import Attempt, Run, StepRecord
from tranche.ports import Staged, Trial, Work, Written
from tranche.run.news import News, StepWaits
from tranche.run.reconcile import Recovered
from tranche.run.runner import RunResult, run_plan
from tranche.testing import MemoryEngine, MemoryStore, MemoryTrial

from .test_runner import START, Bench

Moment: TypeAlias = Literal["staging", "publishing", "published", "closing"]

KEY = "2026-05-16"
HOLDER = "holder"


class Killed(BaseException):
    """A process ends: what would come next in it does not happen."""


class SharedStore(MemoryStore):
    """A store of several processes, each of which can end without a word."""

    def process_ends(self, run: str) -> None:
        self._live.discard(run)


class ToldEngine(MemoryEngine):
    """An engine that finds what it is told to, and to which things happen while it works."""

    linger = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.happens: dict[tuple[str, Moment], Callable[[], None]] = {}
        """What happens at a moment of a script's attempts."""
        self.found: dict[str, tuple[DataTestResult, ...]] = {}
        """What data tests find in a script's slice."""
        self.asked: list[str] = []
        """The attempts that somebody wanted to know the end of."""

    def fails(self, script: str, moment: Moment, error: BaseException) -> None:
        def fail() -> None:
            raise error

        self.happens[script, moment] = fail

    def reach(self, step: Step, moment: Moment) -> None:
        self.happens.get((step.script.name, moment), lambda: None)()

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        self.executed.append(work.step)
        yield ToldTrial(self, work)
        self.reach(work.step, "closing")

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        self.asked.append(attempt.id)
        return super().recover(asset, keys, attempt)


class ToldTrial(MemoryTrial):
    """A trial that tells its engine how far it is."""

    engine: ToldEngine

    def stage(self) -> Staged:
        step = self.work.step
        self.engine.reach(step, "staging")
        super().stage()
        sources = {str(needed.asset): "s1" for needed in step.inputs}
        return Staged(sources=sources, tests=self.engine.found.get(step.script.name, ()))

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        self.engine.reach(self.work.step, "publishing")
        written = super().publish()
        self.engine.reach(self.work.step, "published")
        return written


class Noted:
    """Keeps what a runner tells about other runs."""

    def __init__(self) -> None:
        self.waits: list[tuple[str, str]] = []
        """The scripts that waited, each with the run that they waited for."""
        self.runs: list[Recovered] = []

    def __call__(self, news: News) -> None:
        match news:
            case StepWaits(step, run):
                self.waits.append((step.label, run))
            case Recovered():
                self.runs.append(news)


class Processes(Bench):
    """Scripts by their text, run by processes that share a store and the tables."""

    def __init__(self, scripts: dict[str, str]) -> None:
        super().__init__(scripts)
        self.engine: ToldEngine = ToldEngine()
        self.store: SharedStore = SharedStore()
        self.noted = Noted()
        self.meanwhile: list[Callable[[], object]] = []
        """What happens during each sleep, in turn."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def run(self, target: str, *, patience: float = 600.0, **request: Any) -> RunResult:
        return run_plan(
            self.plan(target, **{"partition": KEY, **request}),
            self.engine,
            self.store,
            self.clock,
            tell=self.noted,
            sleep=self.sleep,
            patience=patience,
        )

    def killed(self, target: str, **request: Any) -> str:
        """A run whose process is killed at the moment that the engine or the store was told."""
        with pytest.raises(Killed):
            self.run(target, **request)
        self.engine.happens.clear()
        run = self.store.runs(limit=1)[0].id
        self.store.process_ends(run)
        return run

    def hold(self, asset: str, key: str | None = KEY) -> Attempt:
        """Another process begins to write a slice."""
        at = self.clock()
        self.store.begin_run(
            Run(id=HOLDER, target="a", status="running", fire_time=START, started_at=at),
            [
                StepRecord(
                    run=HOLDER,
                    position=0,
                    script="a",
                    asset=asset,
                    partition=key,
                    ordinal=None,
                    strategy="replace",
                    status="waiting",
                )
            ],
        )
        attempt = Attempt(
            id="held", run=HOLDER, position=0, number=1, status="running", started_at=at
        )
        assert self.store.begin_attempt(attempt, asset=asset, keys=[key]) == ()
        return attempt


def nothing() -> None:
    """What happens when nothing does."""


def die(*_args: object, **_options: object) -> None:
    raise Killed
