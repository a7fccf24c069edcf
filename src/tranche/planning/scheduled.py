"""Which keys the runs of a schedule cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from tranche.model.partitioning import TimePartitioning
from tranche.model.script import Script
from tranche.model.trigger import OnSchedule
from tranche.planning.universe import with_lookback

Moves: TypeAlias = Callable[[str, str, datetime, int], datetime]
"""A cron, its time zone and an instant: when it fires so many fires later, or earlier."""


@dataclass(frozen=True, slots=True)
class Fire:
    """A fire of a schedule, and the keys that its run covers."""

    at: datetime
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of a script with a key for each period."""

    rule: TimePartitioning
    on: OnSchedule
    moves: Moves

    def key(self, fire: datetime) -> str:
        """The key that a fire is for: the period that it falls into, minus the lag."""
        at = fire
        if self.on.cron is not None and self.on.offset:
            at = self.moved(fire, self.on.offset)
        current = replace(self.rule, start=None, end=None).key_at(at)
        assert current is not None
        return self.rule.shift(current, -self.rule.lag)

    def keys(self, fire: datetime, *, exact: bool = False) -> list[str]:
        """The keys that the run of a fire covers, in their order.

        With `gaps=collect` these are all keys since the one that the fire before it was for:
        whatever the cron leaves out is in one of its runs, and in one only. A run looks back from
        the key of its fire, not from each of those. `exact` leaves lookback and gaps out.
        """
        key = self.key(fire)
        keys: Sequence[str] = [key]
        if self.rule.gaps == "collect" and not exact:
            before = self.key(self.moved(fire, -1))
            since = self.rule.shift(before, 1)
            if self.rule.ordinal(since) < self.rule.ordinal(key):
                keys = list(replace(self.rule, start=None, end=None).keys(start=since, end=key))
        found = [each for each in keys if self.rule.covers(each)]
        if exact or key not in found:
            return found
        return sorted({*found, *with_lookback(self.rule, [key])}, key=self.rule.ordinal)

    def fires_for(self, keys: Sequence[str]) -> list[Fire]:
        """The fires whose runs are for these keys, lookback aside; each key comes once."""
        if not keys:
            return []
        ordered = sorted(keys, key=self.rule.ordinal)
        first, last, wanted = ordered[0], ordered[-1], set(ordered)
        own = replace(self, rule=replace(self.rule, lookback=0))
        found: list[Fire] = []
        # A cron of a month may fire long after the first key, never before the period in which
        # the lag lets it.
        begins = self.rule.ordinal(self.rule.shift(first, self.rule.lag))
        at = own.moved(begins - timedelta(microseconds=1), 1)
        if self.on.offset > 0:
            at = own.moved(at, -self.on.offset)
        while wanted:
            covered = tuple(key for key in own.keys(at) if key in wanted)
            if covered:
                found.append(Fire(at, covered))
            wanted.difference_update(covered)
            if self.rule.ordinal(own.key(at)) > self.rule.ordinal(last):
                return found
            at = own.moved(at, 1)
        return found

    def moved(self, fire: datetime, steps: int) -> datetime:
        """The fire so many fires later, or earlier. Without a cron each period begins with one."""
        if self.on.cron is not None:
            return self.moves(self.on.cron, self.on.tz or self.rule.tz, fire, steps)
        rule = replace(self.rule, start=None, end=None)
        key = rule.key_at(fire)
        assert key is not None
        begun = rule.ordinal(key)
        if steps < 0 and begun < fire:
            steps += 1
        return rule.ordinal(rule.shift(key, steps))


def schedule_of(script: Script, moves: Moves) -> Schedule | None:
    """The schedule of a script whose keys follow from the time, if it has one."""
    rule = script.partitioning
    on = next((each for each in script.annotations.triggers if isinstance(each, OnSchedule)), None)
    if on is None or not isinstance(rule, TimePartitioning):
        return None
    return Schedule(rule, on, moves)
