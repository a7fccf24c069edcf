"""Mappings: which keys an upstream key feeds, and which upstream keys a key needs.

`mapped` makes one of a mapper and the partitionings at both ends. All of them agree with
themselves: a key is among `downstream(u)` exactly if `u` is among `upstream(key)`. Upstream keys
keep within the bounds of their partitioning, since nobody waits for what never comes; whether a fed
key lies within the bounds of its own is for those to ask who start runs by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Literal, Protocol, TypeAlias

from tranche.errors import KeyRejected, MapperRejected
from tranche.model.mapping import (
    All,
    AllBefore,
    AllowedKeys,
    FanOut,
    FixedKey,
    Identity,
    Last,
    Mapper,
    Offset,
    Product,
    Rollup,
    StartOf,
    Trailing,
)
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.partitioning_period import PERIODS
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
        begin = _begin(rule, key, self.tz)
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


def mapped(mapper: Mapper, up: End, down: Partitioning) -> Mapping:
    """The mapping, or MapperRejected if the mapper does not fit the two ends.

    >>> from tranche.model.partitioning import Hourly, Daily
    >>> days = mapped(Rollup(), Hourly(tz="Europe/Paris"), Daily(tz="Europe/Paris"))
    >>> days.downstream("2026-03-29T05"), days.upstream("2026-03-29")
    (('2026-03-29',), KeyRange('2026-03-29T00' … '2026-03-29T23', 23 keys))
    """
    match mapper:
        case Identity():
            return _identity(mapper, up, down, None)
        case AllowedKeys():
            return _identity(mapper, up, down, mapper.keys)
        case Product():
            return _product(mapper, up, down)
        case StartOf():
            return _start_of(mapper, up, down)
        case Rollup():
            fine, coarse = _both_in_time(mapper, up, down)
            if _length(fine) >= _length(coarse):
                raise _unfit(mapper, up, down, "it goes from shorter periods to longer ones")
            return _Begins(fine, coarse)
        case FanOut():
            coarse, fine = _both_in_time(mapper, up, down)
            if _length(fine) >= _length(coarse):
                raise _unfit(mapper, up, down, "it goes from longer periods to shorter ones")
            return _Fans(coarse, fine, mapper.most)
        case Offset():
            return _Moves(*_same_periods(mapper, up, down), first=mapper.by, last=mapper.by)
        case Trailing():
            return _Moves(*_same_periods(mapper, up, down), first=1 - mapper.count, last=0)
        case AllBefore():
            earlier, later = _both_in_time(mapper, up, down)
            bound = down.end if isinstance(down, TimePartitioning) else None
            last = None if bound is None else later.keys(start=bound, end=bound)[-1]
            return _Before(earlier, later, last)
        case FixedKey():
            try:
                up.validate(mapper.key)
            except KeyRejected as error:
                raise MapperRejected(f"{mapper}: {error.what}", error.remedy) from None
            return _Fixed(up, down, mapper.key)
        case All():
            return _Whole(up, down, _every(up))
        case Last():
            return _Whole(up, down, Unlisted("last"))


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


@dataclass(frozen=True, slots=True)
class _Same:
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
        return (key,) if _has(self.up, key) else ()


@dataclass(frozen=True, slots=True)
class _Begins:
    """An upstream key feeds the period in which it begins."""

    up: TimePartitioning
    down: TimePartitioning

    def downstream(self, key: str) -> Sequence[str]:
        return _at(self.down, self.up.window(key).start)

    def upstream(self, key: str) -> Sequence[str]:
        window = self.down.window(key)
        return self.up.beginning_in(window.start, window.end)


@dataclass(frozen=True, slots=True)
class _TextBegins:
    """Texts that are ISO times feed the period in which they lie."""

    up: Undeclared | Dynamic
    down: TimePartitioning

    def downstream(self, key: str) -> Sequence[str]:
        return _at(self.down, _begin(self.up, key, self.down.tz))

    def upstream(self, key: str) -> Unlisted:
        window = self.down.window(key)
        return Unlisted(since=window.start_utc, until=window.end_utc, tz=self.down.tz)


@dataclass(frozen=True, slots=True)
class _Fans:
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
class _Moves:
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
class _Before:
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
class _Fixed:
    """Every key needs the one upstream key."""

    up: End
    down: Partitioning
    key: str

    def downstream(self, key: str) -> Keys:
        return _every(self.down) if self.up.validate(key) == self.key else ()

    def upstream(self, key: str) -> Sequence[str]:
        self.down.validate(key)
        return (self.key,)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Every key needs the same keys, and each of those feeds every key."""

    up: End
    down: Partitioning
    needed: Keys

    def downstream(self, key: str) -> Keys:
        self.up.validate(key)
        return _every(self.down)

    def upstream(self, key: str) -> Keys:
        self.down.validate(key)
        return self.needed


