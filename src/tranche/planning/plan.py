"""From a request to a plan. Command line, schedule and events all come through here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tranche.errors import (
    ArgumentRejected,
    KeyRejected,
    MappingMissing,
    NotPartitioned,
    Place,
    TrancheError,
)
from tranche.model.argument import accepts, looks_like
from tranche.model.asset import AssetUri
from tranche.model.mapping import Mapper
from tranche.model.partitioning import Dynamic, Partitioning, TimePartitioning
from tranche.model.plan import InputKey, Plan, Request, SliceKey, Step, Verdict
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.available import not_built_yet
from tranche.planning.graph import Graph, build_graph
from tranche.planning.resolve import bounds, resolve, within_bounds
from tranche.planning.targets import find_target
from tranche.planning.universe import with_lookback
from tranche.ports import PartitionReader

Separates: TypeAlias = Callable[[Script], str | None]
"""Says why the keys of a script are run one by one, if they are."""


def build_plan(
    project: Project,
    request: Request,
    state: PartitionReader,
    separates: Separates = lambda _: None,
) -> Plan:
    """The steps that a request asks for, each with its keys, in dependency order."""
    graph = build_graph(project.scripts)
    target = find_target(project, graph, request.target)
    roots = set(target.scripts)
    chosen = set(roots)
    if target.upstream:
        chosen |= graph.ancestors(roots)
    if not request.only:
        chosen |= graph.descendants(roots)
    planner = _Planner(graph, request, state, roots, separates)
    for name in graph.ordered(chosen):
        planner.add(graph.scripts[name])
    steps = planner.steps
    if planner.rejected and (len(roots) == 1 or all(step.verdict != "run" for step in steps)):
        raise planner.rejected[0]
    _check_request(request, steps)
    return Plan(request=request, steps=tuple(steps), warnings=tuple(planner.warnings))


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments that were given, for whoever takes them."""

    given: Mapping[str, str]

    def of(self, script: Script, key: str | None) -> tuple[tuple[str, str | None], ...]:
        """The values of a script's arguments."""
        values: list[tuple[str, str | None]] = []
        for argument in script.annotations.arguments:
            value: str | None
            if argument.name == "partition" and script.partitioning is not None:
                value = key if key is not None else argument.default
            elif argument.name in self.given:
                value = self.given[argument.name]
            elif argument.required:
                raise ArgumentRejected(
                    f"{script.path} needs the argument ${argument.name} ({argument.type})",
                    f"give it with --arg {argument.name}=<value>",
                )
            else:
                value = argument.default
            if value is not None and not accepts(argument.type, value):
                raise ArgumentRejected(
                    f"{value!r} is no {argument.type} for ${argument.name} of {script.path}",
                    f"give {looks_like(argument.type)}",
                )
            values.append((argument.name, value))
        return tuple(values)


@dataclass(frozen=True, slots=True)
class _Decision:
    partition: str | None = None
    """The key that the run is for."""
    verdict: Verdict = "run"
    reason: str | None = None
    more: tuple[str, ...] = ()
    """Keys that came down with it, since what is upstream looked back."""


