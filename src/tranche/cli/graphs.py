"""The graph of a project as text, Mermaid, DOT or JSON. Keys never show in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tranche.cli.views import condition_text, script_view
from tranche.model.mapping import Identity
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.graph import build_graph
from tranche.planning.links import Links


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
    return Picture(names, tuple(made), tuple(sources), tuple(edges), conditions)


def _mappers(links: Links, script: Script) -> dict[str, str]:
    """The mapping from each asset that a script reads or waits for, written or inferred."""
    written = {str(t.asset): str(t.mapper) for t in script.triggers_on() if t.mapper is not None}
    known = {str(link.asset): str(link.mapper) for link in links.of(script) if link.mapper}
    return written | known


def as_text(project: Project) -> Iterable[str]:
    """One block per script: what goes in, what comes out."""
    labels = {(edge.source, edge.target): edge.label for edge in picture(project).edges}
    for script in project.scripts:
        view = script_view(script)
        about = [view["partitioning"], view["strategy"]]
        described = ", ".join(text for text in about if text)
        yield f"{script.name}{f'  ({described})' if described else ''}"
        awaited = set(view["on"])
        for asset in dict.fromkeys([*view["on"], *view["reads"]]):
            label = labels.get((asset, script.name), "")
            yield f"  {'⚡' if asset in awaited else '←'} {asset}{f'  ({label})' if label else ''}"
        if view["condition"] is not None:
            yield f"    when {view['condition']}"
        for asset in view["writes"]:
            yield f"  → {asset}"
        for test in view["tests"]:
            yield f"    ✓ {test}"
        for transform in view["layout"]:
            yield f"    ▤ {transform}"


def as_mermaid(project: Project) -> Iterable[str]:
    drawn = picture(project)
    ids = {node: f"n{n}" for n, node in enumerate([*drawn.sources, *drawn.scripts, *drawn.assets])}
    yield "graph LR"
    for node in drawn.sources:
        yield f'  {ids[node]}[("{_mermaid(node)}")]'
    for node in drawn.scripts:
        condition = drawn.conditions.get(node)
        below = f"<br/>when {_mermaid(condition)}" if condition else ""
        yield f'  {ids[node]}["{_mermaid(node)}{below}"]'
    for node in drawn.assets:
        yield f'  {ids[node]}[("{_mermaid(node)}")]'
    for edge in drawn.edges:
        arrow = "==>" if edge.triggers else "-->"
        label = f'|"{_mermaid(edge.label)}"|' if edge.label else ""
        yield f"  {ids[edge.source]} {arrow}{label} {ids[edge.target]}"


def as_dot(project: Project) -> Iterable[str]:
    drawn = picture(project)
    yield "digraph tranche {"
    yield "  rankdir=LR;"
    for node in drawn.sources:
        yield f"  {_dot(node)} [shape=cylinder, style=dashed];"
    for node in drawn.scripts:
        condition = drawn.conditions.get(node)
        label = f", label={_dot(node, f'when {condition}')}" if condition else ""
        yield f"  {_dot(node)} [shape=box{label}];"
    for node in drawn.assets:
        yield f"  {_dot(node)} [shape=cylinder];"
    for edge in drawn.edges:
        about = ["style=bold"] if edge.triggers else []
        about += [f"label={_dot(edge.label)}"] if edge.label else []
        style = f" [{', '.join(about)}]" if about else ""
        yield f"  {_dot(edge.source)} -> {_dot(edge.target)}{style};"
    yield "}"


def as_json(project: Project) -> dict[str, Any]:
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


def _mermaid(text: str) -> str:
    return (
        text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    )


def _dot(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
