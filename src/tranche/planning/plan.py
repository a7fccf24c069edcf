"""From a request to a plan. Command line, schedule and events all come through here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tranche.errors import (
    KeyRejected,
    MappingMissing,
    NotPartitioned,
    Place,
    TrancheError,
)
from tranche.model.condition import joined, lacking
from tranche.model.mapped_keys import Unlisted
from tranche.model.mapping import Identity
from tranche.model.partitioning import Composite, Partitioning, time_of
from tranche.model.plan import Plan, Request, SliceKey, Step, Verdict
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.arguments import Arguments, Fields, Given, check_arguments
from tranche.planning.graph import Graph, build_graph
from tranche.planning.links import Link, Links
from tranche.planning.provisional import EventReader, Provisional
from tranche.planning.resolve import bounds, resolve
from tranche.planning.targets import find_target
from tranche.planning.universe import in_order, inside, with_lookback
from tranche.planning.waiting import Arrivals
from tranche.ports import PartitionReader

Separates: TypeAlias = Callable[[Script], str | None]
"""Says why the keys of a script are run one by one, if they are."""


def build_plan(
    project: Project,
    request: Request,
    state: PartitionReader,
    separates: Separates = lambda _: None,
    *,
    events: EventReader | None = None,
) -> Plan:
    """The steps that a request asks for, each with its keys, in dependency order.

    Without `events`, nobody looks what sources have told.
    """
    graph = build_graph(project.scripts)
    target = find_target(project, graph, request.target)
    roots = set(target.scripts)
    chosen = set(roots)
    if target.upstream:
        chosen |= graph.ancestors(roots)
    if not request.only:
        chosen |= graph.descendants(roots)
    planner = _Planner(graph, request, state, roots, separates, events)
    ordered = graph.ordered(chosen)
    if target.upstream:
        planner.demand(ordered)
    for name in ordered:
        planner.add(graph.scripts[name])
    steps = planner.steps
    if planner.rejected and (len(roots) == 1 or all(step.verdict != "run" for step in steps)):
        raise planner.rejected[0]
    _check_request(request, steps)
    return Plan(
        request=request,
        steps=tuple(steps),
        warnings=tuple(planner.warnings),
        scripts=project.scripts,
    )


@dataclass(frozen=True, slots=True)
class _Decision:
    keys: tuple[str, ...] = ()
    """The keys that run, in their order; none of a script without partitions."""
    verdict: Verdict = "run"
    reason: str | None = None


class _Planner:
    """Decides one script after the other; earlier ones hand their keys down."""

    def __init__(
        self,
        graph: Graph,
        request: Request,
        state: PartitionReader,
        roots: set[str],
        separates: Separates,
        events: EventReader | None,
    ) -> None:
        self.graph = graph
        self.request = request
        self.state = state
        self.roots = roots
        self.followers = graph.descendants(roots) - roots
        self.separates = separates
        self.links = Links(graph)
        self.steps: list[Step] = []
        self.decisions: dict[str, _Decision] = {}
        self.keys: dict[str, tuple[str, ...]] = {}
        """The keys of each script that runs."""
        self.arrivals = Arrivals(graph, state, self.keys)
        self.provisional = Provisional(self.links, self.arrivals, events)
        self.demanded: dict[str, tuple[str, ...]] = {}
        """The keys of scripts that the key which was asked for needs."""
        self.warnings: list[str] = []
        self.rejected: list[TrancheError] = []
        """Why scripts that were asked for by name cannot run."""

    def demand(self, names: Sequence[str]) -> None:
        """Works out which keys of what is upstream the given key needs; `names` are upstream first."""
        if self.request.partition is None:
            return
        wanted: dict[str, dict[str, None]] = {}
        for name in self.roots:
            rule = self.graph.scripts[name].partitioning
            if rule is None:
                continue
            try:
                wanted[name] = dict.fromkeys(resolve(rule, self.request).keys)
            except TrancheError:
                # In a folder, the key is for those that it fits.
                if len(self.roots) == 1:
                    raise
        for name in reversed(names):
            script = self.graph.scripts[name]
            if script.partitioning is None or name not in wanted:
                continue
            for link in self.links.of(script):
                for each in wanted[name]:
                    needed = link.needed(each)
                    if not isinstance(needed, Unlisted) and link.producer.name not in self.roots:
                        wanted.setdefault(link.producer.name, {}).update(dict.fromkeys(needed))
        self.demanded = {name: tuple(keys) for name, keys in wanted.items() if keys}

    def add(self, script: Script) -> None:
        needs = [
            self.graph.scripts[name]
            for name in sorted(self.graph.upstream[script.name])
            if name in self.decisions
        ]
        slices: list[tuple[tuple[SliceKey, ...], Given, Fields]] = []
        given = Arguments(self.request.arguments, self.request.payload)
        try:
            decision = self.decide(script, needs)
            for keys in self.slices(script, decision.keys or (None,)):
                if decision.verdict == "run":
                    parts = self.provisional.slice_keys(script, keys)
                    arguments = given.of(script, keys[0])
                    slices.append((parts, arguments, given.fields(script, keys[0])))
                else:
                    slices.append((tuple(SliceKey(partition=key) for key in keys), (), ()))
        except TrancheError as error:
            # A step that cannot work is its own failure, never that of the others.
            decision, slices = _Decision((), "fail", str(error)), [((SliceKey(),), (), ())]
            if script.name in self.roots:
                self.rejected.append(error)
        self.decisions[script.name] = decision
        if decision.verdict == "run":
            self.keys[script.name] = decision.keys
        names = {need.name for need in needs}
        positions = tuple(step.position for step in self.steps if step.script.name in names)
        is_read = self.graph.is_read(script.name)
        for slice_, arguments, fields in slices:
            self.steps.append(
                Step(
                    position=len(self.steps),
                    script=script,
                    slice=slice_,
                    needs=positions,
                    arguments=arguments,
                    fields=fields,
                    verdict=decision.verdict,
                    reason=decision.reason,
                    follows=script.name in self.followers,
                    is_read=is_read,
                )
            )

    def slices(
        self, script: Script, keys: Sequence[str | None]
    ) -> Iterator[tuple[str | None, ...]]:
        """The keys that one step handles together."""
        if len(keys) == 1 or self.separates(script) is None:
            yield tuple(keys)
        else:
            yield from ((key,) for key in keys)

    def decide(self, script: Script, needs: Sequence[Script]) -> _Decision:
        for need in needs:
            verdict = self.decisions[need.name].verdict
            if verdict != "run":
                how = "is skipped" if verdict == "skip" else "cannot run"
                return _Decision((), "skip", f"{need.label} {how}")
        links = self.links.from_(script, {need.name for need in needs})
        rule = script.partitioning
        if rule is None:
            return self.whole(script, links)
        decision = self.partitioned(script, rule, links)
        self.check_keys(script)
        return decision

    def whole(self, script: Script, links: Sequence[Link]) -> _Decision:
        """A script without partitions takes what has some as a whole, or one key of it."""
        if script.name in self.roots or not links:
            return _Decision()
        asking = [link for link in links if link.feeds_whole(self.keys[link.producer.name])]
        if not asking:
            return _Decision((), "skip", f"it takes {links[0].mapper} of {links[0].asset} only")
        condition = script.annotations.condition
        if condition is None or not joined(condition):
            return _Decision()
        awaited = [link for link in self.links.of(script) if link.trigger is not None]
        lacks = {
            str(link.asset): [] if self.arrivals.any_of(link) else [str(link.asset)]
            for link in awaited
        }
        missing = lacking(condition, [str(link.asset) for link in asking], lacks)
        if missing:
            return _Decision((), "skip", f"it waits for {', '.join(missing)}")
        return _Decision()

    def partitioned(self, script: Script, rule: Partitioning, links: Sequence[Link]) -> _Decision:
        asking = self.fed(script, rule, links)
        keys = list(self.demanded.get(script.name, asking))
        if not keys and any(
            link.mapping is not None and link.trigger is not None for link in links
        ):
            return self.unfed(script, rule, links)
        if not keys:
            resolved = resolve(rule, self.request)
            if not resolved.keys:
                return self.without_key(script, resolved.reason or "")
            times = time_of(rule)
            if times is not None and not self.request.scheduled and not self.gives_time(rule):
                lag = f" minus a lag of {times.lag}" if times.lag else ""
                self.warnings.append(
                    f"{script.label} runs for {', '.join(resolved.keys)}, the current period{lag}:"
                    " no key was given"
                )
            keys = list(resolved.keys)
        if not self.request.exact:
            keys = with_lookback(rule, keys)
        return self.ready(script, rule, keys, asking)

    def gives_time(self, rule: Partitioning) -> bool:
        """Whether the key that was given has the time, which would follow from the clock."""
        given = self.request.partition
        if given is None or not isinstance(rule, Composite):
            return given is not None
        named = rule.named(given)
        return named is None or rule.in_time is None or rule.names[rule.in_time] in named

    def ready(
        self,
        script: Script,
        rule: Partitioning,
        keys: Sequence[str],
        asking: Mapping[str, Sequence[Link]],
    ) -> _Decision:
        """Those of the keys that wait for nothing; who asks for a script by name does not wait."""
        if script.name in self.roots or not asking:
            return _Decision(in_order(rule, keys))
        together = joined(script.annotations.condition)
        strict = [
            link
            for link in _unique(asking.values())
            if link.wait != "any" or str(link.asset) in together
        ]
        # Keys that it looks back to have been asked for by nobody, and may lack something too.
        asked = {key: asking.get(key, strict) for key in keys}
        waiting = self.arrivals.waiting(script, asked, self.links.of(script))
        left = [key for key in keys if key not in waiting]
        if not left:
            return _Decision(in_order(rule, keys), "skip", next(iter(waiting.values())))
        if waiting:
            first, reason = next(iter(waiting.items()))
            others = f" (and {len(waiting) - 1:,} keys more)" if len(waiting) > 1 else ""
            self.warnings.append(f"{script.label} {first}{others} does not run: {reason}")
        return _Decision(in_order(rule, left))

    def fed(
        self, script: Script, rule: Partitioning, links: Sequence[Link]
    ) -> dict[str, list[Link]]:
        """The keys that what is upstream in this plan hands down, with the links that do."""
        found: dict[str, list[Link]] = {}
        for link in links:
            fed = link.fed(self.keys[link.producer.name])
            if fed.rejected and not fed.keys and link.trigger is not None:
                error = fed.rejected[0]
                raise MappingMissing(
                    f"{link.asset} feeds nothing of {script.label}: {error.what}", error.remedy
                )
            for key in fed.keys:
                # Whoever gives a key may leave the bounds with it; what follows from it may not.
                given = self.request.partition is not None and isinstance(link.mapper, Identity)
                if given or inside(rule, key):
                    found.setdefault(key, []).append(link)
        return found

    def unfed(self, script: Script, rule: Partitioning, links: Sequence[Link]) -> _Decision:
        """What a script does that is triggered, and by nothing that says for which key."""
        for link in links:
            fed = link.fed(self.keys[link.producer.name])
            times = time_of(rule)
            if fed.keys and times is not None:
                return self.without_key(
                    script, f"{bounds(times)}, and the run is for {fed.keys[0]}"
                )
            if fed.every:
                return self.without_key(
                    script,
                    f"map={link.mapper} makes every key of it depend on {link.asset}, and says for"
                    " none that it should run; run it with --only --partition, or backfill it",
                )
        asset = links[0].asset
        return self.without_key(script, f"what runs of {asset} feeds none of its keys")

    def check_keys(self, script: Script) -> None:
        """Keys of another kind in the same table would count the same rows twice."""
        partitioning = script.partitioning
        if partitioning is None or not script.managed:
            return
        for known in self.state.partitions(str(script.asset), limit=1):
            try:
                partitioning.validate(known.partition or "")
            except TrancheError:
                raise KeyRejected(
                    f"{script.label} holds {known.partition!r}, which is no {partitioning.kind} key",
                    "a table keeps one partitioning: write to another table, or undo the change",
                    place=Place(script.path, script.annotations.line("partitioned")),
                ) from None

    def without_key(self, script: Script, reason: str) -> _Decision:
        if script.managed:
            self.warnings.append(f"{script.label} is skipped: {reason}")
            return _Decision((), "skip", reason)
        self.warnings.append(f"{script.label} runs without a partition: {reason}")
        return _Decision()


def _unique(groups: Iterable[Iterable[Link]]) -> list[Link]:
    """The links of several groups, one for each asset."""
    return list({link.asset: link for group in groups for link in group}.values())


def _check_request(request: Request, steps: Sequence[Step]) -> None:
    """What was given must be of use to some step."""
    if request.partition is not None and all(s.script.partitioning is None for s in steps):
        raise NotPartitioned(
            f"the key {request.partition!r} was given, and nothing that would run has partitions",
            "leave --partition out, or add a partitioned line to the script",
        )
    check_arguments(request.arguments, steps)
