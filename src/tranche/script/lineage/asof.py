"""ASOF JOIN, which stands in a script's statement as the lateral join that it is run as.

`script.asof` says what that looks like. Its words are those of Tranche, so that they are taken for
what the user wrote: a join by the columns that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.script.lineage.relations import without
from tranche.script.lineage.scopes import Scope, Source
from tranche.script.lineage.values import influences

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_ROW = "_tranche_row"
_OURS = "_tranche_"


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """What is joined, by which of its own values, and with what these are compared."""

    name: str
    right: exp.Expr
    joins: tuple[exp.Expr, ...]
    operands: tuple[exp.Expr, ...]
    compared: exp.Expr
    hidden: tuple[str, ...]
    """The columns of USING, which are there once, from the left."""
    written: tuple[exp.Expr, ...]
    """The queries that Tranche has put around it."""


def read(node: exp.Join) -> AsofJoin | None:
    """The ASOF JOIN that a lateral join was; None if it was none."""
    lateral = node.this
    if not isinstance(lateral, exp.Lateral) or not isinstance(lateral.this, exp.Subquery):
        return None
    outer = lateral.this.this
    if not isinstance(outer, exp.Select) or len(outer.expressions) != 1:
        return None
    shown = outer.expressions[0]
    if not isinstance(shown, exp.Column) or not shown.is_star or shown.table != _ROW:
        return None
    middle = outer.args["from_"].this.this
    inner = middle.args["from_"].this.this
    row, *operands = inner.expressions
    [star] = list(row.find_all(exp.Star))
    return AsofJoin(
        lateral.alias,
        inner.args["from_"].this,
        tuple(inner.args.get("joins") or ()),
        tuple(operand.this for operand in operands),
        outer.args["where"].this,
        tuple(each.name for each in star.args.get("except_") or ()),
        (outer, middle, inner),
    )


def join(tracer: Tracer, found: AsofJoin, scope: Scope) -> None:
    from tranche.script.lineage import sources

    right = Scope(parent=scope.parent, ctes=scope.ctes)
    sources.add(tracer, found.right, right)
    for operand in found.operands:
        value = tracer.value(operand, right)
        scope.rows |= influences(value, "join")
        scope.unknown |= value.unknown
    for column in found.compared.find_all(exp.Column):
        tracer.visited.add(id(column))
        if column.name.startswith(_OURS):
            continue
        value = tracer.value(column, scope)
        scope.rows |= influences(value, "join")
        scope.unknown |= value.unknown
    for query in found.written:
        tracer.visited |= {
            id(column)
            for column in query.find_all(exp.Column)
            if column.name.startswith(_OURS) or column.table == _ROW or column.name in found.hidden
        }
    scope.take_rows(right)
    for source in right.sources:
        shown = replace(source.relation, items=without(source.relation.items, found.hidden))
        scope.sources.append(Source((found.name.lower(),), shown))
        scope.shown = (*scope.shown, *shown.items)
