"""The story of a key, put together from what the scripts say and what the store knows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tranche.errors import KeyRejected
from tranche.model.partitioning import Composite, Dynamic, time_of
from tranche.model.partitioning_zone import time_zone
from tranche.model.pending import Pending
from tranche.model.run import Materialization
from tranche.model.script import Script
from tranche.model.story import KeyFacts, ScheduleFacts, Story, Working
from tranche.model.trigger import OnSchedule
from tranche.planning.active import running_backfills
from tranche.planning.firing import next_fire, schedules_of
from tranche.planning.graph import Graph
from tranche.planning.key_verdict import show_violations, verdict_on
from tranche.planning.links import Links
from tranche.planning.needs import Needs
from tranche.planning.read_columns import ReadColumns
from tranche.planning.scheduled import Moves, Schedule
from tranche.planning.stale import stale_keys
from tranche.planning.waiting import Arrivals
from tranche.ports import StoryReader

_REJECTED = 3
_LOG = 5
"""How many entries of its log a story tells."""
_TESTED = 20
"""How many are looked at for one that has data tests."""


def story(
    script: Script,
    key: str | None,
    graph: Graph,
    state: StoryReader,
    now: datetime,
    moves: Moves,
    *,
    hindrance: str | None = None,
    reads: ReadColumns | None = None,
) -> Story:
    """All that is known of a key of a script, and what that comes to.

    `hindrance` is why a run of it would fail, whatever the store knows. `reads` tells which columns
    scripts read; without it, every column counts.
    """
    needs = Needs(script, key, Links(graph), Arrivals(graph, state, {}))
    facts = _Asking(script, key, state, reads).facts(
        needs, tuple(_schedules(script, key, now, moves))
    )
    return Story(
        label=script.label,
        partition=key,
        verdict=verdict_on(script, key, facts, now, lacking=needs.lacking, hindrance=hindrance),
        facts=facts,
        violations=show_violations(script, key),
    )


class _Asking:
    """What is asked of the store about a key."""

    def __init__(
        self, script: Script, key: str | None, state: StoryReader, reads: ReadColumns | None
    ) -> None:
        self.reads = reads
        self.script = script
        self.key = key
        self.state = state
        self.asset = None if script.asset is None else str(script.asset)

    def facts(self, needs: Needs, schedules: tuple[ScheduleFacts, ...]) -> KeyFacts:
        state, label = self.state, self.script.label
        pending = next(iter(state.pending([(label, self.key)])), None)
        log = self.log()
        standing = None if self.asset is None else state.partition(self.asset, self.key)
        built = None
        if standing is not None and standing.materialization is not None:
            built = self.entry(standing.materialization, log)
        return KeyFacts(
            schedules=schedules,
            needs=needs.all(pending.asked_by if pending is not None else ()),
            pending=pending,
            lacking=() if pending is None else needs.left(pending.lacking),
            rejected=tuple(state.rejected(label, limit=_REJECTED)),
            paused_since=state.paused().get(label),
            working=self.working(pending),
            backfill=self.backfill(log),
            standing=standing,
            built=built,
            stale=None if built is None else self.stale(),
            tested=next((entry for entry in log if entry.tests), None),
            log=log[:_LOG],
        )

    def log(self) -> tuple[Materialization, ...]:
        if self.asset is None:
            return ()
        return tuple(self.state.materializations(self.asset, self.key, limit=_TESTED))

    def entry(self, id: str, log: tuple[Materialization, ...]) -> Materialization | None:
        known = (entry for entry in log if entry.id == id)
        return next(known, None) or next(iter(self.state.entries([id])), None)

    def stale(self) -> str | None:
        return stale_keys(self.script, [self.key], self.state, self.reads).get(self.key)

    def working(self, pending: Pending | None) -> Working | None:
        """Who has claimed the key, or all of them; else the run that it was given to."""
        run, since = None, None
        if self.asset is not None:
            # A history is claimed as a whole.
            for claim in self.state.claims(self.asset, limit=1, keys=(self.key, None)):
                run, since = claim.run, claim.at
        if run is None and pending is not None and pending.held:
            run = pending.run
        if run is None:
            return None
        gone = any(left.id == run for left in self.state.abandoned())
        return Working(run=run, since=since, abandoned=gone)

    def backfill(self, log: tuple[Materialization, ...]) -> str | None:
        if self.asset is None or self.key is None:
            return None
        for each in running_backfills(self.asset, self.state):
            done = any(entry.finished_at >= each.created_at for entry in log[:1])
            if self.key in each.keys and not done:
                return each.id
        return None


def _schedules(
    script: Script, key: str | None, now: datetime, moves: Moves
) -> Iterator[ScheduleFacts]:
    rule = script.partitioning
    rules = rule.rules if isinstance(rule, Composite) else (rule,)
    times = time_of(rule)
    for _, on in schedules_of(script):
        tz = on.tz or (times.tz if times is not None else "UTC")
        fire = None if key is None else _fire(script, key, on, moves)
        yield ScheduleFacts(
            cron=on.cron,
            tz=tz,
            fire=None if fire is None else fire.astimezone(time_zone(tz)),
            past=fire is not None and fire <= now,
            every=times is None and not any(isinstance(each, Dynamic) for each in rules),
            next=next_fire(script, on, now, moves).astimezone(time_zone(tz)),
        )


def _fire(script: Script, key: str, on: OnSchedule, moves: Moves) -> datetime | None:
    """The first fire that is for a key of time."""
    rule, times = script.partitioning, time_of(script.partitioning)
    if times is None or rule is None:
        return None
    segment = key
    if isinstance(rule, Composite):
        if any(isinstance(each, Dynamic) for each in rule.rules):
            return None
        segment = rule.split(key)[rule.in_time or 0]
    try:
        fires = Schedule(times, on, moves).fires_for([segment])
    except (KeyRejected, OverflowError, ValueError):
        # The calendar ends soon after the key.
        return None
    return fires[0].at if fires else None