class _Planner:
    """Decides one script after the other; earlier ones hand their keys down."""

    def __init__(
        self,
        graph: Graph,
        request: Request,
        state: PartitionReader,
        roots: set[str],
        separates: Separates,
    ) -> None:
        self.graph = graph
        self.request = request
        self.state = state
        self.roots = roots
        self.separates = separates
        self.steps: list[Step] = []
        self.decisions: dict[str, _Decision] = {}
        self.keys: dict[str, list[str]] = {}
        """All keys of each script that run, with those of its lookback."""
        self.warnings: list[str] = []
        self.rejected: list[TrancheError] = []
        """Why scripts that were asked for by name cannot run."""

    def add(self, script: Script) -> None:
        needs = [
            self.graph.scripts[name]
            for name in sorted(self.graph.upstream[script.name])
            if name in self.decisions
        ]
        try:
            decision = self.decide(script, needs)
            arguments = self.arguments(script, decision.partition)
        except TrancheError as error:
            # A step that cannot work is its own failure, never that of the others.
            decision, arguments = _Decision(None, "fail", str(error)), ()
            if script.name in self.roots:
                self.rejected.append(error)
        self.decisions[script.name] = decision
        keys = self.covered(script, decision)
        self.keys[script.name] = keys
        names = {need.name for need in needs}
        positions = tuple(step.position for step in self.steps if step.script.name in names)
        is_read = self.graph.is_read(script.name)
        for slice_ in self.slices(script, keys or [decision.partition]):
            if len(slice_) == 1:
                arguments = self.arguments(script, slice_[0]) if arguments else arguments
            self.steps.append(
                Step(
                    position=len(self.steps),
                    script=script,
                    slice=tuple(slice_key(self.graph, script, key) for key in slice_),
                    needs=positions,
                    arguments=arguments,
                    verdict=decision.verdict,
                    reason=decision.reason,
                    is_read=is_read,
                )
            )

    def arguments(self, script: Script, key: str | None) -> tuple[tuple[str, str | None], ...]:
        return Arguments(self.request.arguments).of(script, key)

    def covered(self, script: Script, decision: _Decision) -> list[str]:
        """The keys that run: that of the run, and those before it that a run covers too."""
        rule, key = script.partitioning, decision.partition
        if key is None:
            return []
        if decision.verdict != "run" or rule is None:
            return [key]
        keys = list(dict.fromkeys([*decision.more, key]))
        if self.request.exact:
            return keys
        wide = with_lookback(rule, keys)
        if not (script.annotations.trigger_all and script.name not in self.roots):
            return wide
        # What lacks some of its inputs waits for them, also if another key does not.
        return [each for each in wide if each == key or self.waits_for(script, each) is None]

    def slices(
        self, script: Script, keys: Sequence[str | None]
    ) -> Iterator[tuple[str | None, ...]]:
        """The keys that one step handles together."""
        if len(keys) == 1 or self.separates(script) is None:
            yield tuple(keys)
        else:
            yield from ((key,) for key in keys)

    def decide(self, script: Script, needs: Sequence[Script]) -> _Decision:
        missing = not_built_yet(script)
        if missing is not None:
            return _Decision(None, "fail", f"{script.path}: {missing}")
        for need in needs:
            verdict = self.decisions[need.name].verdict
            if verdict != "run":
                how = "is skipped" if verdict == "skip" else "cannot run"
                return _Decision(None, "skip", f"{need.label} {how}")
        decision = self.key(script, needs)
        self.check_keys(script)
        if (
            decision.verdict == "run"
            and script.annotations.trigger_all
            and script.name not in self.roots
        ):
            waiting = self.waits_for(script, decision.partition)
            if waiting is not None:
                return _Decision(decision.partition, "skip", waiting)
        return decision

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

    def key(self, script: Script, needs: Sequence[Script]) -> _Decision:
        partitioning = script.partitioning
        if partitioning is None:
            check_whole(self.graph, script, {need.name for need in needs})
            return _Decision()
        carried = self.carried(script, partitioning, needs)
        if carried is not None:
            decision = self.bounded(script, partitioning, carried)
            return replace(decision, more=self.carried_too(partitioning, needs))
        resolved = resolve(partitioning, self.request)
        if resolved.key is None:
            return self.without_key(script, resolved.reason or "")
        given = self.request.partition is not None or self.request.scheduled
        if isinstance(partitioning, TimePartitioning) and not given:
            lag = f" minus a lag of {partitioning.lag}" if partitioning.lag else ""
            self.warnings.append(
                f"{script.label} runs for {resolved.key}, the current period{lag}: no key was given"
            )
        return _Decision(resolved.key)

    def bounded(self, script: Script, partitioning: Partitioning, key: str) -> _Decision:
        """A key that came down a chain and that nobody asked for stays within the bounds."""
        asked = self.request.partition is not None
        if (
            not asked
            and isinstance(partitioning, TimePartitioning)
            and not within_bounds(partitioning, key)
        ):
            return self.without_key(script, f"{bounds(partitioning)}, and the run is for {key}")
        return _Decision(key)

    def without_key(self, script: Script, reason: str) -> _Decision:
        if script.managed:
            self.warnings.append(f"{script.label} is skipped: {reason}")
            return _Decision(None, "skip", reason)
        self.warnings.append(f"{script.label} runs without a partition: {reason}")
        return _Decision(None)

    def carried(
        self, script: Script, partitioning: Partitioning, needs: Sequence[Script]
    ) -> str | None:
        """The key that what is upstream in this plan hands down."""
        keys: dict[str, str] = {}
        mappers = self.mappers(script)
        for need in needs:
            upstream, key = need.partitioning, self.decisions[need.name].partition
            if upstream is None or key is None:
                continue
            if need.name in mappers and mappers[need.name] == Mapper("all"):
                raise MappingMissing(
                    f"{script.label} takes all keys of {need.label} for each of its own",
                    "map=all cannot be applied to a partitioned script yet;"
                    " run it by itself with --only --partition",
                )
            if carries_over(upstream, partitioning, key):
                keys[key] = need.label
            elif need.name in mappers:
                raise MappingMissing(
                    f"{need.label} is {upstream.kind} and {script.label} is"
                    f" {partitioning.kind}: the key {key!r} does not carry over",
                    "mappings between different partitionings cannot be applied yet;"
                    " run the consumer by itself with --only --partition",
                )
        if len(keys) > 1:
            found = " and ".join(f"{key!r} from {label}" for key, label in keys.items())
            raise MappingMissing(
                f"{script.label} would get two keys: {found}", "give one with --partition"
            )
        return next(iter(keys), None)

    def carried_too(self, partitioning: Partitioning, needs: Sequence[Script]) -> tuple[str, ...]:
        """The keys that what is upstream looks back to."""
        found = {
            key
            for need in needs
            if need.partitioning is not None
            for key in self.keys[need.name]
            if carries_over(need.partitioning, partitioning, key)
        }
        if isinstance(partitioning, TimePartitioning):
            inside = (key for key in found if within_bounds(partitioning, key))
            return tuple(sorted(inside, key=partitioning.ordinal))
        return tuple(sorted(found))

    def mappers(self, script: Script) -> dict[str, Mapper | None]:
        """The scripts whose assets stand in this script's `on` lines, with the mapping of each."""
        return {
            self.graph.producers[trigger.asset]: trigger.mapper
            for trigger in script.triggers_on()
            if trigger.asset in self.graph.producers
        }

    def waits_for(self, script: Script, key: str | None) -> str | None:
        """What a `trigger all` script still lacks for this key."""
        lacking = []
        for trigger in script.triggers_on():
            name = self.graph.producers.get(trigger.asset)
            if name in self.decisions or name is None:
                continue
            upstream = self.graph.scripts[name].partitioning
            wanted = key if upstream is not None else None
            if upstream is not None and key is not None and script.partitioning is not None:
                self.check_carries_back(script, script.partitioning, trigger.asset, upstream, key)
            found = self.state.partition(str(self.graph.owner(trigger.asset)), wanted)
            if found is None or found.materialization is None:
                lacking.append(
                    str(trigger.asset) if wanted is None else f"{trigger.asset} {wanted}"
                )
        return f"it waits for {', '.join(lacking)}" if lacking else None

    def check_carries_back(
        self,
        script: Script,
        partitioning: Partitioning,
        asset: AssetUri,
        upstream: Partitioning,
        key: str,
    ) -> None:
        """A key that the other asset cannot have would be waited for in vain."""
        try:
            upstream.validate(key)
        except TrancheError:
            raise MappingMissing(
                f"{script.label} is {partitioning.kind} and waits for {asset}, which is"
                f" {upstream.kind}: it never has the key {key!r}",
                "mappings between different partitionings cannot be applied yet",
            ) from None


