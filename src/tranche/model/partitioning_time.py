"""Time kinds: partitionings with a key per hour, day, week, month, quarter or year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import ClassVar

from tranche.errors import BadBound, KeyRejected, PartitioningError
from tranche.model.partitioning_calendar import Calendar, Extent, Label, Run, Window
from tranche.model.partitioning_format import DEFAULTS, compile_format
from tranche.model.partitioning_range import KeyRange
from tranche.model.partitioning_text import option, shown
from tranche.model.partitioning_zone import DAY, END, time_zone, to_instant

Bound = str | date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePartitioning:
    """What all time kinds have: options, keys, windows.

    `start` and `end` are an ISO date or a key, and both belong to the partitioning.

    >>> from datetime import UTC
    >>> days = Daily(tz="Europe/Paris", start="2026-03-28")
    >>> days.key_at(datetime(2026, 3, 29, 22, 30, tzinfo=UTC))
    '2026-03-30'
    >>> print(days.window("2026-03-29").duration)
    23:00:00
    >>> list(days.keys(end="2026-03-30"))
    ['2026-03-28', '2026-03-29', '2026-03-30']
    """

    kind: ClassVar[str]

    tz: str = "UTC"
    format: str | None = None
    start: Bound = None
    end: Bound = None
    lag: int = 0
    lookback: int = 0
    gaps: str | None = None

    def __post_init__(self) -> None:
        if not hasattr(type(self), "kind"):
            raise TypeError("TimePartitioning has no kind; use Daily, Hourly or another one")
        time_zone(self.tz)
        compile_format(self.kind, self.pattern)
        if self.format == DEFAULTS[self.kind]:
            object.__setattr__(self, "format", None)
        object.__setattr__(self, "start", self._checked_bound("start", self.start))
        object.__setattr__(self, "end", self._checked_bound("end", self.end))
        if self.start is not None and self.end is not None and self._own.empty:
            raise BadBound(
                f"end {self.end!r} lies before start {self.start!r}", "swap them, or leave one out"
            )
        _check_count("lag", self.lag)
        _check_count("lookback", self.lookback)
        if self.gaps not in (None, "collect"):
            raise PartitioningError(
                f"unknown gaps {shown(self.gaps)}", "use gaps=collect, or leave it out"
            )

    @property
    def pattern(self) -> str:
        """The format of the keys, given or default."""
        return DEFAULTS[self.kind] if self.format is None else self.format

    def describe(self) -> str:
        """The annotation's text for this partitioning.

        >>> Daily(tz="Europe/Paris", lag=1).describe()
        'daily tz="Europe/Paris" lag="1"'
        """
        given = {
            "tz": None if self.tz == "UTC" else self.tz,
            "format": self.format,
            "start": self.start,
            "end": self.end,
            "lag": self.lag or None,
            "lookback": self.lookback or None,
            "gaps": self.gaps,
        }
        options = [option(name, value) for name, value in given.items() if value is not None]
        return " ".join([self.kind, *options])

    def example(self) -> str:
        """Some key, to show what keys look like."""
        return self._calendar.example()

    def parse(self, key: str) -> datetime:
        """The beginning of the key's period on the wall clock, without a time zone.

        >>> Weekly().parse("2026-W53")
        datetime.datetime(2026, 12, 28, 0, 0)
        >>> Daily().parse("2026-5-1")
        Traceback (most recent call last):
        tranche.errors.KeyRejected: '2026-5-1' is no daily key; its keys look like '2026-05-01'
        """
        return self._calendar.start(self._calendar.label(key))

    def validate(self, key: str) -> str:
        """The key itself, or KeyRejected."""
        self._calendar.label(key)
        return key

    def window(self, key: str) -> Window:
        """The instants that belong to the key."""
        return self._calendar.window(self._calendar.label(key))

    def ordinal(self, key: str) -> datetime:
        """What keys sort by: the window's start in UTC."""
        return self.window(key).start_utc

    def key_at(self, instant: datetime) -> str | None:
        """The key whose window holds the instant; None before `start` and after `end`."""
        at = to_instant(instant)
        since, until = self._own
        if not since <= at < until or self._calendar.within(Extent(at, at + 1)).empty:
            return None
        return self._calendar.render(self._calendar.label_at(at))

    def covers(self, key: str) -> bool:
        """Whether the key lies between `start` and `end`.

        >>> Daily(start="2026-05-01").covers("2026-04-30")
        False
        """
        since, until = self._own
        return since <= self._extent(key).since < until

    def before_start(self, key: str) -> bool:
        """Whether the key lies before `start`."""
        return self._extent(key).since < self._own.since

    def next(self, key: str) -> str:
        """The key after this one."""
        return self.shift(key, 1)

    def previous(self, key: str) -> str:
        """The key before this one."""
        return self.shift(key, -1)

    def shift(self, key: str, by: int) -> str:
        """The key so many keys later, or earlier when negative. Bounds do not matter here.

        >>> Hourly(tz="Europe/Paris").shift("2026-03-29T01", 1)
        '2026-03-29T03'
        """
        calendar = self._calendar
        since, until = self._extent(key)
        reach = (abs(by) + 1) * calendar.period.at_most + 2 * DAY
        while True:
            extent = Extent(since, since + reach) if by >= 0 else Extent(until - reach, until)
            around = KeyRange(calendar, calendar.runs(extent))
            if len(around) > abs(by):
                return around[by if by >= 0 else by - 1]
            if calendar.within(extent) != extent:
                side = "after" if by >= 0 else "before"
                raise KeyRejected(
                    f"no {self.kind} key comes {abs(by)} {side} {key!r}",
                    "the calendar has the years 1 to 9999",
                )
            reach *= 2

    def keys(self, start: Bound = None, end: Bound = None, now: datetime | None = None) -> KeyRange:
        """The keys from `start` to `end`, both included: keys or ISO dates.

        They default to the partitioning's own and cannot exceed them. Without any end, the last
        key is the last one whose window is over at `now`; `lag` does not count here.

        >>> from datetime import UTC
        >>> Monthly(start="2026-01-01").keys(now=datetime(2026, 4, 1, tzinfo=UTC))[:]
        KeyRange('2026-01' … '2026-03', 3 keys)
        """
        calendar = self._calendar
        since, until = self._own
        warnings: list[str] = []
        if start is not None:
            asked = calendar.extent_of(start)
            warnings += self._outside(f"start '{start}'", asked.since)
            since = max(since, asked.since)
        elif self.start is None:
            raise PartitioningError(
                f"a {self.kind} partitioning without start has no first key",
                'give it start="…", or ask for keys from a start',
            )
        if end is not None:
            asked = calendar.extent_of(end)
            warnings += self._outside(f"end '{end}'", asked.until - 1)
            until = min(until, asked.until)
        elif now is not None:
            current = calendar.label_at(to_instant(now))
            until = min(until, calendar.extent(current).since)
        elif self.end is None:
            raise PartitioningError(
                f"a {self.kind} partitioning without end has no last key",
                "ask for keys up to an end, or give now to stop at the last complete one",
            )
        return KeyRange(calendar, calendar.runs(Extent(since, until)), tuple(warnings))

    def beginning_in(self, start: datetime, end: datetime) -> KeyRange:
        """The keys within the partitioning's bounds that begin at `start` or later, before `end`.

        >>> from datetime import UTC
        >>> march = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
        >>> Weekly().beginning_in(*march)
        KeyRange('2026-W10' … '2026-W14', 5 keys)
        """
        calendar = self._calendar
        own = self._own
        since, until = max(own.since, to_instant(start)), min(own.until, to_instant(end))
        runs = calendar.runs(Extent(since, until))
        if runs:
            first, last, offset = runs[0]
            if calendar.extent(Label(first, offset)).since < since:
                left = (Run(first + 1, last, offset),) if first < last else ()
                runs = (*left, *runs[1:])
        return KeyRange(calendar, runs)

    @property
    def _calendar(self) -> Calendar:
        return Calendar(self.kind, self.tz, self.pattern)

    @property
    def _own(self) -> Extent:
        """The instants from `start` to `end`, or to where the calendar ends."""
        return _bounds(self._calendar, self.start, self.end)

    def _extent(self, key: str) -> Extent:
        return self._calendar.extent(self._calendar.label(key))

    def _checked_bound(self, side: str, bound: object) -> str | None:
        if bound is None:
            return None
        try:
            self._calendar.extent_of(bound)
        except KeyRejected as error:
            raise BadBound(f"{side} {error.what}", error.remedy) from None
        return str(bound)

    def _outside(self, bound: str, instant: int) -> list[str]:
        since, until = self._own
        if self.start is not None and instant < since:
            return [f"{bound} lies before the partitioning's start '{self.start}'"]
        if self.end is not None and instant >= until:
            return [f"{bound} lies after the partitioning's end '{self.end}'"]
        return []


