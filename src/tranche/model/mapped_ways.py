"""The ways in which keys of one end belong to keys of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tranche.errors import KeyRejected
from tranche.model.mapped_keys import (
    End,
    Keys,
    Mapping,
    Undeclared,
    Unlisted,
    begins_at,
    every,
    has,
    joined,
)
from tranche.model.partitioning import Dynamic, Partitioning, TimePartitioning
from tranche.model.partitioning_text import shown, split_segments


@dataclass(frozen=True, slots=True)
class Same:
    """The same text at both ends."""

    up: End
    down: Partitioning
    allowed: tuple[str, ...] | None = None

    def downstream(self, key: str) -> Sequence[str]:
        self.up.validate(key)
        if self.allowed is not None and key not in self.allowed:
            raise KeyRejected(
                f"{shown(key)} is not allowed", f"the keys are {', '.join(map(repr, self.allowed))}"
            )
        return (self.down.validate(key),)

    def upstream(self, key: str) -> Sequence[str]:
        self.down.validate(key)
        if self.allowed is not None and key not in self.allowed:
            return ()
        return (key,) if has(self.up, key) else ()


@dataclass(frozen=True, slots=True)
class Begins:
    """An upstream key feeds the period in which it begins."""

    up: TimePartitioning
    down: TimePartitioning

    def downstream(self, key: str) -> Sequence[str]:
        return _at(self.down, self.up.window(key).start)

    def upstream(self, key: str) -> Sequence[str]:
        window = self.down.window(key)
        return self.up.beginning_in(window.start, window.end)


@dataclass(frozen=True, slots=True)
class TextBegins:
    """Texts that are ISO times feed the period in which they lie."""

    up: Undeclared | Dynamic
    down: TimePartitioning

    def downstream(self, key: str) -> Sequence[str]:
        return _at(self.down, begins_at(self.up, key, self.down.tz))

    def upstream(self, key: str) -> Unlisted:
        window = self.down.window(key)
        return Unlisted(since=window.start_utc, until=window.end_utc, tz=self.down.tz)


@dataclass(frozen=True, slots=True)
class Fans:
    """An upstream key feeds all keys that begin in it."""

    up: TimePartitioning
    down: TimePartitioning
    most: int

    def downstream(self, key: str) -> Sequence[str]:
        window = self.up.window(key)
        found = self.down.beginning_in(window.start, window.end)
        if len(found) > self.most:
            raise KeyRejected(
                f"{key!r} feeds {len(found):,} {self.down.kind} keys, and {self.most:,} are the most",
                f"write map=fan_out({len(found)}) if that is meant",
            )
        return found

    def upstream(self, key: str) -> Sequence[str]:
        return _at(self.up, self.down.window(key).start)


@dataclass(frozen=True, slots=True)
class Moves:
    """A key needs the upstream keys from `first` to `last`, counted from its own place."""

    up: TimePartitioning
    down: TimePartitioning
    first: int
    last: int

    def downstream(self, key: str) -> Sequence[str]:
        return self._between(self.up, self.down, key, -self.last, -self.first)

    def upstream(self, key: str) -> Sequence[str]:
        return self._between(self.down, self.up, key, self.first, self.last)

    def _between(
        self, own: TimePartitioning, other: TimePartitioning, key: str, first: int, last: int
    ) -> Sequence[str]:
        start = own.window(_shifted(own, key, first)).start
        end = own.window(_shifted(own, key, last)).end
        return other.beginning_in(start, end)


@dataclass(frozen=True, slots=True)
class Before:
    """A key needs its own upstream key and all before it."""

    up: TimePartitioning
    down: TimePartitioning
    end: str | None
    """The last key downstream, if there is one."""

    def downstream(self, key: str) -> Keys:
        first = _at(self.down, self.up.window(key).start)
        if not first:
            return ()
        begin = self.down.window(first[0])
        if self.end is not None:
            return self.down.beginning_in(begin.start, self.down.window(self.end).end)
        return Unlisted(since=begin.start_utc)

    def upstream(self, key: str) -> Keys:
        window = self.down.window(key)
        if self.up.start is None:
            return Unlisted(until=window.end_utc)
        return self.up.beginning_in(self.up.window(_first(self.up)).start, window.end)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every key needs the one upstream key."""

    up: End
    down: Partitioning
    key: str

    def downstream(self, key: str) -> Keys:
        return every(self.down) if self.up.validate(key) == self.key else ()

    def upstream(self, key: str) -> Sequence[str]:
        self.down.validate(key)
        return (self.key,)


@dataclass(frozen=True, slots=True)
class Whole:
    """Every key needs the same keys, and each of those feeds every key."""

    up: End
    down: Partitioning
    needed: Keys

    def downstream(self, key: str) -> Keys:
        self.up.validate(key)
        return every(self.down)

    def upstream(self, key: str) -> Keys:
        self.down.validate(key)
        return self.needed


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension that both ends have, or just one of them."""

    up: End | None
    down: Partitioning | None
    mapping: Mapping | None = None


@dataclass(frozen=True, slots=True)
class Segments:
    """Segment by segment; of a dimension that the other end lacks, all keys are meant."""

    dimensions: tuple[Dimension, ...]

    def downstream(self, key: str) -> Keys:
        segments = iter(_cut(key, sum(each.up is not None for each in self.dimensions)))
        found: list[Keys] = []
        for each in self.dimensions:
            segment = "" if each.up is None else each.up.validate(next(segments))
            if each.mapping is not None:
                found.append(each.mapping.downstream(segment))
            elif each.down is not None:
                found.append(every(each.down))
        return joined(found)

    def upstream(self, key: str) -> Keys:
        segments = iter(_cut(key, sum(each.down is not None for each in self.dimensions)))
        found: list[Keys] = []
        for each in self.dimensions:
            segment = "" if each.down is None else each.down.validate(next(segments))
            if each.mapping is not None:
                found.append(each.mapping.upstream(segment))
            elif each.up is not None:
                found.append(every(each.up))
        return joined(found)


def _cut(key: str, count: int) -> Sequence[str]:
    if count == 1:
        return [key]
    segments = split_segments(key)
    if len(segments) != count:
        raise KeyRejected(
            f"{shown(key)} has {len(segments)} of {count} segments", "separate segments by |"
        )
    return segments


def _at(rule: TimePartitioning, instant: datetime) -> Sequence[str]:
    key = rule.key_at(instant)
    return () if key is None else (key,)


def _first(rule: TimePartitioning) -> str:
    return replace(rule, end=None).keys(end=rule.start)[0]


def _shifted(rule: TimePartitioning, key: str, by: int) -> str:
    return rule.shift(key, by) if by else key
