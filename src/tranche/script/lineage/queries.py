"""What a query returns: a SELECT, several of them put together, and the CTEs before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.asset import AssetUri
from tranche.model.lineage import Influence, Unknown, Why
from tranche.script.lineage import generators, sources
from tranche.script.lineage.expressions import children, has_aggregate
from tranche.script.lineage.relations import Column, Item, Relation, candidates
from tranche.script.lineage.scopes import Scope
from tranche.script.lineage.set_operations import combined
from tranche.script.lineage.stars import starred
from tranche.script.lineage.values import Value, influences, merged

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_ORDERS = ("order", "sort", "cluster", "distribute")
_ROUNDS = 50
"""How often a recursive CTE is looked at; what it is made of is mostly found after two or three."""


def query(
    tracer: Tracer,
    node: exp.Expr,
    parent: Scope | None,
    ctes: Mapping[str, Relation] | None,
) -> Relation:
    around = ctes if ctes is not None else _ctes_around(parent)
    known = _with_ctes(tracer, node, parent, around)
    match node:
        case exp.Select():
            return _select(tracer, node, parent, known)
        case exp.SetOperation():
            left = query(tracer, node.left, parent, known)
            right = query(tracer, node.right, parent, known)
            found = combined(tracer, node, left, right)
            return _ordered(tracer, node, found, None)
        case exp.Subquery():
            if isinstance(node.this, exp.Table):
                # Brackets around a join.
                scope = Scope(parent=parent, ctes=known)
                sources.add(tracer, node.this, scope)
                return _returned(scope, scope.shown, scope.stars)
            found = query(tracer, node.this, parent, known)
            return _ordered(tracer, node, found, None)
        case exp.Values():
            return generators.values(tracer, node, Scope(parent=parent, ctes=known))
        case exp.Table():
            scope = Scope(parent=parent, ctes=known)
            sources.add(tracer, node, scope)
            return _returned(scope, scope.shown, scope.stars)
    what = Unknown(f"what {node.key.upper()} returns is not known")
    return Relation(unknown=frozenset({what}))


def _ctes_around(parent: Scope | None) -> Mapping[str, Relation]:
    return {} if parent is None else parent.ctes


def _with_ctes(
    tracer: Tracer, node: exp.Expr, parent: Scope | None, around: Mapping[str, Relation]
) -> Mapping[str, Relation]:
    with_ = node.args.get("with_")
    if not isinstance(with_, exp.With):
        return around
    known = dict(around)
    for cte in with_.expressions:
        name = cte.alias.lower()
        names = [column.name for column in cte.args["alias"].args.get("columns") or ()]
        if with_.recursive and _mentions(cte.this, name):
            known[name] = _recursive(tracer, cte.this, names, name, parent, known)
            continue
        found = query(tracer, cte.this, parent, known)
        known[name] = found.renamed(names) if names else found
    return known


def _mentions(node: exp.Expr, name: str) -> bool:
    return any(table.name.lower() == name for table in node.find_all(exp.Table))


def _recursive(
    tracer: Tracer,
    node: exp.Expr,
    names: list[str],
    name: str,
    parent: Scope | None,
    known: Mapping[str, Relation],
) -> Relation:
    """First what it begins with, then what becomes of that, until nothing is added."""
    inner = node.unnest() if isinstance(node, exp.Query) else node
    first = inner.left if isinstance(inner, exp.SetOperation) else inner
    inside = _with_ctes(tracer, node, parent, known)
    found = query(tracer, first, parent, inside)
    found = found.renamed(names) if names else found
    for _ in range(_ROUNDS):
        again = query(tracer, node, parent, {**known, name: found})
        again = again.renamed(names) if names else again
        if again == found:
            return found
        found = again
    lost = Unknown(f"what {name} is made of is not found")
    return replace(found, unknown=found.unknown | {lost})


def _select(
    tracer: Tracer, node: exp.Select, parent: Scope | None, ctes: Mapping[str, Relation]
) -> Relation:
    scope = Scope(parent=parent, ctes=ctes)
    for window in node.args.get("windows") or ():
        scope.windows[window.name.lower()] = window
    from_ = node.args.get("from_")
    if isinstance(from_, exp.From):
        sources.add(tracer, from_.this, scope)
    for join in node.args.get("joins") or ():
        sources.join(tracer, join, scope)
    for lateral in node.args.get("laterals") or ():
        sources.add(tracer, lateral, scope)
    for pivot in node.args.get("pivots") or ():
        sources.pivot(tracer, pivot, scope)
    for window in scope.windows.values():
        # Nobody may use it; what is used is looked at again.
        merged(tracer.value(each, scope) for each in children(window))
    _condition(tracer, node.args.get("where"), scope)
    items, stars = _projected(tracer, node, scope)
    _grouped(tracer, node, scope)
    _having(tracer, node, scope, items)
    _condition(tracer, node.args.get("qualify"), scope)
    if node.args.get("distinct"):
        _distinct(tracer, node, scope, items)
        tracer.whole |= stars
    found = _returned(scope, tuple(items), stars)
    return _ordered(tracer, node, found, scope)


def _returned(scope: Scope, items: tuple[Item, ...], stars: frozenset[AssetUri]) -> Relation:
    return Relation(items, frozenset(scope.rows), frozenset(scope.unknown), stars=stars)


def _say(scope: Scope, value: Value, why: Why) -> None:
    """What has a say in the rows."""
    scope.rows |= influences(value, why)
    scope.unknown |= value.unknown


def _condition(tracer: Tracer, node: exp.Expr | None, scope: Scope) -> None:
    if node is not None:
        _say(scope, tracer.value(node.this, scope), "filter")


def _projected(
    tracer: Tracer, node: exp.Select, scope: Scope
) -> tuple[list[Item], frozenset[AssetUri]]:
    """The columns of the SELECT, in their order; each may use those before it."""
    items: list[Item] = []
    stars: frozenset[AssetUri] = frozenset()
    for each in node.expressions:
        if each.is_star and not isinstance(each, exp.Alias | exp.Count):
            found = starred(tracer, each, scope)
            items += found.items
            stars |= found.stars
            scope.unknown |= found.unknown
            continue
        made = generators.projected(tracer, each, scope)
        if made is None:
            made = [Column(_name(each), tracer.value(each, scope))]
        items += made
        if isinstance(each, exp.Alias | exp.Aliases):
            for item in made:
                if isinstance(item, Column):
                    scope.aliases.setdefault(item.name.lower(), item.value)
    return items, stars


def _name(node: exp.Expr) -> str:
    """What a column is called; an expression without a name, nearly as Spark calls it."""
    inner = node.this if isinstance(node, exp.Cast | exp.Paren) else None
    if isinstance(inner, exp.Column) and len(inner.parts) == 1:
        return inner.name
    if isinstance(node, exp.Alias | exp.Column | exp.Dot | exp.Bracket) and node.output_name:
        return node.output_name
    text = node.sql("spark", normalize_functions="lower")
    return text.replace("count(*)", "count(1)")


def _grouped(tracer: Tracer, node: exp.Select, scope: Scope) -> None:
    group = node.args.get("group")
    if group is None:
        return
    if group.args.get("all"):
        plain = (each for each in node.expressions if not has_aggregate(each))
        for each in plain:
            _say(scope, _again(tracer, each, scope), "group")
    keys = list(_keys(group))
    for key in keys:
        _say(scope, _key(tracer, key, keys, node, scope), "group")


def _again(tracer: Tracer, node: exp.Expr, scope: Scope) -> Value:
    """The value of a column of the SELECT, which stars are several of."""
    if node.is_star:
        found = starred(tracer, node, scope)
        tracer.whole |= found.stars
        return merged(found.values())
    return tracer.value(node, scope)


def _keys(node: exp.Expr) -> Iterable[exp.Expr]:
    """The expressions of GROUP BY, also within ROLLUP, CUBE and GROUPING SETS."""
    for child in children(node):
        if isinstance(child, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            yield from _keys(child)
        else:
            yield child.unnest() if isinstance(child, exp.Paren) else child


def _key(
    tracer: Tracer, key: exp.Expr, keys: list[exp.Expr], node: exp.Select, scope: Scope
) -> Value:
    """A key of GROUP BY: a position, a column, or a name that the SELECT gives.

    A column is meant before such a name. Where the columns are not known, the name is meant if the
    SELECT could not be grouped otherwise: what it stands for has columns that are no key.
    """
    position = _position(key)
    if position is not None:
        return _at(tracer, position, node, scope)
    name = key.name.lower() if isinstance(key, exp.Column) and len(key.parts) == 1 else ""
    if name not in scope.aliases:
        return tracer.value(key, scope)
    tracer.visited.add(id(key))
    found = candidates(scope.shown, name)
    named = next(each for each in node.expressions if each.alias_or_name.lower() == name)
    if found and not found[0].certain:
        others = [each for each in keys if each is not key]
        used = [column for column in named.find_all(exp.Column) if column not in others]
        if used and not has_aggregate(named):
            return scope.aliases[name]
    elif not found:
        return scope.aliases[name]
    return tracer.value(key, scope)


def _position(node: exp.Expr) -> int | None:
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return int(node.name) if is_number and node.name.isdigit() else None


def _at(tracer: Tracer, position: int, node: exp.Select, scope: Scope) -> Value:
    ahead = node.expressions[:position]
    if len(ahead) == position > 0 and not any(each.is_star for each in ahead):
        return _again(tracer, ahead[-1], scope)
    return Value(unknown=frozenset({Unknown(f"which column is number {position} is not known")}))


def _having(tracer: Tracer, node: exp.Select, scope: Scope, items: list[Item]) -> None:
    """Outside of aggregates, a name means a key of GROUP BY, or what the SELECT calls so."""
    having = node.args.get("having")
    if having is None:
        return
    group = node.args.get("group")
    keys = {key.name.lower() for key in _keys(group)} if group is not None else set[str]()
    named = (each for each in items if isinstance(each, Column) and each.name.lower() not in keys)
    _say(scope, tracer.value(having.this, scope.over(named)), "filter")


def _distinct(tracer: Tracer, node: exp.Select, scope: Scope, items: list[Item]) -> None:
    for item in items:
        if isinstance(item, Column):
            _say(scope, item.value, "group")
        else:
            scope.unknown.add(Unknown(f"the columns of {item.label} are not known"))
    on = node.args["distinct"].args.get("on")
    if on is not None:
        _say(scope, tracer.value(on, scope), "group")


def _ordered(tracer: Tracer, node: exp.Expr, found: Relation, scope: Scope | None) -> Relation:
    """ORDER BY and what it is like; names mean columns of the result first."""
    rows: set[Influence] = set(found.rows)
    unknown = set(found.unknown)
    columns = [item for item in found.items if isinstance(item, Column)]
    ordering = Scope(shown=found.items) if scope is None else scope.over(columns)
    for word in _ORDERS:
        order = node.args.get(word)
        for each in order.expressions if isinstance(order, exp.Expr) else ():
            value = _order_key(tracer, each, found, ordering)
            rows |= influences(value, "order")
            unknown |= value.unknown
    return replace(found, rows=frozenset(rows), unknown=frozenset(unknown))


def _order_key(tracer: Tracer, node: exp.Expr, found: Relation, scope: Scope) -> Value:
    key = node.this if isinstance(node, exp.Ordered) else node
    position = _position(key)
    if position is not None:
        item = found.items[position - 1] if 0 < position <= len(found.items) else None
        if isinstance(item, Column):
            return item.value
        return Value(
            unknown=frozenset({Unknown(f"which column is number {position} is not known")})
        )
    return tracer.value(key, scope)
