"""Where all keys of an asset stand, also those that nobody ever tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, product
from typing import Literal, TypeAlias

from tranche.errors import KeyRejected, UsageError
from tranche.model.partitioning import (
    Composite,
    Partitioning,
    Static,
    TimePartitioning,
    time_of,
)
from tranche.model.partitioning_text import join_segments
from tranche.model.run import Outcome
from tranche.model.script import Script
from tranche.planning.active import active_keys
from tranche.planning.deadlines import has_deadline
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.planning.universe import check_order, is_key, last_complete
from tranche.ports import StateReader

Standing: TypeAlias = Literal["missing", "running", "stale", "provisional"] | Outcome

_SHOWN = {"hourly": 31 * 24, "daily": 366}
"""How many of the latest keys are shown if nobody says how many; of other kinds all."""
_MOST = 100_000


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
class Grid:
    """The keys of an asset from one to another, without a gap."""

    asset: str
    kind: str
    cells: tuple[Cell, ...]
    since: datetime | None = None
    until: datetime | None = None
    """The instants that belong to them: from `since`, up to but not including `until`."""
    earlier: int = 0
    """How many keys before them are not shown."""

    @property
    def counts(self) -> dict[Standing, int]:
        found: dict[Standing, int] = {}
        for cell in self.cells:
            found[cell.standing] = found.get(cell.standing, 0) + 1
        return found

    def stretches(self) -> tuple[Stretch, ...]:
        found = []
        for (_, standing), group in groupby(
            self.cells, key=lambda cell: (cell.beside, cell.standing)
        ):
            keys = [cell.key for cell in group]
            found.append(Stretch(keys[0], keys[-1], standing, len(keys)))
        return tuple(found)


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
            return Grid(asset, kind, ())
        first = _Key.of(rule, known.partition).time
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
    shown = list(keys[len(keys) - number :])
    if not shown:
        return Grid(asset, kind, ())
    since, until = times.ordinal(shown[0]), times.window(shown[-1]).end_utc
    standing: dict[str, Standing] = dict(state.statuses(asset, start=since, end=until))
    every = [key for others in _others(rule, standing) for key in _keys(rule, others, shown)]
    if stale:
        done = [key.text for key in every if standing.get(key.text) == "succeeded"]
        standing |= dict.fromkeys(_provisional(script, done, state), "provisional")
        # A key that is both waits for somebody, and not for what comes late by itself.
        standing |= dict.fromkeys(stale_keys(script, done, state, reads), "stale")
    active = active_keys(asset, state)
    begins = {key: times.parse(key) for key in shown}
    cells = tuple(
        Cell(
            key.text,
            begins[key.time],
            "running"
            if key.text in active or None in active
            else standing.get(key.text, "missing"),
            key.beside,
        )
        for key in every
    )
    return Grid(asset, kind, cells, since, until, earlier=len(keys) - number)


def _provisional(script: Script, keys: Sequence[str], state: StateReader) -> list[str]:
    if not has_deadline(script):
        return []
    standing = state.standing(str(script.asset), keys)
    return [key for key in keys if key in standing and standing[key].provisional]


@dataclass(frozen=True, slots=True)
class _Key:
    """A key, with its segment of time and what stands beside it."""

    text: str
    time: str
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Partitioning, text: str) -> _Key:
        if not isinstance(rule, Composite) or rule.in_time is None:
            return cls(text, text)
        segments = rule.split(text)
        place = rule.in_time
        return cls(text, segments[place], (*segments[:place], *segments[place + 1 :]))

    @property
    def beside(self) -> str:
        return join_segments(self.others)


def _keys(rule: Partitioning, others: tuple[str, ...], times: Sequence[str]) -> Iterator[_Key]:
    for time in times:
        if isinstance(rule, Composite) and rule.in_time is not None:
            place = rule.in_time
            text = rule.join((*others[:place], time, *others[place:]))
            yield _Key(text, time, others)
        else:
            yield _Key(time, time)


def _others(rule: Partitioning, known: Iterable[str]) -> list[tuple[str, ...]]:
    """What stands beside time: all that static dimensions have, and of others what is known."""
    if not isinstance(rule, Composite):
        return [()]
    rules = [each for place, each in enumerate(rule.rules) if place != rule.in_time]
    if all(isinstance(each, Static) for each in rules):
        return list(product(*(each.values for each in rules if isinstance(each, Static))))
    keys = (_Key.of(rule, key) for key in known if is_key(rule, key))
    return sorted({key.others for key in keys})


def _last(
    rule: Partitioning, times: TimePartitioning, asset: str, state: StateReader, now: datetime
) -> str:
    """The last complete period, or a later one that has been tried."""
    complete = last_complete(times, now)
    later = state.statuses(
        asset, start=times.window(complete).end_utc, end=datetime.max.replace(tzinfo=UTC)
    )
    known = [_Key.of(rule, key).time for key in later if is_key(rule, key)]
    return max([complete, *known], key=times.ordinal)
