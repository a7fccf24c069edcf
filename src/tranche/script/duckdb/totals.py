"""The row for the whole that ROLLUP and its like give of no rows in DuckDB, and Spark does not.

It is asked for beside the others, by the same query without its groups, and comes only if there is
no row at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tranche.script.duckdb.aggregates import AGGREGATES
from tranche.script.duckdb.calls import called
from tranche.script.duckdb.pieces import refused

_KINDS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def has_total(node: exp.Expr) -> bool:
    """Whether one of the groups of a query is the whole."""
    group = node.args.get("group")
    items = group.expressions if group is not None else []
    return any(isinstance(item, _KINDS) for item in items) and all(map(_has_whole, items))


def _has_whole(item: exp.Expr) -> bool:
    if isinstance(item, exp.Rollup | exp.Cube):
        return True
    if isinstance(item, exp.GroupingSets):
        return any(map(_has_whole, item.expressions))
    return isinstance(item, exp.Tuple) and not item.expressions


def total_of_nothing(node: exp.Expr) -> exp.Expr:
    """The query whose only row is that for the whole, if there are no rows."""
    _check(node)
    keys = _keys(node)
    made = node.copy()
    # Whether its columns need names is said by what is around it.
    made.parent, made.arg_key = node.parent, node.arg_key
    for clause in ("with_", "group", "order", "limit", "offset"):
        made.set(clause, None)
    for item in list(made.expressions):
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier):
            # NULL would have no name.
            item.replace(exp.Alias(this=item.copy(), alias=item.this.copy()))
    for item in made.expressions:
        _without(item, keys)
    having = made.args.get("having")
    number = exp.Anonymous(this="count", expressions=[exp.Star()])
    empty: exp.Expr = exp.EQ(this=number, expression=exp.Literal.number(0))
    if having is not None:
        _without(having, keys)
        empty = exp.And(this=exp.Paren(this=having.this), expression=empty)
    made.set("having", exp.Having(this=empty))
    return made


def check_order(node: exp.Expr) -> None:
    """Rows that come from two queries are ordered by what both give."""
    order = node.args.get("order")
    given = {item.alias_or_name.lower() for item in node.expressions}
    for key in order.expressions if order is not None else ():
        by = key.this
        if isinstance(by, exp.Literal) or (
            isinstance(by, exp.Column) and not by.table and by.name.lower() in given
        ):
            continue
        raise refused(
            key,
            "ORDER BY something else than a column of the SELECT, beside ROLLUP or its like",
            "give it a name in SELECT, or order in a query around this one",
        )


def _check(node: exp.Expr) -> None:
    for key in ("qualify", "distinct", "windows"):
        if node.args.get(key) is not None:
            raise refused(
                node, f"{key.upper().rstrip('S')} beside ROLLUP or its like", "use a subquery"
            )
    for window in node.find_all(exp.Window):
        if window.parent_select is node:
            raise refused(window, "a window beside ROLLUP or its like", "use a subquery")


def _keys(node: exp.Expr) -> list[exp.Expr]:
    """What the query groups by, with what names and numbers of the SELECT stand for."""
    group = node.args["group"]
    named = {item.alias.lower(): item.this for item in node.expressions if item.alias}
    found: list[exp.Expr] = []
    for key in _leaves(group.expressions):
        found.append(key)
        if isinstance(key, exp.Column) and not key.table and key.name.lower() in named:
            found.append(named[key.name.lower()])
        if isinstance(key, exp.Literal) and not key.is_string:
            found.append(node.expressions[int(key.name) - 1].unalias())
    return found


def _leaves(items: Iterable[exp.Expr]) -> Iterable[exp.Expr]:
    for item in items:
        if isinstance(item, (*_KINDS, exp.Tuple, exp.Paren)):
            yield from _leaves([item.this] if isinstance(item, exp.Paren) else item.expressions)
        else:
            yield item


def _without(node: exp.Expr, keys: list[exp.Expr]) -> None:
    """Has NULL where a key stands outside of aggregates, which are of no rows."""
    for part in list(node.walk(prune=lambda each: each in keys or _is_aggregate(each))):
        if part in keys:
            part.replace(exp.Null())


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and called(node) in AGGREGATES
