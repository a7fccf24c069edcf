"""Which columns a SELECT returns and reads, as far as its text alone tells.

Only what is certain is told: `check` warns on the ground of it, and a warning that is wrong is
worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from tranche.model.script import ColumnRead
from tranche.script.holes import Parsed
from tranche.script.names import TableRef, table_refs
from tranche.script.source import Source


def returned_columns(tree: exp.Expr | None) -> tuple[str, ...] | None:
    """The names of all columns, or None if one of them cannot be told."""
    query = tree.unnest() if isinstance(tree, exp.Query) else None
    if not isinstance(query, exp.Select | exp.SetOperation):
        return None
    found = tuple(column.output_name for column in query.selects)
    stars = any(column.is_star for column in query.selects)
    return found if found and all(found) and not stars and "*" not in found else None


def column_reads(source: Source, item: Parsed) -> Iterator[ColumnRead]:
    """The columns of lake tables that the statement reads, each by its place."""
    if not isinstance(item.tree, exp.Query):
        return
    refs = {
        ref.start: ref
        for ref in table_refs(item.tree, item.names)
        if isinstance(ref, TableRef) and not (ref.written or ref.travels or ref.metadata)
    }
    for select in item.tree.find_all(exp.Select):
        yield from _of_select(source, select, refs)


def _of_select(
    source: Source, select: exp.Select, refs: Mapping[int, TableRef]
) -> Iterator[ColumnRead]:
    relations = list(_relations(select))
    tables = {relation.alias_or_name.lower(): _ref(relation, refs) for relation in relations}
    names = [relation.alias_or_name.lower() for relation in relations]
    alone = _ref(relations[0], refs) if len(relations) == 1 and _stands_alone(select) else None
    # A name may mean a column of the result, or a parameter of a lambda, before it means one of
    # the table.
    others = {column.alias.lower() for column in select.selects if column.alias}
    others |= {
        parameter.name.lower()
        for function in select.find_all(exp.Lambda)
        for parameter in function.expressions
    }
    for column in _columns(select):
        qualifier, start = column.table.lower(), column.this.meta.get("start")
        ref: TableRef | None = None
        if qualifier and len(column.parts) == 2 and names.count(qualifier) == 1:
            ref = tables[qualifier]
        elif not qualifier and column.name.lower() not in others:
            ref = alone
        if ref is not None and start is not None and isinstance(column.this, exp.Identifier):
            yield ColumnRead(ref.table, column.name, source.line(start))


def _relations(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    if isinstance(from_, exp.From):
        yield from_.this
    for join in select.args.get("joins") or ():
        yield join.this
    yield from select.args.get("laterals") or ()


def _ref(relation: exp.Expr, refs: Mapping[int, TableRef]) -> TableRef | None:
    """The table that a relation is, under its own columns' names."""
    if not isinstance(relation, exp.Table) or not isinstance(relation.this, exp.Identifier):
        return None
    alias = relation.args.get("alias")
    renamed = alias is not None and alias.args.get("columns")
    if renamed or any(relation.args.get(name) for name in ("pivots", "joins", "laterals")):
        return None
    return refs.get(relation.parts[0].meta.get("start", -1))


def _stands_alone(select: exp.Select) -> bool:
    """Whether a name without a table can only mean the SELECT's own: an inner query may mean
    columns of the outer one, and what is computed beside may have any name."""
    if any(select.args.get(name) for name in ("pivots", "laterals", "joins")):
        return False
    node: exp.Expr = select
    while isinstance(node.parent, exp.SetOperation):
        node = node.parent
    parent = node.parent
    if parent is None or isinstance(parent, exp.CTE):
        return parent is None or _stands_alone_with(parent)
    derived = isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join)
    return derived and parent.find_ancestor(exp.Lateral) is None and _outermost(parent)


def _stands_alone_with(cte: exp.CTE) -> bool:
    with_ = cte.parent
    query = with_.parent if isinstance(with_, exp.With) else None
    return query is not None and (query.parent is None or _outermost(query))


def _outermost(node: exp.Expr) -> bool:
    """Whether nothing around it is an inner query of an expression."""
    while node.parent is not None:
        if isinstance(node, exp.Query) and not isinstance(
            node.parent, exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Subquery
        ):
            return False
        if isinstance(node, exp.Lateral):
            return False
        node = node.parent
    return True


def _columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns that stand in a SELECT itself, not in a query inside it."""
    waiting: list[exp.Expr] = [
        child for name, child in _children(select) if name not in ("with_", "from_")
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Column):
            yield node
        elif not isinstance(node, exp.Query):
            waiting += [child for _, child in _children(node)]


def _children(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for name, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield name, child
