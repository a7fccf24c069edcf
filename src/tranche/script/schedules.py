"""When a cron fires.

A cron speaks of the wall clock. A time that the clock leaps over fires when the leap is done, and one
that the clock shows twice fires once; but a cron of every hour, or every so many, goes on by the
hour whatever the clock does.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from tranche.model.partitioning_zone import time_zone

_LEAP = timedelta(hours=26)
"""No clock was ever moved by more."""


def fire_before(cron: str, tz: str, at: datetime) -> datetime:
    """The last time before an instant at which a cron fired.

    >>> str(fire_before("0 6 * * 1-5", "UTC", datetime(2026, 11, 16, 6, tzinfo=UTC)))
    '2026-11-13 06:00:00+00:00'
    """
    zone = time_zone(tz)
    local, margin = _wall(at, zone), _margin(at, zone)
    walls = croniter(cron, local + margin + timedelta(minutes=1), ret_type=datetime)
    found: datetime | None = None
    while True:
        wall: datetime = walls.get_prev()
        if found is not None and wall < local - margin:
            return found.astimezone(zone)
        before = [fire for fire in _instants(cron, zone, wall) if fire < at]
        found = max([*before, *([] if found is None else [found])], default=None)


def fire_after(cron: str, tz: str, at: datetime) -> datetime:
    """The first time after an instant at which a cron fires.

    >>> str(fire_after("30 2 * * *", "Europe/Paris", datetime(2026, 3, 28, 12, tzinfo=UTC)))
    '2026-03-29 03:30:00+02:00'
    """
    zone = time_zone(tz)
    local, margin = _wall(at, zone), _margin(at, zone)
    walls = croniter(cron, local - margin - timedelta(minutes=1), ret_type=datetime)
    found: datetime | None = None
    while True:
        wall: datetime = walls.get_next()
        if found is not None and wall > local + margin:
            return found.astimezone(zone)
        after = [fire for fire in _instants(cron, zone, wall) if fire > at]
        found = min([*after, *([] if found is None else [found])], default=None)


def moved(cron: str, tz: str, fire: datetime, steps: int) -> datetime:
    """The fire so many fires later, or earlier when negative."""
    for _ in range(abs(steps)):
        fire = (fire_after if steps > 0 else fire_before)(cron, tz, fire)
    return fire


def _instants(cron: str, zone: ZoneInfo, wall: datetime) -> Iterator[datetime]:
    """The instants at which a cron fires that the wall clock calls by a time."""
    yield wall.replace(tzinfo=zone).astimezone(UTC)
    again = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if _by_the_hour(cron) and _wall(again, zone) == wall:
        yield again


def _by_the_hour(cron: str) -> bool:
    fields = cron.split()
    return cron == "@hourly" or (len(fields) == 5 and fields[1].startswith("*"))


def _wall(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def _margin(at: datetime, zone: ZoneInfo) -> timedelta:
    """How far the order of wall times may be from that of instants here."""
    offsets = {(at + by).astimezone(zone).utcoffset() for by in (-_LEAP, timedelta(0), _LEAP)}
    return timedelta(0) if len(offsets) == 1 else _LEAP
