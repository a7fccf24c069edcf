"""Temp tables and views of a script: each is a view in Spark, which reads when it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tranche.script.duckdb.pieces import refused
from tranche.script.duckdb.places import MOVED, has_moved, named_query


@dataclass(slots=True)
class Temporary:
    """What the statements so far have made."""

    reads: dict[str, set[str]] = field(default_factory=dict)
    """The names that each reads, also by way of others."""
    tables: set[str] = field(default_factory=set)
    """Those that keep their rows in DuckDB, whatever becomes of what they read."""
    moved: set[str] = field(default_factory=set)
    """Those whose columns stand in another order than in DuckDB."""

    def meet(self, tree: exp.Expr) -> None:
        """Says to a statement what it has to know of those before it; refuses to make anew what
        rows that are kept come from."""
        tree.meta[MOVED] = frozenset(self.moved)
        made = _made(tree)
        if made is None:
            return
        called = made.name.lower()
        if called in self.reads and called in self._read_by(tree.expression):
            raise refused(made, f"{made.name} is made anew from itself", "give it another name")
        for table in sorted(self.tables):
            if called in self.reads[table]:
                raise refused(
                    made,
                    f"{made.name} is made anew after {table} was made from it, which keeps its"
                    " rows in DuckDB only",
                    "give it another name",
                )

    def remember(self, tree: exp.Expr) -> None:
        """Takes in what a statement makes."""
        made = _made(tree)
        if made is None:
            return
        called = made.name.lower()
        self.reads[called] = self._read_by(tree.expression)
        for names, belongs in (
            (self.tables, str(tree.args.get("kind")).upper() == "TABLE"),
            (self.moved, has_moved(tree.expression)),
        ):
            names.discard(called)
            names.update([called] if belongs else [])

    def _read_by(self, query: exp.Expr) -> set[str]:
        found: set[str] = set()
        for table in query.find_all(exp.Table):
            if len(table.parts) == 1 and named_query(table) is None:
                called = table.name.lower()
                found |= {called, *self.reads.get(called, ())}
        return found


def _made(tree: exp.Expr) -> exp.Table | None:
    made = tree.this if isinstance(tree, exp.Create) else None
    return made if isinstance(made, exp.Table) and tree.expression is not None else None
