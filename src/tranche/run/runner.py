"""Runs a plan: engine and store, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from tranche.errors import Cancelled, StateError, TrancheError
from tranche.model.plan import Plan, Step
from tranche.model.rows import Rows
from tranche.model.run import (
    Attempt,
    Input,
    Materialization,
    Outcome,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.ports import Clock, Engine, StateStore, Written
from tranche.run.ids import new_id
from tranche.run.interrupts import Interrupts

_INSISTENCE = (0.5, 1.0, 2.0, 4.0)
"""Seconds between tries to record what has happened."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended, with the rows of a script that materializes nothing."""

    record: StepRecord
    result: Rows | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    id: str
    status: RunStatus
    steps: tuple[StepResult, ...]
    warnings: tuple[str, ...] = ()


class Progress:
    """What a runner tells while it works; the base tells nobody."""

    def run_started(self, run: str, plan: Plan) -> None: ...

    def step_started(self, step: Step) -> None: ...

    def step_retried(self, step: Step, error: str, delay: float) -> None: ...

    def step_finished(self, step: Step, result: StepResult) -> None: ...


def run_plan(
    plan: Plan,
    engine: Engine,
    store: StateStore,
    clock: Clock,
    *,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> RunResult:
    """Executes every step in order. One that fails stops only those that depend on it."""
    return _Runner(plan, engine, store, clock, progress or Progress(), sleep).run()


class _Runner:
    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        store: StateStore,
        clock: Clock,
        progress: Progress,
        sleep: Callable[[float], None],
    ) -> None:
        self.plan = plan
        self.engine = engine
        self.store = store
        self.clock = clock
        self.progress = progress
        self.sleep = sleep
        self.id = new_id(clock())
        self.results: dict[int, StepResult] = {}
        self.interrupts = Interrupts()
        self.unforeseen: list[Exception] = []

    def run(self) -> RunResult:
        request = self.plan.request
        records = [self.record(step) for step in self.plan.steps]
        self.store.begin_run(
            Run(
                id=self.id,
                target=request.target,
                status="running",
                fire_time=request.fire_time,
                started_at=self.clock(),
                partition=request.partition,
                payload=request.payload,
                arguments=request.arguments,
            ),
            records,
        )
        self.progress.run_started(self.id, self.plan)
        with self.interrupts:
            for step in self.plan.steps:
                self.step(step)
            status = self.status()
            error = _unforeseen(self.unforeseen[0]) if self.unforeseen else None
            self.store.finish_run(self.id, status, at=self.clock(), error=error)
        if self.unforeseen:
            raise self.unforeseen[0]
        steps = tuple(self.results[step.position] for step in self.plan.steps)
        return RunResult(self.id, status, steps, self.plan.warnings)

    def status(self) -> RunStatus:
        found = {result.record.status for result in self.results.values()}
        return (
            "cancelled" if "cancelled" in found else "failed" if "failed" in found else "succeeded"
        )

    def step(self, step: Step) -> None:
        record = self.record(step)
        stopped = [n for n in step.needs if self.results[n].record.status != "succeeded"]
        if self.interrupts.asked:
            self.finish(step, replace(record, status="cancelled"))
        elif step.verdict == "skip":
            self.finish(step, replace(record, status="skipped", error=step.reason))
        elif stopped:
            upstream = self.plan.steps[stopped[0]]
            how = self.results[upstream.position].record.status
            reason = f"{upstream.script.label} {'was skipped' if how == 'skipped' else how}"
            self.finish(step, replace(record, status="skipped", error=reason))
        elif step.verdict == "fail":
            self.finish(step, replace(record, status="failed", error=step.reason))
        else:
            self.progress.step_started(step)
            self.attempts(step, record)

    def attempts(self, step: Step, record: StepRecord) -> None:
        """Tries a step until it succeeds; every try is for the same key."""
        retry = step.script.annotations.retry
        tries = 1 + (retry.times if retry else 0)
        for number in range(1, tries + 1):
            attempt = Attempt(
                id=new_id(self.clock()),
                run=self.id,
                position=step.position,
                number=number,
                status="running",
                started_at=self.clock(),
            )
            self.store.begin_attempt(attempt)
            inputs = self.pinned_inputs(step)
            try:
                with self.interrupts.stoppable():
                    written = self.engine.execute(step, run=self.id, attempt=attempt.id)
            except (KeyboardInterrupt, Cancelled):
                self.interrupts.asked = True
                self.ended(step, record, attempt, "cancelled", "stopped by the user")
                return
            except TrancheError as error:
                if number == tries or not error.transient:
                    self.ended(step, record, attempt, "failed", str(error))
                    return
                self.again(step, attempt, str(error), retry.delay if retry else 0.0)
            except Exception as error:
                # A fault of ours: the other steps still run, and the caller gets to see it.
                self.unforeseen.append(error)
                self.ended(step, record, attempt, "failed", _unforeseen(error))
                return
            else:
                self.succeeded(step, record, attempt, written, inputs)
                return

    def again(self, step: Step, attempt: Attempt, error: str, delay: float) -> None:
        ended = replace(attempt, status="failed", finished_at=self.clock(), error=error)
        self.store.finish_attempt(ended)
        self.progress.step_retried(step, error, delay)
        try:
            with self.interrupts.stoppable():
                self.sleep(delay)
        except KeyboardInterrupt:
            self.interrupts.asked = True

    def succeeded(
        self,
        step: Step,
        record: StepRecord,
        attempt: Attempt,
        written: Written,
        inputs: tuple[Input, ...],
    ) -> None:
        at = self.clock()
        self.finish(
            step,
            replace(
                record,
                status="succeeded",
                rows=written.rows,
                snapshot=written.snapshot,
                started_at=attempt.started_at,
            ),
            at=at,
            attempt=replace(attempt, status="succeeded", finished_at=at),
            entries=self.entry(step, attempt, "succeeded", at, written, inputs),
            result=written.result,
        )

    def ended(
        self, step: Step, record: StepRecord, attempt: Attempt, status: Outcome, error: str
    ) -> None:
        """Records an attempt that wrote nothing, as the step's last one."""
        at = self.clock()
        self.finish(
            step,
            replace(record, status=status, error=error, started_at=attempt.started_at),
            at=at,
            attempt=replace(attempt, status=status, finished_at=at, error=error),
            entries=self.entry(step, attempt, status, at, Written(), (), error),
        )

    def finish(
        self,
        step: Step,
        record: StepRecord,
        *,
        at: datetime | None = None,
        attempt: Attempt | None = None,
        entries: tuple[Materialization, ...] = (),
        result: Rows | None = None,
    ) -> None:
        ended = replace(record, finished_at=at or self.clock())
        self.recorded(lambda: self.store.finish_step(ended, entries, attempt=attempt))
        self.results[step.position] = StepResult(ended, result)
        self.progress.step_finished(step, self.results[step.position])

    def recorded(self, write: Callable[[], None]) -> None:
        """Insists on recording: the work is done, and doing it again would not record it either."""
        for delay in (*_INSISTENCE, None):
            try:
                write()
            except StateError as error:
                if delay is None or not error.transient:
                    raise
                self.sleep(delay)
            else:
                return

    def pinned_inputs(self, step: Step) -> tuple[Input, ...]:
        """What the step is about to read, with the materialization that each key has now."""
        inputs = []
        for needed in step.inputs:
            state = self.store.partition(str(needed.asset), needed.partition)
            inputs.append(
                Input(
                    asset=str(needed.asset),
                    partition=needed.partition,
                    materialization=state.materialization if state else None,
                )
            )
        return tuple(inputs)

    def entry(
        self,
        step: Step,
        attempt: Attempt,
        status: Outcome,
        at: datetime,
        written: Written,
        inputs: tuple[Input, ...],
        error: str | None = None,
    ) -> tuple[Materialization, ...]:
        """The ledger's entry for a step that materializes something."""
        if step.script.asset is None:
            return ()
        return (
            Materialization(
                id=new_id(at),
                asset=str(step.script.asset),
                partition=step.partition,
                ordinal=step.ordinal,
                status=status,
                run=self.id,
                attempt=attempt.id,
                fingerprint=step.script.fingerprint,
                started_at=attempt.started_at,
                # What readers see is the commit that came last, whoever recorded it last.
                finished_at=written.committed_at or at,
                rows=written.rows,
                digest=written.digest,
                snapshot=written.snapshot,
                inputs=tuple(
                    replace(item, snapshot=written.sources.get(item.asset)) for item in inputs
                ),
                error=error,
            ),
        )

    def record(self, step: Step) -> StepRecord:
        return StepRecord(
            run=self.id,
            position=step.position,
            script=step.script.name,
            asset=str(step.script.asset) if step.script.asset else None,
            partition=step.partition,
            ordinal=step.ordinal,
            strategy=step.strategy,
            status="waiting",
        )


def _unforeseen(error: Exception) -> str:
    return f"unexpected {type(error).__name__}: {error}"
