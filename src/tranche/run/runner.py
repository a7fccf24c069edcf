"""Runs a plan: engine and store, step by step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from tranche.errors import UsageError
from tranche.model.asset import AssetUri
from tranche.model.pending import Reserved
from tranche.model.plan import InputKey, Plan, Step
from tranche.model.run import Run, RunStatus, StepRecord
from tranche.planning.consumed import consumed
from tranche.planning.graph import build_graph
from tranche.planning.read_columns import ReadColumns
from tranche.planning.reserving import reserved
from tranche.ports import Clock, Engine, StateStore
from tranche.run.attempts import Attempts, KeyOutcome, StepResult, unforeseen
from tranche.run.ids import new_id
from tranche.run.interrupts import Interrupts
from tranche.run.news import News, StepFinished, StepStarted, Tell, begun, named, nobody, without
from tranche.run.ranges import Ranges
from tranche.run.reconcile import NotRecovered, reconcile
from tranche.run.recording import insist
from tranche.script.lineages import lineage_of

_LOOK = 0.2
"""Seconds between looks at whether somebody wants the run to stop."""
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
    tell: Tell = nobody,
    sleep: Callable[[float], None] = time.sleep,
    patience: float = PATIENCE,
    rows: Mapping[int, object] | None = None,
    id: str | None = None,
    given: Mapping[Reserved, str] | None = None,
    stop: Callable[[], bool] | None = None,
    spent: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Executes every step in order. One that fails stops only those that depend on it.

    `rows` are frames of the engine's own, for the positions of steps whose script has no query.
    `id` is the run's, where somebody has to know it before. If it is recorded by then, `given` are
    the keys that other runs have, which `record_run` told. `stop` is
    asked before each step whether to cancel what is left, and `spent` whether keys that were not
    made because of that are given up, instead of being handed over to other runs.
    """
    runner = _Runner(plan, engine, store, clock, tell, sleep, patience)
    runner.id, runner.stop, runner.spent = id or runner.id, stop, spent
    return runner.run(rows or {}, given)


def record_run(plan: Plan, store: StateStore, id: str, at: datetime) -> Mapping[Reserved, str]:
    """Records a run with all its steps, before the first of them begins.

    Tells which keys of steps that follow others were given to another run already, and to which.
    """
    steps = [_record(step, id) for step in plan.steps]
    try:
        return store.begin_run(_run(plan, id, at), steps, reserved(plan))
    except ValueError as error:
        raise UsageError(f"the run cannot be recorded: {error}") from None


def _run(plan: Plan, id: str, at: datetime) -> Run:
    request = plan.request
    return Run(
        id=id,
        target=request.target,
        status="running",
        fire_time=request.fire_time,
        started_at=at,
        partition=request.partition,
        payload=request.payload,
        arguments=request.arguments,
    )


