"""Runs whose process is gone: what their tables say goes into the ledger, and they end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from tranche.errors import EngineError
from tranche.model.asset import FileSet, LakeTable, parse_address
from tranche.model.run import Attempt, Materialization, Run, RunStatus, StepRecord, StepStatus
from tranche.ports import Clock, Engine, StateStore, Written
from tranche.run import ledger
from tranche.run.ids import new_id
from tranche.run.recording import insist

_GONE = "its process ended before it did"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A run that was brought to its end, and how."""

    run: str
    status: RunStatus
    published: tuple[str, ...] = ()
    """The assets that its last attempts had published."""


@dataclass(frozen=True, slots=True)
class NotRecovered:
    """A run that could not be brought to its end: the engine cannot tell what became of it."""

    run: str
    error: str


def reconcile(
    runs: Sequence[Run],
    engine: Engine,
    store: StateStore,
    clock: Clock,
    sleep: Callable[[float], None],
) -> tuple[Recovered | NotRecovered, ...]:
    """Ends abandoned runs. Of several processes that try, one does it.

    One that cannot be ended stays with this process, and is abandoned again when that ends.
    """
    adopted = [run for run in runs if store.adopt(run.id)]
    if any(_running(store, run) for run in adopted):
        # A commit that was under way when the process died may still land.
        sleep(engine.linger)
    found: list[Recovered | NotRecovered] = []
    for run in adopted:
        try:
            found.append(_Reconciliation(run, engine, store, clock(), sleep).end())
        except EngineError as error:
            found.append(NotRecovered(run.id, str(error)))
    return tuple(found)


def _running(store: StateStore, run: Run) -> bool:
    return any(attempt.status == "running" for attempt in store.attempts(run.id))


@dataclass(slots=True)
class _Reconciliation:
    run: Run
    engine: Engine
    store: StateStore
    at: datetime
    sleep: Callable[[float], None]

    def end(self) -> Recovered:
        tried: dict[int, list[Attempt]] = {}
        for attempt in self.store.attempts(self.run.id):
            tried.setdefault(attempt.position, []).append(attempt)
        published = []
        statuses: set[StepStatus] = set()
        for step in self.store.steps(self.run.id):
            if step.status == "running" and step.position in tried:
                ended = self.step(step, tried[step.position])
                if ended == "succeeded" and step.asset is not None:
                    published.append(step.asset)
                statuses.add(ended)
            elif step.status in ("waiting", "running"):
                stopped = replace(step, status="cancelled", error=_GONE, finished_at=self.at)
                insist(partial(self.store.finish_step, stopped), self.sleep)
                self.store.watcher.step_recorded(stopped)
                statuses.add("cancelled")
            else:
                statuses.add(step.status)
        # Steps that did not come to run make it a failed run: nobody asked to stop it.
        status: RunStatus = "failed" if statuses & {"failed", "cancelled"} else "succeeded"
        error = _GONE if status == "failed" else None
        insist(
            lambda: self.store.finish_run(
                self.run.id, status, at=self.at, error=error, hand_over=True
            ),
            self.sleep,
        )
        self.store.watcher.run_ended(
            replace(self.run, status=status, finished_at=self.at, error=error)
        )
        return Recovered(self.run.id, status, tuple(published))

    def step(self, step: StepRecord, attempts: Sequence[Attempt]) -> StepStatus:
        """Any of the attempts may have published; the table knows it by the step that they share."""
        attempt = attempts[-1]
        # Other keys of the same step have come to their end before.
        same = [tried for tried in attempts if tried.part == attempt.part]
        noted = (self.store.staged(tried.id) for tried in reversed(same))
        entries = next((entries for entries in noted if entries), ())
        keys = [entry.partition for entry in entries] or [step.partition]
        written = self.written(step, attempt, keys)
        if written is None or (step.asset is not None and not entries):
            self.failed(step, attempt, entries)
            return "failed"
        at = written.committed_at or self.at
        done = replace(
            step, status="succeeded", rows=written.rows, snapshot=written.snapshot, finished_at=at
        )
        before = ledger.unchanged(entries, written, self.store)
        found = [ledger.published(entry, written, before.get(entry.partition)) for entry in entries]
        insist(
            lambda: self.store.finish_step(
                done,
                found,
                attempt=replace(attempt, status="succeeded", finished_at=at),
                columns=written.columns,
                parts=ledger.parts_of(str(step.asset), written),
            ),
            self.sleep,
        )
        self.store.watcher.step_recorded(done, found, written.columns)
        return "succeeded"

    def failed(self, step: StepRecord, attempt: Attempt, noted: Sequence[Materialization]) -> None:
        entries = []
        # They are of no key of their own, and leave all of them as they were.
        if step.asset is not None and step.strategy not in ("rollback", "copy"):
            entries = self.failures(step, attempt, noted)
        failed = replace(step, status="failed", error=_GONE, finished_at=self.at)
        ended = attempt
        if attempt.status == "running":
            ended = replace(attempt, status="failed", error=_GONE, finished_at=self.at)
        insist(lambda: self.store.finish_step(failed, entries, attempt=ended), self.sleep)
        self.store.watcher.step_recorded(failed, entries)

    def failures(
        self, step: StepRecord, attempt: Attempt, noted: Sequence[Materialization]
    ) -> list[Materialization]:
        """An entry for each key. Those of a slice of several are known if they were noted."""
        keys = [(step.partition, step.ordinal)]
        if step.keys > 1:
            keys = [(entry.partition, entry.ordinal) for entry in noted]
        return [
            Materialization(
                id=new_id(self.at),
                asset=str(step.asset),
                partition=partition,
                ordinal=ordinal,
                status="failed",
                run=self.run.id,
                attempt=attempt.id,
                fingerprint="",
                started_at=attempt.started_at,
                finished_at=self.at,
                error=_GONE,
            )
            for partition, ordinal in keys
        ]

    def written(
        self, step: StepRecord, attempt: Attempt, keys: Sequence[str | None]
    ) -> Written | None:
        asset = parse_address(step.asset) if step.asset is not None else None
        if not isinstance(asset, LakeTable | FileSet) or step.strategy == "manual":
            return None
        return self.engine.recover(asset, keys, attempt)
