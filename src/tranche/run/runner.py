"""Runs a plan: engine and store, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tranche.model.plan import Plan, Step
from tranche.model.run import Run, RunStatus, StepRecord
from tranche.ports import Clock, Engine, StateStore
from tranche.run.attempts import Attempts, StepResult, unforeseen
from tranche.run.ids import new_id
from tranche.run.interrupts import Interrupts
from tranche.run.progress import Progress
from tranche.run.reconcile import NotRecovered, reconcile
from tranche.run.recording import insist

__all__ = ["Progress", "RunResult", "StepResult", "run_plan"]

PATIENCE = 600.0
"""How many seconds a step waits for another run that writes the same slice."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    id: str
    status: RunStatus
    steps: tuple[StepResult, ...]
    warnings: tuple[str, ...] = ()


def run_plan(
    plan: Plan,
    engine: Engine,
    store: StateStore,
    clock: Clock,
    *,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
    patience: float = PATIENCE,
    rows: Mapping[int, object] | None = None,
) -> RunResult:
    """Executes every step in order. One that fails stops only those that depend on it.

    `rows` are frames of the engine's own, for the positions of steps whose script has no query.
    """
    runner = _Runner(plan, engine, store, clock, progress or Progress(), sleep, patience)
    return runner.run(rows or {})


class _Runner:
    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        store: StateStore,
        clock: Clock,
        progress: Progress,
        sleep: Callable[[float], None],
        patience: float,
    ) -> None:
        self.plan = plan
        self.engine = engine
        self.store = store
        self.clock = clock
        self.progress = progress
        self.sleep = sleep
        self.patience = patience
        self.id = new_id(clock())
        self.results: dict[int, StepResult] = {}
        self.interrupts = Interrupts()
        self.unforeseen: list[Exception] = []
        self.warnings: list[str] = []

    def run(self, rows: Mapping[int, object]) -> RunResult:
        self.rows = rows
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
            self.reconcile()
            for step in self.plan.steps:
                self.results[step.position] = self.step(step)
                self.progress.step_finished(step, self.results[step.position])
            status = self.status()
            error = unforeseen(self.unforeseen[0]) if self.unforeseen else None
            insist(
                lambda: self.store.finish_run(self.id, status, at=self.clock(), error=error),
                self.sleep,
            )
        if self.unforeseen:
            raise self.unforeseen[0]
        steps = tuple(self.results[step.position] for step in self.plan.steps)
        warnings = [warning for step in steps for warning in step.warnings]
        return RunResult(self.id, status, steps, (*self.plan.warnings, *self.warnings, *warnings))

    def reconcile(self) -> None:
        """What earlier runs left undone comes first: this one may build on it."""
        if all(step.verdict != "run" for step in self.plan.steps):
            return
        left = self.store.abandoned()
        for ended in reconcile(left, self.engine, self.store, self.clock, self.sleep):
            if isinstance(ended, NotRecovered):
                self.warnings.append(
                    f"the run {ended.run} ended half-way, and what became of it cannot be found"
                    f" out: {ended.error}"
                )
            else:
                self.progress.recovered(ended)

    def status(self) -> RunStatus:
        found = {result.record.status for result in self.results.values()}
        return (
            "cancelled" if "cancelled" in found else "failed" if "failed" in found else "succeeded"
        )

    def step(self, step: Step) -> StepResult:
        record = self.record(step)
        stopped = [n for n in step.needs if self.results[n].record.status != "succeeded"]
        attempts = Attempts(
            step=step,
            record=record,
            fire_time=self.plan.request.fire_time,
            engine=self.engine,
            store=self.store,
            clock=self.clock,
            progress=self.progress,
            sleep=self.sleep,
            interrupts=self.interrupts,
            patience=self.patience,
            rows=self.rows.get(step.position),
        )
        if self.interrupts.asked:
            return attempts.finish(replace(record, status="cancelled"))
        if step.verdict == "skip":
            return attempts.finish(replace(record, status="skipped", error=step.reason))
        if stopped:
            upstream = self.plan.steps[stopped[0]]
            how = self.results[upstream.position].record.status
            reason = f"{upstream.script.label} {'was skipped' if how == 'skipped' else how}"
            return attempts.finish(replace(record, status="skipped", error=reason))
        if step.verdict == "fail":
            return attempts.finish(replace(record, status="failed", error=step.reason))
        self.progress.step_started(step)
        result = attempts.run()
        if attempts.unforeseen is not None:
            self.unforeseen.append(attempts.unforeseen)
        return result

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
