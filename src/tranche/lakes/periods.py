"""Years, months, days and hours as Iceberg numbers them, from 1970 on."""

from __future__ import annotations

from datetime import date, timedelta

from tranche.lakes.predicates import Comparison
from tranche.model.layout import TransformName

_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000_000
_HOUR = 3_600_000_000


def nearest(
    name: TransformName, comparison: Comparison, value: int, *, days: bool
) -> tuple[str, int] | None:
    """How the period of a time compares, if the time itself compares so with a value.

    The value is in microseconds, or in days. None if it is beyond the calendar.

    >>> nearest("day", "<", 20_000, days=True)
    ('<=', 19999)
    >>> nearest("hour", ">", 3_600_000_000 - 1, days=False)
    ('>=', 1)
    >>> nearest("month", "=", 31, days=True)
    ('=', 1)
    """
    # The first or last value that is still meant; its period is the first or last one.
    inside = value + {"<": -1, ">": 1}.get(comparison, 0)
    number = _number(name, inside * _DAY if days else inside)
    if number is None:
        return None
    return {"<": "<=", ">": ">="}.get(comparison, comparison), number


def _number(name: TransformName, micros: int) -> int | None:
    if name == "hour":
        return micros // _HOUR
    day = micros // _DAY
    if name == "day":
        return day
    try:
        found = _EPOCH + timedelta(days=day)
    except OverflowError:
        return None
    years = found.year - _EPOCH.year
    return years if name == "year" else years * 12 + found.month - 1
