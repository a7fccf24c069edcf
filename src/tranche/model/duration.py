"""Lengths of time as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

_FORM = re.compile(r"(\d{1,9})(ms|s|m|h|d|w)")
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_duration(text: str) -> timedelta | None:
    """None if it is no length of time.

    >>> parse_duration("36h"), parse_duration("1 day")
    (datetime.timedelta(days=1, seconds=43200), None)
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        return None


def duration_text(length: timedelta) -> str:
    """
    >>> duration_text(timedelta(days=7)), duration_text(timedelta(hours=36))
    ('7d', '36h')
    """
    for unit, size in reversed(_UNITS.items()):
        if unit != "w" and length % size == timedelta():
            return f"{length // size}{unit}"
    return str(length)
