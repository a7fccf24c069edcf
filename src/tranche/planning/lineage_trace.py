"""A column followed from script to script: up to where it comes from, or down to what is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tranche.model.asset import AssetUri
from tranche.model.lineage import (
    ColumnLineage,
    Direction,
    Doubt,
    Influence,
    Link,
    Point,
    ScriptLineage,
    SourceColumn,
    Trace,
    Unknown,
    Why,
)
from tranche.model.script import Script
from tranche.planning.lineage import ProjectLineage, managed_columns, sources_of


def trace(
    lineage: ProjectLineage, start: Point, direction: Direction, *, far: bool = True
) -> Trace:
    """Follows a column through all scripts, or a single arrow if not `far`.

    From the rows of an asset, all of its columns are followed.
    """
    follower = _Up(lineage) if direction == "up" else _Down(lineage)
    depth = 1
    begins = tuple(follower.beginnings(start))
    level = list(begins)
    seen = {_same(lineage, point) for point in level}
    links: dict[tuple[Point, Point, str], Link] = {}
    while level:
        following: list[Point] = []
        for point in level:
            for link in follower.links(point, depth):
                links.setdefault((link.source, link.target, link.how), link)
                other = link.source if direction == "up" else link.target
                if _same(lineage, other) not in seen:
                    seen.add(_same(lineage, other))
                    following.append(other)
        level = following if far else []
        depth += 1
    return Trace(
        start,
        direction,
        begins,
        tuple(links.values()),
        tuple(dict.fromkeys(follower.doubts)),
        tuple(follower.unwritten),
    )


def _same(lineage: ProjectLineage, point: Point) -> tuple[AssetUri, str | None, tuple[str, ...]]:
    """What tells points apart: names are compared without their case, as Spark does."""
    column = None if point.column is None else point.column.lower()
    return lineage.whole(point.asset), column, tuple(name.lower() for name in point.path)


class _Follower:
    """What both directions share."""

    def __init__(self, lineage: ProjectLineage) -> None:
        self.lineage = lineage
        self.graph = lineage.graph
        self.doubts: list[Doubt] = []
        self.unwritten: dict[str, None] = {}

    def doubt(self, script: Script, unknown: Iterable[Unknown]) -> None:
        self.doubts += [Doubt(script.name, script.path, each) for each in unknown]

    def beginnings(self, start: Point) -> Iterator[Point]:
        """What a trace begins with: a column beside the rows that it is in, or all columns."""
        if start.column is not None:
            yield start
        yield Point(start.asset)

    def links(self, point: Point, depth: int) -> Iterator[Link]:
        raise NotImplementedError


class _Up(_Follower):
    def beginnings(self, start: Point) -> Iterator[Point]:
        if start.column is None:
            producer = self.graph.producer(start.asset)
            found = self.lineage.of(producer) if producer is not None else ScriptLineage()
            yield from (Point(start.asset, column.column) for column in found.columns)
        yield from super().beginnings(start)

    def links(self, point: Point, depth: int) -> Iterator[Link]:
        producer = self.graph.producer(point.asset)
        if producer is None:
            return
        found = self.lineage.of(producer)
        if point.column is None:
            self.doubt(producer, found.unknown)
            for asset in found.tables:
                yield Link(Point(asset), point, "rows", producer.name, depth)
            yield from self.influences(found.rows, point, producer, depth)
            return
        column = found.of(point.column)
        if column is None:
            if point.column.lower() not in {name for name, _ in managed_columns(producer)}:
                self.doubt(producer, [Unknown(f"it does not say what {point.column} comes from")])
            return
        self.doubt(producer, column.unknown)
        for origin in column.direct:
            source = _point(origin.source, point.path if origin.kind == "identity" else ())
            yield Link(source, point, origin.kind, producer.name, depth, origin.declared)
        yield from self.influences(column.indirect, point, producer, depth)

    def influences(
        self, found: Iterable[Influence], point: Point, producer: Script, depth: int
    ) -> Iterator[Link]:
        for each in found:
            yield Link(_point(each.source), point, each.why, producer.name, depth)


class _Down(_Follower):
    def beginnings(self, start: Point) -> Iterator[Point]:
        if start.column is not None:
            yield start
            return
        yield from (Point(start.asset, name) for name in self.lineage.names(start.asset))
        yield start

    def links(self, point: Point, depth: int) -> Iterator[Link]:
        for script in self.lineage.readers(point.asset):
            found = self.lineage.of(script)
            made = script.asset
            if made is None:
                if point.column is None or any(self.meets(s, point) for s in sources_of(found)):
                    self.unwritten[script.name] = None
                continue
            if point.column is None:
                yield Link(point, Point(made), "rows", script.name, depth)
                continue
            self.doubt(script, found.unknown)
            for column in _with_passed(found, point):
                self.doubt(script, column.unknown)
                yield from self.to_column(point, column, script, Point(made, column.column), depth)
            for each in found.rows:
                if self.meets(each.source, point):
                    yield Link(point, Point(made), each.why, script.name, depth)

    def to_column(
        self, point: Point, column: ColumnLineage, script: Script, target: Point, depth: int
    ) -> Iterator[Link]:
        for origin in column.direct:
            if self.meets(origin.source, point):
                yield Link(point, target, origin.kind, script.name, depth, origin.declared)
        whys: dict[Why, None] = {
            each.why: None for each in column.indirect if self.meets(each.source, point)
        }
        for why in whys:
            yield Link(point, target, why, script.name, depth)

    def meets(self, source: SourceColumn, point: Point) -> bool:
        """Whether what is read is the column, a field in it, or what it is a field in."""
        if point.column is None or source.column.lower() != point.column.lower():
            return False
        pairs = zip(source.path, point.path, strict=False)
        same = all(ours.lower() == theirs.lower() for ours, theirs in pairs)
        return same and self.lineage.whole(source.asset) == self.lineage.whole(point.asset)


def _point(source: SourceColumn, path: tuple[str, ...] = ()) -> Point:
    return Point(source.asset, source.column, (*source.path, *path))


def _with_passed(found: ScriptLineage, point: Point) -> Iterator[ColumnLineage]:
    """The columns of a result, and the one that a star passes on without its being named."""
    yield from found.columns
    named = {column.column.lower() for column in found.columns}
    if point.column is not None and point.column.lower() not in named:
        passed = found.of(point.column)
        if passed is not None:
            yield passed
