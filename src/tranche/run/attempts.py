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
    EngineUnavailable,
    SliceBusy,
    StateError,
    TrancheError,
    sentence,
)
from tranche.model.asset import FileSet, LakeTable
from tranche.model.columns import Columns
from tranche.model.data_test import DataTestResult
from tranche.model.lineage import TracedLineage
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import (
    Attempt,
    Claim,
    KeyParts,
    Materialization,
    Outcome,
    Run,
    StepRecord,
    StepStatus,
)
from tranche.model.script import Retry
from tranche.model.strategy import History, Replace
from tranche.planning.read_columns import ReadColumns
from tranche.ports import Clock, Engine, Staged, StateStore, Trial, Work, Written
from tranche.run import ledger
from tranche.run.ids import new_id
from tranche.run.interrupts import Interrupts
from tranche.run.news import StepRetried, StepWaits, Tell, named
from tranche.run.reconcile import NotRecovered, reconcile
from tranche.run.recording import insist

_LOST_RACES = 3
"""How often a step is tried again after a writer that is not ours changed the same slice."""
_LOOK = 0.5
"""Seconds between looks at a slice that another run is writing, or at who wants the run to stop."""
_LONGEST_DELAY = 600.0
"""Seconds that a step waits at most before it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOutcome:
    """How one key of a step ended."""

    partition: str | None
    status: StepStatus
    rows: int | None = None
    snapshot: str | None = None
    error: str | None = None
    tests: tuple[DataTestResult, ...] = ()
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended, with the rows of a script that materializes nothing."""

    record: StepRecord
    result: Rows | None = None
    tests: tuple[DataTestResult, ...] = ()
    warnings: tuple[str, ...] = ()
    keys: tuple[KeyOutcome, ...] = ()
    """How each key of a slice of several ended."""
    separate: str | None = None
    """Why its keys went one by one, if they did."""
    provisional: bool = False
    """Whether something that it published is."""
    engine_gone: bool = False
    """Whether it failed because the engine is gone and does not start, which is no fault of it."""


