"""Which script makes what, who reads it, and whom it triggers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tranche.errors import Fault, Place
from tranche.model.asset import AssetUri, LakeTable
from tranche.model.script import Script
from tranche.model.strategy import CURRENT_SUFFIX, History


@dataclass(frozen=True, slots=True)
class Graph:
    """The scripts of a project by name, joined by the assets that they write and read."""

    scripts: Mapping[str, Script]
    producers: Mapping[AssetUri, str]
    upstream: Mapping[str, frozenset[str]]
    """The scripts whose assets a script reads or waits for."""
    triggered: Mapping[str, frozenset[str]]
    """The scripts that a script's assets trigger: those with an `on` line for them."""

    def producer(self, asset: AssetUri) -> Script | None:
        name = self.producers.get(asset)
        return self.scripts[name] if name is not None else None

    def owner(self, asset: AssetUri) -> AssetUri:
        """The asset that the ledger knows: of a history's current rows it is the history."""
        script = self.producer(asset)
        made = script.asset if script is not None else None
        return asset if made is None else made

    def history_behind(self, asset: AssetUri) -> LakeTable | None:
        """The history whose current rows an asset is, as far as the scripts tell."""
        producer = self.producer(asset)
        made = producer.annotations.materialize if producer is not None else None
        if made is None or not isinstance(made.strategy, History):
            return None
        history = made.asset
        if not isinstance(history, LakeTable) or not isinstance(asset, LakeTable):
            return None
        return history if asset.table == f"{history.table}{CURRENT_SUFFIX}" else None

    def is_read(self, name: str) -> bool:
        """Whether a script reads or waits for what another makes."""
        return any(name in upstream for upstream in self.upstream.values())

    def ancestors(self, names: Iterable[str]) -> frozenset[str]:
        return _closure(names, self.upstream)

    def descendants(self, names: Iterable[str]) -> frozenset[str]:
        return _closure(names, self.triggered)

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """The given scripts, upstream first, by name where the order is free."""
        chosen = frozenset(names)
        sorter = TopologicalSorter({name: self._needs(name, chosen) for name in sorted(chosen)})
        sorter.prepare()
        order: list[str] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            order += ready
            sorter.done(*ready)
        return tuple(order)

    def _needs(self, name: str, chosen: frozenset[str]) -> frozenset[str]:
        """What must run before a script, also across scripts that do not run."""
        needed: set[str] = set()
        seen: set[str] = set()
        waiting = list(self.upstream[name])
        while waiting:
            other = waiting.pop()
            if other in seen:
                continue
            seen.add(other)
            if other in chosen:
                needed.add(other)
            else:
                waiting += self.upstream[other]
        return frozenset(needed)


def build_graph(scripts: Sequence[Script]) -> Graph:
    """The graph of scripts that have passed `graph_faults`."""
    producers: dict[AssetUri, str] = {}
    for script in scripts:
        for asset in script.writes:
            producers.setdefault(asset, script.name)
    upstream: dict[str, frozenset[str]] = {}
    triggered: dict[str, set[str]] = {script.name: set() for script in scripts}
    for script in scripts:
        awaited = {trigger.asset for trigger in script.triggers_on()}
        upstream[script.name] = frozenset(
            producers[asset]
            for asset in (*script.reads, *awaited)
            if producers.get(asset, script.name) != script.name
        )
        for asset in awaited:
            if producers.get(asset, script.name) != script.name:
                triggered[producers[asset]].add(script.name)
    return Graph(
        {script.name: script for script in scripts},
        producers,
        upstream,
        {name: frozenset(names) for name, names in triggered.items()},
    )


def graph_faults(scripts: Sequence[Script]) -> tuple[Fault, ...]:
    """Two writers of one asset, scripts that wait for themselves, and cycles."""
    return (*_two_writers(scripts), *_own_triggers(scripts), *_cycles(scripts))


def _two_writers(scripts: Sequence[Script]) -> Iterable[Fault]:
    """Each of them gets a fault: nobody can say which one is right, so none may write."""
    writers: dict[AssetUri, list[Script]] = {}
    for script in scripts:
        for asset in script.writes:
            writers.setdefault(asset, []).append(script)
    for asset, several in writers.items():
        for script in several if len(several) > 1 else ():
            others = ", ".join(_known_as(other) for other in several if other is not script)
            yield Fault(
                Place(script.path, script.annotations.line("materialize")),
                f"{asset} is written by {others} too",
                "let one script write it, or give one of them another table",
            )


def _known_as(script: Script) -> str:
    """Where a script is found: a file has just one, but for tasks of jobs."""
    return script.path if script.job is None else f"{script.name} in {script.path}"


def _own_triggers(scripts: Sequence[Script]) -> Iterable[Fault]:
    for script in scripts:
        for trigger in script.triggers_on():
            if trigger.asset in script.writes:
                yield Fault(
                    Place(script.path, trigger.line),
                    f"the script is triggered by {trigger.asset}, which it writes itself",
                    "remove this 'on' line",
                )


def _cycles(scripts: Sequence[Script]) -> Iterable[Fault]:
    """A fault for each script of a cycle, which is then broken so that the next one shows."""
    graph = build_graph(scripts)
    upstream = dict(graph.upstream)
    while True:
        try:
            TopologicalSorter(upstream).prepare()
        except CycleError as error:
            names: list[str] = list(reversed(error.args[1]))[:-1]
            start = names.index(min(names))
            around = (*names[start:], *names[:start])
            yield from (_cycle(graph, around, name) for name in around)
            upstream[around[0]] = upstream[around[0]] - set(names)
        else:
            return


def _cycle(graph: Graph, around: Sequence[str], name: str) -> Fault:
    script = graph.scripts[name]
    others = [other for other in around if other != name]
    lines = [t.line for t in script.triggers_on() if graph.producers.get(t.asset) in others]
    return Fault(
        Place(script.path, lines[0] if lines else script.code.line if script.code else 1),
        f"scripts wait for each other: {' → '.join((*around, around[0]))}",
        "remove one of the 'on' lines or reads between them",
    )


def _closure(names: Iterable[str], edges: Mapping[str, frozenset[str]]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        for other in edges[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen)
