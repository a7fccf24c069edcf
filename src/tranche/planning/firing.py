"""Which fires of schedules are due, and the keys that each is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product

from tranche.model.partitioning import Composite, Dynamic, Partitioning, Static, time_of
from tranche.model.script import Script
from tranche.model.trigger import OnSchedule
from tranche.planning.scheduled import Fire, Moves, Schedule

MOST_FIRES = 10_000
"""More fires than that are worked off in several turns."""
PROMPT = timedelta(minutes=1)
"""A fire that is older was missed."""


@dataclass(frozen=True, slots=True)
class Due:
    """The fires of a schedule since it was last looked at."""

    script: Script
    name: str
    """What the schedule is known by; it changes when the line does, and begins anew then."""
    until: datetime
    """Up to when it has been looked at now."""
    fires: tuple[Fire, ...] = ()
    passed_over: int = 0
    """Fires that were missed, and that the line says are not to be made up for."""


def schedules_of(script: Script) -> Iterator[tuple[str, OnSchedule]]:
    """The schedules of a script, each with what it is known by."""
    for on in script.annotations.triggers:
        if isinstance(on, OnSchedule):
            about = [on.cron or "each period", on.tz or "", str(on.offset)]
            yield " ".join([script.name, *about]), on


def due(
    script: Script, name: str, on: OnSchedule, since: datetime | None, now: datetime, moves: Moves
) -> Due:
    """What a schedule asks for. One that nobody has looked at before begins now.

    `catchup` says what to do about fires that nobody was there for: all of them, the latest, or none.
    """
    if since is None:
        return Due(script, name, now)
    times = _Times(script.partitioning, on, moves)
    fires: list[datetime] = []
    at = times.after(since)
    while at <= now and len(fires) < MOST_FIRES:
        fires.append(at)
        at = times.after(at)
    # What is left of very many is for the next turn.
    until = now if at > now else fires[-1]
    kept = fires
    if on.catchup == "latest":
        kept = fires[-1:]
    elif on.catchup == "none":
        kept = [fire for fire in fires[-1:] if now - fire <= PROMPT]
    found = tuple(Fire(fire, tuple(times.keys(fire))) for fire in kept)
    return Due(script, name, until, found, len(fires) - len(kept))


def next_fire(script: Script, on: OnSchedule, since: datetime, moves: Moves) -> datetime:
    """When a schedule fires next."""
    return _Times(script.partitioning, on, moves).after(since)


@dataclass(frozen=True, slots=True)
class _Times:
    """The fires of a schedule, whatever the script's keys are."""

    rule: Partitioning | None
    on: OnSchedule
    moves: Moves

    def after(self, at: datetime) -> datetime:
        times = time_of(self.rule)
        if times is not None:
            return Schedule(times, self.on, self.moves).moved(at, 1)
        # Without periods there is a cron; the script would have a fault otherwise.
        assert self.on.cron is not None
        return self.moves(self.on.cron, self.on.tz or "UTC", at, 1)

    def keys(self, fire: datetime) -> Sequence[str]:
        """The keys that a fire is for; none of a script without partitions, or with keys from
        payloads."""
        times = time_of(self.rule)
        found: Sequence[str] = ()
        if times is not None:
            found = Schedule(times, self.on, self.moves).keys(fire)
        match self.rule:
            case Static(values=values):
                return values
            case Composite() as rule:
                if any(isinstance(each, Dynamic) for each in rule.rules):
                    return ()
                each = [
                    found if place == rule.in_time else self._all(part)
                    for place, part in enumerate(rule.rules)
                ]
                return [rule.join(segments) for segments in product(*each)]
            case _:
                return found

    def _all(self, rule: Partitioning) -> Sequence[str]:
        return rule.values if isinstance(rule, Static) else ()
