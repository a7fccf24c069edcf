"""The keys of an asset as letters, one for each, which are written over as more is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import groupby, product
from types import MappingProxyType
from typing import Literal, TypeAlias

from tranche.model.partitioning import Composite, KeyRange, Partitioning, Static, TimePartitioning
from tranche.model.partitioning_text import join_segments
from tranche.model.run import KeyTally, Outcome
from tranche.planning.universe import is_key
from tranche.ports import StateReader

Standing: TypeAlias = Literal["missing", "running", "stale", "provisional"] | Outcome

LETTERS: Mapping[Standing, str] = MappingProxyType(
    {
        "missing": "m",
        "running": "r",
        "stale": "t",
        "provisional": "p",
        "succeeded": "s",
        "failed": "f",
        "cancelled": "c",
    }
)
_FEW = 50
"""So many times fewer keys than there are, are looked up by themselves."""
_TICK = timedelta(microseconds=1)


class Board:
    """For each of what stands beside time, a letter for each key of a stretch of time."""

    def __init__(self, rule: Partitioning | TimePartitioning, times: KeyRange) -> None:
        self.rule = rule
        self.times = times
        self.lines: dict[tuple[str, ...], bytearray] = {}
        self._places: dict[str, int] | None = None

    def add(self, others: tuple[str, ...]) -> bytearray:
        """A line whose keys are all missing."""
        return self.lines.setdefault(others, bytearray(b"m" * len(self.times)))

    def mark(self, keys: Collection[str], standing: Standing) -> None:
        """Says where keys stand; those that are on no line do not matter."""
        letter = ord(LETTERS[standing])
        self._prepare(len(keys))
        for key in keys:
            segments = self._segments(key)
            line = None if segments is None else self.lines.get(segments[0])
            place = None if line is None or segments is None else self._place(segments[1])
            if line is not None and place is not None:
                line[place] = letter

    def mark_all(self, standing: Standing) -> None:
        for line in self.lines.values():
            line[:] = LETTERS[standing].encode() * len(self.times)

    def cut(self, times: KeyRange) -> Board:
        """The same for the latest keys only."""
        found = Board(self.rule, times)
        found.lines = {others: line[-len(times) :] for others, line in self.lines.items()}
        return found

    def mark_ledger(
        self, state: StateReader, asset: str, *, since: datetime, until: datetime
    ) -> None:
        """Says how the latest attempts ended, and adds lines for what is known beside time."""
        if isinstance(self.rule, Composite):
            known = state.statuses(asset, start=since, end=until)
            for others in _others(self.rule, known):
                self.add(others)
            self._mark_known(known)
        else:
            self._mark_tallies(state, asset, since, until)

    def counted(self, begin: int = 0, end: int | None = None) -> dict[Standing, int]:
        """How many keys stand where: of all, or of those from one place of time up to another."""
        found = {
            standing: sum(line.count(letter.encode(), begin, end) for line in self.lines.values())
            for standing, letter in LETTERS.items()
        }
        return {standing: number for standing, number in found.items() if number}

    def standing_at(self, standing: Standing) -> Iterator[str]:
        """The keys that stand somewhere."""
        letter = ord(LETTERS[standing])
        for others, line in self.lines.items():
            before, after = around(self.rule, others)
            for time, found in zip(self.times, line, strict=True):
                if found == letter:
                    yield whole_key(before, time, after)

    def _mark_known(self, known: Mapping[str, Outcome]) -> None:
        ended: dict[Outcome, list[str]] = {}
        for key, status in known.items():
            ended.setdefault(status, []).append(key)
        for status, keys in ended.items():
            self.mark(keys, status)

    def _mark_tallies(
        self, state: StateReader, asset: str, since: datetime, until: datetime
    ) -> None:
        """Where a month has as many keys as lie between its first and its last, none is missing:
        only those that have not succeeded are asked for."""
        line, doubtful = self.add(()), list[tuple[datetime, datetime]]()
        tallies = state.tallies(asset, start=since, end=until)
        was_doubtful = False
        for _, group in groupby(tallies, key=lambda tally: tally.month):
            month = list(group)
            first, last = min(each.first for each in month), max(each.last for each in month)
            places = self._whole(month, first, last)
            if places is not None:
                line[places.start : places.stop] = b"s" * len(places)
            elif was_doubtful:
                doubtful[-1] = doubtful[-1][0], last
            else:
                doubtful.append((first, last))
            was_doubtful = places is None
        if any(each.status != "succeeded" for each in tallies):
            self._mark_known(state.statuses(asset, start=since, end=until, but="succeeded"))
        for first, last in doubtful:
            self._mark_known(state.statuses(asset, start=first, end=last + _TICK))

    def _whole(self, month: Sequence[KeyTally], first: datetime, last: datetime) -> range | None:
        """Where the keys of a month are; None if some are missing, or are of another kind."""
        length = len(self.times[0])
        if not self.times.calendar.format.has_offset and any(
            (each.shortest, each.longest) != (length, length) for each in month
        ):
            return None
        begins, ends = self.times.beginning_at(first), self.times.beginning_at(last)
        if begins is None or ends is None:
            return None
        places = range(begins, ends + 1)
        return places if len(places) == sum(each.keys for each in month) else None

    def _segments(self, key: str) -> tuple[tuple[str, ...], str] | None:
        """What stands beside time, and the segment of time."""
        if not isinstance(self.rule, Composite):
            return (), key
        return split_key(self.rule, key)

    def _prepare(self, keys: int) -> None:
        if self._places is None and keys * _FEW > len(self.times):
            self._places = _places(self.times)

    def _place(self, time: str) -> int | None:
        if self._places is not None:
            return self._places.get(time)
        try:
            return self.times.index(time)
        except ValueError:
            return None


@lru_cache(maxsize=4)
def _places(times: KeyRange) -> dict[str, int]:
    """Where each key is. To write all of them takes longer than to read how they stand."""
    return {key: number for number, key in enumerate(times)}


def split_key(rule: Composite, key: str) -> tuple[tuple[str, ...], str] | None:
    """What a key has beside time, and its segment of time; None if it is no key of the rule."""
    place = rule.in_time
    if place is None or not is_key(rule, key):
        return None
    segments = rule.split(key)
    return (*segments[:place], *segments[place + 1 :]), segments[place]


def around(rule: Partitioning | TimePartitioning, others: Sequence[str]) -> tuple[str, str]:
    r"""What stands before and after the segment of time in the keys of a line.

    >>> from tranche.model.partitioning import Daily
    >>> around(Composite(region=Static(["us"]), day=Daily()), ["us"])
    ('us|', '')
    """
    if not isinstance(rule, Composite) or rule.in_time is None:
        return "", ""
    before, after = others[: rule.in_time], others[rule.in_time :]
    return (
        f"{join_segments(before)}|" if before else "",
        f"|{join_segments(after)}" if after else "",
    )


def whole_key(before: str, time: str, after: str) -> str:
    return f"{before}{join_segments([time])}{after}" if before or after else time


def _others(rule: Composite, known: Iterable[str]) -> list[tuple[str, ...]]:
    """What stands beside time: all that static dimensions have, and of others what is known."""
    rules = [each for place, each in enumerate(rule.rules) if place != rule.in_time]
    if all(isinstance(each, Static) for each in rules):
        return list(product(*(each.values for each in rules if isinstance(each, Static))))
    found = (split_key(rule, key) for key in known)
    return sorted({each[0] for each in found if each is not None})
