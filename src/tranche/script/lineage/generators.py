"""Functions that make rows: explode and the like, and VALUES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Unknown
from tranche.script.lineage.relations import Column, Item, Relation, Rest
from tranche.script.lineage.scopes import Scope
from tranche.script.lineage.values import NOTHING, Value, element, influences, made, merged

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_GENERATORS = (exp.Explode, exp.Posexplode, exp.Inline, exp.Stack, exp.UDTF)
_MAPS = (exp.VarMap, exp.Map, exp.StarMap)
_ARRAYS = (
    *(exp.Array, exp.ArrayAgg, exp.ArrayUniqueAgg, exp.ArrayDistinct, exp.ArrayFilter),
    *(exp.ArraySort, exp.Flatten, exp.GenerateSeries, exp.MapKeys, exp.RegexpSplit, exp.Split),
    exp.Transform,
)
_BY_NAME = ("inline_outer", "json_tuple", "variant_explode", "variant_explode_outer")


def is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _BY_NAME
    return isinstance(node, _GENERATORS)


def projected(tracer: Tracer, node: exp.Expr, scope: Scope) -> list[Item] | None:
    """The columns that a generator in the SELECT itself makes; None if it is none."""
    inner = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    if not isinstance(inner, exp.Expr) or not is_generator(inner):
        return None
    names = [each.name for each in node.expressions] if isinstance(node, exp.Aliases) else []
    if isinstance(node, exp.Alias):
        names = [node.alias]
    found = generated(tracer, inner, names, scope)
    scope.rows |= found.rows
    scope.unknown |= found.unknown
    return list(found.items)


def generated(tracer: Tracer, node: exp.Expr, names: Sequence[str], scope: Scope) -> Relation:
    """What a function returns as rows. What it is given has a say in how many there are."""
    given = [tracer.value(each, scope) for each in _arguments(node)]
    whole = merged(given)
    wanted = len(names) or _width(tracer, node, given)
    items = tuple(_named(_columns(node, given, wanted), names, made(whole)))
    return Relation(items, influences(whole, "unnest"), whole.unknown)


def _width(tracer: Tracer, node: exp.Expr, given: Sequence[Value]) -> int:
    """How many columns there are of what is taken apart; 0 if it may be an array or a map."""
    if not isinstance(node, exp.Explode) or not given:
        return 0
    taken = node.this.unnest()
    place = given[0].place if isinstance(taken, exp.Column) else None
    if isinstance(taken, _MAPS):
        kind = "map"
    elif isinstance(taken, _ARRAYS):
        kind = "array"
    elif place is not None and not place.path:
        captured = tracer.columns_of(place.asset) or ()
        kind = next((type_ for name, type_ in captured if name == place.column), "").lower()
    else:
        return 0
    elements = 2 if kind.startswith("map") else 1 if kind.startswith("array") else 0
    return elements + isinstance(node, exp.Posexplode) if elements else 0


def _arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, exp.Expr) and not isinstance(each, exp.TableAlias):
                yield each


def _named(columns: list[Item], names: Sequence[str], whole: Value) -> Iterator[Item]:
    """The columns under the names that the query gives them."""
    if not names:
        yield from columns
        return
    known = [item.value for item in columns if isinstance(item, Column)]
    sure = len(known) == len(columns) == len(names)
    for number, name in enumerate(names):
        yield Column(name, known[number] if sure else whole)


def _columns(node: exp.Expr, given: Sequence[Value], wanted: int) -> list[Item]:
    first = given[0] if given else NOTHING
    if isinstance(node, exp.Posexplode):
        return [Column("pos", NOTHING), *_elements(first, wanted - 1)]
    if isinstance(node, exp.Explode):
        return _elements(first, wanted)
    if isinstance(node, exp.Inline) or _called(node, "inline_outer"):
        return _fields(first)
    if isinstance(node, exp.Stack):
        return _stacked(node, given[1:])
    if _called(node, "json_tuple"):
        return [Column(f"c{number}", made(first)) for number in range(len(given) - 1)]
    if _called(node, "range"):
        return [Column("id", NOTHING)]
    return [Rest(value=made(merged(given)))]


def _called(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == name


def _elements(value: Value, wanted: int) -> list[Item]:
    """The elements of an array, or the keys and values of a map."""
    if wanted < 1:
        return [Rest(value=made(value))]
    if wanted == 2:
        return [Column("key", made(value)), Column("value", element(value))]
    return [Column("col", element(value))]


def _fields(value: Value) -> list[Item]:
    if value.fields is not None and not value.fields.is_open:
        return [
            Column(item.name, element(item.value))
            for item in value.fields.items
            if isinstance(item, Column)
        ]
    return [Rest(value=made(value))]


def _stacked(node: exp.Stack, given: Sequence[Value]) -> list[Item]:
    rows = node.this
    if not isinstance(rows, exp.Literal) or not rows.name.isdigit() or not int(rows.name):
        return [Rest(value=made(merged(given)))]
    width = -(-len(given) // int(rows.name))
    return [
        Column(f"col{number}", merged(given[number::width], "expression"))
        for number in range(width)
    ]


def values(tracer: Tracer, node: exp.Values, scope: Scope) -> Relation:
    """Rows that are written out."""
    rows = [[tracer.value(each, scope) for each in _row(row)] for row in node.expressions]
    width = max((len(row) for row in rows), default=0)
    if any(len(row) != width for row in rows):
        return Relation(unknown=frozenset({Unknown("rows of VALUES differ in length")}))
    columns = zip(*rows, strict=True)
    return Relation(tuple(Column(f"col{n}", merged(column)) for n, column in enumerate(columns, 1)))


def _row(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]
