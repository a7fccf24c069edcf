"""A slice of several keys: written at once, and in smaller slices where that cannot be.

Each key has an outcome of its own. Keys whose data tests fail are left out of what is published.
Keys that break the whole are found by halving, and so are those that are too many for Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tranche.errors import (
    EngineError,
    EngineUnavailable,
    KeysFailed,
    RangeRefused,
    RangeTooLarge,
    ResultRejected,
    SliceBusy,
    StatementRejected,
    TrancheError,
)
from tranche.model.plan import Step
from tranche.model.run import StepRecord, StepStatus
from tranche.ports import Engine
from tranche.run.attempts import Attempts, KeyOutcome, StepResult, Unbroken
from tranche.run.news import GoesOneByOne, KeysFinished, Tell, named

Part = tuple[int, ...]
"""The positions of keys in a step that are tried together."""


@dataclass(slots=True)
class Ranges:
    """Brings each key of a step to its end."""

    step: Step
    attempts: Callable[[Step], Attempts]
    """Tries a step."""
    engine: Engine
    record: StepRecord
    tell: Tell
    outcomes: dict[str | None, KeyOutcome] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    number: int = 0
    unforeseen: Exception | None = None
    rows: int = 0
    snapshot: str | None = None
    separate: str | None = None
    """Why keys go one by one."""
    engine_gone: bool = False

    def run(self, skipped: Iterable[KeyOutcome] = ()) -> StepResult:
        """Tries all keys but those that are skipped."""
        self.outcomes = {outcome.partition: outcome for outcome in skipped}
        there = tuple(n for n, key in enumerate(self.step.keys) if key not in self.outcomes)
        waiting = deque([there] if there else [])
        last: Attempts | None = None
        while waiting:
            part = waiting.popleft()
            last = self.attempts(self.sub_step(part))
            last.part = "" if len(part) == len(self.step.slice) else _name(part)
            last.tried_before, last.partial = self.number, True
            try:
                self.note(last.run())
            except Unbroken as unbroken:
                waiting.extendleft(reversed(self.smaller(part, unbroken.error, last)))
            self.number = max(self.number, last.latest.number if last.latest else 0)
            self.unforeseen = self.unforeseen or last.unforeseen
            if last.interrupts.asked or (waiting and last.stop is not None and last.stop()):
                last.interrupts.asked = True
                self.cancel(waiting)
                break
        return self.ended(last or self.attempts(self.step))

    def sub_step(self, part: Part) -> Step:
        return replace(self.step, slice=tuple(self.step.slice[n] for n in part))

    def note(self, result: StepResult) -> None:
        self.warnings += result.warnings
        if result.record.status in ("succeeded", "failed") and result.record.snapshot:
            self.rows += result.record.rows or 0
            self.snapshot = result.record.snapshot
        found = result.keys
        if not found:
            record = result.record
            found = (
                KeyOutcome(
                    partition=record.partition,
                    status=record.status,
                    rows=record.rows,
                    snapshot=record.snapshot,
                    error=record.error,
                    tests=result.tests,
                    provisional=result.provisional,
                ),
            )
        self.outcomes.update({outcome.partition: outcome for outcome in found})
        self.tell(KeysFinished(named(self.step), found))

    def smaller(self, part: Part, error: TrancheError, tried: Attempts) -> Sequence[Part]:
        """What is tried instead of a part that could not be written as a whole."""
        if isinstance(error, RangeRefused):
            self.separate = error.what
            self.warnings.append(f"{self.step.script.label} goes key by key: {error.what}")
            self.tell(GoesOneByOne(named(self.step), error.what))
            return [(n,) for n in part]
        if isinstance(error, RangeTooLarge):
            size = -(-len(part) // error.parts)
            return [part[n : n + size] for n in range(0, len(part), size)]
        if isinstance(error, KeysFailed):
            bad = [n for n in part if self.step.keys[n] in error.errors]
            for n in bad:
                self.fail((n,), str(error.errors[str(self.step.keys[n])]), tried)
            rest = tuple(n for n in part if n not in bad)
            return [rest] if rest else []
        if isinstance(error, EngineUnavailable):
            # It may have been too much for it; it starts anew with what comes next.
            try:
                self.engine.revive()
            except EngineError as gone:
                self.engine_gone = True
                self.fail(part, f"{error}; and it did not start again: {gone.what}", tried)
                return []
        elif isinstance(error, SliceBusy | StatementRejected | ResultRejected):
            self.fail(part, str(error), tried)
            return []
        middle = (len(part) + 1) // 2
        return [half for half in (part[:middle], part[middle:]) if half]

    def fail(self, part: Part, error: str, tried: Attempts) -> None:
        """Enters keys as failed for a reason that is known already."""
        self.note(replace(tried, step=self.sub_step(part)).failed(error))

    def cancel(self, waiting: Iterable[Part]) -> None:
        for part in waiting:
            for n in part:
                key = self.step.keys[n]
                self.outcomes[key] = KeyOutcome(partition=key, status="cancelled")

    def ended(self, last: Attempts) -> StepResult:
        keys = tuple(self.outcomes[key] for key in self.step.keys if key in self.outcomes)
        found = {outcome.status for outcome in keys}
        order: tuple[StepStatus, ...] = ("cancelled", "failed", "succeeded", "skipped")
        status: StepStatus = next((each for each in order if each in found), "skipped")
        bad = sum(outcome.status == "failed" for outcome in keys)
        record = replace(
            self.record,
            status=status,
            rows=self.rows if "succeeded" in found else None,
            snapshot=self.snapshot,
            error=f"{bad} of {len(keys)} keys failed" if bad else None,
            finished_at=last.clock(),
        )
        last.partial = False
        last.finish_step(record)
        warnings = tuple(self.warnings)
        return StepResult(
            record,
            warnings=warnings,
            keys=keys,
            separate=self.separate,
            provisional=any(outcome.provisional for outcome in keys),
            engine_gone=self.engine_gone,
        )


def _name(part: Part) -> str:
    """
    >>> _name((3, 4, 7))
    '3-7x3'
    """
    return f"{part[0]}-{part[-1]}x{len(part)}"
