"""Sizes of data as people write them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?(?:E[+-]?\d+)?)\s*([KMGTPE]?)(?:i?B)?\s*", re.IGNORECASE)
_UNITS = " KMGTPE"


def parse_size(text: str) -> int | None:
    """How many bytes a text means; units are powers of 1,024. None if it means nothing.

    >>> parse_size("64GB"), parse_size("2.1 MiB"), parse_size("lots")
    (68719476736, 2202009, None)
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    power = _UNITS.index(found[2].upper() or " ")
    return int(float(found[1]) * 1024**power)


def shown_size(size: int) -> str:
    """
    >>> shown_size(2202009), shown_size(12)
    ('2.1 MB', '12 B')
    """
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_UNITS[unit].strip()}B"
