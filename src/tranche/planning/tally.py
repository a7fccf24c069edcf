"""How many keys stand where, by days, months or years: for keys that are too many to look at one
by one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from tranche.model.partitioning import TimePartitioning
from tranche.planning.board import Standing
from tranche.ports import StateReader

Span: TypeAlias = Literal["day", "month", "year"]


@dataclass(frozen=True, slots=True)
class Tally:
    """The keys of a day, a month or a year: how the latest attempt at each ended, or if none was
    made, that it is missing."""

    first: str
    last: str
    begins: datetime
    """The first of them, on the wall clock."""
    counts: Mapping[Standing, int]


def tallies(
    rule: TimePartitioning, asset: str, state: StateReader, *, last: str, most: Mapping[Span, int]
) -> tuple[Span, tuple[Tally, ...]]:
    """Tallies of the shortest span of which there are not too many, up to a key.

    Of years, the latest. Keys are counted by the calendar and never listed; they are hours or days,
    each of which lies in one day, one month and one year.
    """
    start = None if rule.start is not None else _first(asset, state)
    keys = rule.keys(start=start, end=last)
    span = _span(rule.parse(keys[0]), rule.parse(keys[-1]), most)
    parts = list(_parts(rule, keys, span))[-most[span] :]
    return span, tuple(_tally(rule, asset, state, part) for part in parts)


def _first(asset: str, state: StateReader) -> str | None:
    known = next(iter(state.partitions(asset, limit=1)), None)
    return None if known is None else known.partition


def _span(first: datetime, last: datetime, most: Mapping[Span, int]) -> Span:
    if last.toordinal() - first.toordinal() < most["day"]:
        return "day"
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    return "month" if months <= most["month"] else "year"


def _parts(rule: TimePartitioning, keys: Sequence[str], span: Span) -> Iterator[Sequence[str]]:
    """The keys of each span. Where one ends is found by halving."""
    precision = {"year": 1, "month": 2, "day": 3}[span]

    def place(key: str) -> tuple[int, ...]:
        at = rule.parse(key)
        return (at.year, at.month, at.day)[:precision]

    begin = 0
    while begin < len(keys):
        end = bisect_right(keys, place(keys[begin]), lo=begin, key=place)
        yield keys[begin:end]
        begin = end


def _tally(rule: TimePartitioning, asset: str, state: StateReader, keys: Sequence[str]) -> Tally:
    since, until = rule.ordinal(keys[0]), rule.window(keys[-1]).end_utc
    found: Counter[Standing] = Counter(state.statuses(asset, start=since, end=until).values())
    missing = len(keys) - found.total()
    if missing > 0:
        found["missing"] = missing
    return Tally(keys[0], keys[-1], rule.parse(keys[0]), found)