@lru_cache(maxsize=1024)
def _bounds(calendar: Calendar, start: Bound, end: Bound) -> Extent:
    return Extent(
        0 if start is None else calendar.extent_of(start).since,
        END if end is None else calendar.extent_of(end).until,
    )


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise PartitioningError(
            f"{name} {shown(value)} is no number of keys", "use 0 or a whole number above it"
        )


# The kinds inherit all that the dataclass made: six times that would double the import time.


class Hourly(TimePartitioning):
    """A key per hour, like ``2026-05-01T09``."""

    __slots__ = ()
    kind: ClassVar[str] = "hourly"


class Daily(TimePartitioning):
    """A key per day, like ``2026-05-01``."""

    __slots__ = ()
    kind: ClassVar[str] = "daily"


class Weekly(TimePartitioning):
    """A key per ISO week, Monday to Sunday, like ``2026-W18``."""

    __slots__ = ()
    kind: ClassVar[str] = "weekly"


class Monthly(TimePartitioning):
    """A key per month, like ``2026-05``."""

    __slots__ = ()
    kind: ClassVar[str] = "monthly"


class Quarterly(TimePartitioning):
    """A key per quarter, like ``2026-Q2``."""

    __slots__ = ()
    kind: ClassVar[str] = "quarterly"


class Yearly(TimePartitioning):
    """A key per year, like ``2026``."""

    __slots__ = ()
    kind: ClassVar[str] = "yearly"
