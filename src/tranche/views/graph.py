"""What is made from what, as nodes and arrows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tranche.model.mapping import Identity
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.graph import build_graph
from tranche.planning.links import Links
from tranche.views.assets import condition_text, script_view


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow: data that a script reads, or writes; `triggers` if it starts the script."""

    source: str
    target: str
    triggers: bool = False
    mapper: str | None = None
    """How keys of the data become keys of the script, where both have some."""

    @property
    def label(self) -> str:
        """What an arrow says: nothing where keys stay as they are."""
        return "" if self.mapper in (None, str(Identity())) else str(self.mapper)


@dataclass(frozen=True, slots=True)
class Picture:
    """The nodes and arrows of a project."""

    scripts: tuple[str, ...]
    assets: tuple[str, ...]
    sources: tuple[str, ...]
    edges: tuple[Edge, ...]
    conditions: Mapping[str, str]
    """What of its triggers a script waits for together, by its name, where any is not enough."""
    jobs: Mapping[str, tuple[str, ...]]
    """The scripts of each job."""


def picture(project: Project) -> Picture:
    made = dict.fromkeys(str(asset) for script in project.scripts for asset in script.writes)
    edges: dict[Edge, None] = {}
    sources: dict[str, None] = {}
    links = Links(build_graph(project.scripts))
    for script in project.scripts:
        mappers = _mappers(links, script)
        awaited = {str(trigger.asset) for trigger in script.triggers_on()}
        for asset in dict.fromkeys(
            [*(str(t.asset) for t in script.triggers_on()), *map(str, script.reads)]
        ):
            if asset not in made:
                sources[asset] = None
            edges[Edge(asset, script.name, asset in awaited, mappers.get(asset))] = None
        for asset in map(str, script.writes):
            edges[Edge(script.name, asset)] = None
    names = tuple(script.name for script in project.scripts)
    conditions = {s.name: text for s in project.scripts if (text := condition_text(s)) is not None}
    jobs: dict[str, tuple[str, ...]] = {}
    for script in project.scripts:
        if script.job is not None:
            jobs[script.job] = (*jobs.get(script.job, ()), script.name)
    return Picture(names, tuple(made), tuple(sources), tuple(edges), conditions, jobs)


def _mappers(links: Links, script: Script) -> dict[str, str]:
    """The mapping from each asset that a script reads or waits for, written or inferred."""
    written = {str(t.asset): str(t.mapper) for t in script.triggers_on() if t.mapper is not None}
    known = {str(link.asset): str(link.mapper) for link in links.of(script) if link.mapper}
    return written | known


def graph_view(project: Project) -> dict[str, Any]:
    drawn = picture(project)
    return {
        "scripts": [script_view(script) for script in project.scripts],
        "assets": list(drawn.assets),
        "sources": list(drawn.sources),
        "edges": [
            {
                "from": edge.source,
                "to": edge.target,
                "triggers": edge.triggers,
                "map": edge.mapper,
            }
            for edge in drawn.edges
        ],
    }
