"""The store in memory: the same contract without a database, for tests, also those of users."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from tranche.errors import StateError
from tranche.model.run import (
    Attempt,
    Materialization,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.state import checks


class MemoryStore:
    """A StateStore that forgets everything at the end of the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._runs: dict[str, Run] = {}
        self._steps: dict[tuple[str, int], StepRecord] = {}
        self._attempts: dict[str, Attempt] = {}
        self._log: dict[str, Materialization] = {}
        self._partitions: dict[tuple[str, str | None], PartitionState] = {}

    def run(self, run: str) -> Run | None:
        with self._lock:
            found = self._runs.get(checks.checked_id(run, "run"))
            return None if found is None else _copy(found)

    def runs(self, *, limit: int, before: str | None = None) -> Sequence[Run]:
        limit = checks.checked_limit(limit)
        with self._lock:
            latest = sorted(self._runs.values(), key=lambda run: (run.started_at, run.id))[::-1]
            if before is not None:
                ids = [run.id for run in latest]
                before = checks.checked_id(before, "run")
                latest = latest[ids.index(before) + 1 :] if before in ids else []
            return tuple(_copy(run) for run in latest[:limit])

    def steps(self, run: str) -> Sequence[StepRecord]:
        run = checks.checked_id(run, "run")
        with self._lock:
            found = [step for step in self._steps.values() if step.run == run]
            return tuple(sorted(found, key=lambda step: step.position))

    def attempts(self, run: str) -> Sequence[Attempt]:
        run = checks.checked_id(run, "run")
        with self._lock:
            found = [attempt for attempt in self._attempts.values() if attempt.run == run]
            return tuple(sorted(found, key=lambda attempt: (attempt.position, attempt.number)))

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        with self._lock:
            key = checks.checked_asset(asset), checks.checked_key(partition)
            return self._partitions.get(key)

    def partitions(
        self,
        asset: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: PartitionState | None = None,
    ) -> Sequence[PartitionState]:
        """Keys without an ordinal come last, sorted as text; `start` and `end` leave them out."""
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        start, end = checks.optional_utc(start), checks.optional_utc(end)
        with self._lock:
            states = [state for state in self._partitions.values() if state.asset == asset]
        if start is not None:
            states = [state for state in states if state.ordinal and state.ordinal >= start]
        if end is not None:
            states = [state for state in states if state.ordinal and state.ordinal < end]
        if after is not None:
            states = [state for state in states if _order(state) > _order(after)]
        return tuple(sorted(states, key=_order)[:limit])

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        counts: dict[str, Counter[str]] = {
            checks.checked_asset(asset): Counter() for asset in assets
        }
        with self._lock:
            for state in self._partitions.values():
                if state.asset in counts:
                    counts[state.asset][state.status] += 1
        return {asset: dict(count) for asset, count in counts.items()}

    def materialization(self, materialization: str) -> Materialization | None:
        with self._lock:
            return self._log.get(checks.checked_id(materialization, "materialization"))

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        key = checks.checked_asset(asset), checks.checked_key(partition)
        limit = checks.checked_limit(limit)
        with self._lock:
            found = [entry for entry in self._log.values() if (entry.asset, entry.partition) == key]
        # The sort is stable, so reversing it puts the later of equal times first.
        return tuple(sorted(found, key=lambda entry: entry.finished_at)[::-1][:limit])

    def begin_run(self, run: Run, steps: Sequence[StepRecord]) -> None:
        run, kept = checks.checked_run(run), checks.checked_steps(run, steps)
        with self._lock:
            if run.id in self._runs:
                raise StateError(f"run {run.id!r} is recorded already")
            self._runs[run.id] = run
            self._steps.update({(step.run, step.position): step for step in kept})

    def finish_run(
        self, run: str, status: RunStatus, *, at: datetime, error: str | None = None
    ) -> None:
        run = checks.checked_id(run, "run")
        at, error = checks.as_utc(at), checks.optional_readable(error)
        with self._lock:
            if run not in self._runs:
                raise StateError(f"run {run!r} is not recorded")
            known = self._runs[run]
            self._runs[run] = replace(known, status=status, finished_at=at, error=error)

    def begin_attempt(self, attempt: Attempt) -> None:
        attempt = checks.checked_attempt(attempt)
        with self._lock:
            step = self._step(attempt.run, attempt.position)
            place = (attempt.run, attempt.position, attempt.number)
            for other in self._attempts.values():
                if other.id == attempt.id or (other.run, other.position, other.number) == place:
                    raise StateError(
                        f"attempt {attempt.id!r}, number {attempt.number} of its step, "
                        "is recorded already"
                    )
            self._attempts[attempt.id] = attempt
            self._steps[step.run, step.position] = replace(
                step,
                status="running",
                started_at=step.started_at or attempt.started_at,
                finished_at=None,
                error=None,
            )

    def finish_attempt(self, attempt: Attempt) -> None:
        attempt = checks.checked_attempt(attempt)
        with self._lock:
            self._finish_attempt(attempt)

    def _finish_attempt(self, attempt: Attempt) -> None:
        known = self._attempts.get(attempt.id)
        if known is None:
            raise StateError(f"attempt {attempt.id!r} is not recorded")
        self._attempts[attempt.id] = replace(
            known,
            status=attempt.status,
            finished_at=attempt.finished_at,
            error=attempt.error,
        )

    def finish_step(
        self,
        step: StepRecord,
        materializations: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
    ) -> None:
        step = checks.checked_step(step)
        entries = checks.checked_materializations(materializations)
        with self._lock:
            known = self._step(step.run, step.position)
            if attempt is not None:
                self._finish_attempt(checks.checked_attempt(attempt))
            started_at = known.started_at or step.started_at
            self._steps[step.run, step.position] = replace(step, started_at=started_at)
            for entry in entries:
                if entry.id not in self._log:
                    self._log[entry.id] = entry
                    self._move(entry)

    def close(self) -> None:
        """Does nothing; the store can be read on."""

    def _step(self, run: str, position: int) -> StepRecord:
        step = self._steps.get((run, position))
        if step is None:
            raise StateError(f"step {position} of run {run!r} is not recorded")
        return step

    def _move(self, entry: Materialization) -> None:
        """Moves the latest state of the entry's key forward, never back."""
        key = (entry.asset, entry.partition)
        state = self._partitions.get(key)
        if state is None or entry.finished_at >= state.at:
            kept = state or PartitionState(
                asset=entry.asset,
                partition=entry.partition,
                ordinal=entry.ordinal,
                status=entry.status,
                run=entry.run,
                at=entry.finished_at,
            )
            state = replace(
                kept,
                ordinal=entry.ordinal,
                status=entry.status,
                run=entry.run,
                at=entry.finished_at,
                error=entry.error,
            )
        if entry.status == "succeeded" and self._is_latest_success(entry, state):
            state = replace(
                state,
                materialization=entry.id,
                rows=entry.rows,
                snapshot=entry.snapshot,
                digest=entry.digest,
                fingerprint=entry.fingerprint,
            )
        self._partitions[key] = state

    def _is_latest_success(self, entry: Materialization, state: PartitionState) -> bool:
        if state.materialization is None:
            return True
        return entry.finished_at >= self._log[state.materialization].finished_at


def _order(state: PartitionState) -> tuple[bool, float | datetime, str]:
    """Those with an ordinal first; within each, code points sort as the databases' bytes do."""
    return (state.ordinal is None, state.ordinal or 0.0, state.partition or "")


def _copy(run: Run) -> Run:
    """What a caller does to a payload stays with the caller."""
    return replace(run, payload=deepcopy(run.payload), arguments=dict(run.arguments))