class _Runner:
    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        store: StateStore,
        clock: Clock,
        tell: Tell,
        sleep: Callable[[float], None],
        patience: float,
    ) -> None:
        self.plan = plan
        self.engine = engine
        self.store = store
        self.clock = clock
        self.tell = _in_turn(tell)
        self.sleep = sleep
        self.patience = patience
        self.id = new_id(clock())
        self.stop: Callable[[], bool] | None = None
        self.spent: Callable[[], bool] = lambda: False
        self.given: dict[tuple[str, str | None], str] = {}
        """Keys that other runs were begun for, each with that run."""
        self.results: dict[int, StepResult] = {}
        self.outcomes: dict[int, dict[str | None, str]] = {}
        """How the keys of a step ended, of steps that tell of them one by one."""
        self.places: dict[tuple[AssetUri, str], int] = {}
        """The step that has a key of an asset."""
        self.makers: dict[AssetUri, list[int]] = {}
        """The steps that make an asset."""
        self.wholes: dict[AssetUri, list[int]] = {}
        """Those of them that have no keys."""
        for step in plan.steps:
            for asset in dict.fromkeys((step.script.asset, *step.script.writes)):
                if asset is None:
                    continue
                self.makers.setdefault(asset, []).append(step.position)
                for key in step.keys:
                    if key is None:
                        self.wholes.setdefault(asset, []).append(step.position)
                    else:
                        self.places[asset, key] = step.position
        self.interrupts = Interrupts()
        self.unforeseen: list[Exception] = []
        self.warnings: list[str] = []
        self.reads = ReadColumns(build_graph(plan.scripts), lineage_of) if plan.scripts else None

    def run(self, rows: Mapping[int, object], given: Mapping[Reserved, str] | None) -> RunResult:
        self.rows = rows
        begun_at = self.clock()
        if given is None:
            given = record_run(self.plan, self.store, self.id, begun_at)
        self.given = {(key.consumer, key.partition): run for key, run in given.items()}
        watched = _run(self.plan, self.id, begun_at)
        self.store.watcher.run_begun(watched, self.plan.steps)
        self.tell(begun(self.id, self.plan))
        with self.interrupts:
            self.reconcile()
            for group in _groups(self.plan.steps):
                self.together(group) if len(group) > 1 else self.single(group[0])
            status = self.status()
            error = unforeseen(self.unforeseen[0]) if self.unforeseen else None
            gone = any(result.engine_gone for result in self.results.values())
            hand_over = gone or (status == "cancelled" and not self.spent())
            at = self.clock()
            insist(
                lambda: self.store.finish_run(
                    self.id, status, at=at, error=error, hand_over=hand_over
                ),
                self.sleep,
            )
            self.store.watcher.run_ended(
                replace(watched, status=status, finished_at=at, error=error)
            )
        if self.unforeseen:
            raise self.unforeseen[0]
        steps = tuple(self.results[step.position] for step in self.plan.steps)
        warnings = [warning for step in steps for warning in step.warnings]
        return RunResult(self.id, status, steps, (*self.plan.warnings, *self.warnings, *warnings))

    def single(self, step: Step) -> None:
        self.results[step.position] = result = self.step(step)
        self.outcomes[step.position] = {key.partition: key.status for key in result.keys}
        self.tell(_finished(step, result))

    def together(self, steps: Sequence[Step]) -> None:
        """Keys of one script, several at once. This thread only waits, and hears of Ctrl-C."""
        with ThreadPoolExecutor(steps[0].script.limit, "tranche-step") as pool:
            left = {pool.submit(self.single, step) for step in steps}
            cancelled = False
            while left:
                done, left = wait(left, timeout=_LOOK, return_when=FIRST_COMPLETED)
                if self.interrupts.asked and not cancelled:
                    self.engine.cancel()
                    cancelled = True
                for future in done:
                    future.result()

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
                self.tell(ended)

    def status(self) -> RunStatus:
        found = {result.record.status for result in self.results.values()}
        return (
            "cancelled" if "cancelled" in found else "failed" if "failed" in found else "succeeded"
        )

    def step(self, step: Step) -> StepResult:
        record = _record(step, self.id)
        attempts = self.attempts(step, record)
        if self.interrupts.asked or (self.stop is not None and self.stop()):
            self.interrupts.asked = True
            return attempts.finish(replace(record, status="cancelled"))
        if step.verdict == "skip":
            return attempts.finish(replace(record, status="skipped", error=step.reason))
        stopped = self.stopped(step)
        if len(stopped) == len(step.slice):
            return attempts.finish(replace(record, status="skipped", error=stopped[0].error))
        if step.verdict == "fail":
            return attempts.finish(replace(record, status="failed", error=step.reason))
        self.store.watcher.step_begun(self.id, step, self.clock())
        self.tell(StepStarted(named(step)))
        if not step.is_range:
            result = attempts.run()
            unforeseen = attempts.unforeseen
        else:
            ranges = Ranges(
                step,
                lambda part: self.attempts(part, _record(part, self.id)),
                self.engine,
                record,
                self.tell,
            )
            result = ranges.run(stopped)
            unforeseen = ranges.unforeseen
        if unforeseen is not None:
            self.unforeseen.append(unforeseen)
        return result

    def attempts(self, step: Step, record: StepRecord) -> Attempts:
        return Attempts(
            step=step,
            record=record,
            fire_time=self.plan.request.fire_time,
            engine=self.engine,
            store=self.store,
            clock=self.clock,
            tell=self.tell,
            sleep=self.sleep,
            interrupts=self.interrupts,
            patience=self.patience,
            stop=self.stop,
            rows=self.rows.get(step.position),
            reads=self.reads,
        )

    def stopped(self, step: Step) -> list[KeyOutcome]:
        """The keys of a step that cannot run because of what became of steps before it."""
        found: dict[str | None, KeyOutcome] = {
            key: KeyOutcome(partition=key, status="skipped", error=f"the run {run} has made it")
            for key, run in self.made_meanwhile(step).items()
        }
        needs = frozenset(step.needs)
        for key in step.slice:
            if key.partition in found:
                continue
            other = self.given.get((step.script.label, key.partition))
            if other is not None:
                # It hears of what is published here, and makes the key anew if it must.
                found[key.partition] = KeyOutcome(
                    partition=key.partition, status="skipped", error=f"the run {other} makes it"
                )
                continue
            for needed in (*key.inputs, *key.awaits):
                position = self.failed_at(needed, needs)
                if position is None:
                    continue
                how = self.ended(position, needed.partition)
                verb = "was skipped" if how == "skipped" else how
                found[key.partition] = KeyOutcome(
                    partition=key.partition,
                    status="skipped",
                    error=f"{self.plan.steps[position].script.label} {verb}",
                )
                break
        return list(found.values())

    def made_meanwhile(self, step: Step) -> dict[str, str]:
        """Keys of a step that nobody named, which another run has made of the same since the plan
        was made; from its beginning on, they are kept for this one."""
        since = self.plan.made_at
        if not step.follows or since is None or step.script.asset is None:
            return {}
        standing = self.store.standing(str(step.script.asset), step.keys)
        others = {
            key: known.run
            for key, known in standing.items()
            if key is not None and known.at >= since and known.run != self.id
        }
        if not others:
            return {}
        new = [key for key in step.slice if key.partition in others]
        made = consumed(step.script, new, self.store, self.reads)
        return {key: others[key] for key, how in made.items() if how == "same"}

    def failed_at(self, needed: InputKey, needs: Collection[int]) -> int | None:
        """The step that was to make something for another one and did not."""
        if needed.partition is not None:
            own = self.places.get((needed.asset, needed.partition))
            # A key that no step has is there already, or nobody here waits for it.
            steps = [own] if own is not None else self.wholes.get(needed.asset, [])
        else:
            steps = self.makers.get(needed.asset, [])
        for position in steps:
            if position in needs and self.ended(position, needed.partition) not in (
                None,
                "succeeded",
            ):
                return position
        return None

    def ended(self, position: int, key: str | None) -> str | None:
        """How a step ended, for a key if it tells of them; None if it did not have that key."""
        keys = self.outcomes[position]
        return keys.get(key) if keys and key is not None else self.results[position].record.status


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that go on at once: those of one script that follow each other, if it allows for it."""
    for _, group in groupby(steps, key=lambda step: step.script.name):
        several = list(group)
        if several[0].script.limit > 1:
            yield several
        else:
            yield from ([step] for step in several)


def _in_turn(tell: Tell) -> Tell:
    """Tells one thing after the other, whichever steps go on at once."""
    lock = threading.RLock()

    def told(news: News) -> None:
        with lock:
            tell(news)

    return told


def _record(step: Step, run: str) -> StepRecord:
    return StepRecord(
        run=run,
        position=step.position,
        script=step.script.name,
        asset=str(step.script.asset) if step.script.asset else None,
        partition=step.partition,
        ordinal=step.ordinal,
        strategy=step.strategy,
        status="waiting",
        keys=len(step.slice),
    )


def _finished(step: Step, result: StepResult) -> StepFinished:
    record = result.record
    return StepFinished(
        named(step),
        record.status,
        record.rows,
        record.error,
        result.tests,
        result.keys,
        without(step) if result.provisional else None,
    )
