"""Runs a plan: engine and store, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from tranche.errors import Cancelled, TrancheError
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
        try:
            interrupted = self.all_steps()
        except Exception as error:
            self.store.finish_run(self.id, "failed", at=self.clock(), error=_unforeseen(error))
            raise
        status = self.status(interrupted)
        self.store.finish_run(self.id, status, at=self.clock())
        steps = tuple(self.results[step.position] for step in self.plan.steps)
        return RunResult(self.id, status, steps, self.plan.warnings)

    def all_steps(self) -> bool:
        """Goes through the steps; says whether the user stopped it."""
        interrupted = False
        for step in self.plan.steps:
            if interrupted:
                self.finish(step, replace(self.record(step), status="cancelled"))
                continue
            try:
                self.step(step)
            except (KeyboardInterrupt, Cancelled):
                interrupted = True
                self.engine.cancel()
                self.cancelled(step)
        return interrupted

    def status(self, interrupted: bool) -> RunStatus:
        if interrupted:
            return "cancelled"
        failed = any(result.record.status == "failed" for result in self.results.values())
        return "failed" if failed else "succeeded"

    def step(self, step: Step) -> None:
        record = self.record(step)
        stopped = [n for n in step.needs if self.results[n].record.status not in ("succeeded",)]
        if step.verdict == "skip":
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
            try:
                self.attempt(step, record, attempt)
            except TrancheError as error:
                again = number < tries and error.transient
                self.failed(step, record, attempt, str(error), final=not again)
                if not again:
                    return
                delay = retry.delay if retry else 0.0
                self.progress.step_retried(step, str(error), delay)
                self.sleep(delay)
            except Exception as error:
                self.failed(step, record, attempt, _unforeseen(error), final=True)
                raise
            else:
                return

    def attempt(self, step: Step, record: StepRecord, attempt: Attempt) -> None:
        inputs = self.pinned_inputs(step)
        written = self.engine.execute(step, run=self.id, attempt=attempt.id)
        at = self.clock()
        self.store.finish_attempt(replace(attempt, status="succeeded", finished_at=at))
        entry = self.entry(step, attempt, "succeeded", at, written, inputs)
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
            entries=entry,
            result=written.result,
        )

    def failed(
        self, step: Step, record: StepRecord, attempt: Attempt, error: str, *, final: bool
    ) -> None:
        at = self.clock()
        self.store.finish_attempt(replace(attempt, status="failed", finished_at=at, error=error))
        if final:
            entry = self.entry(step, attempt, "failed", at, Written(), (), error)
            ended = replace(record, status="failed", error=error, started_at=attempt.started_at)
            self.finish(step, ended, at=at, entries=entry)

    def cancelled(self, step: Step) -> None:
        at = self.clock()
        reason = "stopped by the user"
        for attempt in self.store.attempts(self.id):
            if attempt.position == step.position and attempt.status == "running":
                ended = replace(attempt, status="cancelled", finished_at=at, error=reason)
                self.store.finish_attempt(ended)
        self.finish(step, replace(self.record(step), status="cancelled", error=reason), at=at)

    def finish(
        self,
        step: Step,
        record: StepRecord,
        *,
        at: datetime | None = None,
        entries: tuple[Materialization, ...] = (),
        result: Rows | None = None,
    ) -> None:
        ended = replace(record, finished_at=at or self.clock())
        self.store.finish_step(ended, entries)
        self.results[step.position] = StepResult(ended, result)
        self.progress.step_finished(step, self.results[step.position])

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
                id=attempt.id,
                asset=str(step.script.asset),
                partition=step.partition,
                ordinal=step.ordinal,
                status=status,
                run=self.id,
                attempt=attempt.id,
                fingerprint=step.script.fingerprint,
                started_at=attempt.started_at,
                finished_at=at,
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