@dataclass(frozen=True, slots=True)
class _Dimension:
    """A dimension that both ends have, or just one of them."""

    up: End | None
    down: Partitioning | None
    mapping: Mapping | None = None


@dataclass(frozen=True, slots=True)
class _Segments:
    """Segment by segment; of a dimension that the other end lacks, all keys are meant."""

    dimensions: tuple[_Dimension, ...]

    def downstream(self, key: str) -> Keys:
        segments = iter(_cut(key, sum(each.up is not None for each in self.dimensions)))
        found: list[Keys] = []
        for each in self.dimensions:
            segment = "" if each.up is None else each.up.validate(next(segments))
            if each.mapping is not None:
                found.append(each.mapping.downstream(segment))
            elif each.down is not None:
                found.append(_every(each.down))
        return _joined(found)

    def upstream(self, key: str) -> Keys:
        segments = iter(_cut(key, sum(each.down is not None for each in self.dimensions)))
        found: list[Keys] = []
        for each in self.dimensions:
            segment = "" if each.down is None else each.down.validate(next(segments))
            if each.mapping is not None:
                found.append(each.mapping.upstream(segment))
            elif each.up is not None:
                found.append(_every(each.up))
        return _joined(found)


def _cut(key: str, count: int) -> Sequence[str]:
    if count == 1:
        return [key]
    segments = split_segments(key)
    if len(segments) != count:
        raise KeyRejected(
            f"{shown(key)} has {len(segments)} of {count} segments", "separate segments by |"
        )
    return segments


def _joined(parts: Sequence[Keys]) -> Keys:
    if len(parts) == 1:
        return parts[0]
    listed = [keys for keys in parts if not isinstance(keys, Unlisted)]
    if len(listed) < len(parts):
        return Unlisted(parts=tuple(parts))
    return tuple(join_segments(found) for found in product(*listed))


def _identity(
    mapper: Identity | AllowedKeys, up: End, down: Partitioning, allowed: tuple[str, ...] | None
) -> Mapping:
    for key in allowed or ():
        for end in (up, down):
            try:
                end.validate(key)
            except KeyRejected as error:
                raise MapperRejected(f"{mapper}: {error.what}", error.remedy) from None
    match up, down:
        case Composite(), Composite() if len(up.dimensions) == len(down.dimensions):
            for (_, one), (_, other) in zip(up.dimensions, down.dimensions, strict=True):
                mapped(Identity(), one, other)
        case (Composite(), _) | (TimePartitioning() | Static() | Dynamic(), Composite()):
            raise _unfit(mapper, up, down, "they have not as many dimensions")
        case TimePartitioning(), TimePartitioning():
            if (up.kind, up.pattern) != (down.kind, down.pattern):
                raise _unfit(mapper, up, down, "keys of the one are none of the other")
        case (TimePartitioning(), Static()) | (Static(), TimePartitioning()):
            raise _unfit(mapper, up, down, "keys of the one are none of the other")
        case Static(), Static() if not set(up.values) & set(down.values):
            raise _unfit(mapper, up, down, "they have no key in common")
    return _Same(up, down, allowed)


def _start_of(mapper: StartOf, up: End, down: Partitioning) -> Mapping:
    if not isinstance(down, TimePartitioning) or down.kind != mapper.kind:
        raise _unfit(mapper, up, down, f"it makes {mapper.kind} keys")
    if isinstance(up, TimePartitioning):
        return _Begins(up, _free(down))
    if isinstance(up, Undeclared | Dynamic):
        return _TextBegins(up, _free(down))
    raise _unfit(mapper, up, down, f"{up.kind} keys have no time")