class Unbroken(Exception):
    """A slice of several keys that could not be written as a whole, and why.

    Nothing of it was published; its keys may be tried in smaller slices.
    """

    def __init__(self, error: TrancheError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class Attempts:
    """Tries one step until it succeeds or may not be tried again. Every try is for the same key."""

    step: Step
    record: StepRecord
    fire_time: datetime
    engine: Engine
    store: StateStore
    clock: Clock
    tell: Tell
    sleep: Callable[[float], None]
    interrupts: Interrupts
    patience: float
    """How many seconds to wait for another run that writes the same slice."""
    stop: Callable[[], bool] | None = None
    """Asked, while it only waits, whether to give up."""
    rows: object = None
    """A frame of the engine's own, where no script says what to write."""
    reads: ReadColumns | None = None
    """What scripts read of what is made here; None if nobody knows."""
    part: str = ""
    """Which of the keys of a step this tries, where they are not all of them."""
    tried_before: int = 0
    """How many attempts the step has had already."""
    partial: bool = False
    """Whether other keys of the step are still to come."""
    staged: Staged = field(default_factory=Staged)
    inputs: ledger.Inputs = field(default_factory=dict)
    """What was read, once it is known."""
    left_out: frozenset[str] = frozenset()
    """Keys whose data tests failed."""
    after_all: tuple[str, ...] = ()
    """What went wrong after the slice had been published."""
    unforeseen: Exception | None = None
    latest: Attempt | None = None
    """The latest attempt."""

    def run(self) -> StepResult:
        retry = self.step.script.annotations.retry
        tries = 1 + (retry.times if retry else 0)
        number = lost = died = 0
        while True:
            number += 1
            attempt = Attempt(
                id=new_id(self.clock()),
                run=self.record.run,
                position=self.step.position,
                number=self.tried_before + number,
                status="running",
                started_at=self.clock(),
                part=self.part,
            )
            self.latest = attempt
            self.staged, self.inputs, self.left_out = Staged(), {}, frozenset()
            try:
                attempt = self.claim(attempt)
            except SliceBusy as error:
                return self.finish(replace(self.record, status="failed", error=str(error)))
            except (KeyboardInterrupt, Cancelled):
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
                if isinstance(error, EngineUnavailable) and not self.step.is_range and not died:
                    died = 1
                    gone = self.revived()
                    if gone is not None:
                        return self.ended(attempt, "failed", f"{error}; {gone}", engine_gone=True)
                elif not raced and (number - lost - died >= tries or not error.transient):
                    if self.step.is_range and not isinstance(error, DataTestsFailed):
                        self.give_up(attempt, str(error))
                        raise Unbroken(error) from error
                    return self.ended(attempt, "failed", str(error))
                try:
                    self.again(attempt, str(error), backoff(retry, number - lost - died))
                except (KeyboardInterrupt, Cancelled):
                    self.interrupts.asked = True
                    return self.finish(replace(self.record, status="cancelled"))
            except Exception as error:
                # A fault of ours: the other steps still run, and the caller gets to see it.
                self.unforeseen = error
                return self.ended(attempt, "failed", unforeseen(error))

    def revived(self) -> str | None:
        """Starts an engine anew that has died; why it did not start, if it did not.

        It may have died of something else than this step, which others run beside.
        """
        try:
            self.engine.revive()
        except EngineError as error:
            return f"and it did not start again: {error.what}"
        return None

    def claim(self, attempt: Attempt) -> Attempt:
        """Records the attempt once nobody else works on its key."""
        asset = self.step.script.asset
        waited = 0.0
        while True:
            claims = self.store.begin_attempt(
                attempt,
                asset=str(asset) if asset else None,
                keys=self.claimed() if asset else (),
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
                self.tell(StepWaits(named(self.step), claims[0].run))
            self.rest(_LOOK)
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
            self.tell(ended)

    def claimed(self) -> tuple[str | None, ...]:
        """The keys that nobody else may work on; of a history all keys, whose order matters."""
        made = self.step.script.annotations.materialize
        whole = made is not None and isinstance(made.strategy, History)
        return (None,) if whole or self.step.is_of_table else self.step.keys

    def attempt(self, attempt: Attempt) -> StepResult:
        past, standing = ledger.past(self.step, self.store), ledger.standing(self.step, self.store)
        work = Work(
            step=self.step,
            attempt=attempt,
            fire_time=self.fire_time,
            rows=self.rows,
            past=past,
            standing=standing,
            parts=ledger.parts(self.step, self.store),
            read=self.read() if past or standing else (),
            traced=ledger.traced(self.step, self.store),
            sole_parts=ledger.sole_parts(self.step, self.store),
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

    def read(self) -> tuple[frozenset[str], ...]:
        """The sets of columns that other scripts read, of rows that are compared with others."""
        made = self.step.script.annotations.materialize
        replaces = made is not None and isinstance(made.strategy, Replace)
        if self.reads is None or made is None or not replaces or not self.step.is_read:
            return ()
        return self.reads.sets(made.asset, self.store)

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
                left_out=self.left_out,
            )
            insist(lambda: self.store.stage(attempt.id, expected), self.sleep)
        else:
            expected = ledger.entries_of(
                self.step, attempt, "succeeded", self.clock(), inputs=self.inputs
            )
        return self.succeeded(attempt, self.published(trial, attempt), expected)

    def published(self, trial: Trial, attempt: Attempt) -> Written:
        try:
            with self.interrupts.stoppable():
                return trial.publish(self.left_out)
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
        """Says which keys may not be published; if that is all of them, nothing is."""
        if self.staged.key_tests:
            failed = {
                key: error
                for key, tests in self.staged.key_tests.items()
                if (error := self.broken(tests, key)) is not None
            }
            self.left_out = frozenset(failed)
            if failed and len(failed) == len(self.step.slice):
                raise DataTestsFailed(next(iter(failed.values())))
            return
        error = self.broken(self.staged.tests, self.step.partition)
        if error is not None:
            raise DataTestsFailed(error)

    def broken(self, tests: Sequence[DataTestResult], key: str | None) -> str | None:
        """What data tests have against a key, as a sentence."""
        failed = [test for test in tests if test.status == "failed"]
        if not failed:
            return None
        many = f"{len(failed)} data tests" if len(failed) > 1 else "a data test"
        found = ", ".join(f"{test.test} ({_rows(test.violations)})" for test in failed)
        named = "" if key is None else f" --partition {key!r}"
        return sentence(
            f"{many} failed and nothing was published: {found}",
            f"see the rows with tranche show {self.step.script.label}{named} --violations",
        )

    def published_after_all(self, attempt: Attempt) -> Written | None:
        """Whether readers see the slice, although nobody waited for the answer."""
        asset = self.step.script.asset
        if not isinstance(asset, LakeTable | FileSet) or not self.step.script.managed:
            return None
        try:
            return self.engine.recover(asset, self.step.keys, attempt)
        except EngineError:
            # It cannot be found out now; what went wrong first says more.
            return None

    def again(self, attempt: Attempt, error: str, delay: float) -> None:
        self.give_up(attempt, error)
        self.tell(StepRetried(named(self.step), error, delay))
        self.rest(delay)

    def rest(self, seconds: float) -> None:
        """Waits, unless the run is to stop."""
        with self.interrupts.stoppable():
            if self.stop is None:
                self.sleep(seconds)
                return
            left = seconds
            while left > 0:
                if self.stop():
                    raise Cancelled("stopped while it waited")
                self.sleep(min(left, _LOOK))
                left -= _LOOK

    def give_up(self, attempt: Attempt, error: str) -> None:
        """Records an attempt that published nothing, and is not the last."""
        ended = replace(attempt, status="failed", finished_at=self.clock(), error=error)
        insist(lambda: self.store.finish_attempt(ended), self.sleep)

    def succeeded(
        self, attempt: Attempt, written: Written, expected: Sequence[Materialization]
    ) -> StepResult:
        at = self.clock()
        before = ledger.unchanged(expected, written, self.store)
        # What else the code has written has no rows and no snapshot that anybody knows.
        others = Written(digest=written.digest)
        entries = [
            ledger.published(
                replace(entry, finished_at=at),
                written if self.is_foremost(entry) else others,
                before.get(entry.partition) if self.is_foremost(entry) else None,
            )
            for entry in expected
        ]
        failed = self.failures(attempt, at)
        record = replace(
            self.record,
            status="failed" if failed else "succeeded",
            rows=written.rows,
            snapshot=written.snapshot,
            started_at=attempt.started_at,
            finished_at=at,
            error=f"{_keys(len(failed))} failed" if failed else None,
        )
        self.finish_step(
            record,
            [*entries, *failed],
            attempt=replace(attempt, status="succeeded", finished_at=at),
            columns=written.columns,
            parts=ledger.parts_of(str(self.step.script.asset), written),
            traced=ledger.traced_lineage(self.step, self.staged),
        )
        warnings = (*self.staged.warnings, *self.warned(), *self.after_all)
        told = [*filter(self.is_foremost, entries), *failed]
        keys = [*map(outcome_of, told)] if self.step.is_range else []
        return StepResult(
            record,
            written.result,
            self.staged.tests,
            warnings,
            tuple(keys),
            provisional=any(entry.provisional for entry in entries),
        )

    def is_foremost(self, entry: Materialization) -> bool:
        """Whether an entry is of the asset that the script is known by."""
        return entry.asset == str(self.step.script.asset)

    def failures(self, attempt: Attempt, at: datetime) -> list[Materialization]:
        """Entries for the keys that were left out."""
        return [
            replace(entry, error=self.broken(entry.tests, entry.partition))
            for entry in ledger.entries_of(
                self.step, attempt, "failed", at, inputs=self.inputs, staged=self.staged
            )
            if entry.partition in self.left_out
        ]

    def ended(
        self, attempt: Attempt, status: Outcome, error: str, *, engine_gone: bool = False
    ) -> StepResult:
        """Records an attempt that published nothing, as the step's last one."""
        at = self.clock()
        record = replace(
            self.record,
            status=status,
            error=error,
            started_at=attempt.started_at,
            finished_at=at,
        )
        entries = ledger.entries_of(
            self.step,
            attempt,
            status,
            at,
            inputs=self.inputs,
            staged=self.staged,
            error=error,
        )
        if self.staged.key_tests:
            entries = tuple(
                replace(entry, error=self.broken(entry.tests, entry.partition) or error)
                for entry in entries
            )
        ended = replace(attempt, status=status, finished_at=at, error=error)
        self.finish_step(record, entries, attempt=ended)
        told = filter(self.is_foremost, entries)
        keys = tuple(map(outcome_of, told)) if self.step.is_range else ()
        return StepResult(
            record,
            tests=self.staged.tests,
            warnings=self.staged.warnings,
            keys=keys,
            engine_gone=engine_gone,
        )

    def failed(self, error: str) -> StepResult:
        """Records keys as failed for what their latest attempt found out about them."""
        assert self.latest is not None
        at = self.clock()
        entries = ledger.entries_of(self.step, self.latest, "failed", at, error=error)
        record = replace(self.record, status="failed", error=error, finished_at=at)
        self.finish_step(record, entries)
        told = filter(self.is_foremost, entries)
        return StepResult(record, keys=tuple(map(outcome_of, told)))

    def finish_step(
        self,
        record: StepRecord,
        entries: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
        columns: Columns = (),
        parts: Sequence[KeyParts] = (),
        traced: TracedLineage | None = None,
    ) -> None:
        # Of a step that goes on, only what is behind it is recorded.
        kept = replace(record, status="running") if self.partial else record
        insist(
            lambda: self.store.finish_step(
                kept, entries, attempt=attempt, columns=columns, parts=parts, traced=traced
            ),
            self.sleep,
        )
        self.store.watcher.step_recorded(kept, entries, columns)

    def finish(self, record: StepRecord) -> StepResult:
        """Records a step that was not even tried."""
        ended = replace(record, finished_at=self.clock())
        self.finish_step(ended)
        keys = tuple(
            KeyOutcome(partition=key, status=ended.status, error=ended.error)
            for key in self.step.keys
        )
        return StepResult(ended, keys=keys if self.step.is_range else ())

    def warned(self) -> list[str]:
        found = [("", test) for test in self.staged.tests]
        found += [(f" {key}", test) for key, ts in self.staged.key_tests.items() for test in ts]
        return [
            f"{self.step.script.label}{key}: the data test '{test.test}' is violated by"
            f" {_rows(test.violations)}"
            for key, test in found
            if test.status == "warned"
        ]


def outcome_of(entry: Materialization) -> KeyOutcome:
    return KeyOutcome(
        partition=entry.partition,
        status=entry.status,
        rows=entry.rows,
        snapshot=entry.snapshot,
        error=entry.error,
        tests=entry.tests,
        provisional=entry.provisional,
    )


def backoff(retry: Retry | None, tries: int) -> float:
    """How many seconds to wait after so many tries have failed: each time twice as long.

    >>> [backoff(Retry(5, 10.0), tries) for tries in (1, 2, 3)]
    [10.0, 20.0, 40.0]
    """
    if retry is None or tries < 1:
        return 0.0
    return min(retry.delay * 2.0 ** min(tries - 1, 30), max(retry.delay, _LONGEST_DELAY))


def unforeseen(error: Exception) -> str:
    return f"unexpected {type(error).__name__}: {error}"


def _what(step: Step) -> str:
    if step.is_range:
        return f"{step.script.label} {step.keys[0]} … {step.keys[-1]}"
    return step.script.label if step.partition is None else f"{step.script.label} {step.partition}"


def _keys(number: int) -> str:
    return f"{number} key" if number == 1 else f"{number} keys"


def _busy(step: Step, claim: Claim) -> SliceBusy:
    return SliceBusy(
        f"{_what(step)} is being written by the run {claim.run} since"
        f" {claim.at.isoformat(timespec='seconds')}",
        "wait for it, or stop it",
    )


def _rows(number: int) -> str:
    return f"{number} row" if number == 1 else f"{number} rows"
