"""A server: takes turns, runs what is ready, and takes over from servers that are gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta

from tranche.errors import StateError, TrancheError, UnknownTarget
from tranche.model.backfill import MOST_KEYS
from tranche.model.pending import Decisions, Pending
from tranche.model.project import Project
from tranche.model.run import Run
from tranche.planning.plan import Separates
from tranche.planning.scheduled import Moves
from tranche.planning.tick import Triggers, tick
from tranche.planning.triggered import triggered_plan
from tranche.ports import Clock, Engine, StateStore
from tranche.run.attempts import unforeseen
from tranche.run.ids import new_id
from tranche.run.reconcile import reconcile
from tranche.run.recording import insist
from tranche.run.runner import RunResult, run_plan

PAUSE = 0.25
"""Seconds between two looks at what others may have done."""
TROUBLED = 2.0
"""Seconds until a state that could not be reached is asked again."""
LOOK_AFTER = timedelta(seconds=5)
"""How often it is looked whether other servers are gone."""


@dataclass(frozen=True, slots=True)
class Started:
    """A run that a server has begun."""

    run: str
    consumer: str
    keys: tuple[str | None, ...]


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
    started: Callable[[Started], None] = lambda _: None
    ended: Callable[[Started, RunResult | TrancheError], None] = lambda _, __: None
    troubled: Callable[[StateError], None] = lambda _: None
    reload: Callable[[], Project | None] = lambda: None
    """The project as it is now, if it has changed since that was asked last."""
    _triggers: Triggers = field(init=False)
    _pool: ThreadPoolExecutor = field(init=False)
    _running: dict[Future[None], Started] = field(init=False, default_factory=dict)
    _stop: threading.Event = field(init=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.id = self.id or new_id(self.clock())
        self._triggers = Triggers(self.project, self.moves)
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="tranche-run")

    def run(self) -> None:
        """Goes on until it is stopped; what runs by then comes to its end."""
        self.store.serve(self.id)
        looked = None
        try:
            while not self._stop.is_set():
                now = self.clock()
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
            self._pool.shutdown(wait=True)
            self.store.leave(self.id)

    def stop(self) -> None:
        """Begins nothing any more."""
        self._stop.set()

    def rest(self) -> None:
        """Waits a little, or until a run has ended."""
        if self._running:
            wait(self._running, timeout=PAUSE, return_when=FIRST_COMPLETED)
        else:
            self._stop.wait(PAUSE)

    def turn(self) -> Decisions:
        """Sees what has happened, and what should therefore run."""
        now = self.clock()
        with self.store.turn() as turn:
            decisions = tick(now, turn, self._triggers)
            turn.apply(decisions, now)
        return decisions

    def begin(self) -> list[Started]:
        """Begins as many runs as there are workers free, one of a script at a time."""
        self._running = {future: run for future, run in self._running.items() if not future.done()}
        busy = {run.consumer for run in self._running.values()}
        begun: list[Started] = []
        for ready in self.store.ready(limit=self.workers + len(busy)):
            if len(self._running) >= self.workers:
                break
            if ready.consumer in busy:
                continue
            run = new_id(self.clock())
            rows = self.store.claim(ready.consumer, server=self.id, run=run, limit=self.most_keys)
            if not rows:
                continue
            one = Started(run, ready.consumer, tuple(row.partition for row in rows))
            self._running[self._pool.submit(self._work, one, rows)] = one
            begun.append(one)
        return begun

    def look_after(self) -> int:
        """Brings runs to their end whose process is gone, and takes their keys over."""
        reconcile(self.store.abandoned(), self.engine, self.store, self.clock, self.sleep)
        return self.store.give_back()

    def look_at_scripts(self) -> None:
        """Goes on with scripts that were deployed anew; what runs keeps those that it began with."""
        project = self.reload()
        if project is not None:
            self.project, self._triggers = project, Triggers(project, self.moves)

    def _work(self, started: Started, rows: Sequence[Pending]) -> None:
        self.started(started)
        result: RunResult | TrancheError
        try:
            project, scripts = self.project, self._triggers.scripts
            if started.consumer not in scripts:
                raise UnknownTarget(f"no script makes {started.consumer} any more")
            script = scripts[started.consumer]
            plan = triggered_plan(project, script, rows, self.store, self.separates)
            result = run_plan(
                plan,
                self.engine,
                self.store,
                self.clock,
                sleep=self.sleep,
                id=started.run,
                stop=self._stop.is_set,
            )
        except Exception as error:
            # It is the script's failure, and is told as a run of it; the server goes on.
            result = error if isinstance(error, TrancheError) else TrancheError(unforeseen(error))
            self._failed(started, rows, str(result))
        self.ended(started, result)

    def _failed(self, started: Started, rows: Sequence[Pending], error: str) -> None:
        """Records that a run could not even be planned, or broke where nobody foresaw it.

        Its keys would stay with it otherwise, so a state that is away for a moment is waited for.
        """
        insist(lambda: self._record_failure(started, rows, error), self.sleep)

    def _record_failure(self, started: Started, rows: Sequence[Pending], error: str) -> None:
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
                fire_time=max(row.fire_time for row in rows),
                started_at=now,
                partition=keys[0] if len(keys) == 1 else None,
            )
            self.store.begin_run(run, [])
        self.store.finish_run(started.run, "failed", at=now, error=error)
