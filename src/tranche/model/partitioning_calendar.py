"""Calendars: the keys of a time kind in one time zone and format, and the instants of each.

A period begins at the first instant at which the wall clock has reached its label, and ends where
the next one begins. So periods tile: a repeated hour belongs to one key, a period that the clocks
jump over has no instants and therefore no key. A format with `%z` tells hours apart by their
offset, and a repeated hour is then two keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from tranche.errors import KeyRejected
from tranche.model.partitioning_format import KeyFormat, compile_format
from tranche.model.partitioning_period import PERIODS, Period
from tranche.model.partitioning_text import shown
from tranche.model.partitioning_zone import (
    DAY,
    END,
    HOUR,
    first_reach,
    highest_wall,
    segments,
    to_datetime,
    to_instant,
)

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SOME_DAY = (date(2026, 5, 1) - date.min).days * DAY


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The instants ``[start, end)`` of a time key, on the clock of its time zone.

    Python compares datetimes of one zone by the wall clock, which may show a time twice; compare
    `start_utc` and `end_utc`, or windows.
    """

    start: datetime
    end: datetime

    @property
    def start_utc(self) -> datetime:
        """The start in UTC."""
        return self.start.astimezone(UTC)

    @property
    def end_utc(self) -> datetime:
        """The end in UTC, which is no longer part of the window."""
        return self.end.astimezone(UTC)

    @property
    def duration(self) -> timedelta:
        """The time that passes between start and end."""
        return self.end_utc - self.start_utc

    def __contains__(self, instant: datetime) -> bool:
        return to_instant(self.start) <= to_instant(instant) < to_instant(self.end)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Window):
            return NotImplemented
        return (self.start_utc, self.end_utc) == (other.start_utc, other.end_utc)

    def __hash__(self) -> int:
        return hash((self.start_utc, self.end_utc))


class Label(NamedTuple):
    """What identifies a key: the number of its period, and the offset if the format has `%z`."""

    number: int
    offset: int | None


class Run(NamedTuple):
    """Labels that follow one another without a number left out, `last` included."""

    first: int
    last: int
    offset: int | None


class Extent(NamedTuple):
    """Instants ``[since, until)``, in seconds."""

    since: int
    until: int

    @property
    def empty(self) -> bool:
        """Whether there is no instant in it."""
        return self.since >= self.until


