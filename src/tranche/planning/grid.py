"""Where all keys of an asset stand, also those that nobody ever tried."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tranche.errors import KeyRejected, UsageError
from tranche.model.partitioning import (
    Composite,
    KeyRange,
    Partitioning,
    TimePartitioning,
    time_of,
)
from tranche.model.partitioning_text import join_segments
from tranche.model.run import PartitionState
from tranche.model.script import Script
from tranche.planning.active import running_keys
from tranche.planning.board import LETTERS, Board, Standing, around, split_key, whole_key
from tranche.planning.deadlines import has_deadline
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.planning.universe import check_order, is_key, last_complete
from tranche.ports import StateReader

_SHOWN = {"hourly": 31 * 24, "daily": 366}
"""How many of the latest keys are shown if nobody says how many; of other kinds all."""
_MOST = 100_000
_MOST_LINES = 1_000
_MOST_CELLS = 1_000_000
_STANDINGS = {letter: standing for standing, letter in LETTERS.items()}
_ALIKE = re.compile(r"(.)\1*")


@dataclass(frozen=True, slots=True)
class Cell:
    """A key and where it stands."""

    key: str
    begins: datetime
    """On the wall clock."""
    standing: Standing
    beside: str = ""
    """The segments of the key besides that of time, where it has several."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Keys that follow each other and stand alike."""

    first: str
    last: str
    standing: Standing
    keys: int


@dataclass(frozen=True, slots=True)
class Line:
    """The keys of a stretch of time that have the same beside it, one letter for each."""

    letters: str
    beside: str = ""
    before: str = ""
    after: str = ""
    """What each key has before and after its segment of time."""

    def stretches(self) -> Iterator[tuple[int, int, Standing]]:
        """Where keys that stand alike begin, how many they are, and where they stand."""
        for found in _ALIKE.finditer(self.letters):
            yield found.start(), len(found[0]), _STANDINGS[found[1]]


