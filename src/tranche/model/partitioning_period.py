"""Periods: the wall clock cut into numbered hours, days, weeks, months, quarters or years.

Number 0 holds the first second of year 1. Walls are seconds, see `partitioning_zone`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from tranche.model.partitioning_zone import DAY, END, HOUR


class Period(NamedTuple):
    """A length on the wall clock: either so many seconds or so many months."""

    noun: str
    seconds: int = 0
    months: int = 0

    def number(self, wall: int) -> int:
        """The number of the period that holds `wall`."""
        if self.seconds:
            return wall // self.seconds
        day = date.fromordinal(min(max(wall, 0), END - 1) // DAY + 1)
        return ((day.year - 1) * 12 + day.month - 1) // self.months

    def start(self, number: int) -> int:
        """The wall at which the period of that number begins.

        >>> PERIODS["monthly"].start(14) == (date(2, 3, 1) - date.min).days * DAY
        True
        """
        if self.seconds:
            return number * self.seconds
        years, months = divmod(number * self.months, 12)
        if years >= date.max.year:
            return END
        return (date(years + 1, months + 1, 1).toordinal() - 1) * DAY

    @property
    def at_most(self) -> int:
        """Seconds that no period exceeds while clocks keep still."""
        return self.seconds or self.months * 31 * DAY


# 0001-01-01 was a Monday, so weeks count from it like days do.
PERIODS: Mapping[str, Period] = MappingProxyType(
    {
        "hourly": Period(noun="hour", seconds=HOUR),
        "daily": Period(noun="day", seconds=DAY),
        "weekly": Period(noun="week", seconds=7 * DAY),
        "monthly": Period(noun="month", months=1),
        "quarterly": Period(noun="quarter", months=3),
        "yearly": Period(noun="year", months=12),
    }
)
