"""Time zones as step functions: which offset holds when, and when a wall clock first reads a time.

Times are whole seconds since 0001-01-01T00:00: an *instant* counts them in UTC, a *wall* on the
local clock, and ``wall = instant + offset``. They are integers because arithmetic and comparison
of aware datetimes in one zone go by the wall clock, and because the end of year 9999 is no
datetime at all. Every offset and every jump in the time zone database is a whole second.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tranche.errors import UnknownTimeZone

HOUR = 3600
DAY = 24 * HOUR
#: The first second that no datetime can hold.
END = (datetime.max - datetime.min) // timedelta(seconds=1) + 1

_ZERO = datetime.min.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_STEP = DAY
#: After so long the calendar repeats itself, with the days of its weeks.
_CYCLE = 146_097 * DAY
_SPAN = _CYCLE // 773
#: Before these spans no zone has changed its offset, after these each repeats what its rule says.
_EARLIEST = (datetime(1800, 1, 1) - datetime.min) // timedelta(seconds=1) // _SPAN
_LATEST = (datetime(2400, 1, 1) - datetime.min) // timedelta(seconds=1) // _SPAN
_NAME = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")
_NOT_IANA = ("localtime", "posixrules", "posix/", "right/")


class Segment(NamedTuple):
    """A stretch of instants ``[begin, end)`` with one offset."""

    begin: int
    end: int
    offset: int


def time_zone(name: str) -> ZoneInfo:
    """The zone with this IANA name.

    >>> time_zone("Europe/Pariss")
    Traceback (most recent call last):
    tranche.errors.UnknownTimeZone: unknown time zone 'Europe/Pariss'; use 'Europe/Paris'
    """
    zone = _load(name)
    if zone is None:
        raise UnknownTimeZone(f"unknown time zone {name!r}", _near(name))
    return zone


def to_instant(moment: datetime) -> int:
    """
    >>> to_instant(datetime(1, 1, 1, 0, 0, 9, 5, tzinfo=UTC))
    9
    """
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware datetime")
    return (moment.replace(tzinfo=None) - datetime.min - offset) // _SECOND


def to_datetime(instant: int, tz: str) -> datetime:
    """The instant on the clock of `tz`, with `fold` set where the clock shows a time twice."""
    return _utc(instant).astimezone(time_zone(tz))


def segments(tz: str, since: int, until: int) -> list[Segment]:
    """The instants ``[since, until)``, cut wherever the offset changes.

    >>> march = to_instant(datetime(2026, 3, 29, tzinfo=UTC))
    >>> [(s.begin - march, s.offset) for s in segments("Europe/Paris", march, march + DAY)]
    [(0, 3600), (3600, 7200)]
    """
    begins: list[int] = []
    offsets: list[int] = []
    for span in range(since // _SPAN, (until - 1) // _SPAN + 1):
        steps, values = _steps_of(tz, span)
        first = max(bisect_right(steps, since) - 1, 0)
        for i in range(first, bisect_left(steps, until)):
            if not offsets or offsets[-1] != values[i]:
                begins.append(max(steps[i], since))
                offsets.append(values[i])
    return [Segment(*each) for each in zip(begins, [*begins[1:], until], offsets, strict=True)]


@lru_cache(maxsize=8192)
def first_reach(tz: str, wall: int) -> int:
    """The first instant at which the clock of `tz` reads `wall` or later."""
    # An offset is less than a day, so the instant is less than a day away.
    for begin, end, offset in segments(tz, wall - DAY, wall + DAY + 1):
        reach = max(begin, wall - offset)
        if reach < end:
            return reach
    raise AssertionError("no offset reaches a day")


def highest_wall(tz: str, instant: int) -> int:
    """The latest time that the clock of `tz` has read up to and including `instant`."""
    # A clock that goes back loses less than two days, the distance between two offsets.
    return max(end - 1 + offset for _, end, offset in segments(tz, instant - 2 * DAY, instant + 1))


def next_reading(tz: str, since: int, time: int) -> int:
    """The first instant from `since` on at which the clock of `tz` reads a time of day or skips it.

    The time is given in seconds after midnight.
    """
    ahead: int | None = None
    # The second before tells whether the clock jumps at `since` itself.
    for begin, end, offset in segments(tz, since - 1, since + 3 * DAY):
        if ahead is not None and begin >= since and _next(ahead, time) < begin + offset:
            return begin
        reads = _next(max(begin, since) + offset, time) - offset
        if reads < end:
            return reads
        ahead = end + offset
    raise AssertionError("no clock takes three days for a day")


def _steps_of(tz: str, span: int) -> tuple[Sequence[int], Sequence[int]]:
    """Where the segments of any span begin, and their offsets; few of them need looking at."""
    if span < _EARLIEST:
        _, values = _steps(tz, _EARLIEST - 1)
        return (span * _SPAN,), values[:1]
    like = span if span <= _LATEST else _LATEST + (span - _LATEST) % (_CYCLE // _SPAN)
    steps, values = _steps(tz, like)
    return [step + (span - like) * _SPAN for step in steps] if like != span else steps, values


@lru_cache(maxsize=4096)
def _steps(tz: str, span: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the segments of one span of days begin, and their offsets.

    zoneinfo does not tell its transitions: steps of a day find them (in the whole database, two
    are never closer than four days), bisection gives the second.
    """
    zone = time_zone(tz)
    begin, last = span * _SPAN, (span + 1) * _SPAN - 1
    at, offset = begin, _offset(zone, begin)
    steps, values = [at], [offset]
    # A zone that knows its offset without being told the time has only that one.
    while at < last and zone.utcoffset(None) is None:
        ahead = min(at + _STEP, last)
        if _offset(zone, ahead) == offset:
            at = ahead
            continue
        while ahead - at > 1:
            middle = (at + ahead) // 2
            if _offset(zone, middle) == offset:
                at = middle
            else:
                ahead = middle
        at, offset = ahead, _offset(zone, ahead)
        steps.append(at)
        values.append(offset)
    return tuple(steps), tuple(values)


def _offset(zone: ZoneInfo, instant: int) -> int:
    # At the ends of the calendar the local time may be no datetime; nothing jumps there.
    offset = _utc(min(max(instant, DAY), END - 2 * DAY)).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // _SECOND


def _next(wall: int, time: int) -> int:
    """The first wall from this one on that is a time of day."""
    return wall + (time - wall) % DAY


def _utc(instant: int) -> datetime:
    return _ZERO + timedelta(seconds=instant)


def _load(name: object) -> ZoneInfo | None:
    # ZoneInfo would also open files beside the database, and some that differ between machines.
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith(_NOT_IANA):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _near(name: object) -> str:
    # Only now: listing the database reads hundreds of files.
    from difflib import get_close_matches
    from zoneinfo import available_timezones

    zones = sorted(available_timezones())
    known = {zone.casefold(): zone for zone in zones if not zone.startswith(_NOT_IANA)}
    wanted = str(name).casefold().replace(" ", "_")
    near = get_close_matches(wanted, known, n=1) or [
        zone for zone in known if wanted and zone.endswith(f"/{wanted}")
    ]
    return f"use {known[near[0]]!r}" if near else "use an IANA name such as 'Europe/Paris'"
