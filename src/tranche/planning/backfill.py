"""From a range of keys to the steps that fill it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tranche.errors import (
    KeysTaken,
    MappingMissing,
    NotPartitioned,
    TrancheError,
    UsageError,
)
from tranche.model.backfill import BackfillPlan, BackfillRequest, Job, Why
from tranche.model.condition import joins
from tranche.model.partitioning import Partitioning, TimePartitioning
from tranche.model.plan import Plan, Request, Step
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.active import running_backfills
from tranche.planning.any_keys import with_any_keys
from tranche.planning.arguments import Arguments, check_arguments
from tranche.planning.graph import Graph, build_graph
from tranche.planning.lineage import Read
from tranche.planning.links import Link, Links
from tranche.planning.plan import Separates
from tranche.planning.provisional import Provisional
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.planning.targets import find_target
from tranche.planning.universe import asked_keys, in_order, inside, with_lookback
from tranche.planning.waiting import Arrivals
from tranche.ports import StateReader


def plan_backfill(
    project: Project,
    request: BackfillRequest,
    state: StateReader,
    separates: Separates,
    *,
    agreed: bool = False,
    read: Read | None = None,
) -> BackfillPlan:
    """The work list, and the steps that it becomes; `agreed` allows more keys than are likely.

    `read` tells what comes from which column; without it, every column makes keys stale.
    """
    graph = build_graph(project.scripts)
    scripts = find_scripts(project, graph, request)
    job = scripts[0].job
    if job is not None and scripts[0].partitioning is None and request.keys:
        graph = build_graph(with_any_keys(project, job).scripts)
        scripts = [graph.scripts[script.name] for script in scripts]
    rule = rule_of(scripts[0])
    asked, warnings = asked_keys(rule, request, agreed=agreed)
    planner = BackfillPlanner(graph, request, state, separates, read)
    taken = {key for script in scripts for key in _taken(script, asked, request, state)}
    if taken:
        asked = [key for key in asked if key not in taken]
        warnings.append(f"{len(taken):,} keys are left to other backfills")
    given = bool(request.keys) and not request.resumes
    standing: dict[str, Why] = {}
    work: dict[str, None] = {}
    for script in scripts:
        known = planner.standing(script, rule, asked)
        # Of several, one that lacks a key is enough.
        standing |= {k: why for k, why in known.items() if standing.get(k) in (None, "succeeded")}
        wanted = [key for key in asked if request.every or given or known[key] != "succeeded"]
        if not request.exact:
            wanted = [key for key in with_lookback(rule, wanted) if key not in taken]
        if request.reverse:
            wanted.reverse()
        planner.add(script, wanted, in_order(rule, (*asked, *wanted)))
        work |= dict.fromkeys(wanted)
    if not request.only:
        for name in following(graph, scripts):
            planner.follow(graph.scripts[name])
    keys = tuple(work) if len(scripts) == 1 or request.reverse else in_order(rule, work)
    return planner.plan(str(scripts[0].asset), keys, counts_of(standing), warnings)


def following(graph: Graph, scripts: Sequence[Script]) -> tuple[str, ...]:
    """What is downstream of scripts, upstream first."""
    names = [script.name for script in scripts]
    return graph.ordered(graph.descendants(names) - set(names))


def _taken(
    script: Script, keys: Sequence[str], request: BackfillRequest, state: StateReader
) -> set[str]:
    """The keys that are left out because other backfills have them."""
    wanted, found = set(keys), set[str]()
    for other in running_backfills(str(script.asset), state):
        shared = wanted.intersection(other.keys)
        if other.id == request.resumed or not shared:
            continue
        if request.overlap != "exclude":
            raise KeysTaken(
                f"the backfill {other.id} of {script.label} is running, on {len(shared):,} of these"
                f" {len(keys):,} keys",
                "wait for it with --overlap wait, leave its keys out with --overlap exclude, or end"
                f" it with tranche backfill cancel {other.id}",
                other.id,
            )
        found |= shared
    return found


def counts_of(standing: Mapping[str, Why]) -> dict[Why, int]:
    counts: dict[Why, int] = {}
    for why in standing.values():
        counts[why] = counts.get(why, 0) + 1
    return counts


def find_scripts(project: Project, graph: Graph, request: BackfillRequest) -> list[Script]:
    """What a backfill begins with: one script, or those tasks of a job that need no other."""
    target = find_target(project, graph, request.target)
    named = [graph.scripts[name] for name in target.scripts]
    jobs = {script.job for script in named}
    if len(named) > 1 and len(jobs) == 1 and None not in jobs:
        named = [each for each in named if not graph.upstream[each.name] & set(target.scripts)]
    elif len(named) != 1:
        target = replace(target, upstream=True)
    if target.upstream:
        raise UsageError(
            f"{request.target!r} names several steps, and a backfill begins with one",
            "name a script, a job or an asset; what is downstream of it follows",
        )
    for script in named:
        if script.asset is None:
            raise UsageError(f"{script.path} makes no table", "name a script that materializes one")
    return named


def rule_of(script: Script) -> Partitioning:
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


class BackfillPlanner:
    """Makes steps of scripts and keys, upstream first."""

    def __init__(
        self,
        graph: Graph,
        request: BackfillRequest,
        state: StateReader,
        separates: Separates,
        read: Read | None = None,
    ) -> None:
        self.graph = graph
        self.reads = None if read is None else ReadColumns(graph, read)
        self.request = request
        self.state = state
        self.separates = separates
        self.arguments = Arguments(request.arguments)
        self.payloads: Mapping[str | None, Any] = {}
        """What events said with the keys that they asked for, by key."""
        self.steps: list[Step] = []
        self.jobs: list[Job] = []
        self.warnings: list[str] = []
        self.keys: dict[str, list[str]] = {}
        """The keys of each script that run; none of a whole table."""
        self.asked: dict[str, list[str]] = {}
        """The keys of each script that the range has, whether they run or not."""
        self.reasons: dict[str, dict[str, str]] = {}
        """Why keys of each script are stale."""
        self.links = Links(graph)
        self.arrivals = Arrivals(graph, state, self.keys)
        self.provisional = Provisional(self.links, self.arrivals, state)

    def plan(
        self, asset: str, keys: Sequence[str], standing: Mapping[Why, int], warnings: Iterable[str]
    ) -> BackfillPlan:
        """All that was added."""
        request = self.request
        check_arguments(request.arguments, self.steps)
        asked_for = Request(
            target=request.target,
            fire_time=request.at,
            arguments=request.arguments,
            only=request.only,
        )
        return BackfillPlan(
            request=request,
            asset=asset,
            standing=standing,
            keys=tuple(keys),
            plan=Plan(
                request=asked_for,
                steps=tuple(self.steps),
                scripts=tuple(self.graph.scripts.values()),
            ),
            jobs=tuple(self.jobs),
            stale=self.reasons,
            warnings=(*warnings, *self.warnings),
        )

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
        known = {key: _why(states.get(key)) for key in keys}
        if self.request.stale:
            done = [key for key, why in known.items() if why == "succeeded"]
            reasons = stale_keys(script, done, self.state, self.reads)
            self.reasons[asset] = reasons
            known |= dict.fromkeys(reasons, "stale")
        return known

    def follow(self, script: Script) -> None:
        """A script that is triggered by what is filled, or that lacks some of it."""
        needs = [name for name in sorted(self.graph.upstream[script.name]) if name in self.asked]
        running = [name for name in needs if name in self.keys]
        if not needs:
            return
        try:
            links = self.links.from_(script, needs)
            rule = script.partitioning
            if rule is None:
                fed = [link for link in links if link.producer.name in running]
                if any(link.feeds_whole(self.keys[link.producer.name]) for link in fed):
                    self.add(script, [], [], follows=True)
                return
            carried = self.carried(script, rule, links, self.asked)
            asked = list(carried)
            same = all(self.keys.get(name) == self.asked[name] for name in needs)
            fresh = carried if same else self.carried(script, rule, links, self.keys)
            standing = self.standing(script, rule, asked)
            keys = [key for key in asked if key in fresh or standing[key] != "succeeded"]
            keys = self.ready(script, keys, links)
            if not self.request.exact:
                keys = with_lookback(rule, keys)
            self.add(script, keys, asked, follows=True)
        except TrancheError as error:
            self.warnings.append(f"{script.label} does not follow: {error}")

    def fresh(self, script: Script, rule: Partitioning) -> set[str]:
        """The keys of a script that are made of keys that run."""
        links = self.links.from_(script, self.keys)
        return set(self.carried(script, rule, links, self.keys))

    def ready(self, script: Script, keys: Sequence[str], links: Sequence[Link]) -> list[str]:
        """The keys without those that must wait for something that nobody makes here."""
        asking = [link for link in links if link.trigger is not None]
        together = bool(joins(script.annotations.condition))
        if not together and all(link.wait == "any" for link in asking):
            return list(keys)
        waiting = self.arrivals.waiting(script, dict.fromkeys(keys, asking), self.links.of(script))
        if waiting:
            first, reason = next(iter(waiting.items()))
            others = f" and {len(waiting) - 1:,} more keys" if len(waiting) > 1 else ""
            self.warnings.append(f"{script.label} {first}{others} cannot follow yet: {reason}")
        return [key for key in keys if key not in waiting]

    def carried(
        self,
        script: Script,
        rule: Partitioning,
        links: Sequence[Link],
        keys: Mapping[str, Sequence[str]],
    ) -> dict[str, None]:
        """The keys that keys of what is upstream feed, as the script that follows has them."""
        found: dict[str, None] = {}
        for link in links:
            fed = link.fed(keys.get(link.producer.name, ()))
            if link.trigger is not None and (fed.rejected or fed.every) and not fed.keys:
                reason = (
                    fed.rejected[0].what
                    if fed.rejected
                    else f"map={link.mapper} makes every key of it depend on each"
                )
                raise MappingMissing(
                    f"{link.asset} does not say which keys of {script.label} to fill: {reason}",
                    f"backfill {script.label} by itself",
                )
            found.update(dict.fromkeys(key for key in fed.keys if inside(rule, key)))
        return dict.fromkeys(in_order(rule, found)) if len(links) > 1 else found

    def add(
        self,
        script: Script,
        keys: Sequence[str],
        asked: Sequence[str],
        *,
        follows: bool = False,
    ) -> None:
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
        is_read = self.graph.is_read(script.name)
        for chunk in chunks:
            self.steps.append(
                Step(
                    position=len(self.steps),
                    script=script,
                    slice=self.provisional.slice_keys(script, chunk),
                    needs=needs,
                    arguments=self.arguments.of(script, chunk[0]),
                    fields=replace(self.arguments, payload=self.payloads.get(chunk[0])).fields(
                        script, chunk[0]
                    ),
                    follows=follows or bool(needs),
                    is_read=is_read,
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
