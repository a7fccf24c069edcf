"""PIVOT and UNPIVOT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Influence, Unknown
from tranche.script.lineage.relations import Column, Item, Relation, Rest, without
from tranche.script.lineage.scopes import Scope, Source
from tranche.script.lineage.values import NOTHING, influenced, influences, merged

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer


def pivoted(tracer: Tracer, node: exp.Expr, found: Relation) -> Relation:
    scope = Scope()
    scope.add(Source((), replace(found, rows=frozenset(), unknown=frozenset())))
    if node.args.get("unpivot"):
        return _unpivoted(tracer, node, found, scope)
    return _pivoted(tracer, node, found, scope)


def _pivoted(tracer: Tracer, node: exp.Expr, found: Relation, scope: Scope) -> Relation:
    """Rows are grouped by all columns that the clause does not name, and its aggregates are taken
    for each of the values."""
    fields = [each for each in node.args.get("fields") or () if isinstance(each, exp.In)]
    by = merged(tracer.value(each.this, scope) for each in fields)
    aggregates = [tracer.value(each, scope) for each in node.expressions]
    used = {
        column.name
        for each in (*node.expressions, *(field.this for field in fields))
        for column in each.find_all(exp.Column)
    }
    kept = without(found.items, used)
    rows: set[Influence] = set(found.rows)
    unknown = {*found.unknown, *by.unknown}
    tracer.whole |= found.stars
    for item in kept:
        if isinstance(item, Column):
            rows |= influences(item.value, "group")
            unknown |= item.value.unknown
        else:
            unknown.add(
                Unknown(f"PIVOT groups by the columns of {item.label}, which are not known")
            )
    named = [each.name for each in node.args.get("columns") or ()]
    made: list[Item] = []
    if aggregates and named and len(named) % len(aggregates) == 0:
        for number, name in enumerate(named):
            value = aggregates[number % len(aggregates)]
            made.append(Column(name, influenced(value, by, "conditional")))
    else:
        made.append(Rest(value=influenced(merged(aggregates), by, "conditional")))
        unknown.add(Unknown("which columns PIVOT makes is not known"))
    return Relation((*kept, *made), frozenset(rows), frozenset(unknown), stars=found.stars)


def _unpivoted(tracer: Tracer, node: exp.Expr, found: Relation, scope: Scope) -> Relation:
    """Some columns become rows: their names one column, their values another or several."""
    fields = [each for each in node.args.get("fields") or () if isinstance(each, exp.In)]
    taken = [list(_columns(each)) for field in fields for each in field.expressions]
    values = [[tracer.value(column, scope) for column in group] for group in taken]
    used = {column.name for group in taken for column in group}
    width = max((len(group) for group in values), default=0)
    names = [each.name for each in _identifiers(node)]
    made: list[Item] = [Column(field.this.name, NOTHING) for field in fields]
    for number in range(width):
        name = names[number] if number < len(names) else f"col{number}"
        column = (group[number] for group in values if number < len(group))
        made.append(Column(name, merged(column, "expression")))
    whole = merged(value for group in values for value in group)
    return Relation(
        (*without(found.items, used), *made),
        found.rows | influences(whole, "unnest"),
        found.unknown | whole.unknown,
        stars=found.stars,
    )


def _identifiers(node: exp.Expr) -> Iterator[exp.Expr]:
    for each in node.expressions:
        yield from each.expressions if isinstance(each, exp.Tuple) else [each]


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    return node.find_all(exp.Column)
