"""Keys of time as squares in rows and columns: one for each, or one for all of a longer period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from tranche.notebook.paint import ORDER
from tranche.planning.board import Standing
from tranche.planning.grid import Cell
from tranche.planning.tally import Span, Tally

Period: TypeAlias = Literal["hour", "day", "week", "month", "quarter", "year"]

_FINEST: Mapping[str, Period] = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
}
_MOST = 800
"""How many squares are drawn at most."""
SPANS: Mapping[Span, int] = {"day": 371, "month": 600, "year": 600}
"""Of how many spans there may be tallies at most."""


@dataclass(slots=True)
class Square:
    """The keys that are drawn as one."""

    begins: datetime
    """The first of them, on the wall clock."""
    first: str
    last: str = ""
    counts: dict[Standing, int] = field(default_factory=dict)

    @property
    def keys(self) -> int:
        return sum(self.counts.values())

    @property
    def worst(self) -> Standing:
        """What is told of it first."""
        return next(standing for standing in ORDER if standing in self.counts)

    @property
    def label(self) -> str:
        if self.keys == 1:
            return f"{self.first}: {self.worst}"
        told = ", ".join(f"{self.counts[s]:,} {s}" for s in ORDER if s in self.counts)
        return f"{self.first} … {self.last}: {told}"


@dataclass(frozen=True, slots=True)
class Squares:
    """Squares of one period, in the order of time."""

    period: Period
    squares: tuple[Square, ...]

    @property
    def counts(self) -> dict[Standing, int]:
        found: Counter[Standing] = Counter()
        for square in self.squares:
            found.update(square.counts)
        return dict(found)

    @property
    def keys(self) -> int:
        return sum(square.keys for square in self.squares)


def squares_of(kind: str, cells: Sequence[Cell]) -> Squares:
    """A square for each key or, if these are too many, for the keys of each year."""
    finest = _FINEST[kind]
    found = gathered(cells, finest)
    period: Period = finest if len(found) <= _MOST else "year"
    return Squares(period, tuple(gathered(cells, period)[-_MOST:]))


def squares_of_tallies(span: Span, tallies: Sequence[Tally]) -> Squares:
    """A square for each tally."""
    squares = (Square(each.begins, each.first, each.last, dict(each.counts)) for each in tallies)
    return Squares(span, tuple(squares))


def gathered(cells: Iterable[Cell], period: Period) -> list[Square]:
    found: dict[datetime, Square] = {}
    start = _STARTS[period]
    for cell in cells:
        begins = start(cell.begins)
        square = found.get(begins)
        if square is None:
            square = found[begins] = Square(begins, cell.key)
        square.last = cell.key
        square.counts[cell.standing] = square.counts.get(cell.standing, 0) + 1
    return list(found.values())


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


_STARTS: dict[Period, Callable[[datetime], datetime]] = {
    "hour": lambda at: at.replace(minute=0, second=0, microsecond=0),
    "day": _midnight,
    "week": lambda at: _midnight(at) - timedelta(days=at.weekday()),
    "month": lambda at: _midnight(at).replace(day=1),
    "quarter": lambda at: _midnight(at).replace(day=1, month=(at.month - 1) // 3 * 3 + 1),
    "year": lambda at: _midnight(at).replace(day=1, month=1),
}
