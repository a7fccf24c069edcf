"""Partitionings: the rules that divide assets, and the universe of their keys.

A partitioning knows which texts are its keys (`validate`), what one looks like (`example`), how it
is written in an annotation (`describe`) and, where keys are periods, which instants belong to each
(`window`). It holds no clock: what depends on the time takes `now`.

The parts, each importing only those above it:

    partitioning_text       what a key may hold, how options are quoted
    partitioning_zone       time zones: which offset holds when
    partitioning_period     hours to years, numbered
    partitioning_format     strftime patterns that render keys and read them
    partitioning_calendar   kind, time zone and format together: labels, windows
    partitioning_range      KeyRange, a sequence that is not listed
    partitioning_time       Hourly … Yearly
    partitioning_named      Static, Dynamic
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias

from tranche.errors import KeyRejected, PartitioningError
from tranche.model.partitioning_calendar import Window
from tranche.model.partitioning_named import Dynamic, Static
from tranche.model.partitioning_range import KeyRange
from tranche.model.partitioning_text import join_segments, shown, split_segments
from tranche.model.partitioning_time import (
    Daily,
    Hourly,
    Monthly,
    Quarterly,
    TimePartitioning,
    Weekly,
    Yearly,
)

__all__ = [
    "Composite",
    "Daily",
    "Dimension",
    "Dynamic",
    "Hourly",
    "KeyRange",
    "Monthly",
    "Partitioning",
    "Quarterly",
    "Static",
    "TimePartitioning",
    "Weekly",
    "Window",
    "Yearly",
    "time_of",
]

Dimension: TypeAlias = Hourly | Daily | Weekly | Monthly | Quarterly | Yearly | Static | Dynamic
_DIMENSIONS = (Hourly, Daily, Weekly, Monthly, Quarterly, Yearly, Static, Dynamic)


@dataclass(frozen=True, slots=True, init=False)
class Composite:
    r"""Several named dimensions; a key has a segment for each, with ``|`` between them.

    >>> rule = Composite(day=Daily(), region=Static(["us", "eu"]))
    >>> rule.describe()
    'day: daily | region: static keys="us,eu"'
    >>> rule.parse("2026-05-01|eu")
    ('2026-05-01', 'eu')
    >>> print(rule.join(["2026-05-01", "a|b"]))
    2026-05-01|a\|b
    """

    kind: ClassVar[str] = "composite"

    dimensions: tuple[tuple[str, Dimension], ...]

    def __init__(
        self, dimensions: Iterable[tuple[str, Dimension]] = (), /, **named: Dimension
    ) -> None:
        pairs = (*((name, dimension) for name, dimension in dimensions), *named.items())
        names = [name for name, _ in pairs]
        if len(pairs) < 2:
            raise PartitioningError(
                f"a composite partitioning needs two dimensions, and this has {len(pairs)}",
                "use the one as it is, or add another",
            )
        for name, dimension in pairs:
            if not isinstance(name, str) or not name.isidentifier():
                raise PartitioningError(
                    f"{shown(name)} cannot name a dimension",
                    "use letters, digits and underscores, such as 'region'",
                )
            if names.count(name) > 1:
                raise PartitioningError(
                    f"two dimensions are named {name!r}", "give each its own name"
                )
            if isinstance(dimension, Composite):
                raise PartitioningError(
                    f"dimension {name!r} is composite itself", "put all dimensions side by side"
                )
            if not isinstance(dimension, _DIMENSIONS):
                raise PartitioningError(
                    f"dimension {name!r} is {shown(dimension)}, which is no partitioning",
                    "use Daily(), Static([…]) or the like",
                )
        object.__setattr__(self, "dimensions", pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(name for name, _ in self.dimensions)

    @property
    def rules(self) -> tuple[Dimension, ...]:
        """The partitionings of the dimensions."""
        return tuple(rule for _, rule in self.dimensions)

    @property
    def in_time(self) -> int | None:
        """Which dimension keys are ordered by: the first of time."""
        for position, rule in enumerate(self.rules):
            if isinstance(rule, TimePartitioning):
                return position
        return None

    def describe(self) -> str:
        """The annotation's text for this partitioning."""
        return " | ".join(f"{name}: {rule.describe()}" for name, rule in self.dimensions)

    def example(self) -> str:
        """Some key, to show what keys look like."""
        return self.join(rule.example() for _, rule in self.dimensions)

    def join(self, segments: Iterable[str]) -> str:
        """The key with these segments; a ``|`` or a backslash within one gets a backslash."""
        given = tuple(segments)
        if len(given) != len(self.dimensions):
            raise self._rejected(given, f"it has {len(given)} of {len(self.dimensions)} segments")
        if not all(isinstance(each, str) for each in given):
            raise self._rejected(given, "a segment is text")
        return join_segments(given)

    def split(self, key: str) -> tuple[str, ...]:
        """The segments of a key, the reverse of `join`; `parse` looks at each of them too."""
        if not isinstance(key, str):
            raise self._rejected(key, "a key is text")
        try:
            segments = split_segments(key)
        except KeyRejected:
            raise self._rejected(key, "a backslash stands before a | or a backslash only") from None
        if len(segments) != len(self.dimensions):
            raise self._rejected(key, f"it has {len(segments)} of {len(self.dimensions)} segments")
        return tuple(segments)

    def parse(self, key: str) -> tuple[str, ...]:
        """The segments of a key, each a key of its dimension."""
        segments = self.split(key)
        for (name, rule), segment in zip(self.dimensions, segments, strict=True):
            try:
                rule.validate(segment)
            except KeyRejected as error:
                raise KeyRejected(f"in {shown(key)}, {name}: {error.what}", error.remedy) from None
        return segments

    def validate(self, key: str) -> str:
        """The key itself, or KeyRejected."""
        self.parse(key)
        return key

    def ordinal(self, key: str) -> datetime | None:
        """What keys sort by: that of the first dimension of time, if there is one."""
        segments = self.parse(key)
        place = self.in_time
        return None if place is None else self.rules[place].ordinal(segments[place])

    def named(self, text: str) -> dict[str, str] | None:
        """Some segments by the names of their dimensions, where a text gives them so.

        >>> rule = Composite(day=Daily(), region=Static(["us", "eu"]))
        >>> rule.named("region=us"), rule.named("2026-05-01|us")
        ({'region': 'us'}, None)
        """
        pairs = [segment.partition("=") for segment in split_segments(text)]
        found = {name: value for name, _, value in pairs}
        sound = all(sign and name in self.names for name, sign, _ in pairs)
        return found if sound and len(found) == len(pairs) else None

    def _rejected(self, key: object, reason: str) -> KeyRejected:
        return KeyRejected(
            f"{shown(key)} is no composite key: {reason}",
            f"its keys look like {self.example()!r}",
        )


Partitioning: TypeAlias = Dimension | Composite


def time_of(rule: Partitioning | TimePartitioning | None) -> TimePartitioning | None:
    """The partitioning of time that keys are ordered by, if any.

    >>> time_of(Composite(region=Static(["us"]), day=Daily())), time_of(Static(["us"]))
    (Daily(tz='UTC', format=None, start=None, end=None, lag=0, lookback=0, gaps=None), None)
    """
    if isinstance(rule, Composite):
        rule = None if rule.in_time is None else rule.rules[rule.in_time]
    return rule if isinstance(rule, TimePartitioning) else None
