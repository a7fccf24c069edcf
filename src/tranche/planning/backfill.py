"""From a range of keys to the steps that fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from tranche.errors import (
    KeyRejected,
    MappingMissing,
    NotPartitioned,
    PartitioningError,
    TrancheError,
    UsageError,
)
from tranche.model.backfill import BackfillPlan, BackfillRequest, Job, Why
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.partitioning_zone import time_zone
from tranche.model.plan import InputKey, Plan, Request, SliceKey, Step
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.available import not_built_yet
from tranche.planning.graph import Graph, build_graph
from tranche.planning.plan import (
    Arguments,
    carries_over,
    check_arguments,
    check_whole,
    input_key,
)
from tranche.planning.resolve import within_bounds
from tranche.planning.targets import find_target
from tranche.ports import StateReader

MOST = 1_000_000
"""More keys than anybody means."""


Separates: TypeAlias = Callable[[Script], str | None]
"""Says why the keys of a script are run one by one, if they are."""


def plan_backfill(
    project: Project,
    request: BackfillRequest,
    state: StateReader,
    separates: Separates,
    *,
    agreed: bool = False,
) -> BackfillPlan:
    """The work list, and the steps that it becomes; `agreed` allows more keys than are likely."""
    graph = build_graph(project.scripts)
    script = _script(project, graph, request)
    rule = _rule(script)
    asked, warnings = asked_keys(rule, request, agreed=agreed)
    standing = _standing(str(script.asset), rule, asked, state)
    given = bool(request.keys)
    wanted = [key for key in asked if request.every or given or standing[key] != "succeeded"]
    if not request.exact:
        wanted = with_lookback(rule, wanted)
    if request.reverse:
        wanted.reverse()
    counts: dict[Why, int] = {}
    for why in standing.values():
        counts[why] = counts.get(why, 0) + 1
    planner = _Planner(graph, request, separates)
    planner.add(script, wanted)
    if not request.only:
        for name in graph.ordered(graph.descendants([script.name]) - {script.name}):
            planner.follow(graph.scripts[name])
    check_arguments(request.arguments, planner.steps)
    asked_for = Request(
        target=request.target,
        fire_time=request.at,
        arguments=request.arguments,
        only=request.only,
    )
    return BackfillPlan(
        request=request,
        asset=str(script.asset),
        standing=counts,
        keys=tuple(wanted),
        plan=Plan(request=asked_for, steps=tuple(planner.steps)),
        jobs=tuple(planner.jobs),
        warnings=(*warnings, *planner.warnings),
    )


def asked_keys(
    rule: Partitioning, request: BackfillRequest, *, agreed: bool = False
) -> tuple[list[str], list[str]]:
    """The keys that a request names, in their order, and what was odd about it."""
    if request.keys:
        if request.start is not None or request.end is not None:
            raise UsageError("keys and a range were given", "give --keys, or --start and --end")
        return list(dict.fromkeys(rule.validate(key) for key in request.keys)), []
    match rule:
        case Static():
            if request.start is not None or request.end is not None:
                raise UsageError(
                    "static keys have no order, so that there is nothing between a start and an end",
                    f"leave them out for all keys, or give --keys: {', '.join(rule.values)}",
                )
            return list(rule.values), []
        case Dynamic():
            raise UsageError(
                "dynamic keys come from payloads, and nobody knows them beforehand",
                "name them with --keys a,b,c",
            )
        case Composite():
            raise UsageError(
                "partitionings of several dimensions cannot be run yet", "use one dimension for now"
            )
        case TimePartitioning():
            return _range(rule, request, agreed=agreed)


def with_lookback(rule: Partitioning, keys: Sequence[str]) -> list[str]:
    """The keys, and those before each that a run of it covers too, never before the first."""
    if not isinstance(rule, TimePartitioning) or not rule.lookback:
        return list(keys)
    found: dict[str, datetime] = {}
    for key in keys:
        for back in range(rule.lookback + 1):
            earlier = rule.shift(key, -back)
            if back == 0 or within_bounds(rule, earlier):
                found[earlier] = rule.ordinal(earlier)
    return sorted(found, key=lambda key: found[key])


def last_complete(rule: TimePartitioning, at: datetime) -> str:
    """The last key whose period is over, minus the lag."""
    current = replace(rule, start=None, end=None).key_at(at)
    assert current is not None
    return rule.shift(current, -1 - rule.lag)


def _range(
    rule: TimePartitioning, request: BackfillRequest, *, agreed: bool
) -> tuple[list[str], list[str]]:
    end = request.end if request.end is not None else last_complete(rule, request.at)
    try:
        found = rule.keys(start=request.start, end=end)
    except KeyRejected as error:
        raise UsageError(error.what, error.remedy) from None
    except PartitioningError as error:
        raise UsageError(
            error.what, 'give --start, or add start="…" to the partitioned line'
        ) from None
    if not found and request.start is not None and request.end is not None:
        first, last = (
            rule.keys(start=request.start, end=request.start),
            rule.keys(start=request.end, end=request.end),
        )
        if first and last and rule.ordinal(first[0]) > rule.ordinal(last[-1]):
            raise UsageError(
                f"the range ends before it starts: {request.start} … {request.end}", "swap them"
            )
    if len(found) > MOST and not agreed:
        raise UsageError(
            f"these are {len(found):,} keys, from {found[0]} to {found[-1]}",
            "narrow the range with --start and --end, or add --yes if that is meant",
        )
    warnings = [f"{warning}, and is cut there" for warning in found.warnings]
    if not found:
        warnings.append("there is no key in that range")
    if request.end is None and found:
        local = request.at.astimezone(time_zone(rule.tz)).isoformat(timespec="minutes")
        if rule.lag:
            warnings.append(f"the range ends {rule.lag} before the last complete period of {local}")
    return list(found), warnings


def _standing(
    asset: str, rule: Partitioning, keys: Sequence[str], state: StateReader
) -> dict[str, Why]:
    """Where each key stands."""
    if not keys:
        return {}
    if isinstance(rule, TimePartitioning) and len(keys) > 1:
        first, last = rule.window(keys[0]), rule.window(keys[-1])
        states = state.statuses(asset, start=first.start_utc, end=last.end_utc)
    else:
        found = state.standing(asset, list(keys))
        states = {key: each.status for key, each in found.items() if key is not None}
    return {
        key: "missing"
        if key not in states
        else "succeeded"
        if states[key] == "succeeded"
        else "failed"
        for key in keys
    }


def _script(project: Project, graph: Graph, request: BackfillRequest) -> Script:
    target = find_target(project, graph, request.target)
    if target.upstream or len(target.scripts) != 1:
        raise UsageError(
            f"{request.target!r} names several steps, and a backfill begins with one",
            "name a script or an asset; what is downstream of it follows",
        )
    script = graph.scripts[target.scripts[0]]
    if script.asset is None:
        raise UsageError(f"{script.path} makes no table", "name a script that materializes one")
    missing = not_built_yet(script, several=True)
    if missing is not None:
        raise UsageError(f"{script.path}: {missing}")
    return script


def _rule(script: Script) -> Partitioning:
    if script.partitioning is None:
        raise NotPartitioned(
            f"{script.label} has no partitions, so that there is no range of them",
            f"run it with tranche run {script.name}, or add a partitioned line to {script.path}",
        )
    return script.partitioning


class _Planner:
    """Makes steps of scripts and keys, upstream first."""

    def __init__(self, graph: Graph, request: BackfillRequest, separates: Separates) -> None:
        self.graph = graph
        self.request = request
        self.separates = separates
        self.arguments = Arguments(request.arguments)
        self.steps: list[Step] = []
        self.jobs: list[Job] = []
        self.warnings: list[str] = []
        self.keys: dict[str, list[str]] = {}
        """The keys of each script that runs; none for a whole table."""

    def follow(self, script: Script) -> None:
        """A script that is triggered by what is filled."""
        needs = [name for name in sorted(self.graph.upstream[script.name]) if name in self.keys]
        if not needs:
            return
        try:
            self.check(script)
            if script.partitioning is None:
                check_whole(self.graph, script, needs)
                self.add(script, [])
                return
            keys = self.carried(script, script.partitioning, needs)
            self.add(
                script, keys if self.request.exact else with_lookback(script.partitioning, keys)
            )
        except TrancheError as error:
            self.warnings.append(f"{script.label} does not follow: {error}")

    def check(self, script: Script) -> None:
        missing = not_built_yet(script, several=True)
        if missing is not None:
            raise UsageError(missing)

    def carried(self, script: Script, rule: Partitioning, needs: Sequence[str]) -> list[str]:
        found: dict[str, None] = {}
        for name in needs:
            upstream = self.graph.scripts[name].partitioning
            if upstream is None:
                continue
            for key in self.keys[name]:
                if not carries_over(upstream, rule, key):
                    raise MappingMissing(
                        f"{self.graph.scripts[name].label} is {upstream.kind} and {script.label}"
                        f" is {rule.kind}: the key {key!r} does not carry over",
                        "mappings between different partitionings cannot be applied yet",
                    )
                if not isinstance(rule, TimePartitioning) or within_bounds(rule, key):
                    found[key] = None
        return list(found)

    def add(self, script: Script, keys: Sequence[str]) -> None:
        whole = script.partitioning is None
        if not keys and not whole:
            self.keys[script.name] = []
            return
        needs = tuple(
            step.position
            for step in self.steps
            if step.script.name in self.graph.upstream[script.name]
        )
        reason = "it was asked for" if self.request.one_by_one else None
        if reason is None and not whole:
            reason = self.separates(script)
        size = 1 if reason is not None else self.request.most_keys
        chunks: Iterable[Sequence[str | None]] = (
            [[None]] if whole else [keys[n : n + size] for n in range(0, len(keys), size)]
        )
        for chunk in chunks:
            self.steps.append(
                Step(
                    position=len(self.steps),
                    script=script,
                    slice=tuple(self.slice_key(script, key) for key in chunk),
                    needs=needs,
                    arguments=self.arguments.of(script, chunk[0]),
                )
            )
        self.keys[script.name] = list(keys)
        groups = [keys] if reason is not None else chunks
        self.jobs += (
            Job(
                asset=script.label,
                keys=tuple(group),
                mode="per-key" if reason is not None else "range",
                reason=reason,
            )
            for group in groups
        )

    def slice_key(self, script: Script, key: str | None) -> SliceKey:
        rule = script.partitioning
        inputs = dict.fromkeys(
            InputKey(self.graph.owner(asset), input_key(self.graph, script, asset, key))
            for asset in script.reads
            if asset not in script.writes
        )
        return SliceKey(
            partition=key,
            ordinal=rule.ordinal(key) if rule is not None and key is not None else None,
            inputs=tuple(inputs),
        )
