"""What an expression is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Unknown
from tranche.script.lineage.relations import Column, Item, Relation
from tranche.script.lineage.scopes import Name, Scope, resolve
from tranche.script.lineage.stars import starred
from tranche.script.lineage.values import (
    NOTHING,
    Value,
    element,
    field_of,
    influenced,
    made,
    merged,
    with_unknown,
)
from tranche.script.ranges.aggregates import AGGREGATES

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_OF_ANOTHER_ROW = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Functions of windows that take a value as it is, from another row."""
_NAMING = (exp.Dot, exp.Func, exp.Kwarg, exp.PropertyEQ)
"""What looks like an operator in the tree and is none."""
_PICKED = (exp.ArgMax, exp.ArgMin)
_UNTOLD = {
    "identifier": "which column IDENTIFIER names is not known",
    **dict.fromkeys(
        ("input_file_name", "input_file_block_start", "input_file_block_length"),
        "in which files rows lie follows from all columns",
    ),
}
"""Functions that depend on more than they are given."""


def value_of(tracer: Tracer, node: exp.Expr | None, scope: Scope) -> Value:
    """What goes into an expression; what is not known by name is made of all that stands in it."""
    match node:
        case None:
            # What the parser has left out, as in `max_by(, a)`.
            return NOTHING
        case exp.Column():
            return _column(tracer, node, scope)
        case exp.Star():
            return _all(tracer, starred(tracer, node, scope))
        case exp.Identifier():
            return scope.parameters.get(node.name.lower(), NOTHING)
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.DataType() | exp.Placeholder():
            return NOTHING
        case exp.Alias() | exp.Paren() | exp.PropertyEQ():
            return value_of(tracer, _told(node), scope)
        case exp.Dot():
            return _dot(tracer, node, scope)
        case exp.Bracket():
            return _bracket(tracer, node, scope)
        case exp.Case():
            return _case(tracer, node, scope)
        case exp.If() | exp.Nvl2():
            return _if(tracer, node, scope)
        case exp.DecodeCase():
            return _decode(tracer, node, scope)
        case exp.Window():
            return _window(tracer, node, scope)
        case exp.Filter():
            value = value_of(tracer, node.this, scope)
            return influenced(value, value_of(tracer, node.expression, scope), "filter")
        case exp.WithinGroup():
            return _within_group(tracer, node, scope)
        case exp.Struct():
            return _struct(tracer, node, scope)
        case exp.Exists() if isinstance(node.this, exp.Query):
            return _exists(tracer, node.this, scope)
        case exp.Query():
            return _subquery(tracer, node, scope)
        case exp.Kwarg():
            return value_of(tracer, node.expression, scope)
        case exp.Func() if not isinstance(node, exp.Connector):
            return _function(tracer, node, scope)
        case exp.Binary():
            return merged((value_of(tracer, each, scope) for each in _operands(node)), "expression")
    return merged(_inside(tracer, node, scope), "expression")


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a function makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in AGGREGATES
    return isinstance(node, exp.AggFunc) and not isinstance(node, _OF_ANOTHER_ROW)


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression makes one value of many rows, windows and inner queries aside."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, exp.Window):
            waiting += children(at.this)
        elif is_aggregate(at):
            return True
        elif not isinstance(at, exp.Query):
            waiting += children(at)
    return False


def children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expr):
                yield child


def name_of(tracer: Tracer, column: exp.Column) -> Name:
    parts = tuple(part.name for part in column.parts)
    return Name(parts, tracer.line(column))


def _told(node: exp.Expr) -> exp.Expr:
    """What a name or brackets stand around."""
    inner = node.expression if isinstance(node, exp.PropertyEQ) else node.this
    return inner if isinstance(inner, exp.Expr) else exp.null()


def _inside(tracer: Tracer, node: exp.Expr, scope: Scope) -> Iterator[Value]:
    return (value_of(tracer, child, scope) for child in children(node))