def check_whole(graph: Graph, script: Script, triggering: Collection[str]) -> None:
    """An asset without partitions takes a partitioned one only as a whole."""
    for trigger in script.triggers_on():
        name = graph.producers.get(trigger.asset)
        upstream = graph.scripts[name].partitioning if name is not None else None
        if upstream is not None and name in triggering and trigger.mapper != Mapper("all"):
            raise MappingMissing(
                f"{script.label} has no partitions and {trigger.asset} has",
                f"write 'on {trigger.asset} map=all' in {script.path} to rebuild it from all"
                " of them",
            )


def slice_key(graph: Graph, script: Script, key: str | None) -> SliceKey:
    """A key of a script with the upstream keys that it reads, each once."""
    inputs = dict.fromkeys(
        InputKey(graph.owner(asset), input_key(graph, script, asset, key))
        for asset in script.reads
        if asset not in script.writes
    )
    rule = script.partitioning
    ordinal = rule.ordinal(key) if rule is not None and key is not None else None
    return SliceKey(partition=key, ordinal=ordinal, inputs=tuple(inputs))


def input_key(graph: Graph, script: Script, asset: AssetUri, key: str | None) -> str | None:
    """The key of an upstream asset that a key of a script reads; None is all of it."""
    upstream = graph.producer(asset)
    if upstream is None or upstream.partitioning is None or script.partitioning is None:
        return None
    if key is None or not carries_over(upstream.partitioning, script.partitioning, key):
        return None
    return key


