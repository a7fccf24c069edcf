"""Mappings: which keys an upstream key feeds, and which upstream keys a key needs.

`mapped` makes one of a mapper and the partitionings at both ends. All of them agree with
themselves: a key is among `downstream(u)` exactly if `u` is among `upstream(key)`. Upstream keys
keep within the bounds of their partitioning, since nobody waits for what never comes; whether a fed
key lies within the bounds of its own is for those to ask who start runs by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tranche.errors import KeyRejected, MapperRejected
from tranche.model.mapped_keys import End, Mapping, Undeclared, Unlisted, every, kind_of
from tranche.model.mapped_ways import (
    Before,
    Begins,
    Dimension,
    Fans,
    Fixed,
    Moves,
    Same,
    Segments,
    TextBegins,
    Whole,
)
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
from tranche.model.partitioning import Composite, Dynamic, Partitioning, Static, TimePartitioning
from tranche.model.partitioning_period import PERIODS


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
            return Begins(fine, coarse)
        case FanOut():
            coarse, fine = _both_in_time(mapper, up, down)
            if _length(fine) >= _length(coarse):
                raise _unfit(mapper, up, down, "it goes from longer periods to shorter ones")
            return Fans(coarse, fine, mapper.most)
        case Offset():
            return Moves(*_same_periods(mapper, up, down), first=mapper.by, last=mapper.by)
        case Trailing():
            return Moves(*_same_periods(mapper, up, down), first=1 - mapper.count, last=0)
        case AllBefore():
            earlier, later = _both_in_time(mapper, up, down)
            bound = down.end if isinstance(down, TimePartitioning) else None
            last = None if bound is None else later.keys(start=bound, end=bound)[-1]
            return Before(earlier, later, last)
        case FixedKey():
            try:
                up.validate(mapper.key)
            except KeyRejected as error:
                raise MapperRejected(f"{mapper}: {error.what}", error.remedy) from None
            return Fixed(up, down, mapper.key)
        case All():
            return Whole(up, down, every(up))
        case Last():
            return Whole(up, down, Unlisted("last"))


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
    return Same(up, down, allowed)


def _start_of(mapper: StartOf, up: End, down: Partitioning) -> Mapping:
    if not isinstance(down, TimePartitioning) or down.kind != mapper.kind:
        raise _unfit(mapper, up, down, f"it makes {mapper.kind} keys")
    if isinstance(up, TimePartitioning):
        return Begins(up, _free(down))
    if isinstance(up, Undeclared | Dynamic):
        return TextBegins(up, _free(down))
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
    return Segments(
        tuple(
            Dimension(one, other, mapped(each, one, other) if one and other else None)
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


def _free(rule: TimePartitioning) -> TimePartitioning:
    """The partitioning without its bounds."""
    if rule.start is None and rule.end is None:
        return rule
    return replace(rule, start=None, end=None)
