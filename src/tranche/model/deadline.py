"""Deadlines: until when a key waits for its inputs."""

from __future__ import annotations

from datetime import datetime

from tranche.model.partitioning import Composite, Partitioning, time_of
from tranche.model.partitioning_zone import HOUR, next_reading, to_datetime, to_instant


def deadline(rule: Partitioning | None, key: str, at: str) -> datetime | None:
    """The first moment with that time of day, in the zone of the keys, when the key's window is over.

    A time that the clock skips is the first instant after the gap, and one that it shows twice the
    first of both. None if the keys have no time, or if the calendar ends before.

    >>> from tranche.model.partitioning import Daily
    >>> deadline(Daily(tz="Europe/Paris"), "2026-05-16", "06:00").isoformat()
    '2026-05-17T06:00:00+02:00'
    """
    times = time_of(rule)
    if times is None:
        return None
    segment = key
    if isinstance(rule, Composite) and rule.in_time is not None:
        segment = rule.split(key)[rule.in_time]
    hours, minutes = map(int, at.split(":"))
    end = to_instant(times.window(segment).end)
    try:
        return to_datetime(next_reading(times.tz, end, hours * HOUR + minutes * 60), times.tz)
    except OverflowError:
        return None