def _operands(node: exp.Binary) -> Iterator[exp.Expr]:
    """What stands between operators, however many there are in a row: a list of conditions may be
    longer than Python can call functions within each other."""
    waiting: list[exp.Expr] = [node]
    while waiting:
        at = waiting.pop()
        plain = isinstance(at, exp.Binary) and not isinstance(at, _NAMING)
        if plain or isinstance(at, exp.Connector):
            waiting += children(at)
        else:
            yield at


def _column(tracer: Tracer, node: exp.Column, scope: Scope) -> Value:
    tracer.visited.add(id(node))
    if isinstance(node.this, exp.Star):
        return _all(tracer, starred(tracer, node, scope))
    return resolve(scope, name_of(tracer, node), tracer.variables)


def _all(tracer: Tracer, found: Relation) -> Value:
    """Every column of something, in one expression."""
    tracer.whole |= found.stars
    value = merged(found.values(), "expression")
    return Value(value.direct, value.indirect, value.unknown | _unshown(found))


def _unshown(found: Relation) -> frozenset[Unknown]:
    rests = [item for item in found.items if not isinstance(item, Column)]
    unknown = {Unknown(f"the columns of {rest.label} are not known") for rest in rests}
    return found.unknown | unknown


def _dot(tracer: Tracer, node: exp.Dot, scope: Scope) -> Value:
    value = value_of(tracer, node.this, scope)
    behind = node.expression
    if isinstance(behind, exp.Identifier):
        return field_of(value, behind.name)
    if isinstance(behind, exp.Star):
        return made(value)
    return merged([value, value_of(tracer, behind, scope)], "expression")


def _bracket(tracer: Tracer, node: exp.Bracket, scope: Scope) -> Value:
    """An element of an array or a map."""
    value = element(value_of(tracer, node.this, scope))
    within = merged((value_of(tracer, each, scope) for each in node.expressions), "expression")
    if not within.direct:
        return influenced(value, within, "conditional")
    return merged([value, within], "expression")


def _case(tracer: Tracer, node: exp.Case, scope: Scope) -> Value:
    """The values that it picks from go in; what it picks by has a say."""
    conditions = [node.this, *(branch.this for branch in node.args["ifs"])]
    picked = [*(branch.args.get("true") for branch in node.args["ifs"]), node.args.get("default")]
    return _chosen(tracer, conditions, picked, scope)


def _if(tracer: Tracer, node: exp.Expr, scope: Scope) -> Value:
    picked = [node.args.get("true"), node.args.get("false")]
    return _chosen(tracer, [node.this], picked, scope)


def _decode(tracer: Tracer, node: exp.DecodeCase, scope: Scope) -> Value:
    """`decode(value, search, result, …, default)`."""
    subject, *pairs = node.expressions
    default = [pairs.pop()] if len(pairs) % 2 else []
    return _chosen(tracer, [subject, *pairs[::2]], [*pairs[1::2], *default], scope)


def _chosen(
    tracer: Tracer,
    conditions: Iterable[exp.Expr | None],
    picked: Iterable[exp.Expr | None],
    scope: Scope,
) -> Value:
    value = merged((value_of(tracer, each, scope) for each in picked if each), "expression")
    by = merged(value_of(tracer, each, scope) for each in conditions if each)
    return influenced(value, by, "conditional")


def _within_group(tracer: Tracer, node: exp.WithinGroup, scope: Scope) -> Value:
    """`percentile_cont(0.5) WITHIN GROUP (ORDER BY a)` is made of what it is ordered by."""
    value, order = (value_of(tracer, each, scope) for each in (node.this, node.expression))
    if value.direct:
        return influenced(value, order, "order")
    return merged([value, order], "aggregation")


