"""Events and pending keys in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from tranche.errors import StateError
from tranche.model.event import Event
from tranche.model.pending import Decisions, Pending, PendingStatus, Ready, Rejected, Reserved
from tranche.model.run import Materialization, Run
from tranche.state import checks
from tranche.state.keys import key_hash
from tranche.state.memory_ledger import MemoryLedger

Place = tuple[str, str | None]


class MemoryTriggers(MemoryLedger):
    """What asks for runs, and what has been asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[str, Event] = {}
        self._pending: dict[Place, Pending] = {}
        self._fired: dict[str, datetime] = {}
        self._servers: set[str] = set()
        self._paused: dict[str, datetime] = {}
        self._rejected: dict[tuple[str, str], Rejected] = {}
        self._missed: dict[str, set[str]] = {}
        """The events that scripts with faults had heard of."""
        self._handled: set[str] | None = None
        """The events that were looked at; None before the first turn."""

    def events(
        self, asset: str | None = None, *, limit: int, before: str | None = None
    ) -> Sequence[Event]:
        asset = None if asset is None else checks.checked_asset(asset)
        with self._lock:
            latest = list(self._events.values())[::-1]
            if before is not None:
                ids = [event.id for event in latest]
                latest = latest[ids.index(before) + 1 :] if before in ids else []
            found = [e for e in latest if asset is None or e.asset == asset]
            return found[: checks.checked_limit(limit)]

    def event(self, event: str) -> Event | None:
        with self._lock:
            return self._events.get(checks.checked_id(event, "event"))

    def pending_counts(self) -> Mapping[PendingStatus, int]:
        with self._lock:
            return Counter(row.status for row in self._pending.values())

    def is_served(self, server: str) -> bool:
        with self._lock:
            return server in self._servers

    def all_pending(
        self, consumer: str | None = None, *, limit: int, after: Place | None = None
    ) -> Sequence[Pending]:
        with self._lock:
            rows = [
                row
                for row in self._pending.values()
                if consumer in (None, row.consumer) and (row.status != "reserved" or row.again)
            ]
        if after is not None:
            rows = [row for row in rows if _order(row.place) > _order(after)]
        return sorted(rows, key=lambda row: _order(row.place))[: checks.checked_limit(limit)]

    def pending(self, places: Sequence[Place]) -> Sequence[Pending]:
        with self._lock:
            return [self._pending[place] for place in places if place in self._pending]

    def ready(self, *, limit: int) -> Sequence[Ready]:
        found: dict[str, list[datetime]] = {}
        with self._lock:
            for row in self._pending.values():
                if row.status == "ready" and row.consumer not in self._paused:
                    found.setdefault(row.consumer, []).append(row.since)
        each = [Ready(name, len(since), min(since)) for name, since in found.items()]
        return sorted(each, key=lambda one: one.since)[: checks.checked_limit(limit)]

    def emit(self, event: Event) -> None:
        kept = checks.checked_event(event)
        with self._lock:
            if kept.id in self._events:
                raise StateError(f"event {kept.id!r} is recorded already")
            self._events[kept.id] = kept

    def retract(self, event: str, *, at: datetime) -> bool:
        event = checks.checked_id(event, "event")
        with self._lock:
            known = self._events.get(event)
            if known is None or known.retracted_at is not None:
                return False
            self._events[event] = replace(known, retracted_at=checks.as_utc(at))
            return True

    @contextmanager
    def turn(self) -> Iterator[MemoryTurn]:
        with self._lock:
            before = self._pending, self._fired, self._rejected, self._handled, self._missed
            self._pending, self._fired = dict(self._pending), dict(self._fired)
            self._rejected, self._missed = dict(self._rejected), dict(self._missed)
            try:
                yield MemoryTurn(self)
            except BaseException:
                self._pending, self._fired, self._rejected, self._handled, self._missed = before
                raise

    def claim(self, consumer: str, *, server: str, run: str, limit: int) -> Sequence[Pending]:
        with self._lock:
            rows = [
                row
                for row in self._pending.values()
                if row.consumer == consumer
                and row.status == "ready"
                and consumer not in self._paused
            ]
            rows.sort(key=lambda row: (row.ordinal is None, row.ordinal, _order(row.place)))
            for row in rows[:limit]:
                self._pending[row.place] = replace(
                    row, status="claimed", server=server, run=run, again=False
                )
            return rows[:limit]

    def paused(self) -> Mapping[str, datetime]:
        with self._lock:
            return dict(self._paused)

    def pause(self, consumer: str, *, at: datetime) -> bool:
        with self._lock:
            new = consumer not in self._paused
            self._paused.setdefault(consumer, checks.as_utc(at))
            return new

    def resume(self, consumer: str) -> bool:
        with self._lock:
            return self._paused.pop(consumer, None) is not None

    def rejected(self, consumer: str | None = None, *, limit: int) -> Sequence[Rejected]:
        with self._lock:
            found = [r for r in self._rejected.values() if consumer in (None, r.consumer)]
        found.sort(key=lambda each: each.at, reverse=True)
        return found[: checks.checked_limit(limit)]

    def serve(self, server: str) -> None:
        with self._lock:
            if server in self._servers:
                raise StateError(f"server {server!r} is there already")
            self._servers.add(server)

    def leave(self, server: str) -> None:
        with self._lock:
            self._servers.discard(server)

    def give_back(self) -> int:
        with self._lock:
            gone = [
                row
                for row in self._pending.values()
                if row.status == "claimed"
                and row.server not in self._servers
                and not self._unended(row.run)
            ]
            self._hand_over(gone)
            return len(gone)

    def _unended(self, run: str | None) -> bool:
        """Whether a run may still have made something; that is for those to say who know of runs."""
        return False

    def _hand_over(self, rows: Sequence[Pending]) -> None:
        for row in rows:
            if row.status == "claimed":
                self._pending[row.place] = replace(
                    row, status="ready", server=None, run=None, again=False
                )

    def _held_by(self, run: str) -> list[Pending]:
        return [r for r in self._pending.values() if r.held and r.run == run]

    def _reserve(self, run: Run, reserved: Sequence[Reserved]) -> dict[Reserved, str]:
        given: dict[Reserved, str] = {}
        for key in reserved:
            known = self._pending.get((key.consumer, key.partition))
            if known is not None and known.held:
                if known.status == "claimed":
                    given[key] = known.run or ""
                continue
            self._pending[key.consumer, key.partition] = (
                Pending(
                    consumer=key.consumer,
                    partition=key.partition,
                    ordinal=key.ordinal,
                    status="reserved",
                    since=run.started_at,
                    fire_time=run.started_at,
                    run=run.id,
                )
                if known is None
                else replace(known, status="reserved", run=run.id, look_at=None, again=True)
            )
        return given

    def _unreserve(self, run: str, at: datetime, *, tried: bool) -> None:
        for row in self._held_by(run):
            if row.status != "reserved":
                continue
            known = self.partition(*row.place) if tried else None
            failed = known is not None and (known.run, known.status) == (run, "failed")
            if row.again or (row.asked_by and not failed):
                self._pending[row.place] = replace(
                    row, status="waiting", look_at=at, server=None, run=None, again=False
                )
            else:
                del self._pending[row.place]

    def _settle(self, run: str, at: datetime, keys: set[Place] | None = None) -> None:
        """Ends that keys are pending which a run was begun for."""
        for row in self._held_by(run):
            if keys is not None and row.place not in keys:
                continue
            if row.again:
                self._pending[row.place] = replace(
                    row, status="waiting", look_at=at, server=None, run=None, again=False
                )
            else:
                del self._pending[row.place]


