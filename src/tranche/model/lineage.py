"""Which columns a column comes from, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tranche.model.asset import AssetUri

Kind: TypeAlias = Literal["identity", "expression", "aggregation"]
"""What became of a value on its way: nothing, something else, or one value of many rows."""

Why: TypeAlias = Literal[
    "filter", "join", "group", "order", "window", "conditional", "unnest", "rows"
]
"""How a column has a say without being the value: it picks rows, joins them, groups them, puts them
in order, says which rows a window has, picks one of several values, or is taken apart into rows.
By `rows`, rows of one table are made of those of another."""

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The weakest first: of a value that goes several ways, the strongest counts."""


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of an asset, or a field in it.

    >>> from tranche.model.asset import LakeTable
    >>> str(SourceColumn(LakeTable("main", "orders"), "customer", ("address", "city")))
    'lake://main/orders.customer.address.city'
    """

    asset: AssetUri
    column: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((str(self.asset), self.column, *self.path))


@dataclass(frozen=True, slots=True)
class Origin:
    """A column whose value goes into another."""

    source: SourceColumn
    kind: Kind
    declared: bool = False
    """Whether a `column` line says so."""


@dataclass(frozen=True, slots=True)
class Influence:
    """A column that has a say without its value going in."""

    source: SourceColumn
    why: Why


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that the text of a script does not tell."""

    what: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Where one column of a result comes from."""

    column: str
    direct: tuple[Origin, ...] = ()
    indirect: tuple[Influence, ...] = ()
    """What has a say in this column alone; what has one in all of them stands beside the columns."""
    unknown: tuple[Unknown, ...] = ()


@dataclass(frozen=True, slots=True)
class Passed:
    """A table whose columns are all passed on, and nobody knows which they are."""

    asset: AssetUri
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptLineage:
    """Where the columns of a script's result come from."""

    columns: tuple[ColumnLineage, ...] = ()
    rows: tuple[Influence, ...] = ()
    """What has a say in which rows there are, and so in every column."""
    passed: tuple[Passed, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    """What cannot be told of the rows, or of all columns together."""
    tables: tuple[AssetUri, ...] = ()
    """The tables and files that the rows are made of."""
    whole: frozenset[AssetUri] = frozenset()
    """Those of which every column matters, also one that is not there yet."""

    @property
    def complete(self) -> bool:
        return not self.unknown and not any(column.unknown for column in self.columns)

    def of(self, name: str) -> ColumnLineage | None:
        """The lineage of a column; None if there is no such column, as far as one can tell."""
        wanted = name.lower()
        for column in self.columns:
            if column.column.lower() == wanted:
                return column
        passed = [each.asset for each in self.passed if wanted not in each.without]
        if len(passed) != 1:
            return None
        return ColumnLineage(name, (Origin(SourceColumn(passed[0], name), "identity"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLineage:
    """What the plan of a frame said that a step returned: where the columns of its asset come from."""

    asset: str
    fingerprint: str
    """Of the step as it was then."""
    lineage: ScriptLineage


ColumnsRead: TypeAlias = Mapping[AssetUri, frozenset[str] | None]
"""The columns of each table that have a say, in lower case; None where every column has."""


def columns_read(lineage: ScriptLineage) -> ColumnsRead | None:
    """Which columns of the tables behind it a result depends on, or None if that is not certain.

    That a table is there with no column at all says that only its rows are counted. Nothing is told
    of the rows themselves: a table that has other rows may always make another result.
    """
    if not lineage.complete or lineage.passed:
        return None
    found: dict[AssetUri, set[str]] = {asset: set() for asset in lineage.tables}
    sources = [influence.source for influence in lineage.rows]
    for column in lineage.columns:
        sources += [origin.source for origin in column.direct]
        sources += [influence.source for influence in column.indirect]
    for source in sources:
        found.setdefault(source.asset, set()).add(source.column.lower())
    return {
        asset: None if asset in lineage.whole else frozenset(names)
        for asset, names in found.items()
    }


@dataclass(frozen=True, slots=True)
class Point:
    """A column of an asset or a field in it, or the rows of the asset.

    >>> from tranche.model.asset import LakeTable
    >>> str(Point(LakeTable("main", "orders")))
    'rows of lake://main/orders'
    """

    asset: AssetUri
    column: str | None = None
    """None for the rows."""
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.column is None:
            return f"rows of {self.asset}"
        return ".".join((str(self.asset), self.column, *self.path))


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from what a script reads to what it makes of it."""

    source: Point
    target: Point
    how: Kind | Why
    script: str
    depth: int
    """How many arrows it is away from where the trace begins, from 1 on."""
    declared: bool = False

    @property
    def direct(self) -> bool:
        return self.how in KINDS


@dataclass(frozen=True, slots=True)
class Doubt:
    """What cannot be told of a script that a trace comes by."""

    script: str
    path: str
    unknown: Unknown

    def __str__(self) -> str:
        line = "" if self.unknown.line is None else f":{self.unknown.line}"
        return f"{self.path}{line}: {self.unknown.what}"


Direction: TypeAlias = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Trace:
    """Where columns come from, or what is made of them, across scripts."""

    start: Point
    """The column that was asked for; an asset's rows stand for all of its columns."""
    direction: Direction
    begins: tuple[Point, ...]
    """The columns that it follows, and the rows that they are in."""
    links: tuple[Link, ...]
    doubts: tuple[Doubt, ...] = ()
    unwritten: tuple[str, ...] = ()
    """The scripts that read something of it and write nothing."""

    @property
    def complete(self) -> bool:
        return not self.doubts
