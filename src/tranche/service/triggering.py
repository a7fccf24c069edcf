"""Events, keys that are pending, and servers that run them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tranche.errors import (
    KeyRejected,
    NotPartitioned,
    StateError,
    TrancheError,
    UnknownTarget,
    UsageError,
)
from tranche.model.asset import AssetUri, BadAddress, parse_address
from tranche.model.event import Event
from tranche.model.pending import Decisions, Pending, Rejected
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.asking import Asked, Consumers
from tranche.planning.graph import Graph, build_graph
from tranche.ports import Clock, Engine, StateReader, StateStore
from tranche.project.load import load_project
from tranche.run.ids import new_id
from tranche.run.runner import RunResult
from tranche.run.serving import Server, Started
from tranche.service.opening import now

_MOST_REJECTED = 20
_MOST_EVENTS = 100_000
"""How far back an event is looked for."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event, and what it asks for."""

    event: Event
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Retracted:
    """An event that was taken back, and the keys that are pending no more because of it."""

    event: Event
    dropped: tuple[tuple[str, str | None], ...]
    waiting: tuple[tuple[str, str | None], ...]
    """Keys that others have asked for too, and which wait for it anew."""


def emit(
    project: Project,
    asset: str,
    store: StateStore,
    *,
    partition: str | None = None,
    payload: Any = None,
    clock: Clock = now,
) -> Emitted:
    """Records that there is something new in an asset.

    It is recorded whatever scripts make of it: what one cannot take is said of that script.
    """
    graph = build_graph(project.scripts)
    address = _address(graph, asset)
    producer = graph.producer(address)
    if producer is not None:
        if producer.partitioning is None and partition is not None:
            raise NotPartitioned(f"{address} has no partitions", "leave --partition out")
        if producer.partitioning is not None and partition is not None:
            producer.partitioning.validate(partition)
    if partition == "":
        raise KeyRejected("the key is empty", "leave --partition out, or give a key")
    at = clock()
    event = Event(id=new_id(at), asset=str(address), partition=partition, at=at, payload=payload)
    store.emit(event)
    return Emitted(event, tuple(Consumers(graph).asked_by(event)))


def events(
    project: Project, asset: str | None, state: StateReader, *, limit: int
) -> Sequence[Event]:
    """What came from outside, the latest first."""
    address = None if asset is None else str(_address(build_graph(project.scripts), asset))
    return state.events(address, limit=limit)


def retract(project: Project, event: str, store: StateStore, *, clock: Clock = now) -> Retracted:
    """Takes an event back, and with it what it has asked for and what does not run yet."""
    at = clock()
    known = next((each for each in store.events(limit=_MOST_EVENTS) if each.id == event), None)
    if known is None:
        if store.materialization(event) is not None:
            raise UsageError(
                f"the event {event} tells of a slice that a run published",
                "go back to what was before with tranche rollback",
            )
        raise UsageError(f"there is no event {event!r}", "tranche event list shows them")
    if not store.retract(event, at=at):
        raise UsageError(f"the event {event} was taken back at {known.retracted_at}")
    consumers = Consumers(build_graph(project.scripts))
    others = _asked_places(
        consumers, [e for e in store.events(known.asset, limit=_MOST_EVENTS) if not e.retracted_at]
    )
    places = _asked_places(consumers, [known]) - others
    dropped, waiting = [], []
    with store.turn() as turn:
        rows = []
        for row in turn.pending([(consumer, key) for consumer, key, _ in places]):
            if row.status == "claimed":
                continue
            assets = {asset for consumer, key, asset in places if (consumer, key) == row.place}
            left = tuple(asker for asker in row.asked_by if asker not in assets)
            if left:
                rows.append(replace(row, status="waiting", asked_by=left, look_at=at))
                waiting.append(row.place)
            else:
                dropped.append(row.place)
        turn.apply(Decisions(pending=tuple(rows), dropped=tuple(dropped)), at)
    return Retracted(known, tuple(dropped), tuple(waiting))


@dataclass(frozen=True, slots=True)
class PendingPage:
    """Keys that should run and do not yet, and what keeps scripts from running any."""

    rows: tuple[Pending, ...]
    paused: Mapping[str, datetime]
    rejected: tuple[Rejected, ...]
    more: bool = False


