"""What keys run without, although a link with a deadline waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tranche.errors import KeyRejected
from tranche.model.asset import AssetUri
from tranche.model.condition import joined
from tranche.model.event import Event
from tranche.model.mapped_keys import Unlisted
from tranche.model.plan import InputKey, SliceKey
from tranche.model.script import Script
from tranche.planning.deadlines import has_deadline
from tranche.planning.links import Link, Links, SourceLink
from tranche.planning.waiting import Arrivals

_MOST_EVENTS = 10_000
"""How many of the latest events of a source are looked at for one that asked for a key."""


class EventReader(Protocol):
    """Knows what came from outside."""

    def events(self, asset: str | None = None, *, limit: int) -> Sequence[Event]: ...


class Provisional:
    """Says which keys would be provisional. Only scripts with a deadline have it looked up."""

    def __init__(self, links: Links, arrivals: Arrivals, events: EventReader | None) -> None:
        self.links = links
        self.arrivals = arrivals
        self.events = events
        """Without it, sources count as there."""
        self._heard: dict[AssetUri, frozenset[str]] = {}

    def slice_keys(self, script: Script, keys: Sequence[str | None]) -> tuple[SliceKey, ...]:
        """Keys of a script with what each is made of, and what it runs without."""
        found = tuple(self.links.slice_key(script, key) for key in keys)
        without = self.without(script, [key for key in keys if key is not None])
        if not without:
            return found
        return tuple(
            replace(key, provisional=True, without=without[key.partition])
            if key.partition in without
            else key
            for key in found
        )

    def without(
        self, script: Script, keys: Sequence[str]
    ) -> Mapping[str | None, tuple[InputKey, ...]]:
        """The keys that lack something, each with that."""
        if not has_deadline(script):
            return {}
        links = [link for link in self.links.of(script) if _is_limited(link)]
        for link in links:
            self.arrivals.look_up(link, keys)
        found = {key: (*self._missing(links, key), *self._unheard(script, key)) for key in keys}
        return {key: missing for key, missing in found.items() if missing}

    def _missing(self, links: Iterable[Link], key: str) -> Iterable[InputKey]:
        for link in links:
            for each in self.arrivals.missing(link, key):
                yield InputKey(link.asset, each)

    def _unheard(self, script: Script, key: str) -> Iterable[InputKey]:
        """Sources that have not told of the key. They are waited for with all the others only."""
        if self.events is None:
            return
        together = joined(script.annotations.condition)
        for link in self.links.sources(script):
            if (
                str(link.asset) in together
                and _is_limited(link)
                and key not in self._told(link, self.events)
            ):
                yield InputKey(link.asset, None)

    def _told(self, link: SourceLink, events: EventReader) -> frozenset[str]:
        """The keys that events of a source have asked for."""
        if link.asset not in self._heard:
            keys: set[str] = set()
            for event in events.events(str(link.asset), limit=_MOST_EVENTS):
                if event.retracted_at is None and event.partition is not None:
                    keys.update(_fed(link, event.partition))
            self._heard[link.asset] = frozenset(keys)
        return self._heard[link.asset]


def _is_limited(link: Link | SourceLink) -> bool:
    return link.trigger is not None and link.trigger.deadline is not None


def _fed(link: SourceLink, key: str) -> Sequence[str]:
    if link.mapping is None:
        return ()
    try:
        fed = link.mapping.downstream(key)
    except KeyRejected:
        return ()
    return () if isinstance(fed, Unlisted) else fed
