"""The graph of a project as a drawing. Where nodes stand is worked out where pages have it from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tranche.notebook.markup import Markup, clipped, element
from tranche.notebook.paint import COLOURS, SIGNS, picture
from tranche.service.overview import Arrow, Node, Overview
from tranche.views.plain import counted

_WIDE, _HIGH, _GAP_X, _GAP_Y = 184, 44, 62, 22
_MARGIN = 12
_ABOVE = 16
"""Room for the name of a group."""
_ROOM = 20
"""Letters of a name that a box has room for."""
MOST = 500
"""How many nodes are drawn; nobody finds anything among more."""


def graph(overview: Overview) -> Markup:
    nodes = overview.nodes
    places = {node.id: _place(node) for node in nodes}
    wide = max(x for x, _ in places.values()) + _WIDE + _MARGIN
    high = max(y for _, y in places.values()) + _HIGH + _MARGIN
    return picture(
        *_groups(nodes),
        element("g", [_arrow(a, places) for a in overview.arrows], fill="none", opacity=0.75),
        *map(_node, nodes),
        wide=wide,
        high=high,
        label=f"The graph: {counted(len(nodes), 'node')}, {counted(len(overview.arrows), 'arrow')}",
    )


def _place(node: Node) -> tuple[float, float]:
    spot = node.spot
    return (
        _MARGIN + spot.layer * (_WIDE + _GAP_X),
        _MARGIN + _ABOVE + spot.row * (_HIGH + _GAP_Y),
    )


def _groups(nodes: Sequence[Node]) -> Iterator[Markup]:
    """A frame around those of a folder or a job that stand in one layer."""
    ends: dict[tuple[str, float], tuple[float, float]] = {}
    for node in nodes:
        if node.group:
            x, y = _place(node)
            top, bottom = ends.get((node.group, x), (y, y))
            ends[node.group, x] = min(top, y), max(bottom, y)
    for (group, x), (top, bottom) in ends.items():
        yield element(
            "rect",
            x=x - 8,
            y=top - _ABOVE,
            width=_WIDE + 16,
            height=bottom - top + _HIGH + _ABOVE + 7,
            rx=9,
            fill_opacity=0.05,
            stroke="currentColor",
            stroke_opacity=0.2,
        )
        name = clipped(group, _ROOM + 10)
        yield element("text", name, x=x - 1, y=top - 4, font_size=10, opacity=0.72)


def _arrow(arrow: Arrow, places: dict[str, tuple[float, float]]) -> Markup:
    """Whole if it starts what it leads to, else dashed."""
    x1, y1 = places[arrow.source][0] + _WIDE, places[arrow.source][1] + _HIGH / 2
    x2, y2 = places[arrow.target][0], places[arrow.target][1] + _HIGH / 2
    bend = max(26.0, (x2 - x1) / 2)
    line = element(
        "path",
        d=f"M{x1:.0f} {y1:.1f}C{x1 + bend:.0f} {y1:.1f} {x2 - bend:.0f} {y2:.1f} {x2 - 6:.0f} {y2:.1f}",
        stroke="currentColor",
        stroke_width=1.6 if arrow.triggers else 1.1,
        stroke_dasharray=None if arrow.triggers else "5 4",
    )
    head = element("path", d=f"M{x2:.0f} {y2:.1f}l-7-4v8z", fill="currentColor")
    if arrow.mapper is None:
        return Markup(line + head)
    label = element(
        "text",
        clipped(arrow.mapper, 10),
        element("title", arrow.mapper),
        x=(x1 + x2) / 2,
        y=(y1 + y2) / 2 - 5,
        text_anchor="middle",
        font_size=10,
        fill="currentColor",
    )
    return Markup(line + head + label)


def _node(node: Node) -> Markup:
    x, y = _place(node)
    colour = COLOURS[node.standing]
    return element(
        "g",
        element("title", f"{node.id}: {node.standing}"),
        element(
            "rect",
            x=x,
            y=y,
            width=_WIDE,
            height=_HIGH,
            rx=8,
            fill=colour,
            fill_opacity=0.13,
            stroke=colour,
            stroke_width=1.4,
            stroke_dasharray="4 3" if node.kind == "source" else None,
        ),
        element("text", SIGNS[node.standing], x=x + 9, y=y + 18, font_size=13, fill=colour),
        element(
            "text",
            clipped(short(node.id), _ROOM),
            x=x + 26,
            y=y + 18,
            font_size=13,
            font_weight=600,
        ),
        element("text", clipped(_about(node), 30), x=x + 9, y=y + 35, opacity=0.8),
    )


def short(asset: str) -> str:
    """The name of an asset without where it lies, as far as that is plain.

    >>> short("lake://main/shop.orders"), short("file:///data/orders.csv")
    ('shop.orders', 'file:///data/orders.csv')
    """
    return asset.partition("://")[2].partition("/")[2] if asset.startswith("lake://") else asset


def _about(node: Node) -> str:
    """How it stands, in a word, and what is known of its keys."""
    if node.script is None:
        return node.standing
    if node.kind == "script":
        return f"{node.standing} · makes no asset" if node.standing != "never" else "makes no asset"
    rule = node.script.partitioning
    keys = sum(node.outcomes.values())
    told = [node.standing, rule.kind if rule is not None else "one table"]
    if rule is not None and keys:
        failed = node.outcomes.get("failed", 0)
        told.append(f"{failed:,} of {keys:,} keys" if failed else f"{keys:,} keys")
    return " · ".join(told)
