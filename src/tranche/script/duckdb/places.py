"""Queries whose columns stand in another order in Spark, and what may not count their columns.

`* REPLACE` and `* RENAME` put columns behind the others here, and Spark puts those of USING and
NATURAL before them. As long as columns are told by their names, nobody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tranche.script.duckdb.pieces import refused

MOVED = "moved"
"""In the meta data of a statement: the temp tables and views whose columns have moved."""
_WHAT = "the columns of * with REPLACE, RENAME, USING or NATURAL stand elsewhere in Spark, and"


def check_unmoved(query: exp.Expr, counter: str) -> None:
    """Refuses a query whose columns have moved where something counts them."""
    if has_moved(query):
        raise refused(query, f"{_WHAT} {counter} counts them", "name the columns")


def check_counted(node: exp.Expr) -> None:
    """Refuses numbers of columns in the clauses of a SELECT whose columns have moved."""
    order, group = node.args.get("order"), node.args.get("group")
    keys = [key.this for key in order.expressions] if order is not None else []
    if any(_is_number(key) or _is_all(key) for key in keys):
        check_unmoved(node, "ORDER BY by a number or ALL")
    if group is not None and any(map(_is_number, group.expressions)):
        check_unmoved(node, "GROUP BY by a number")


def check_listed(node: exp.Expr) -> None:
    """Refuses a relation that names its columns by their places, if they have moved."""
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns") and _is_moved(node):
        raise refused(node, f"{_WHAT} a list of names counts them", "name the columns")


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.args.get("is_string")


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def has_moved(query: exp.Expr) -> bool:
    """Whether the columns of a query stand in another order than in DuckDB."""
    if isinstance(query, exp.Select):
        return any(_moves(query, item) for item in query.expressions)
    if isinstance(query, exp.SetOperation | exp.Subquery):
        return has_moved(query.this)
    return isinstance(query, exp.Pivot) and _is_moved(query.this)


def _moves(select: exp.Select, item: exp.Expr) -> bool:
    star = item.this if isinstance(item, exp.Column) else item
    if not isinstance(star, exp.Star):
        return False
    if star.args.get("replace") or star.args.get("rename"):
        return True
    joins = select.args.get("joins") or ()
    if any(join.args.get("using") or join.args.get("method") == "NATURAL" for join in joins):
        return True
    table = item.table if isinstance(item, exp.Column) else ""
    starred = (node for node in _relations(select) if table in ("", node.alias_or_name))
    return any(map(_seen_moved, starred))


def _relations(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from_.this
    for join in select.args.get("joins") or ():
        yield join.this


def _seen_moved(node: exp.Expr) -> bool:
    """Whether the columns have moved as whoever reads the relation sees them."""
    alias = node.args.get("alias")
    return (alias is None or not alias.args.get("columns")) and _is_moved(node)


def _is_moved(node: exp.Expr) -> bool:
    if isinstance(node, exp.Subquery):
        return has_moved(node.this)
    if isinstance(node, exp.Lateral):
        return has_moved(node.this.this)
    if isinstance(node, exp.Pivot):
        return has_moved(node)
    if not isinstance(node, exp.Table) or len(node.parts) != 1:
        return False
    cte = named_query(node)
    if cte is not None:
        columns = cte.args["alias"].args.get("columns")
        return not columns and has_moved(cte.this)
    moved: frozenset[str] = node.root().meta.get(MOVED, frozenset())
    return node.name.lower() in moved


def named_query(table: exp.Expr) -> exp.Expr | None:
    """The query of WITH that a name in FROM means."""
    node: exp.Expr | None = table.parent
    inside: exp.Expr = table
    cte: exp.Expr | None = None
    while node is not None:
        if isinstance(inside, exp.CTE):
            cte = inside
        clause = node.args.get("with_")
        if clause is not None:
            for known in clause.expressions:
                if inside is clause and known is cte:
                    break
                if known.alias.lower() == table.name.lower():
                    found: exp.Expr = known
                    return found
        inside, node = node, node.parent
    return None
