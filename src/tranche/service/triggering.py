"""Events, keys that are pending, and servers that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from tranche.errors import (
    KeyRejected,
    NotPartitioned,
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
from tranche.ports import Clock, StateReader, StateStore
from tranche.run.ids import new_id
from tranche.service.opening import now

_MOST_REJECTED = 20
_MOST_EVENTS = 100_000
"""How many events of an asset are looked at for others that ask for the same."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event, and what it asks for."""

    event: Event
    asked: tuple[Asked, ...]
    unheard: tuple[str, ...] = ()
    """Scripts with faults, one of which it may be meant for, where no other knows its asset."""


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
    consumers = Consumers(build_graph(project.scripts))
    return emit_to(
        consumers,
        asset,
        store,
        partition=partition,
        payload=payload,
        broken=project.broken,
        clock=clock,
    )


def emit_to(
    consumers: Consumers,
    asset: str,
    store: StateStore,
    *,
    partition: str | None = None,
    payload: Any = None,
    broken: Sequence[str] = (),
    clock: Clock = now,
) -> Emitted:
    """The same for those who know already which scripts hear of what.

    An asset that no script knows may be meant for one of those that have faults, and is told to it
    once it is mended.
    """
    graph = consumers.graph
    try:
        address = _address(graph, asset)
        unheard: tuple[str, ...] = ()
    except UnknownTarget:
        if not broken or "://" not in asset:
            raise
        address, unheard = _parsed(asset), tuple(broken)
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
    try:
        store.emit(event)
    except ValueError as error:
        raise KeyRejected(f"the event cannot be kept: {error}") from None
    return Emitted(event, tuple(consumers.asked_by(event)), unheard)


def events(
    project: Project,
    asset: str | None,
    state: StateReader,
    *,
    limit: int,
    before: str | None = None,
) -> Sequence[Event]:
    """What came from outside, the latest first; `before` is the last event of the page before."""
    address = None if asset is None else str(_address(build_graph(project.scripts), asset))
    return state.events(address, limit=limit, before=before)


def retract(project: Project, event: str, store: StateStore, *, clock: Clock = now) -> Retracted:
    """Takes an event back, and with it what it has asked for and what does not run yet."""
    at = clock()
    known = store.event(event)
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
            if row.held:
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


def pending(
    project: Project,
    asset: str | None,
    state: StateReader,
    *,
    limit: int,
    after: tuple[str, str | None] | None = None,
) -> PendingPage:
    """Keys that should run and do not yet, with what they wait for; `after` is where the page before
    ended."""
    consumer = None if asset is None else _consumer(project, asset)
    rows = state.all_pending(consumer, limit=limit + 1, after=after)
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
    # Also of one that is gone, or has faults now.
    consumer = asset if asset in store.paused() else _consumer(project, asset)
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


def _parsed(text: str) -> AssetUri:
    try:
        return parse_address(text)
    except BadAddress as error:
        raise UnknownTarget(str(error)) from None


def _address(graph: Graph, text: str) -> AssetUri:
    """An asset that some script makes, reads or waits for."""
    known = {str(asset): asset for asset in graph.producers}
    for script in graph.scripts.values():
        named = (*script.reads, *(trigger.asset for trigger in script.triggers_on()))
        known |= {str(asset): asset for asset in named}
    found = str(_parsed(text))
    if found in known:
        return known[found]
    near = get_close_matches(found, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the assets"
    raise UnknownTarget(f"no script makes, reads or waits for {found}", hint)
