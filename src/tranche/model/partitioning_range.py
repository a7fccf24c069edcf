"""Key ranges: the keys of a time partitioning between two bounds, counted and not listed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import overload

from tranche.errors import KeyRejected
from tranche.model.partitioning_calendar import Calendar, Label, Run
from tranche.model.partitioning_zone import to_instant


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeyRange(Sequence[str]):
    """Keys in order. It holds runs of numbers, so a century of hours costs as much as a day.

    >>> days = KeyRange(Calendar("daily", "UTC", "%Y-%m-%d"), (Run(739000, 739364, None),))
    >>> len(days), days[-1], days[:2]
    (365, '2025-04-24', KeyRange('2024-04-25' … '2024-04-26', 2 keys))
    """

    calendar: Calendar
    runs: tuple[Run, ...]
    #: Sentences about bounds that were asked for and lie outside the partitioning's own.
    warnings: tuple[str, ...] = ()
    descending: bool = False
    _ends: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        lengths = (run.last - run.first + 1 for run in self.runs)
        object.__setattr__(self, "_ends", tuple(accumulate(lengths)))
        if len(self) < 2:
            object.__setattr__(self, "descending", False)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            positions = range(len(self))[index]
            if positions.step not in (1, -1):
                return tuple(self._key(self._from_first(position)) for position in positions)
            if not positions:
                return KeyRange(self.calendar, (), self.warnings)
            low, high = sorted(self._from_first(positions[end]) for end in (0, -1))
            return self._between(low, high, self.descending != (positions.step < 0))
        return self._key(self._from_first(range(len(self))[index]))

    def __iter__(self) -> Iterator[str]:
        return self._walk(descending=self.descending)

    def __reversed__(self) -> Iterator[str]:
        return self._walk(descending=not self.descending)

    def __contains__(self, key: object) -> bool:
        return self._position(key) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyRange):
            return NotImplemented
        if self.calendar == other.calendar:
            return (self.runs, self.descending) == (other.runs, other.descending)
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]) if self.runs else ())

    def __repr__(self) -> str:
        if not self.runs:
            return "KeyRange(no keys)"
        return f"KeyRange({self[0]!r} … {self[-1]!r}, {len(self)} keys)"

    def index(self, key: object, start: int = 0, stop: int | None = None) -> int:
        """The position of a key; ValueError when it is not there."""
        position = self._position(key)
        if position is None or position not in range(len(self))[start:stop]:
            raise ValueError(f"{key!r} is not in {self!r}")
        return position

    def count(self, key: object) -> int:
        """1 for a key of the range, else 0."""
        return int(key in self)

    def beginning_at(self, instant: datetime) -> int | None:
        """The position of the key whose window begins at an instant."""
        at = to_instant(instant)
        label = self.calendar.label_at(at)
        return self._labelled(label) if self.calendar.extent(label).since == at else None

    def begins(self) -> Iterator[datetime]:
        """Where the period of each key begins on the wall clock, as `parse` would say it."""
        for first, last, offset in reversed(self.runs) if self.descending else self.runs:
            numbers = range(first, last + 1)
            for number in reversed(numbers) if self.descending else numbers:
                yield self.calendar.start(Label(number, offset))

    def _walk(self, *, descending: bool) -> Iterator[str]:
        for first, last, offset in reversed(self.runs) if descending else self.runs:
            numbers = range(first, last + 1)
            for number in reversed(numbers) if descending else numbers:
                yield self.calendar.render(Label(number, offset))

    def _from_first(self, position: int) -> int:
        """The position of a key among the ascending ones; its own inverse."""
        return len(self) - 1 - position if self.descending else position

    def _key(self, position: int) -> str:
        at = bisect_right(self._ends, position)
        run = self.runs[at]
        return self.calendar.render(Label(run.last - (self._ends[at] - 1 - position), run.offset))

    def _position(self, key: object) -> int | None:
        try:
            return self._labelled(self.calendar.label(key))
        except KeyRejected:
            return None

    def _labelled(self, label: Label) -> int | None:
        number, offset = label
        for run, end in zip(self.runs, self._ends, strict=True):
            if run.first <= number <= run.last and run.offset == offset:
                return self._from_first(end - 1 - (run.last - number))
        return None

    def _between(self, low: int, high: int, descending: bool) -> KeyRange:
        trimmed = []
        for run, end in zip(self.runs, self._ends, strict=True):
            begin = end - (run.last - run.first + 1)
            first, last = max(low, begin), min(high, end - 1)
            if first <= last:
                trimmed.append(Run(run.first + first - begin, run.first + last - begin, run.offset))
        return KeyRange(self.calendar, tuple(trimmed), self.warnings, descending)