def carries_over(upstream: Partitioning, downstream: Partitioning, key: str) -> bool:
    """Whether an upstream key means the same slice downstream, so that it needs no mapping."""
    if upstream.kind != downstream.kind:
        return False
    if isinstance(upstream, TimePartitioning) and isinstance(downstream, TimePartitioning):
        same_text = upstream.pattern == downstream.pattern
        return same_text and _is_key(downstream, key)
    return _is_key(downstream, key)


def _is_key(partitioning: Partitioning, key: str) -> bool:
    try:
        partitioning.validate(key)
    except KeyRejected:
        return False
    return True


def _check_request(request: Request, steps: Sequence[Step]) -> None:
    """What was given must be of use to some step."""
    if request.partition is not None and all(s.script.partitioning is None for s in steps):
        raise NotPartitioned(
            f"the key {request.partition!r} was given, and nothing that would run has partitions",
            "leave --partition out, or add a partitioned line to the script",
        )
    check_arguments(request.arguments, steps)


def check_arguments(given: Mapping[str, str], steps: Sequence[Step]) -> None:
    """What was given must be of use to some step."""
    taken = _taken(steps)
    for name in given:
        if name in taken:
            continue
        if name == "partition" and any(step.script.partitioning for step in steps):
            raise ArgumentRejected(
                "the key is given as an argument", "give it with --partition <key>"
            )
        known = ", ".join(f"${other}" for other in taken) or "none"
        raise ArgumentRejected(
            f"no step that would run takes the argument {name!r}",
            f"the arguments are {known}; declare one with '-- ${name} (<type>)'",
        )


def _taken(steps: Sequence[Step]) -> dict[str, None]:
    """The arguments that some step makes use of: declared ones, and the root of a payload's path."""
    taken: dict[str, None] = {}
    for step in steps:
        partitioning = step.script.partitioning
        for argument in step.script.annotations.arguments:
            if argument.name != "partition" or partitioning is None:
                taken[argument.name] = None
        if isinstance(partitioning, Dynamic):
            taken[partitioning.path[0]] = None
    return taken