def pending(project: Project, asset: str | None, state: StateReader, *, limit: int) -> PendingPage:
    """Keys that should run and do not yet, with what they wait for."""
    consumer = None if asset is None else _consumer(project, asset)
    rows = state.all_pending(consumer, limit=limit + 1)
    paused = {
        name: at for name, at in state.paused().items() if consumer is None or name == consumer
    }
    rejected = tuple(state.rejected(consumer, limit=_MOST_REJECTED))
    return PendingPage(tuple(rows[:limit]), paused, rejected, len(rows) > limit)


def pause(project: Project, asset: str, store: StateStore, *, clock: Clock = now) -> str:
    """Lets no server run keys of a script. They keep waiting, and are not lost."""
    consumer = _consumer(project, asset)
    if not store.pause(consumer, at=clock()):
        raise UsageError(f"{consumer} is paused already", f"tranche resume {asset} ends that")
    return consumer


def resume(project: Project, asset: str, store: StateStore) -> str:
    """Lets servers run keys of a script again, those that have waited too."""
    consumer = _consumer(project, asset)
    if not store.resume(consumer):
        raise UsageError(f"{consumer} is not paused")
    return consumer


def _consumer(project: Project, text: str) -> str:
    """The name by which a script's keys are pending."""
    labels = {name: script.label for script in project.scripts for name in _names(script)}
    if text not in labels:
        near = get_close_matches(text, labels, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the scripts"
        raise UnknownTarget(f"no script or asset is called {text!r}", hint)
    return labels[text]


def server(
    project: Project,
    engine: Engine,
    store: StateStore,
    *,
    workers: int,
    started: Callable[[Started], None],
    ended: Callable[[Started, RunResult | TrancheError], None],
    troubled: Callable[[StateError], None],
    clock: Clock = now,
    sleep: Callable[[float], None] = time.sleep,
) -> Server:
    """A server that runs what is ready."""
    from tranche.script.ranges.ranged import only_key_by_key
    from tranche.script.schedules import moved

    return Server(
        project=project,
        engine=engine,
        store=store,
        clock=clock,
        separates=only_key_by_key,
        moves=moved,
        sleep=sleep,
        workers=workers,
        started=started,
        ended=ended,
        troubled=troubled,
        reload=_Scripts(project).changed,
    )


class _Scripts:
    """The scripts of a project, which may be deployed anew while it is served."""

    def __init__(self, project: Project) -> None:
        self._settings = project.settings
        self._seen = self._look()

    def changed(self) -> Project | None:
        """The project, if one of its files is not what it was."""
        seen = self._look()
        if seen == self._seen:
            return None
        self._seen = seen
        return load_project(self._settings)

    def _look(self) -> frozenset[tuple[str, int, int]]:
        root = Path(self._settings.root)
        found = [path for path in (root / "pipelines").rglob("*") if path.is_file()]
        found += (root / "tests").rglob("*.sql")
        looks = ((path, path.stat()) for path in found if path.exists())
        return frozenset((str(path), look.st_mtime_ns, look.st_size) for path, look in looks)


def _asked_places(
    consumers: Consumers, several: Sequence[Event]
) -> set[tuple[str, str | None, str]]:
    return {
        (asked.script.label, key, str(asked.asset))
        for event in several
        for asked in consumers.asked_by(event)
        for key in asked.keys
    }


def _names(script: Script) -> tuple[str, ...]:
    asset = str(script.asset) if script.asset is not None else script.name
    return script.name, script.label, asset.rpartition("/")[2]


def _address(graph: Graph, text: str) -> AssetUri:
    """An asset that some script makes, reads or waits for."""
    known = {str(asset): asset for asset in graph.producers}
    for script in graph.scripts.values():
        named = (*script.reads, *(trigger.asset for trigger in script.triggers_on()))
        known |= {str(asset): asset for asset in named}
    try:
        found = str(parse_address(text))
    except BadAddress as error:
        raise UnknownTarget(str(error)) from None
    if found in known:
        return known[found]
    near = get_close_matches(found, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the assets"
    raise UnknownTarget(f"no script makes, reads or waits for {found}", hint)
