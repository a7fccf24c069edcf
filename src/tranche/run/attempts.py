"""One step: claimed, staged, tested, published and recorded, and tried again if it may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tranche.errors import (
    Cancelled,
    CommitLost,
    DataTestsFailed,
    EngineError,
    SliceBusy,
    StateError,
    TrancheError,
)
from tranche.model.data_test import DataTestResult
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import Attempt, Claim, Input, Materialization, Outcome, Run, StepRecord
from tranche.model.strategy import History
from tranche.ports import Clock, Engine, Staged, StateStore, Trial, Work, Written
from tranche.run import ledger
from tranche.run.ids import new_id
from tranche.run.interrupts import Interrupts
from tranche.run.progress import Progress
from tranche.run.reconcile import NotRecovered, reconcile
from tranche.run.recording import insist

_LOST_RACES = 3
"""How often a step is tried again after a writer that is not ours changed the same slice."""
_LOOK = 0.5
"""Seconds between looks at a slice that another run is writing."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended, with the rows of a script that materializes nothing."""

    record: StepRecord
    result: Rows | None = None
    tests: tuple[DataTestResult, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Attempts:
    """Tries one step until it succeeds or may not be tried again. Every try is for the same key."""

    step: Step
    record: StepRecord
    fire_time: datetime
    engine: Engine
    store: StateStore
    clock: Clock
    progress: Progress
    sleep: Callable[[float], None]
    interrupts: Interrupts
    patience: float
    """How many seconds to wait for another run that writes the same slice."""
    rows: object = None
    """A frame of the engine's own, where no script says what to write."""
    staged: Staged = field(default_factory=Staged)
    inputs: tuple[Input, ...] = ()
    """What was read, once it is known."""
    after_all: tuple[str, ...] = ()
    """What went wrong after the slice had been published."""
    unforeseen: Exception | None = None

    def run(self) -> StepResult:
        retry = self.step.script.annotations.retry
        tries = 1 + (retry.times if retry else 0)
        number = lost = 0
        while True:
            number += 1
            attempt = Attempt(
                id=new_id(self.clock()),
                run=self.record.run,
                position=self.step.position,
                number=number,
                status="running",
                started_at=self.clock(),
            )
            self.staged, self.inputs = Staged(), ()
            try:
                attempt = self.claim(attempt)
            except SliceBusy as error:
                return self.finish(replace(self.record, status="failed", error=str(error)))
            except KeyboardInterrupt:
                self.interrupts.asked = True
                return self.finish(replace(self.record, status="cancelled"))
            try:
                return self.attempt(attempt)
            except (KeyboardInterrupt, Cancelled):
                self.interrupts.asked = True
                return self.ended(attempt, "cancelled", "stopped by the user")
            except StateError:
                # Not the step's failure: what it did cannot be recorded.
                raise
            except TrancheError as error:
                raced = isinstance(error, CommitLost) and lost < _LOST_RACES
                lost += raced
                if not raced and (number - lost >= tries or not error.transient):
                    return self.ended(attempt, "failed", str(error))
                try:
                    self.again(attempt, str(error), retry.delay if retry else 0.0)
                except KeyboardInterrupt:
                    self.interrupts.asked = True
                    return self.finish(replace(self.record, status="cancelled"))
            except Exception as error:
                # A fault of ours: the other steps still run, and the caller gets to see it.
                self.unforeseen = error
                return self.ended(attempt, "failed", unforeseen(error))

    def claim(self, attempt: Attempt) -> Attempt:
        """Records the attempt once nobody else works on its key."""
        asset = self.step.script.asset
        waited = 0.0
        while True:
            claims = self.store.begin_attempt(
                attempt,
                asset=str(asset) if asset else None,
                keys=(self.claimed(),) if asset else (),
            )
            if not claims:
                return attempt
            holders = {claim.run for claim in claims}
            left = [run for run in self.store.abandoned() if run.id in holders]
            if left:
                self.end(left)
                continue
            if waited >= self.patience:
                raise _busy(self.step, claims[0])
            if not waited:
                self.progress.step_waits(self.step, claims[0])
            with self.interrupts.stoppable():
                self.sleep(_LOOK)
            waited += _LOOK
            attempt = replace(attempt, started_at=self.clock())

    def end(self, left: Sequence[Run]) -> None:
        """Ends runs whose process is gone and that hold the key."""
        for ended in reconcile(left, self.engine, self.store, self.clock, self.sleep):
            if isinstance(ended, NotRecovered):
                raise SliceBusy(
                    f"{_what(self.step)} was being written by the run {ended.run}, whose process"
                    f" is gone, and what became of it cannot be found out: {ended.error}",
                    "run it again when that is mended",
                )
            self.progress.recovered(ended)

    def claimed(self) -> str | None:
        """The key that nobody else may work on; of a history all keys, whose order matters."""
        made = self.step.script.annotations.materialize
        whole = made is not None and isinstance(made.strategy, History)
        return None if whole or self.step.restores is not None else self.step.partition

    def attempt(self, attempt: Attempt) -> StepResult:
        work = Work(
            step=self.step,
            attempt=attempt,
            fire_time=self.fire_time,
            rows=self.rows,
            past=ledger.past(self.step, self.store),
        )
        result: StepResult | None = None
        try:
            with self.engine.attempt(work) as trial:
                result = self.tried(trial, attempt)
        except TrancheError as error:
            if result is None:
                raise
            # It is published and recorded; only what lay beside the table could not be removed.
            return replace(result, warnings=(*result.warnings, f"{_what(self.step)}: {error}"))
        return result

    def tried(self, trial: Trial, attempt: Attempt) -> StepResult:
        inputs = ledger.pinned_inputs(self.step, self.store)
        with self.interrupts.stoppable():
            self.staged = trial.stage()
        self.inputs = ledger.with_sources(inputs, self.staged)
        self.judge()
        expected: tuple[Materialization, ...] = ()
        if self.step.script.managed:
            expected = ledger.expected(
                self.step,
                attempt,
                self.clock(),
                inputs=self.inputs,
                staged=self.staged,
                state=self.store,
            )
            insist(lambda: self.store.stage(attempt.id, expected), self.sleep)
        else:
            expected = ledger.entry(
                self.step, attempt, "succeeded", self.clock(), inputs=self.inputs
            )
        return self.succeeded(attempt, self.published(trial, attempt), expected)

    def published(self, trial: Trial, attempt: Attempt) -> Written:
        try:
            with self.interrupts.stoppable():
                return trial.publish()
        except (KeyboardInterrupt, Cancelled):
            self.interrupts.asked = True
            # What still works in the engine could publish it after we have looked.
            self.engine.cancel(attempt.id)
            found = self.published_after_all(attempt)
            if found is None:
                raise
            return found
        except CommitLost:
            raise
        except TrancheError as error:
            found = self.published_after_all(attempt)
            if found is None:
                raise
            self.after_all = (f"{_what(self.step)} was published, and then: {error}",)
            return found

    def judge(self) -> None:
        failed = [test for test in self.staged.tests if test.status == "failed"]
        if failed:
            many = f"{len(failed)} data tests" if len(failed) > 1 else "a data test"
            found = ", ".join(f"{test.test} ({_rows(test.violations)})" for test in failed)
            key = "" if self.step.partition is None else f" --partition {self.step.partition!r}"
            raise DataTestsFailed(
                f"{many} failed and nothing was published: {found}",
                f"see the rows with tranche show {self.step.script.label}{key} --violations",
            )

    def published_after_all(self, attempt: Attempt) -> Written | None:
        """Whether readers see the slice, although nobody waited for the answer."""
        table = ledger.table_of(self.step)
        if table is None or not self.step.script.managed:
            return None
        try:
            return self.engine.recover(table, self.step.partition, attempt)
        except EngineError:
            # It cannot be found out now; what went wrong first says more.
            return None

    def again(self, attempt: Attempt, error: str, delay: float) -> None:
        ended = replace(attempt, status="failed", finished_at=self.clock(), error=error)
        insist(lambda: self.store.finish_attempt(ended), self.sleep)
        self.progress.step_retried(self.step, error, delay)
        with self.interrupts.stoppable():
            self.sleep(delay)

    def succeeded(
        self, attempt: Attempt, written: Written, expected: Sequence[Materialization]
    ) -> StepResult:
        at = self.clock()
        entries = []
        for entry in expected:
            before = self.store.partition(entry.asset, entry.partition)
            entries.append(ledger.published(replace(entry, finished_at=at), written, before))
        record = replace(
            self.record,
            status="succeeded",
            rows=written.rows,
            snapshot=written.snapshot,
            started_at=attempt.started_at,
            finished_at=at,
        )
        insist(
            lambda: self.store.finish_step(
                record,
                entries,
                attempt=replace(attempt, status="succeeded", finished_at=at),
                columns=written.columns,
            ),
            self.sleep,
        )
        warnings = (*self.staged.warnings, *self.warned(), *self.after_all)
        return StepResult(record, written.result, self.staged.tests, warnings)

    def ended(self, attempt: Attempt, status: Outcome, error: str) -> StepResult:
        """Records an attempt that published nothing, as the step's last one."""
        at = self.clock()
        record = replace(
            self.record,
            status=status,
            error=error,
            started_at=attempt.started_at,
            finished_at=at,
        )
        entries = ledger.entry(
            self.step,
            attempt,
            status,
            at,
            inputs=self.inputs,
            tests=self.staged.tests,
            error=error,
        )
        ended = replace(attempt, status=status, finished_at=at, error=error)
        insist(lambda: self.store.finish_step(record, entries, attempt=ended), self.sleep)
        return StepResult(record, tests=self.staged.tests, warnings=self.staged.warnings)

    def finish(self, record: StepRecord) -> StepResult:
        """Records a step that was not even tried."""
        ended = replace(record, finished_at=self.clock())
        insist(lambda: self.store.finish_step(ended), self.sleep)
        return StepResult(ended)

    def warned(self) -> list[str]:
        return [
            f"{self.step.script.label}: the data test '{test.test}' is violated by"
            f" {_rows(test.violations)}"
            for test in self.staged.tests
            if test.status == "warned"
        ]


def unforeseen(error: Exception) -> str:
    return f"unexpected {type(error).__name__}: {error}"


def _what(step: Step) -> str:
    return step.script.label if step.partition is None else f"{step.script.label} {step.partition}"


def _busy(step: Step, claim: Claim) -> SliceBusy:
    return SliceBusy(
        f"{_what(step)} is being written by the run {claim.run} since"
        f" {claim.at.isoformat(timespec='seconds')}",
        "wait for it, or stop it",
    )


def _rows(number: int) -> str:
    return f"{number} row" if number == 1 else f"{number} rows"