@dataclass(frozen=True, slots=True)
class Grid:
    """The keys of an asset from one to another, without a gap.

    Keys are not listed: a line has a letter for each of `times`.
    """

    asset: str
    kind: str
    times: KeyRange | None = None
    lines: tuple[Line, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    """The instants that belong to them: from `since`, up to but not including `until`."""
    earlier: int = 0
    """How many keys before them are not shown."""
    hidden: int = 0
    """How many lines are not shown."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Each key by itself."""
        if self.times is None:
            return ()
        times = list(zip(self.times, self.times.begins(), strict=True))
        return tuple(
            Cell(whole_key(line.before, time, line.after), begins, _STANDINGS[letter], line.beside)
            for line in self.lines
            for (time, begins), letter in zip(times, line.letters, strict=True)
        )

    @property
    def counts(self) -> dict[Standing, int]:
        found = {
            standing: sum(line.letters.count(letter) for line in self.lines)
            for standing, letter in LETTERS.items()
        }
        return {standing: number for standing, number in found.items() if number}

    def stretches(self) -> tuple[Stretch, ...]:
        times = self.times
        if times is None:
            return ()
        return tuple(
            Stretch(
                whole_key(line.before, times[start], line.after),
                whole_key(line.before, times[start + keys - 1], line.after),
                standing,
                keys,
            )
            for line in self.lines
            for start, keys, standing in line.stretches()
        )


def grid_of(
    script: Script,
    rule: Partitioning,
    state: StateReader,
    now: datetime,
    *,
    start: str | None = None,
    end: str | None = None,
    whole: bool = False,
    stale: bool = True,
    reads: ReadColumns | None = None,
) -> Grid | None:
    """The keys from `start` to `end`: those of the partitioning, or that the ledger knows of.

    `whole` shows as many of them as can be shown, and without `stale` keys that are stale or
    provisional just succeeded; `reads` tells which columns scripts read, so that only these make
    keys stale. None if they have no time. Of several dimensions, there is a stretch of time for
    each of what the others have together.
    """
    times = time_of(rule)
    if times is None:
        return None
    asset, kind = str(script.asset), times.kind
    first = start if start is not None else times.start
    if first is None:
        known = next(iter(state.partitions(asset, limit=1)), None)
        if known is None or known.partition is None:
            return Grid(asset, kind)
        first = _time(rule, known.partition)
    last = end if end is not None else _last(rule, times, asset, state, now)
    try:
        check_order(times, start, end)
        keys = times.keys(start=first, end=last)
    except KeyRejected as error:
        raise UsageError(error.what, error.remedy) from None
    if start is not None and not whole and len(keys) > _MOST:
        raise UsageError(
            f"these are {len(keys):,} keys, from {keys[0]} to {keys[-1]}",
            "narrow them with --start and --end",
        )
    number = len(keys) if start is not None else min(len(keys), _SHOWN.get(kind, _MOST))
    if whole:
        number = min(len(keys), _MOST)
    shown = _latest(keys, number)
    if not shown:
        return Grid(asset, kind)
    board = _board(rule, times, shown, asset, state)
    hidden = max(0, len(board.lines) - _MOST_LINES)
    for others in list(board.lines)[_MOST_LINES:]:
        del board.lines[others]
    if len(board.lines) * len(shown) > _MOST_CELLS:
        shown = _latest(shown, _MOST_CELLS // len(board.lines))
        board = board.cut(shown)
    if stale:
        done = list(board.standing_at("succeeded"))
        board.mark(_provisional(script, done, state), "provisional")
        # A key that is both waits for somebody, and not for what comes late by itself.
        board.mark(stale_keys(script, done, state, reads), "stale")
    active = running_keys(asset, state)
    if None in active:
        board.mark_all("running")
    else:
        board.mark([key for key in active if key is not None], "running")
    return Grid(
        asset,
        kind,
        shown,
        tuple(_lines(board)),
        times.ordinal(shown[0]),
        times.window(shown[-1]).end_utc,
        earlier=len(keys) - len(shown),
        hidden=hidden,
    )


def _latest(keys: KeyRange, number: int) -> KeyRange:
    found = keys[len(keys) - number :]
    assert isinstance(found, KeyRange)
    return found


def _board(
    rule: Partitioning, times: TimePartitioning, shown: KeyRange, asset: str, state: StateReader
) -> Board:
    board = Board(rule, shown)
    since, until = times.ordinal(shown[0]), times.window(shown[-1]).end_utc
    board.mark_ledger(state, asset, since=since, until=until)
    return board


def _lines(board: Board) -> Iterator[Line]:
    for others, letters in board.lines.items():
        before, after = around(board.rule, others)
        yield Line(letters.decode(), join_segments(others), before, after)


def standings_of(
    script: Script | None,
    known: Sequence[PartitionState],
    state: StateReader,
    reads: ReadColumns | None = None,
) -> dict[str | None, Standing]:
    """Where some keys of an asset stand, whatever kind of keys they are."""
    if not known:
        return {}
    found: dict[str | None, Standing] = {each.partition: each.status for each in known}
    done = [each for each in known if each.status == "succeeded"]
    found |= {each.partition: "provisional" for each in done if each.provisional}
    if script is not None:
        keys = [each.partition for each in done]
        found |= dict.fromkeys(stale_keys(script, keys, state, reads), "stale")
    active = running_keys(known[0].asset, state)
    return {
        key: "running" if key in active or None in active else standing
        for key, standing in found.items()
    }


def _provisional(script: Script, keys: Sequence[str], state: StateReader) -> list[str]:
    if not has_deadline(script):
        return []
    standing = state.standing(str(script.asset), keys)
    return [key for key in keys if key in standing and standing[key].provisional]


def _time(rule: Partitioning, key: str) -> str:
    """The segment of time of a key."""
    found = split_key(rule, key) if isinstance(rule, Composite) else None
    return key if found is None else found[1]


def _last(
    rule: Partitioning, times: TimePartitioning, asset: str, state: StateReader, now: datetime
) -> str:
    """The last complete period, or a later one that has been tried."""
    complete = last_complete(times, now)
    later = state.statuses(
        asset, start=times.window(complete).end_utc, end=datetime.max.replace(tzinfo=UTC)
    )
    known = [_time(rule, key) for key in later if is_key(rule, key)]
    return max([complete, *known], key=times.ordinal)