def _window(tracer: Tracer, node: exp.Window, scope: Scope) -> Value:
    value = value_of(tracer, node.this, scope)
    by = [*(node.args.get("partition_by") or ()), node.args.get("order"), node.args.get("spec")]
    named = scope.windows.get(node.alias.lower()) if node.alias else None
    if node.alias and named is None:
        lost = Unknown(f"no window is called {node.alias}", tracer.line(node))
        value = with_unknown(value, lost)
    while named is not None:
        by += [*(named.args.get("partition_by") or ()), named.args.get("order")]
        by.append(named.args.get("spec"))
        named = scope.windows.get(named.alias.lower()) if named.alias else None
    spread = merged(value_of(tracer, each, scope) for each in by if isinstance(each, exp.Expr))
    return influenced(value, spread, "window")


def _struct(tracer: Tracer, node: exp.Struct, scope: Scope) -> Value:
    items: list[Item] = []
    unknown = frozenset[Unknown]()
    for number, each in enumerate(node.expressions, 1):
        if each.is_star:
            found = starred(tracer, each, scope)
            tracer.whole |= found.stars
            items += found.items
            unknown |= _unshown(found)
        else:
            name = each.alias_or_name if not isinstance(each, exp.PropertyEQ) else each.this.name
            items.append(Column(name or f"col{number}", value_of(tracer, each, scope)))
    whole = merged((item.value for item in items if isinstance(item, Column)), "expression")
    fields = Relation(tuple(items))
    return Value(whole.direct, whole.indirect, whole.unknown | unknown, fields=fields)


def _exists(tracer: Tracer, query: exp.Query, scope: Scope) -> Value:
    """Whether there are rows: what they show does not matter."""
    found = tracer.query(query, scope)
    return Value(indirect=found.rows, unknown=found.unknown)


def _subquery(tracer: Tracer, query: exp.Query, scope: Scope) -> Value:
    """A value that a query gives, or several that something is compared with."""
    found = tracer.query(query, scope)
    value = merged(found.values())
    tracer.whole |= found.stars
    return Value(
        value.direct, value.indirect | found.rows, value.unknown | found.unknown | _unshown(found)
    )


def _function(tracer: Tracer, node: exp.Func, scope: Scope) -> Value:
    if isinstance(node, exp.Anonymous) and (untold := _UNTOLD.get(str(node.this).lower())):
        return Value(unknown=frozenset({Unknown(untold, tracer.line(node))}))
    if is_aggregate(node) and scope.below is not None:
        scope = scope.below
    if isinstance(node, _PICKED):
        value = made(value_of(tracer, node.this, scope), "aggregation")
        by = [value_of(tracer, each, scope) for each in children(node) if each is not node.this]
        return influenced(value, merged(by), "order")
    ordered = [each for each in children(node) if isinstance(each, exp.Order)]
    if ordered and is_aggregate(node):
        # `listagg(a) WITHIN GROUP (ORDER BY b)` has the order around its argument.
        value = made(value_of(tracer, ordered[0].this, scope), "aggregation")
        others = [value_of(tracer, each, scope) for each in children(node) if each not in ordered]
        by = [value_of(tracer, each, scope) for each in ordered[0].expressions]
        return influenced(merged([value, *others], "aggregation"), merged(by), "order")
    given = [each for each in children(node) if not isinstance(each, exp.Lambda)]
    values = [_argument(tracer, node, each, scope) for each in given]
    for each in children(node):
        if isinstance(each, exp.Lambda):
            values.append(_lambda(tracer, each, values, scope))
    return merged(values, "aggregation" if is_aggregate(node) else "expression")


def _argument(tracer: Tracer, node: exp.Func, argument: exp.Expr, scope: Scope) -> Value:
    if isinstance(argument, exp.Star) and isinstance(node, exp.Count):
        return NOTHING
    return value_of(tracer, argument, scope)


def _lambda(tracer: Tracer, node: exp.Lambda, given: list[Value], scope: Scope) -> Value:
    """A function of elements: each of its parameters may be any of what the function is given."""
    with_columns = [value for value in given if value.direct]
    whole = element(with_columns[0]) if len(with_columns) == 1 else merged(given, "expression")
    names = {parameter.name.lower(): whole for parameter in node.expressions}
    return value_of(tracer, node.this, scope.inside(names))
