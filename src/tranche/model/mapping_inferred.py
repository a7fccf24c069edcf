"""Mappers that need not be written, because only one makes sense."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tranche.errors import MapperRejected, PartitioningError
from tranche.model.mapped import mapped
from tranche.model.mapped_keys import End, Mapping, Undeclared, kind_of
from tranche.model.mapping import (
    All,
    AllBefore,
    AllowedKeys,
    FanOut,
    Identity,
    Last,
    Mapper,
    Product,
    Rollup,
    StartOf,
    start_of,
)
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dimension,
    Dynamic,
    Hourly,
    Monthly,
    Partitioning,
    Quarterly,
    Static,
    TimePartitioning,
    Weekly,
    Yearly,
)

_KINDS = {each.kind: each for each in (Hourly, Daily, Weekly, Monthly, Quarterly, Yearly)}
_NESTED = {
    "hourly": ("daily", "weekly", "monthly", "quarterly", "yearly"),
    "daily": ("weekly", "monthly", "quarterly", "yearly"),
    "monthly": ("quarterly", "yearly"),
    "quarterly": ("yearly",),
}
"""The kinds whose periods consist of whole periods of another kind."""


def inferred(up: End, down: Partitioning) -> Mapper:
    """The mapper between two partitionings when none is written, or MapperRejected.

    >>> from tranche.model.partitioning import Daily, Monthly
    >>> print(inferred(Daily(), Daily()), inferred(Daily(), Monthly()), inferred(Monthly(), Daily()))
    identity rollup fan_out
    """
    found = _inferred(up, down)
    if found is not None:
        return found
    raise MapperRejected(
        f"{kind_of(up)} keys feed {kind_of(down)} ones, and no mapping says how",
        _choices(up, down),
    )


def implied(mapper: Mapper | None) -> Partitioning | None:
    """The partitioning of a script that declares none, by the keys that a mapper makes.

    >>> implied(start_of("weekly"))
    Weekly(tz='UTC', format='%Y-%m-%d (W%V)', start=None, end=None, lag=0, lookback=0, gaps=None)
    """
    if not isinstance(mapper, Product):
        return _implied(mapper)
    parts = [
        Dynamic(f"$.part_{number}") if isinstance(each, Identity) else _implied(each)
        for number, each in enumerate(mapper.mappers, 1)
    ]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    return Composite((f"part_{number}", each) for number, each in enumerate(known, 1))


def _implied(mapper: Mapper | None) -> Dimension | None:
    match mapper:
        case StartOf():
            return _KINDS[mapper.kind](format=mapper.format)
        case AllowedKeys():
            return Static(mapper.keys)
        case _:
            return None


def mapped_or_told(mapper: Mapper, up: End, down: Partitioning) -> Mapping:
    """The mapping, or MapperRejected with the mappers that would fit."""
    try:
        return mapped(mapper, up, down)
    except MapperRejected as error:
        raise MapperRejected(error.what, error.remedy or _choices(up, down)) from None


def _choices(up: End, down: Partitioning) -> str:
    """The mappers that would fit, as annotations write them."""
    possible: list[Mapper] = [Identity(), Rollup(), FanOut(), AllBefore(), All(), Last()]
    if isinstance(down, TimePartitioning):
        possible.insert(1, start_of(down.kind))
    fitting = [str(each) for each in possible if _fits(each, up, down)]
    if isinstance(up, Composite) or isinstance(down, Composite):
        fitting.insert(0, "product(…)")
    return f"choose map={', '.join(fitting)} or fixed(…)"


def _inferred(up: End, down: Partitioning) -> Mapper | None:
    if isinstance(up, Undeclared):
        return Identity()
    match up, down:
        case TimePartitioning(), TimePartitioning():
            return _in_time(up, down)
        case Composite(), Composite() if len(up.dimensions) == len(down.dimensions):
            return _each(up.rules, down.rules)
        case (Composite(), _) | (_, Composite()):
            return _along(up, down)
        case Static(), Static() if set(up.values) <= set(down.values):
            return Identity()
        case ((Static() | Dynamic()), Dynamic()):
            return Identity()
        case _:
            return None


def _each(ups: Sequence[Partitioning], downs: Sequence[Partitioning]) -> Mapper | None:
    found = [_inferred(one, other) for one, other in zip(ups, downs, strict=True)]
    mappers = [each for each in found if each is not None]
    if len(mappers) < len(found):
        return None
    same = all(isinstance(each, Identity) for each in mappers)
    return Identity() if same else Product(*mappers)


def _along(up: Partitioning, down: Partitioning) -> Mapper | None:
    """The mapper where one end has dimensions that the other lacks, if it is clear which ones."""
    ends = [
        rule.dimensions if isinstance(rule, Composite) else (("", rule),) for rule in (up, down)
    ]
    short, long = sorted(ends, key=len)
    found = []
    for places in combinations(range(len(long)), len(short)):
        beside = dict(zip(places, short, strict=True))
        named = len(short) > 1
        if named and any(long[place][0] != name for place, (name, _) in beside.items()):
            continue
        mappers = [
            _inferred(*((other, rule) if short is ends[0] else (rule, other)))
            if (other := beside.get(place, ("", None))[1]) is not None
            else All()
            for place, (_, rule) in enumerate(long)
        ]
        if all(each is not None for each in mappers):
            found.append(Product(*(each for each in mappers if each is not None)))
    return found[0] if len(found) == 1 else None


def _in_time(up: TimePartitioning, down: TimePartitioning) -> Mapper | None:
    if (up.kind, up.pattern) == (down.kind, down.pattern):
        # Also in another zone: the key was resolved once and keeps its name down the chain.
        return Identity()
    if up.tz != down.tz:
        return None
    if up.kind == down.kind:
        # A repeated hour is two keys of the one and one of the other.
        return start_of(down.kind) if ("%z" in up.pattern) == ("%z" in down.pattern) else None
    if down.kind in _NESTED.get(up.kind, ()):
        return Rollup()
    if up.kind in _NESTED.get(down.kind, ()):
        return FanOut()
    return None


def _fits(mapper: Mapper, up: End, down: Partitioning) -> bool:
    try:
        mapped(mapper, up, down)
    except PartitioningError:
        return False
    return True
