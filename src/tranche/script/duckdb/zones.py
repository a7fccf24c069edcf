"""Wall clocks that occur twice, in the night in which an hour is repeated.

Java takes the first of the two, DuckDB the second. A time is the first of two if the clock is as far
behind 23 hours later as it would be set back to show the same again.
"""

from __future__ import annotations

BOUND = "_tranche_t"
"""The name of what is written once."""
_MOST = "INTERVAL '23' HOUR"
"""With a day, Spark would add one of the calendar."""


def later(text: str) -> str:
    """Of the two times that have the wall clock of one, the later; a time without a zone stays."""
    return _later(text, "CAST({} AS TIMESTAMP_NTZ)")


def later_elsewhere(text: str, zone: str) -> str:
    """The same for a wall clock of UTC, and the wall clocks of a zone."""
    return _later(text, f"convert_timezone('UTC', {zone}, {{}})")


def bound(text: str, body: str) -> str:
    """An expression over a value that is written once."""
    return f"element_at(transform(array({text}), {BOUND} -> {body}), 1)"


def _later(text: str, shown: str) -> str:
    wall, after = shown.format(BOUND), shown.format(f"{BOUND} + {_MOST}")
    moved = f"{BOUND} + ({wall} + {_MOST} - {after})"
    return bound(text, f"if({shown.format(moved)} = {wall}, {moved}, {BOUND})")