class Calendar(NamedTuple):
    """The keys of one kind, time zone and format.

    >>> paris = Calendar("daily", "Europe/Paris", "%Y-%m-%d")
    >>> extent = paris.extent(paris.label("2026-03-29"))
    >>> (extent.until - extent.since) // HOUR
    23
    """

    kind: str
    tz: str
    pattern: str

    @property
    def period(self) -> Period:
        """What the keys divide the wall clock into."""
        return PERIODS[self.kind]

    @property
    def format(self) -> KeyFormat:
        """The compiled format."""
        return compile_format(self.kind, self.pattern)

    def example(self) -> str:
        """Some key."""
        return self.render(self.label_at(first_reach(self.tz, _SOME_DAY)))

    def start(self, label: Label) -> datetime:
        """The beginning of the period on the wall clock, without a time zone."""
        return datetime.min + timedelta(seconds=self.period.start(label.number))

    def render(self, label: Label) -> str:
        """The key of a label."""
        return self.format.render(self.start(label), label.offset)

    def label(self, key: object) -> Label:
        """The label of a key, or KeyRejected."""
        if not isinstance(key, str):
            raise self.rejected(key, "a key is text")
        label = self._read(key)
        if label is None:
            raise self.rejected(key, None if key else "it is empty")
        extent = self.extent(label)
        if extent.empty:
            raise self._skipped(key, label)
        if self.within(extent) != extent:
            raise self.rejected(key, "its window leaves the years 1 to 9999")
        return label

    def label_at(self, instant: int) -> Label:
        """The label whose extent holds the instant."""
        if not self.format.has_offset:
            return Label(self.period.number(highest_wall(self.tz, instant)), None)
        [(_, _, offset)] = segments(self.tz, instant, instant + 1)
        return Label((instant + offset) // HOUR, offset)

    def extent(self, label: Label) -> Extent:
        """The instants of a label; none when the clocks skip it."""
        start, end = self.period.start(label.number), self.period.start(label.number + 1)
        if label.offset is None:
            return Extent(first_reach(self.tz, start), first_reach(self.tz, end))
        since = start - label.offset
        around = segments(self.tz, since, end - label.offset)
        there = [each for each in around if each.offset == label.offset]
        return Extent(there[0].begin, there[-1].end) if there else Extent(since, since)

    def window(self, label: Label) -> Window:
        """The extent as datetimes."""
        since, until = self.extent(label)
        return Window(to_datetime(since, self.tz), to_datetime(until, self.tz))

    def within(self, extent: Extent) -> Extent:
        """What is left of an extent when only windows that datetimes can hold count."""
        if extent.since >= 2 * DAY and extent.until <= END - 2 * DAY:
            return extent
        edges = _edges(self)
        return Extent(max(extent.since, edges.since), min(extent.until, edges.until))

    def runs(self, extent: Extent) -> tuple[Run, ...]:
        """The labels that have instants in the extent, in order."""
        since, until = extent = self.within(extent)
        if extent.empty:
            return ()
        if self.format.has_offset:
            return tuple(
                Run((begin + offset) // HOUR, (end - 1 + offset) // HOUR, offset)
                for begin, end, offset in segments(self.tz, since, until)
            )
        first, last = self.label_at(since).number, self.label_at(until - 1).number
        skipped = [n for n in self._skipped_numbers(since, until) if first < n < last]
        return tuple(
            Run(before + 1, after - 1, None)
            for before, after in zip([first - 1, *skipped], [*skipped, last + 1], strict=True)
            if before + 1 < after
        )

    def extent_of(self, bound: object) -> Extent:
        """The instants of the keys that a bound stands for: a key, or all those of an ISO date."""
        text = bound
        if isinstance(bound, date) and not isinstance(bound, datetime):
            text = bound.isoformat()
        if not isinstance(text, str) or not text:
            raise self._no_bound(bound)
        label = self._read(text)
        as_key = self.extent(label) if label is not None else None
        as_date = self._extent_of_date(text)
        if as_date is None:
            if label is None or as_key is None:
                raise self._no_bound(bound)
            if as_key.empty:
                raise self._skipped(text, label)
            return as_key
        if as_key is None or as_key.empty or as_key == as_date:
            return as_date
        raise KeyRejected(
            f"{shown(text)} is a date, and as a {self.kind} key it means another one",
            f"change the format {self.pattern!r}, whose keys look like dates",
        )

    def rejected(self, key: object, reason: str | None = None) -> KeyRejected:
        """The error for something that is no key."""
        what = f"{shown(key)} is no {self.kind} key"
        return KeyRejected(
            what if reason is None else f"{what}: {reason}",
            f"its keys look like {self.example()!r}",
        )

    def _no_bound(self, bound: object) -> KeyRejected:
        likes = dict.fromkeys(["'2026-05-01'", repr(self.example())])
        return KeyRejected(
            f"{shown(bound)} is no {self.kind} key and no date",
            f"use one like {' or '.join(likes)}",
        )

    def _read(self, text: str) -> Label | None:
        reading = self.format.read(text)
        if reading is None:
            return None
        wall = (reading.label - datetime.min) // timedelta(seconds=1)
        return Label(self.period.number(wall), reading.offset)

    def _extent_of_date(self, text: str) -> Extent | None:
        if _ISO_DATE.fullmatch(text) is None:
            return None
        try:
            midnight = (date.fromisoformat(text) - date.min).days * DAY
        except ValueError:
            return None
        first = self.label_at(first_reach(self.tz, midnight))
        last = self.label_at(first_reach(self.tz, midnight + DAY) - 1)
        return Extent(self.extent(first).since, self.extent(last).until)

    def _skipped_numbers(self, since: int, until: int) -> list[int]:
        """Numbers without instants. No clock jumps over a whole week, let alone a month."""
        length = self.period.seconds
        if not 0 < length <= DAY:
            return []
        pieces = segments(self.tz, since, until)
        return [
            number
            for before, after in pairwise(pieces)
            if after.offset - before.offset >= length
            for number in range(
                self.period.number(after.begin + before.offset),
                self.period.number(after.begin + after.offset) + 1,
            )
            if self.extent(Label(number, None)).empty
        ]

    def _skipped(self, key: str, label: Label) -> KeyRejected:
        if label.offset is not None:
            near = self.label_at(first_reach(self.tz, self.period.start(label.number)))
            return KeyRejected(
                f"{shown(key)} is no {self.kind} key: "
                f"the clocks of {self.tz} have another offset then",
                f"use {self.render(near)!r}",
            )
        after = self.extent(label).since
        return KeyRejected(
            f"{shown(key)} is no {self.kind} key: the clocks of {self.tz} skip it",
            f"use {self.render(self.label_at(after - 1))!r} "
            f"or {self.render(self.label_at(after))!r}",
        )


@lru_cache(maxsize=1024)
def _edges(calendar: Calendar) -> Extent:
    # The offset at either edge is less than a day, so few keys are lost.
    since, until = calendar.extent(calendar.label_at(0))
    while since < 0 or since + _offset_at(calendar.tz, since) < 0:
        since, until = until, calendar.extent(calendar.label_at(until)).until
    lowest = since
    since, until = calendar.extent(calendar.label_at(END - 1))
    while until >= END or until + _offset_at(calendar.tz, until) >= END:
        since, until = calendar.extent(calendar.label_at(since - 1)).since, since
    return Extent(lowest, until)


def _offset_at(tz: str, instant: int) -> int:
    return segments(tz, instant, instant + 1)[0].offset
