"""The graph of a project as text, Mermaid or DOT. Keys never show in it."""

from __future__ import annotations

from collections.abc import Iterable

from tranche.cli.output import shown
from tranche.model.project import Project
from tranche.views.assets import script_view
from tranche.views.graph import picture


def as_text(project: Project) -> Iterable[str]:
    """One block per script: what goes in, what comes out."""
    labels = {(edge.source, edge.target): edge.label for edge in picture(project).edges}
    for script in project.scripts:
        view = script_view(script)
        about = [view["partitioning"], view["strategy"]]
        about += [f"#{tag}" for tag in view["tags"]]
        described = ", ".join(text for text in about if text)
        yield f"{script.name}{f'  ({described})' if described else ''}"
        yield from (f"  ⚡ {schedule}" for schedule in view["schedules"])
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
        yield f'  {ids[node]}[("{mermaid_text(node)}")]'
    for node in drawn.scripts:
        condition = drawn.conditions.get(node)
        below = f"<br/>when {mermaid_text(condition)}" if condition else ""
        yield f'  {ids[node]}["{mermaid_text(node)}{below}"]'
    for job, tasks in drawn.jobs.items():
        yield f'  subgraph job_{job}["{mermaid_text(job)}"]'
        yield from (f"    {ids[task]}" for task in tasks)
        yield "  end"
    for node in drawn.assets:
        yield f'  {ids[node]}[("{mermaid_text(node)}")]'
    for edge in drawn.edges:
        arrow = "==>" if edge.triggers else "-->"
        label = f'|"{mermaid_text(edge.label)}"|' if edge.label else ""
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
    for job, tasks in drawn.jobs.items():
        inside = " ".join(f"{_dot(task)};" for task in tasks)
        yield f"  subgraph {_dot(f'cluster_{job}')} {{ label={_dot(job)}; {inside} }}"
    for node in drawn.assets:
        yield f"  {_dot(node)} [shape=cylinder];"
    for edge in drawn.edges:
        about = ["style=bold"] if edge.triggers else []
        about += [f"label={_dot(edge.label)}"] if edge.label else []
        style = f" [{', '.join(about)}]" if about else ""
        yield f"  {_dot(edge.source)} -> {_dot(edge.target)}{style};"
    yield "}"


def mermaid_text(text: str) -> str:
    """A text that ends no label and is no markup.

    >>> mermaid_text('a"]; <b>')
    'a&quot;]; &lt;b&gt;'
    """
    plain = shown(text)
    return (
        plain.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    )


def _dot(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