class MemoryTurn:
    """A turn on the store in memory."""

    def __init__(self, store: MemoryTriggers) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def news(self, *, limit: int) -> Sequence[Event]:
        store = self._store
        every = [_published(entry) for entry in store._log.values() if entry.status == "succeeded"]
        every += (event for event in store._events.values() if event.retracted_at is None)
        if store._handled is None:
            store._handled = {event.id for event in every if event.run is not None}
        new = [event for event in every if event.id not in store._handled]
        return sorted(new, key=lambda event: event.at)[:limit]

    def missed(self) -> Sequence[str]:
        return sorted(self._store._missed)

    def missed_by(self, script: str, *, limit: int) -> Sequence[Event]:
        store = self._store
        unheard = (store._handled or set()) - store._missed[script]
        every = [_published(entry) for entry in store._log.values() if entry.status == "succeeded"]
        every += (event for event in store._events.values() if event.retracted_at is None)
        found = sorted((e for e in every if e.id in unheard), key=lambda event: event.at)
        return found[:limit]

    def fired(self) -> Mapping[str, datetime]:
        return dict(self._store._fired)

    def due(self, now: datetime, *, limit: int) -> Sequence[Pending]:
        rows = self._store._pending.values()
        found = [r for r in rows if r.status == "waiting" and r.look_at and r.look_at <= now]
        return sorted(found, key=lambda row: str(row.look_at))[:limit]

    def apply(self, decisions: Decisions, at: datetime) -> None:
        store = self._store
        store._pending.update({row.place: row for row in decisions.pending})
        for place in decisions.dropped:
            store._pending.pop(place, None)
        for released in decisions.released:
            for row in list(store._pending.values()):
                if row.consumer == released.consumer and row.status == "waiting":
                    store._pending[row.place] = replace(row, look_at=at)
        for each in decisions.rejected:
            store._rejected.setdefault((each.consumer, each.event), each)
        for script in decisions.fallen:
            store._missed[script] = set(store._handled or set())
        for script in decisions.mended:
            store._missed.pop(script, None)
        store._fired |= decisions.fired
        store._handled = (store._handled or set()) | set(decisions.handled)


def _order(place: Place) -> tuple[str, str]:
    return place[0], key_hash(place[1])


def _published(entry: Materialization) -> Event:
    return Event(
        id=entry.id,
        asset=entry.asset,
        partition=entry.partition,
        at=entry.finished_at,
        run=entry.run,
        materialization=entry.id,
        snapshot=entry.snapshot,
        digest=entry.digest,
    )
