"""Where all keys of an asset stand, also those that nobody ever tried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal, TypeAlias

from tranche.errors import KeyRejected, UsageError
from tranche.model.partitioning import TimePartitioning
from tranche.model.run import Outcome
from tranche.model.script import Script
from tranche.planning.active import active_keys
from tranche.planning.stale import stale_keys
from tranche.planning.universe import check_order, last_complete
from tranche.ports import StateReader

Standing: TypeAlias = Literal["missing", "running", "stale"] | Outcome

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
        for standing, group in groupby(self.cells, key=lambda cell: cell.standing):
            keys = [cell.key for cell in group]
            found.append(Stretch(keys[0], keys[-1], standing, len(keys)))
        return tuple(found)


def grid_of(
    script: Script,
    rule: TimePartitioning,
    state: StateReader,
    now: datetime,
    *,
    start: str | None = None,
    end: str | None = None,
) -> Grid:
    """The keys from `start` to `end`: those of the partitioning, or that the ledger knows of."""
    asset = str(script.asset)
    first = start if start is not None else rule.start
    if first is None:
        known = next(iter(state.partitions(asset, limit=1)), None)
        if known is None or known.partition is None:
            return Grid(asset, rule.kind, ())
        first = known.partition
    last = end if end is not None else _last(rule, asset, state, now)
    try:
        check_order(rule, start, end)
        keys = rule.keys(start=first, end=last)
    except KeyRejected as error:
        raise UsageError(error.what, error.remedy) from None
    if start is not None and len(keys) > _MOST:
        raise UsageError(
            f"these are {len(keys):,} keys, from {keys[0]} to {keys[-1]}",
            "narrow them with --start and --end",
        )
    number = len(keys) if start is not None else min(len(keys), _SHOWN.get(rule.kind, _MOST))
    shown = list(keys[len(keys) - number :])
    if not shown:
        return Grid(asset, rule.kind, ())
    since, until = rule.ordinal(shown[0]), rule.window(shown[-1]).end_utc
    standing: dict[str, Standing] = dict(state.statuses(asset, start=since, end=until))
    done = [key for key in shown if standing.get(key) == "succeeded"]
    standing |= dict.fromkeys(stale_keys(script, done, state), "stale")
    active = active_keys(asset, state)
    cells = tuple(
        Cell(
            key,
            rule.parse(key),
            "running" if key in active or None in active else standing.get(key, "missing"),
        )
        for key in shown
    )
    return Grid(asset, rule.kind, cells, since, until, earlier=len(keys) - number)


def _last(rule: TimePartitioning, asset: str, state: StateReader, now: datetime) -> str:
    """The last complete period, or a later one that has been tried."""
    complete = last_complete(rule, now)
    later = state.statuses(
        asset, start=rule.window(complete).end_utc, end=datetime.max.replace(tzinfo=UTC)
    )
    known = [key for key in later if _is_key(rule, key)]
    return max([complete, *known], key=rule.ordinal)


def _is_key(rule: TimePartitioning, key: str) -> bool:
    try:
        rule.validate(key)
    except KeyRejected:
        return False
    return True
