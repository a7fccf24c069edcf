"""A query while its columns are traced to where they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.columns import Columns
from tranche.model.lineage import SourceColumn
from tranche.script.lineage import expressions, queries
from tranche.script.lineage.relations import Column, Relation, Rest
from tranche.script.lineage.scopes import Scope
from tranche.script.lineage.types import fields_of
from tranche.script.lineage.values import Value, of_column

ColumnsOf: TypeAlias = Callable[[AssetUri], Columns | None]
"""The columns of a table with their types, those that Tranche manages among them; None if nobody
knows them."""


@dataclass(slots=True)
class Tracer:
    """What is known while the statements of one script are read."""

    columns_of: ColumnsOf
    lake_tables: Mapping[tuple[str, ...], LakeTable]
    """The tables by the parts of the names that stand for them."""
    files: Mapping[str, tuple[AssetUri, Columns | None]]
    """The files that a name stands for, with their columns where the script says them."""
    views: dict[str, Relation] = field(default_factory=dict)
    """The temporary views that were made so far."""
    variables: dict[str, Value] = field(default_factory=dict)
    visited: set[int] = field(default_factory=set)
    """The columns and tables of the tree that have been looked at."""
    tables: dict[AssetUri, None] = field(default_factory=dict)
    """What is read."""
    whole: set[AssetUri] = field(default_factory=set)
    """Tables of which every column matters, whichever they are."""
    first_line: int = 1
    """The line of the file that the statement at hand begins on."""

    def line(self, node: exp.Expr) -> int | None:
        """The line of the file that something stands on."""
        for each in node.find_all(exp.Identifier):
            line = each.meta.get("line")
            if line is not None:
                return self.first_line + int(line) - 1
        return None

    def value(self, node: exp.Expr, scope: Scope) -> Value:
        return expressions.value_of(self, node, scope)

    def query(
        self,
        node: exp.Expr,
        parent: Scope | None = None,
        ctes: Mapping[str, Relation] | None = None,
    ) -> Relation:
        """What a query returns; `parent` is the one around it, whose columns it may use."""
        return queries.query(self, node, parent, ctes)

    def lake_table(self, table: LakeTable, *, travels: bool) -> Relation:
        """A table with the columns that it has now; what it had in the past is not known."""
        return self.asset(table, None if travels else self.columns_of(table))

    def asset(self, asset: AssetUri, columns: Columns | None) -> Relation:
        self.tables[asset] = None
        if columns is None:
            self.whole.add(asset)
            return Relation((Rest(asset=asset),), table=asset, stars=frozenset({asset}))
        items = tuple(Column(name, self._column(asset, name, type_)) for name, type_ in columns)
        return Relation(items, table=asset, stars=frozenset({asset}))

    def metadata(self, asset: AssetUri) -> Relation:
        """What a table format says about a table: none of its columns."""
        self.tables[asset] = None
        self.whole.add(asset)
        return Relation((Rest(),))

    def _column(self, asset: AssetUri, name: str, type_: str) -> Value:
        source = SourceColumn(asset, name)
        return of_column(source, fields_of(source, type_))
