"""What a key is made of and waits for, and how much of that is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tranche.model.mapped_keys import Keys, Unlisted
from tranche.model.mapping import FixedKey, Last
from tranche.model.script import Script
from tranche.model.story import Need
from tranche.planning.links import Link, Links, SourceLink
from tranche.planning.waiting import UNTIL, Arrivals

NAMED = 20
"""How many keys are named of those that are there, and of those that are not."""
LOOKED_AT = 10_000
"""A key that needs more keys than that has them counted, not looked at."""


class Needs:
    """What a key of a script needs."""

    def __init__(self, script: Script, key: str | None, links: Links, arrivals: Arrivals) -> None:
        self.script = script
        self.key = key
        self.links = links
        self.arrivals = arrivals

    def all(self, asked_by: Collection[str]) -> tuple[Need, ...]:
        """`on` lines as they stand in the script, then what is only read."""
        lines = {on.asset: on.line for on in self.script.triggers_on()}
        links: list[Link | SourceLink] = list(self.links.of(self.script))
        links += self.links.sources(self.script)
        links.sort(key=lambda link: (link.trigger is None, lines.get(link.asset, 0)))
        return tuple(self._need(link, str(link.asset) in asked_by) for link in links)

    def lacking(self) -> str | None:
        """What the key would wait for if something asked for it, as a sentence."""
        links = [link for link in self.links.of(self.script) if link.trigger is not None]
        if self.key is None:
            missing = [str(link.asset) for link in links if not self.arrivals.any_of(link)]
            return f"it waits for {', '.join(missing)}" if missing else None
        known = [link for link in links if not self._too_many(self._needed(link))]
        return self.arrivals.waiting(self.script, {self.key: known}, known).get(self.key)

    def left(self, lacking: Sequence[str]) -> tuple[str, ...]:
        """What a key still lacks of what it lacked when somebody last looked."""
        come: set[str] = set()
        for link in self.links.of(self.script):
            needed = self._needed(link)
            if needed is None or isinstance(needed, Unlisted):
                if self._enough(link):
                    come |= {str(link.asset), f"any key of {link.asset}"}
            elif not self._too_many(needed):
                missing = frozenset(self.arrivals.absent(link, needed))
                come |= {f"{link.asset} {each}" for each in needed if each not in missing}
        return tuple(each for each in lacking if each.partition(UNTIL)[0] not in come)

    def _need(self, link: Link | SourceLink, asked: bool) -> Need:
        written = link.trigger is not None and link.trigger.mapper is not None
        about = Need(
            asset=str(link.asset),
            triggers=link.trigger is not None,
            mapper=None if link.mapper is None else str(link.mapper),
            inferred=link.mapper is not None and not written,
            source=isinstance(link, SourceLink),
            asked=asked,
        )
        return about if isinstance(link, SourceLink) else self._looked_up(link, about)

    def _looked_up(self, link: Link, about: Need) -> Need:
        about = replace(about, wait=link.wait if link.trigger is not None else None)
        needed = self._needed(link)
        if needed is None:
            return replace(about, enough=self._enough(link))
        if isinstance(needed, Unlisted):
            return replace(about, unlisted=_words(needed), enough=self._enough(link))
        if self._too_many(needed):
            return replace(about, needed=len(needed))
        missing = self.arrivals.absent(link, needed)
        absent = frozenset(missing)
        there = [each for each in needed if each not in absent]
        return replace(
            about,
            needed=len(needed),
            there=tuple(there[:NAMED]),
            missing=tuple(missing[:NAMED]),
            missing_count=len(missing),
            enough=self._enough(link),
        )

    def _needed(self, link: Link) -> Keys | None:
        """The upstream keys; None of an asset without partitions."""
        if link.producer.partitioning is None:
            return None
        if self.key is None:
            if isinstance(link.mapper, FixedKey):
                return (link.mapper.key,)
            return Unlisted("last" if isinstance(link.mapper, Last) else "all")
        return link.needed(self.key)

    def _enough(self, link: Link) -> bool:
        if self.key is None:
            return self.arrivals.any_of(link)
        return not self.arrivals.lacking(link, self.key)

    def _too_many(self, needed: Keys | None) -> bool:
        return isinstance(needed, Sequence) and len(needed) > LOOKED_AT


def _words(keys: Unlisted) -> str:
    """
    >>> from datetime import UTC, datetime
    >>> _words(Unlisted("last")), _words(Unlisted(until=datetime(2026, 5, 17, tzinfo=UTC)))
    ('the last key', 'all keys that begin before 2026-05-17T00:00:00+00:00')
    """
    if keys.parts:
        return "keys of several dimensions"
    bounds = []
    if keys.since is not None:
        bounds.append(f"since {keys.since.isoformat()}")
    if keys.until is not None:
        bounds.append(f"before {keys.until.isoformat()}")
    which = "the last key" if keys.which == "last" else "all keys"
    return f"{which} that begin {' and '.join(bounds)}" if bounds else which
