"""A trace of columns as text or Mermaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tranche.cli.graphs import mermaid_text
from tranche.cli.output import shown
from tranche.model.lineage import Link, Point, Trace

_ARROWS = {"up": ("←", "⇠"), "down": ("→", "⇢")}
"""The values that go in, and what only has a say."""


def as_text(trace: Trace) -> Iterable[str]:
    """A tree for each column that was asked for, then what has a say in the rows."""
    tree = _Tree(trace)
    for root in trace.begins:
        if root.column is not None or trace.direction == "down":
            yield shown(root)
            yield from tree.below(root, 1)
    if trace.direction == "up":
        yield from _rows(trace)
    for script in trace.unwritten:
        yield f"read by {script}, which writes nothing"


def _rows(trace: Trace) -> Iterator[str]:
    """What has a say in which rows each asset has, by the way in which it does."""
    found: dict[Point, dict[str, list[str]]] = {}
    for link in trace.links:
        if link.target.column is None:
            word = "made of" if link.how == "rows" else link.how
            name = shown(link.source.asset) if link.how == "rows" else shown(link.source)
            found.setdefault(link.target, {}).setdefault(word, []).append(name)
    for point, ways in found.items():
        yield shown(point)
        yield from (f"  {word} {', '.join(names)}" for word, names in ways.items())


class _Tree:
    """The arrows of a trace, from where it begins."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.up = trace.direction == "up"
        self.links: dict[Point, list[Link]] = {}
        for link in trace.links:
            self.links.setdefault(self.near(link), []).append(link)
        self.told: set[Point] = set()

    def near(self, link: Link) -> Point:
        return link.target if self.up else link.source

    def far(self, link: Link) -> Point:
        return link.source if self.up else link.target

    def below(self, point: Point, depth: int) -> Iterator[str]:
        """Each point is told once; where it comes again, its branch stands elsewhere."""
        waiting = [(link, depth) for link in reversed(self.links.get(point, []))]
        self.told.add(point)
        while waiting:
            link, level = waiting.pop()
            far = self.far(link)
            if self.up and far.column is None:
                continue
            again = far in self.told and far in self.links
            arrow = _ARROWS[self.trace.direction][0 if link.direct else 1]
            how = f"{link.how}, declared" if link.declared else link.how
            name = shown(far) if far.column is not None else f"all of {shown(far.asset)}"
            yield f"{'  ' * level}{arrow} {name}  ({how}){' …' if again else ''}"
            if not again:
                self.told.add(far)
                waiting += [(each, level + 1) for each in reversed(self.links.get(far, []))]


def as_mermaid(trace: Trace) -> Iterable[str]:
    """Columns in boxes, one for each asset; dotted arrows for what only has a say."""
    ends = (point for link in trace.links for point in (link.source, link.target))
    points = dict.fromkeys((*(point for point in trace.begins if point.column), *ends))
    ids = {point: f"n{number}" for number, point in enumerate(points)}
    assets: dict[str, list[Point]] = {}
    for point in points:
        assets.setdefault(str(point.asset), []).append(point)
    yield "graph LR"
    for number, (asset, inside) in enumerate(assets.items()):
        yield f'  subgraph a{number}["{mermaid_text(asset)}"]'
        for point in inside:
            label = "all rows" if point.column is None else ".".join((point.column, *point.path))
            yield f'    {ids[point]}["{mermaid_text(label)}"]'
        yield "  end"
    for link in trace.links:
        arrow = "-->" if link.direct else "-.->"
        how = f"{link.how}, declared" if link.declared else link.how
        yield f'  {ids[link.source]} {arrow}|"{how}"| {ids[link.target]}'
