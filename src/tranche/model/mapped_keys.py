"""Keys at the ends of mappings: those that can be listed, and those that nobody can list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Literal, Protocol, TypeAlias

from tranche.errors import KeyRejected
from tranche.model.partitioning import Composite, Dynamic, Partitioning, Static, TimePartitioning
from tranche.model.partitioning_text import join_segments, shown, split_segments, unstorable
from tranche.model.partitioning_zone import time_zone


@dataclass(frozen=True, slots=True)
class Undeclared:
    """The keys of a source: whatever text its events bring, with `|` between several segments."""

    def validate(self, key: str) -> str:
        """The key itself, or KeyRejected."""
        if reason := unstorable(key) if key else "it is empty":
            raise KeyRejected(f"{shown(key)} is no key: {reason}", "send another one")
        return key


End: TypeAlias = Partitioning | Undeclared
"""What the keys at one end of a mapping are."""


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Keys that nobody can list: all that are there, or the last of them.

    Of keys of time only those that begin at `since` or later and before `until`. Keys of several
    dimensions have a part for each.
    """

    which: Literal["all", "last"] = "all"
    since: datetime | None = None
    until: datetime | None = None
    parts: tuple[Keys, ...] = ()
    tz: str = "UTC"
    """The time zone of texts that say when they begin, and not where."""

    def holds(self, rule: End, key: str) -> bool:
        """Whether a key may be one of them."""
        if self.parts and not isinstance(rule, TimePartitioning):
            segments = split_segments(key)
            rules: Sequence[End] = (
                [each for _, each in rule.dimensions]
                if isinstance(rule, Composite)
                else [rule] * len(segments)
            )
            return len(segments) == len(self.parts) and all(
                among(each, part, segment)
                for each, part, segment in zip(rules, self.parts, segments, strict=True)
            )
        if self.since is None and self.until is None:
            return True
        begin = begins_at(rule, key, self.tz)
        return (self.since is None or self.since <= begin) and (
            self.until is None or begin < self.until
        )


Keys: TypeAlias = Sequence[str] | Unlisted


def among(rule: End, keys: Keys, key: str) -> bool:
    """Whether a key is one of the keys."""
    return keys.holds(rule, key) if isinstance(keys, Unlisted) else key in keys


class Mapping(Protocol):
    """Keys from one end to the other. A key that does not fit raises KeyRejected."""

    def downstream(self, key: str) -> Keys:
        """The keys that an upstream key feeds."""
        ...

    def upstream(self, key: str) -> Keys:
        """The upstream keys that a key needs."""
        ...


def kind_of(end: End) -> str:
    """What the keys of an end are, in a word or two."""
    match end:
        case Undeclared():
            return "undeclared"
        case TimePartitioning():
            zone = "" if end.tz == "UTC" else f" in {end.tz}"
            return f"{end.kind}{zone}"
        case Composite():
            return " | ".join(kind_of(rule) for _, rule in end.dimensions)
        case Static() | Dynamic():
            return end.kind


def has(rule: End, key: str) -> bool:
    """Whether a text is a key within the bounds of a partitioning."""
    try:
        rule.validate(key)
    except KeyRejected:
        return False
    if isinstance(rule, TimePartitioning):
        return rule.covers(key)
    if isinstance(rule, Composite):
        return all(
            has(each, part)
            for (_, each), part in zip(rule.dimensions, rule.split(key), strict=True)
        )
    return True


def joined(parts: Sequence[Keys]) -> Keys:
    if len(parts) == 1:
        return parts[0]
    listed = [keys for keys in parts if not isinstance(keys, Unlisted)]
    if len(listed) < len(parts):
        return Unlisted(parts=tuple(parts))
    return tuple(join_segments(found) for found in product(*listed))


def every(rule: End) -> Keys:
    """All keys of a partitioning."""
    if isinstance(rule, Static):
        return rule.values
    if isinstance(rule, Composite):
        whole = joined([every(each) for each in rule.rules])
        return Unlisted() if isinstance(whole, Unlisted) else whole
    return Unlisted()


def begins_at(rule: End, key: str, tz: str) -> datetime:
    """The instant at which a key begins; of a text that is a time, in the zone given."""
    if isinstance(rule, TimePartitioning):
        return rule.ordinal(key)
    rule.validate(key)
    try:
        at = datetime.fromisoformat(key)
    except ValueError:
        raise KeyRejected(
            f"{shown(key)} is no time", "it should look like '2026-03-16T09:37:51' or '2026-03-16'"
        ) from None
    return at.replace(tzinfo=time_zone(tz)) if at.tzinfo is None else at
