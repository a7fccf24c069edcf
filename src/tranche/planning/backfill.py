"""From a range of keys to the steps that fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    planner = _Planner(graph, request, state, separates)
    standing = planner.standing(script, rule, asked)
    given = bool(request.keys) and not request.resumes
    wanted = [key for key in asked if request.every or given or standing[key] != "succeeded"]
    if not request.exact:
        wanted = with_lookback(rule, wanted)
    if request.reverse:
        wanted.reverse()
    counts: dict[Why, int] = {}
    for why in standing.values():
        counts[why] = counts.get(why, 0) + 1
    planner.add(script, wanted, asked)
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


def _why(status: str | None) -> Why:
    if status is None:
        return "missing"
    return "succeeded" if status == "succeeded" else "failed"


class _Planner:
    """Makes steps of scripts and keys, upstream first."""

    def __init__(
        self,
        graph: Graph,
        request: BackfillRequest,
        state: StateReader,
        separates: Separates,
    ) -> None:
        self.graph = graph
        self.request = request
        self.state = state
        self.separates = separates
        self.arguments = Arguments(request.arguments)
        self.steps: list[Step] = []
        self.jobs: list[Job] = []
        self.warnings: list[str] = []
        self.keys: dict[str, list[str]] = {}
        """The keys of each script that run; none of a whole table."""
        self.asked: dict[str, list[str]] = {}
        """The keys of each script that the range has, whether they run or not."""

    def standing(self, script: Script, rule: Partitioning, keys: Sequence[str]) -> dict[str, Why]:
        """Where each key of a script stands."""
        asset, since = str(script.asset), self.request.since
        if not keys:
            return {}
        if isinstance(rule, TimePartitioning) and len(keys) > 1 and since is None:
            windows = [rule.window(key) for key in (keys[0], keys[-1])]
            start, end = min(w.start_utc for w in windows), max(w.end_utc for w in windows)
            states: Mapping[str, str] = self.state.statuses(asset, start=start, end=end)
        else:
            found = self.state.standing(asset, list(keys))
            states = {
                str(key): each.status
                for key, each in found.items()
                if since is None or each.at >= since
            }
        return {key: _why(states.get(key)) for key in keys}

    def follow(self, script: Script) -> None:
        """A script that is triggered by what is filled, or that lacks some of it."""
        needs = [name for name in sorted(self.graph.upstream[script.name]) if name in self.asked]
        running = [name for name in needs if name in self.keys]
        if not needs:
            return
        try:
            self.check(script)
            rule = script.partitioning
            if rule is None:
                if running:
                    check_whole(self.graph, script, running)
                    self.add(script, [], [])
                return
            asked = self.carried(script, rule, {name: self.asked[name] for name in needs})
            fresh = set(self.carried(script, rule, {name: self.keys[name] for name in running}))
            standing = self.standing(script, rule, asked)
            keys = [key for key in asked if key in fresh or standing[key] != "succeeded"]
            if not self.request.exact:
                keys = with_lookback(rule, keys)
            self.add(script, keys, asked)
        except TrancheError as error:
            self.warnings.append(f"{script.label} does not follow: {error}")

    def check(self, script: Script) -> None:
        missing = not_built_yet(script, several=True)
        if missing is not None:
            raise UsageError(missing)

    def carried(
        self, script: Script, rule: Partitioning, keys: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """The keys of scripts, as the one that follows them has them."""
        found: dict[str, None] = {}
        for name, given in keys.items():
            upstream = self.graph.scripts[name].partitioning
            if upstream is None:
                continue
            for key in given:
                if not carries_over(upstream, rule, key):
                    raise MappingMissing(
                        f"{self.graph.scripts[name].label} is {upstream.kind} and {script.label}"
                        f" is {rule.kind}: the key {key!r} does not carry over",
                        "mappings between different partitionings cannot be applied yet",
                    )
                if not isinstance(rule, TimePartitioning) or within_bounds(rule, key):
                    found[key] = None
        return list(found)

    def add(self, script: Script, keys: Sequence[str], asked: Sequence[str]) -> None:
        self.asked[script.name] = list(asked)
        whole = script.partitioning is None
        if not keys and not whole:
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
