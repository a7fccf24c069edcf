"""Everything that should be there by now and is not."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.errors import TrancheError
from tranche.model.backfill import BackfillRequest, CatchupPlan, Caught
from tranche.model.condition import lacking
from tranche.model.partitioning import Composite, Dynamic, TimePartitioning
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.active import active_keys
from tranche.planning.backfill import (
    BackfillPlanner,
    counts_of,
    find_scripts,
    following,
    rule_of,
)
from tranche.planning.graph import Graph, build_graph
from tranche.planning.plan import Separates
from tranche.planning.scheduled import Moves, schedule_of
from tranche.planning.universe import asked_keys, with_lookback
from tranche.ports import StateReader

_FIRES = 1_000
"""For how many keys it is worked out which fire of a schedule they belong to."""


def plan_catchup(
    project: Project,
    request: BackfillRequest,
    state: StateReader,
    separates: Separates,
    moves: Moves,
    *,
    agreed: bool = False,
) -> CatchupPlan:
    """The steps for all keys between start and the last complete period that have no success.

    Keys that somebody is at are left to them. Without a target all assets are looked at, upstream
    first; with one, it is the one that is caught up with, and what is downstream follows.
    """
    graph = build_graph(project.scripts)
    catching = _Catching(graph, request, state, separates, moves, agreed=agreed)
    if request.target:
        scripts = find_scripts(project, graph, request)
        for script in scripts:
            rule_of(script)
            catching.add(script)
        if not request.only:
            for name in following(graph, scripts):
                catching.planner.follow(graph.scripts[name])
    else:
        for name in graph.ordered(graph.scripts):
            catching.look_at(graph.scripts[name])
    return CatchupPlan(
        request=request,
        caught=tuple(catching.caught),
        plan=catching.planner.plan(request.target, (), {}, ()).plan,
        jobs=tuple(catching.planner.jobs),
        warnings=tuple(catching.planner.warnings),
    )


class _Catching:
    def __init__(
        self,
        graph: Graph,
        request: BackfillRequest,
        state: StateReader,
        separates: Separates,
        moves: Moves,
        *,
        agreed: bool,
    ) -> None:
        self.graph = graph
        self.request = request
        self.state = state
        self.moves = moves
        self.agreed = agreed
        self.planner = BackfillPlanner(graph, request, state, separates)
        self.caught: list[Caught] = []

    def look_at(self, script: Script) -> None:
        """A script that nobody named: what cannot be caught up with is passed over."""
        rule = script.partitioning
        rules = rule.rules if isinstance(rule, Composite) else (rule,)
        if script.asset is None or not script.managed:
            return
        if any(isinstance(each, Dynamic) for each in rules):
            return
        if rule is None:
            self.planner.follow(script)
            return
        if any(isinstance(each, TimePartitioning) and each.start is None for each in rules):
            self.planner.warnings.append(
                f"{script.label} is passed over: nobody knows its first key;"
                f' add start="…" to the partitioned line of {script.path}'
            )
            return
        try:
            self.add(script)
        except TrancheError as error:
            self.planner.warnings.append(f"{script.label} is passed over: {error}")

    def add(self, script: Script) -> None:
        rule = rule_of(script)
        asked, warnings = asked_keys(rule, self.request, agreed=self.agreed)
        self.planner.warnings += (f"{script.label}: {warning}" for warning in warnings)
        active = active_keys(str(script.asset), self.state)
        free = [key for key in asked if None not in active and key not in active]
        standing = self.planner.standing(script, rule, free)
        fresh = self.planner.fresh(script, rule)
        lacking = [key for key in free if standing[key] != "succeeded" or key in fresh]
        keys = self.due(script, lacking)
        waiting = len(lacking) - len(keys)
        fires = self.fires(script, keys)
        if not self.request.exact:
            keys = [key for key in with_lookback(rule, keys) if key not in active]
        self.caught.append(
            Caught(
                asset=script.label,
                standing=counts_of(standing),
                active=len(asked) - len(free),
                waiting=waiting,
                keys=tuple(keys),
                fires=fires,
            )
        )
        self.planner.add(script, keys, asked)

    def due(self, script: Script, keys: Sequence[str]) -> list[str]:
        """The keys for which there is something upstream that would have started their run."""
        arrivals = self.planner.arrivals
        links = [
            link
            for link in self.planner.links.of(script)
            if link.trigger is not None and link.mapping is not None
        ]
        condition = script.annotations.condition
        if condition is None or not links:
            return list(keys)
        for link in links:
            arrivals.look_up(link, keys)
        named = [(str(link.asset), link) for link in links]
        # Whatever is there has asked for the key, whether or not somebody heard it.
        asked = [name for name, _ in named]
        return [
            key
            for key in keys
            if not lacking(
                condition,
                asked,
                {name: [] if arrivals.content(link, key) else [name] for name, link in named},
            )
        ]

    def fires(self, script: Script, keys: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The fires of the schedule whose runs these keys would have been in."""
        schedule = schedule_of(script, self.moves)
        if schedule is None or len(keys) > _FIRES:
            return ()
        return tuple((fire.at.isoformat(), fire.keys) for fire in schedule.fires_for(keys))
