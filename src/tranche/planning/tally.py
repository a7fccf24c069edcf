"""How many keys stand where, by days, months or years: for keys that are too many to look at one
by one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from tranche.model.partitioning import KeyRange, TimePartitioning
from tranche.planning.board import Board, Standing
from tranche.ports import StateReader

Span: TypeAlias = Literal["day", "month", "year"]
_AT_ONCE = 100_000
"""How many keys are on one board: as many as a grid shows."""


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

    Of years, the latest. Where keys stand is read as for a grid, whose letters are counted; they
    are hours or days, each of which lies in one day, one month and one year.
    """
    start = None if rule.start is not None else _first(asset, state)
    keys = rule.keys(start=start, end=last)
    span = _span(rule.parse(keys[0]), rule.parse(keys[-1]), most)
    parts = list(_parts(rule, keys, span))[-most[span] :]
    found: list[Tally] = []
    for some in _together(parts):
        times = _between(keys, some[0].start, some[-1].stop)
        board = Board(rule, times)
        until = rule.window(times[-1]).end_utc
        board.mark_ledger(state, asset, since=rule.ordinal(times[0]), until=until)
        for part in some:
            begin, end = part.start - some[0].start, part.stop - some[0].start
            first, last = times[begin], times[end - 1]
            found.append(Tally(first, last, rule.parse(first), board.counted(begin, end)))
    return span, tuple(found)


def _first(asset: str, state: StateReader) -> str | None:
    known = next(iter(state.partitions(asset, limit=1)), None)
    return None if known is None else known.partition


def _span(first: datetime, last: datetime, most: Mapping[Span, int]) -> Span:
    if last.toordinal() - first.toordinal() < most["day"]:
        return "day"
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    return "month" if months <= most["month"] else "year"


def _parts(rule: TimePartitioning, keys: KeyRange, span: Span) -> Iterator[range]:
    """Where the keys of each span are. Where one ends is found by halving."""
    precision = {"year": 1, "month": 2, "day": 3}[span]

    def place(key: str) -> tuple[int, ...]:
        at = rule.parse(key)
        return (at.year, at.month, at.day)[:precision]

    begin = 0
    while begin < len(keys):
        end = bisect_right(keys, place(keys[begin]), lo=begin, key=place)
        yield range(begin, end)
        begin = end


def _together(parts: Iterable[range]) -> Iterator[list[range]]:
    """Parts that follow each other, and have not too many keys together."""
    some: list[range] = []
    for part in parts:
        if some and part.stop - some[0].start > _AT_ONCE:
            yield some
            some = []
        some.append(part)
    if some:
        yield some


def _between(keys: KeyRange, begin: int, end: int) -> KeyRange:
    found = keys[begin:end]
    assert isinstance(found, KeyRange)
    return found