def _product(mapper: Product, up: End, down: Partitioning) -> Mapping:
    if any(isinstance(each, Last) for each in mapper.mappers):
        raise MapperRejected(
            f"{mapper}: the last key of one dimension alone is not defined", "use map=last"
        )
    count = len(mapper.mappers)
    ups: Sequence[End | None] | None
    ups = [up] * count if isinstance(up, Undeclared) else _aligned(mapper, _rules(up))
    downs = _aligned(mapper, _rules(down))
    if ups is None or downs is None or (None in ups and None in downs):
        raise _unfit(
            mapper,
            up,
            down,
            f"there must be {count} dimensions at one end, and at the other one for each mapper but"
            " all",
        )
    return _Segments(
        tuple(
            _Dimension(one, other, mapped(each, one, other) if one and other else None)
            for each, one, other in zip(mapper.mappers, ups, downs, strict=True)
        )
    )


def _aligned(mapper: Product, rules: Sequence[Partitioning]) -> list[Partitioning | None] | None:
    """The dimensions of an end beside the mappers; those that it lacks are the business of `all`."""
    if len(rules) == len(mapper.mappers):
        return list(rules)
    left = iter(rules)
    if len(rules) != sum(not isinstance(each, All) for each in mapper.mappers):
        return None
    return [None if isinstance(each, All) else next(left) for each in mapper.mappers]


def _rules(rule: Partitioning) -> Sequence[Partitioning]:
    return rule.rules if isinstance(rule, Composite) else (rule,)


def _both_in_time(
    mapper: Mapper, up: End, down: Partitioning
) -> tuple[TimePartitioning, TimePartitioning]:
    """Both ends; the lower one without its bounds, which are not asked for here."""
    if isinstance(up, TimePartitioning) and isinstance(down, TimePartitioning):
        return up, _free(down)
    raise _unfit(mapper, up, down, "it needs keys of time at both ends")


def _same_periods(
    mapper: Mapper, up: End, down: Partitioning
) -> tuple[TimePartitioning, TimePartitioning]:
    one, other = _both_in_time(mapper, up, down)
    if (one.kind, one.tz, "%z" in one.pattern) != (other.kind, other.tz, "%z" in other.pattern):
        raise _unfit(mapper, up, down, "it needs the same periods at both ends")
    return one, other


def _unfit(mapper: Mapper, up: End, down: Partitioning, reason: str) -> MapperRejected:
    return MapperRejected(
        f"map={mapper} does not fit: from {kind_of(up)} to {kind_of(down)} keys, and {reason}"
    )


def _length(rule: TimePartitioning) -> int:
    return PERIODS[rule.kind].at_most


def _every(rule: End) -> Keys:
    """All keys of a partitioning."""
    if isinstance(rule, Static):
        return rule.values
    if isinstance(rule, Composite):
        every = _joined([_every(each) for each in rule.rules])
        return Unlisted() if isinstance(every, Unlisted) else every
    return Unlisted()


def _has(rule: End, key: str) -> bool:
    """Whether a text is a key within the bounds of a partitioning."""
    try:
        rule.validate(key)
    except KeyRejected:
        return False
    if isinstance(rule, TimePartitioning):
        return rule.covers(key)
    if isinstance(rule, Composite):
        return all(
            _has(each, part)
            for (_, each), part in zip(rule.dimensions, rule.split(key), strict=True)
        )
    return True


def _free(rule: TimePartitioning) -> TimePartitioning:
    """The partitioning without its bounds."""
    if rule.start is None and rule.end is None:
        return rule
    return replace(rule, start=None, end=None)


def _at(rule: TimePartitioning, instant: datetime) -> Sequence[str]:
    key = rule.key_at(instant)
    return () if key is None else (key,)


def _first(rule: TimePartitioning) -> str:
    return replace(rule, end=None).keys(end=rule.start)[0]


def _shifted(rule: TimePartitioning, key: str, by: int) -> str:
    return rule.shift(key, by) if by else key


def _begin(rule: End, key: str, tz: str) -> datetime:
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
