"""All that there is, at one glance: each asset with how it stands, and where it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from tranche.model.mapping import Identity
from tranche.model.project import Project
from tranche.model.run import PartitionState
from tranche.model.script import Script
from tranche.planning.drawing import Spot, drawn
from tranche.planning.graph import build_graph
from tranche.planning.links import Links
from tranche.planning.stale import stale_assets
from tranche.ports import StateReader
from tranche.service.lineage import read_columns

Standing: TypeAlias = Literal["fresh", "stale", "failed", "running", "never", "source"]
NodeKind: TypeAlias = Literal["asset", "source", "script"]

_PROJECTS = 4
"""Of how many projects the arrows are kept: a server draws the same one again and again."""
_LOOKED_AT = 3
"""Of how many of its latest keys it is looked up whether they are stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An asset with the script that makes it, a source, or a script that makes nothing."""

    id: str
    """An asset's address, or the name of a script."""
    kind: NodeKind
    script: Script | None = None
    standing: Standing = "source"
    outcomes: Mapping[str, int] = field(default_factory=dict)
    latest: PartitionState | None = None
    spot: Spot
    group: str = ""
    """The folder of its script, or its job."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Data that goes into an asset; `triggers` if it starts its script."""

    source: str
    target: str
    triggers: bool
    mapper: str | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The nodes and the arrows between them."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def overview(project: Project, state: StateReader) -> Overview:
    scripts = {_id(script): script for script in project.scripts}
    arrows = _arrows(_Same(project.scripts))
    ends = dict.fromkeys(end for arrow in arrows for end in (arrow.source, arrow.target))
    sources = [end for end in ends if end not in scripts]
    groups = {id: _group(script) for id, script in scripts.items()}
    spots = drawn([*scripts, *sources], [(a.source, a.target) for a in arrows], groups)
    assets = [id for id, script in scripts.items() if script.asset is not None]
    outcomes = state.outcomes(assets)
    newest = {id: state.newest(id, limit=_LOOKED_AT) for id in assets if outcomes[id]}
    running = running_assets(state)
    pairs = [(scripts[id], each) for id in newest for each in newest[id]]
    stale = stale_assets(pairs, state, read_columns(project))
    nodes = [
        Node(
            id=id,
            kind="asset" if script.asset is not None else "script",
            script=script,
            standing=standing_of(id, outcomes.get(id, {}), running, stale),
            outcomes=outcomes.get(id, {}),
            latest=max(newest.get(id, ()), key=lambda each: each.at, default=None),
            spot=spots[id],
            group=groups[id],
        )
        for id, script in scripts.items()
    ]
    nodes += [Node(id=id, kind="source", spot=spots[id]) for id in sources]
    return Overview(tuple(nodes), arrows)


def _id(script: Script) -> str:
    return script.label


def _group(script: Script) -> str:
    """The folder of a script below the others, or its job."""
    return script.job or script.name.rpartition("/")[0]


class _Same:
    """Scripts that are told from others by being the same objects, which takes no time."""

    def __init__(self, scripts: tuple[Script, ...]) -> None:
        self.scripts = scripts

    def __hash__(self) -> int:
        return id(self.scripts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.scripts is self.scripts


@lru_cache(maxsize=_PROJECTS)
def _arrows(same: _Same) -> tuple[Arrow, ...]:
    graph = build_graph(same.scripts)
    links = Links(graph)
    found: dict[tuple[str, str], Arrow] = {}
    for script in same.scripts:
        mappers = {str(link.asset): str(link.mapper) for link in links.of(script) if link.mapper}
        awaited = {trigger.asset for trigger in script.triggers_on()}
        for asset in dict.fromkeys([*awaited, *script.reads]):
            producer = graph.producer(asset)
            source = str(asset) if producer is None else _id(producer)
            if source == _id(script):
                continue
            mapper = mappers.get(str(asset))
            label = None if mapper == str(Identity()) else mapper
            triggers = asset in awaited
            known = found.get((source, _id(script)))
            found[source, _id(script)] = Arrow(
                source,
                _id(script),
                triggers or (known is not None and known.triggers),
                label or (known.mapper if known is not None else None),
            )
    return tuple(found.values())


def running_assets(state: StateReader) -> frozenset[str]:
    """The assets that are being written."""
    gone = {run.id for run in state.abandoned()}
    return frozenset(
        step.asset or step.script
        for run in state.running()
        if run.id not in gone
        for step in state.steps(run.id)
        if step.status == "running"
    )


def standing_of(
    asset: str, outcomes: Mapping[str, int], running: frozenset[str], stale: frozenset[str]
) -> Standing:
    if asset in running:
        return "running"
    if not outcomes:
        return "never"
    if outcomes.get("failed") or outcomes.get("cancelled"):
        return "failed"
    return "stale" if asset in stale else "fresh"
