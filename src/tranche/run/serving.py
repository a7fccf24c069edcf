"""A server: takes turns, runs what is ready, and takes over from servers that are gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal, Protocol, TypeAlias

from tranche.errors import EngineError, Fault, ServerBusy, StateError, TrancheError, UnknownTarget
from tranche.model.backfill import MOST_KEYS
from tranche.model.pending import Decisions, Pending, Reserved
from tranche.model.plan import Plan
from tranche.model.project import Project
from tranche.model.run import Run
from tranche.planning.plan import Separates
from tranche.planning.scheduled import Moves
from tranche.planning.tick import Triggers, tick
from tranche.planning.triggered import triggered_plan
from tranche.ports import Clock, Engine, StateStore
from tranche.run.attempts import unforeseen
from tranche.run.feed import Ended, Feed
from tranche.run.ids import new_id
from tranche.run.news import Tell
from tranche.run.orders import Order, Orders
from tranche.run.reconcile import reconcile
from tranche.run.recording import insist
from tranche.run.runner import PATIENCE, RunResult, record_run, run_plan
from tranche.script.lineages import lineage_of

PAUSE = 0.25
"""Seconds between two looks at what others may have done."""
TROUBLED = 2.0
"""Seconds until a state that could not be reached is asked again."""
LOOK_AFTER = timedelta(seconds=5)
"""How often it is looked whether other servers are gone."""
_BACKFILLS = 100
"""How many backfills are looked at for one that waits."""

Kind: TypeAlias = Literal["triggered", "ordered", "backfill"]


@dataclass(frozen=True, slots=True)
class Started:
    """A run that a server has begun, and why: keys are ready, a person asked, or a backfill."""

    run: str
    consumer: str
    keys: tuple[str | None, ...] = ()
    kind: Kind = "triggered"
    backfill: str | None = None


class WorksOff(Protocol):
    """Works a backfill off as a run, and says how both ended."""

    def __call__(
        self, project: Project, backfill: str, run: str, *, tell: Tell, stop: Callable[[], bool]
    ) -> tuple[RunResult | TrancheError, object]: ...


def _no_backfills(
    project: Project, backfill: str, run: str, *, tell: Tell, stop: Callable[[], bool]
) -> tuple[RunResult | TrancheError, object]:
    raise UnknownTarget("this server works no backfills off")


@dataclass(slots=True)
class Server:
    """Runs of one project that start by themselves. Several servers may share a store."""

    project: Project
    engine: Engine
    store: StateStore
    clock: Clock
    separates: Separates
    moves: Moves
    sleep: Callable[[float], None]
    workers: int = 2
    """How many runs there are at once."""
    most_keys: int = MOST_KEYS
    id: str = ""
    works_off: WorksOff = _no_backfills
    started: Callable[[Started], None] = lambda _: None
    ended: Callable[[Started, RunResult | TrancheError], None] = lambda _, __: None
    troubled: Callable[[TrancheError], None] = lambda _: None
    faulty: Callable[[Sequence[Fault]], None] = lambda _: None
    """Told when scripts that were deployed anew have faults."""
    reload: Callable[[], Project | None] = lambda: None
    """The project as it is now, if it has changed since that was asked last."""
    feed: Feed = field(default_factory=Feed)
    orders: Orders = field(default_factory=Orders)
    triggers: Triggers = field(init=False)
    """What asks for runs in the project as it is now."""
    _pool: ThreadPoolExecutor = field(init=False)
    _running: dict[str, Started] = field(init=False, default_factory=dict)
    """What it is at, by the run."""
    _cancelled: set[str] = field(init=False, default_factory=set)
    """Runs that a person has cancelled."""
    _engine_gone: bool = field(init=False, default=False)
    _unrecorded: list[tuple[Started, str]] = field(init=False, default_factory=list)
    """Failures that the state was not there to record."""
    _stop: threading.Event = field(init=False, default_factory=threading.Event)
    _wake: threading.Event = field(init=False, default_factory=threading.Event)
    _reloading: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.id = self.id or new_id(self.clock())
        self.triggers = Triggers(self.project, self.moves, lineage_of)
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="tranche-run")

    def run(self) -> None:
        """Goes on until it is stopped; what runs by then comes to its end."""
        self.store.serve(self.id)
        looked = None
        try:
            while not self._stop.is_set():
                now = self.clock()
                # Whatever comes from here on is seen by this round, or wakes the next one.
                self._wake.clear()
                try:
                    if looked is None or now - looked >= LOOK_AFTER:
                        self.look_after()
                        self.look_at_scripts()
                        looked = now
                    decisions = self.turn()
                    begun = self.begin()
                except StateError as error:
                    # The state may be away for a while; what asks for runs is not lost by that.
                    self.troubled(error)
                    self._stop.wait(TROUBLED)
                    continue
                if not (decisions.more or begun):
                    self.rest()
        finally:
            self._stop.set()
            self._give_up_orders()
            self._pool.shutdown(wait=True)
            self.store.leave(self.id)

    def stop(self) -> None:
        """Begins nothing any more."""
        self._stop.set()
        self._wake.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def wake(self) -> None:
        """Has it look at once at what has happened."""
        self._wake.set()

    def rest(self) -> None:
        """Waits a little, or until something has happened here."""
        self._wake.wait(PAUSE)

    @property
    def running(self) -> tuple[Started, ...]:
        """The runs that it is at."""
        return tuple(self._running.values())

    def is_at(self, id: str) -> bool:
        """Whether a run or a backfill is worked on here, or will be."""
        return id in self.orders or any(id in (run.run, run.backfill) for run in self.running)

    def turn(self) -> Decisions:
        """Sees what has happened, and what should therefore run."""
        now = self.clock()
        with self.store.turn() as turn:
            decisions = tick(now, turn, self.triggers)
            turn.apply(decisions, now)
        return decisions

    def begin(self) -> list[Started]:
        """Begins as many runs as there are workers free: first those that people wait for, then what
        is ready, then backfills."""
        if self._engine_gone and not self._revived():
            return []
        return [*self._begin_orders(), *self._begin_ready(), *self._begin_backfills()]

    def _revived(self) -> bool:
        """Whether an engine that was gone is there again. Until then keys are not wasted on it."""
        try:
            self.engine.revive()
        except EngineError as error:
            self.troubled(error)
            self._stop.wait(TROUBLED)
            return False
        self._engine_gone = False
        return True

    def order(self, plan: Plan, *, patience: float) -> str:
        """Records a run that somebody asks for; it begins when a worker is free."""
        if self._stop.is_set():
            raise ServerBusy("this server is stopping", "ask another one, or this one later")
        self.orders.check_room()
        run = new_id(self.clock())
        given = record_run(plan, self.store, run, self.clock())
        self.feed.open(run)
        self.orders.add(Order(run, plan, patience, given))
        if self._stop.is_set():
            self._give_up_orders()
        self.wake()
        return run

    def cancel(self, run: str) -> None:
        """Ends a run of this server; keys that it was to make are not given to another."""
        self._cancelled.add(run)
        for attempt in self.store.attempts(run):
            if attempt.status == "running":
                self.engine.cancel(attempt.id)

    def look_after(self) -> int:
        """Brings runs to their end whose process is gone, and takes over what they had."""
        while self._unrecorded:
            self._record_failure(*self._unrecorded[0])
            self._unrecorded.pop(0)
        reconcile(self.store.abandoned(), self.engine, self.store, self.clock, self.sleep)
        return self.store.give_back()

    def look_at_scripts(self) -> None:
        """Goes on with scripts that were deployed anew; what runs keeps those that it began with."""
        with self._reloading:
            project = self.reload()
            if project is not None:
                if project.faults and project.faults != self.project.faults:
                    self.faulty(project.faults)
                self.project, self.triggers = project, Triggers(project, self.moves, lineage_of)

    @property
    def _free(self) -> int:
        return self.workers - len(self._running)

    def _begin_orders(self) -> list[Started]:
        begun: list[Started] = []
        while self._free > 0 and (order := self.orders.next()) is not None:
            one = Started(order.run, order.plan.request.target, kind="ordered")
            begun.append(self._submit(one, self._work_order, order))
        return begun

    def _begin_ready(self) -> list[Started]:
        """Keys that are ready, one run of a script at a time."""
        busy = {run.consumer for run in self.running if run.kind == "triggered"}
        begun: list[Started] = []
        if self._free <= 0:
            return begun
        for ready in self.store.ready(limit=self.workers + len(busy)):
            if self._free <= 0:
                break
            gone = ready.consumer not in self.triggers.scripts
            if ready.consumer in busy or (gone and self.triggers.broken):
                # One of the scripts that have faults may make it, and will when it is mended.
                continue
            run = new_id(self.clock())
            rows = self.store.claim(ready.consumer, server=self.id, run=run, limit=self.most_keys)
            if not rows:
                continue
            one = Started(run, ready.consumer, tuple(row.partition for row in rows))
            begun.append(self._submit(one, self._work, rows))
        return begun

    def _begin_backfills(self) -> list[Started]:
        """Backfills that wait. They take long, so that one worker is left for what is scheduled."""
        begun: list[Started] = []
        most = max(1, self.workers - 1)
        if self._free <= 0 or self._backfills() >= most:
            return begun
        found = self.store.backfills(limit=_BACKFILLS, unfinished=True)
        for backfill in reversed([each for each in found if each.status == "queued"]):
            if self._free <= 0 or self._backfills() >= most:
                break
            run = new_id(self.clock())
            if self.store.take_backfill(backfill.id, server=self.id, run=run):
                one = Started(run, backfill.asset, kind="backfill", backfill=backfill.id)
                begun.append(self._submit(one, self._work_backfill))
        return begun

    def _backfills(self) -> int:
        return sum(run.kind == "backfill" for run in self.running)

    def _submit(self, started: Started, work: Callable[..., None], *arguments: object) -> Started:
        self.feed.open(started.run)
        if started.backfill is not None:
            self.feed.open(started.backfill)
        self._running[started.run] = started
        try:
            self._pool.submit(work, started, *arguments)
        except RuntimeError:
            # The pool is closed: nothing begins here any more.
            del self._running[started.run]
            raise
        return started

    def _give_up_orders(self) -> None:
        """Runs that nobody will begin any more are ended; nothing of them is executed."""
        while (order := self.orders.next()) is not None:
            started = Started(order.run, order.plan.request.target, kind="ordered")
            with suppress(RuntimeError):
                self._submit(started, self._work_order, order)

    def _work_order(self, started: Started, order: Order) -> None:
        self._tried(
            started,
            lambda: self._run_plan(
                order.plan, started.run, given=order.given, patience=order.patience
            ),
        )

    def _work(self, started: Started, rows: Sequence[Pending]) -> None:
        def run() -> RunResult:
            project, scripts = self.project, self.triggers.scripts
            if started.consumer not in scripts:
                raise UnknownTarget(f"no script makes {started.consumer} any more")
            script = scripts[started.consumer]
            plan = triggered_plan(project, script, rows, self.store, self.separates)
            return self._run_plan(plan, started.run)

        self._tried(started, run)

    def _work_backfill(self, started: Started) -> None:
        backfill, about = started.backfill or "", None

        def run() -> RunResult:
            nonlocal about
            result, about = self.works_off(
                self.project,
                backfill,
                started.run,
                tell=lambda news: self.feed.tell(started.run, news, also=backfill),
                stop=self._stops(started.run),
            )
            if isinstance(result, TrancheError):
                raise result
            return result

        self._tried(started, run, about=lambda: about)

    def _run_plan(
        self,
        plan: Plan,
        run: str,
        *,
        given: Mapping[Reserved, str] | None = None,
        patience: float = PATIENCE,
    ) -> RunResult:
        return run_plan(
            plan,
            self.engine,
            self.store,
            self.clock,
            tell=lambda news: self.feed.tell(run, news),
            sleep=self.sleep,
            patience=patience,
            id=run,
            given=given,
            stop=self._stops(run),
            spent=lambda: run in self._cancelled,
        )

    def _stops(self, run: str) -> Callable[[], bool]:
        return lambda: self._stop.is_set() or run in self._cancelled

    def _tried(
        self,
        started: Started,
        run: Callable[[], RunResult],
        about: Callable[[], object] = lambda: None,
    ) -> None:
        """Runs something, and tells how it went, whatever happens to it."""
        self.started(started)
        result: RunResult | TrancheError
        try:
            try:
                result = run()
            except Exception as error:
                # It is the script's failure, and is told as a run of it; the server goes on.
                result = (
                    error if isinstance(error, TrancheError) else TrancheError(unforeseen(error))
                )
                self._failed(started, str(result))
            if isinstance(result, RunResult):
                gone = any(step.engine_gone for step in result.steps)
                self._engine_gone = self._engine_gone or gone
            self.feed.tell(started.run, Ended(result, about()), also=started.backfill)
            self.ended(started, result)
        finally:
            self._cancelled.discard(started.run)
            self._running.pop(started.run, None)
            self.wake()

    def _failed(self, started: Started, error: str) -> None:
        """Records that a run could not even be planned, or broke where nobody foresaw it.

        Its keys would stay with it otherwise: if the state is away, it is recorded later.
        """
        try:
            insist(lambda: self._record_failure(started, error), self.sleep)
        except StateError:
            self._unrecorded.append((started, error))

    def _record_failure(self, started: Started, error: str) -> None:
        now = self.clock()
        known = self.store.run(started.run)
        if known is not None and known.status != "running":
            return
        if known is None:
            keys = [key for key in started.keys if key is not None]
            run = Run(
                id=started.run,
                target=started.consumer,
                status="running",
                fire_time=now,
                started_at=now,
                partition=keys[0] if len(keys) == 1 else None,
            )
            self.store.begin_run(run, [])
            self.store.watcher.run_begun(run, ())
            known = run
        self.store.finish_run(started.run, "failed", at=now, error=error)
        self.store.watcher.run_ended(replace(known, status="failed", finished_at=now, error=error))
