"""Mappers: how the keys of an asset become keys of what is made of it, as scripts declare it.

They only say what is meant. What it comes to for two given partitionings is a `Mapping`, which
`tranche.model.mapped` makes of a mapper and the partitionings at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, TypeAlias, TypeGuard

from tranche.errors import MapperRejected
from tranche.model.partitioning_text import shown, unstorable

MOST_FANNED = 1_000
"""How many keys one key may feed by `fan_out`, unless it says otherwise."""

_QUOTED = frozenset(",()'\" \t")


@dataclass(frozen=True, slots=True)
class _Plain:
    """A mapper that takes nothing."""

    name: ClassVar[str]

    def __str__(self) -> str:
        return self.name


class Identity(_Plain):
    """A key feeds the key of the same text, or of the same period where formats differ."""

    __slots__ = ()
    name: ClassVar[str] = "identity"


class StartOf(_Plain):
    """A key of time feeds the hour, day, … in which it begins.

    The consumer's own format and time zone win; `format` is for consumers that declare none.
    """

    __slots__ = ()
    kind: ClassVar[str]
    format: ClassVar[str]


class StartOfHour(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026-03-16T09``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_hour"
    kind: ClassVar[str] = "hourly"
    format: ClassVar[str] = "%Y-%m-%dT%H"


class StartOfDay(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026-03-16``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_day"
    kind: ClassVar[str] = "daily"
    format: ClassVar[str] = "%Y-%m-%d"


class StartOfWeek(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026-03-16 (W12)``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_week"
    kind: ClassVar[str] = "weekly"
    format: ClassVar[str] = "%Y-%m-%d (W%V)"


class StartOfMonth(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026-03``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_month"
    kind: ClassVar[str] = "monthly"
    format: ClassVar[str] = "%Y-%m"


class StartOfQuarter(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026-Q1``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_quarter"
    kind: ClassVar[str] = "quarterly"
    format: ClassVar[str] = "%Y-Q%q"


class StartOfYear(StartOf):
    """``2026-03-16T09:37:51`` feeds ``2026``."""

    __slots__ = ()
    name: ClassVar[str] = "start_of_year"
    kind: ClassVar[str] = "yearly"
    format: ClassVar[str] = "%Y"


@dataclass(frozen=True, slots=True, init=False)
class Product:
    """Keys of several dimensions, each dimension by its own mapper.

    >>> str(Product(Identity(), StartOfDay()))
    'product(identity, start_of_day)'
    """

    name: ClassVar[str] = "product"

    mappers: tuple[Mapper, ...]

    def __init__(self, *mappers: Mapper) -> None:
        if len(mappers) < 2:
            raise MapperRejected(
                f"product has {len(mappers)} mappers", "give one for each dimension, at least two"
            )
        for each in mappers:
            if isinstance(each, Product) or not isinstance(each, _CLASSES):
                raise MapperRejected(
                    f"{shown(each)} cannot stand in a product", "use mappers such as Identity()"
                )
        object.__setattr__(self, "mappers", mappers)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.mappers))})"


@dataclass(frozen=True, slots=True, init=False)
class AllowedKeys:
    """Identity for the keys of a list; any other key is rejected.

    >>> str(AllowedKeys(["Sales", "R & D"]))
    "allowed(Sales, 'R & D')"
    """

    name: ClassVar[str] = "allowed"

    keys: tuple[str, ...]

    def __init__(self, keys: Iterable[str]) -> None:
        if isinstance(keys, str):
            raise MapperRejected(
                f"allowed keys {shown(keys)} are no list", 'use a list such as ["us", "eu"]'
            )
        values = tuple(dict.fromkeys(keys))
        if not values:
            raise MapperRejected("allowed has no keys", "give at least one")
        for key in values:
            _check_key(self.name, key)
        object.__setattr__(self, "keys", values)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_quoted, self.keys))})"


@dataclass(frozen=True, slots=True)
class FixedKey:
    """Every key needs this one key of what is upstream, and other keys feed none.

    >>> str(FixedKey("global"))
    'fixed(global)'
    """

    name: ClassVar[str] = "fixed"

    key: str

    def __post_init__(self) -> None:
        _check_key(self.name, self.key)

    def __str__(self) -> str:
        return f"{self.name}({_quoted(self.key)})"


@dataclass(frozen=True, slots=True)
class Offset:
    """A key needs the one so many keys away: ``Offset(-1)`` the one before it."""

    name: ClassVar[str] = "offset"

    by: int

    def __post_init__(self) -> None:
        _check_number(self.name, self.by, None)

    def __str__(self) -> str:
        return f"{self.name}({self.by})"


@dataclass(frozen=True, slots=True)
class Trailing:
    """A key needs so many keys, itself and those before it."""

    name: ClassVar[str] = "trailing"

    count: int

    def __post_init__(self) -> None:
        _check_number(self.name, self.count, 1)

    def __str__(self) -> str:
        return f"{self.name}({self.count})"


@dataclass(frozen=True, slots=True)
class FanOut:
    """A key of time feeds all keys that begin in it: a month its days. More than `most` is refused."""

    name: ClassVar[str] = "fan_out"

    most: int = MOST_FANNED

    def __post_init__(self) -> None:
        _check_number(self.name, self.most, 1)

    def __str__(self) -> str:
        return self.name if self.most == MOST_FANNED else f"{self.name}({self.most})"


class Rollup(_Plain):
    """A key of time needs all keys that begin in it: a month its days, a day its 23 to 25 hours."""

    __slots__ = ()
    name: ClassVar[str] = "rollup"


class Last(_Plain):
    """Every key needs the last key that there is."""

    __slots__ = ()
    name: ClassVar[str] = "last"


class All(_Plain):
    """Every key needs all keys that there are."""

    __slots__ = ()
    name: ClassVar[str] = "all"


class AllBefore(_Plain):
    """A key of time needs all keys that begin before it ends: its own and all earlier ones."""

    __slots__ = ()
    name: ClassVar[str] = "all_before"


Mapper: TypeAlias = (
    Identity
    | StartOf
    | Product
    | AllowedKeys
    | FixedKey
    | Offset
    | Trailing
    | FanOut
    | Rollup
    | Last
    | All
    | AllBefore
)

_STARTS: tuple[type[StartOf], ...] = (
    StartOfHour,
    StartOfDay,
    StartOfWeek,
    StartOfMonth,
    StartOfQuarter,
    StartOfYear,
)
_CLASSES: tuple[type[Mapper], ...] = (
    Identity,
    *_STARTS,
    Product,
    AllowedKeys,
    FixedKey,
    Offset,
    Trailing,
    FanOut,
    Rollup,
    Last,
    All,
    AllBefore,
)

MAPPERS: Mapping[str, type[Mapper]] = MappingProxyType({each.name: each for each in _CLASSES})
"""The mappers by the name that annotations use."""


def is_mapper(value: object) -> TypeGuard[Mapper]:
    """Whether something is a mapper: ``StartOfDay()`` is, ``StartOfDay`` is none."""
    return isinstance(value, _CLASSES)


def start_of(kind: str) -> StartOf:
    """The mapper to the periods of a kind.

    >>> start_of("monthly")
    StartOfMonth()
    """
    return next(each() for each in _STARTS if each.kind == kind)


def _check_key(name: str, key: object) -> None:
    if not isinstance(key, str):
        reason: str | None = "a key is text"
    else:
        reason = unstorable(key) if key else "it is empty"
    if reason is not None:
        raise MapperRejected(
            f"{name} cannot take the key {shown(key)}: {reason}", "use another key"
        )


def _check_number(name: str, value: object, least: int | None) -> None:
    number = isinstance(value, int) and not isinstance(value, bool)
    if not number or (least is not None and isinstance(value, int) and value < least):
        wanted = "a whole number" if least is None else f"a whole number, {least} or more"
        raise MapperRejected(f"{name} cannot take {shown(value)}", f"give it {wanted}")


def _quoted(key: str) -> str:
    """A key as annotations write it: in single quotes where it would not read back without.

    >>> _quoted("it's"), _quoted("eu")
    ("'it''s'", 'eu')
    """
    if not _QUOTED.intersection(key):
        return key
    return "'" + key.replace("'", "''") + "'"


_PLAIN: tuple[Mapper, ...] = (
    Identity(),
    *(each() for each in _STARTS),
    FanOut(),
    Rollup(),
    Last(),
    All(),
    AllBefore(),
)
PLAIN_MAPPERS: Mapping[str, Mapper] = MappingProxyType({each.name: each for each in _PLAIN})
"""Those that need no arguments."""
