"""What a SELECT reads from: tables, queries, functions, and how they are joined."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Unknown
from tranche.script.lineage import asof, generators, pivots
from tranche.script.lineage.relations import Relation, Rest
from tranche.script.lineage.scopes import Scope, Source, common_names, using
from tranche.script.lineage.values import Value, influences

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_HALF = ("SEMI", "ANTI")


def add(tracer: Tracer, node: exp.Expr, scope: Scope) -> None:
    """Adds a relation to what a SELECT reads, with what is joined to it in brackets."""
    if isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table):
        add(tracer, node.this, scope)
    else:
        scope.add(_named(node, _relation(tracer, node, scope)))
    for each in node.args.get("joins") or ():
        join(tracer, each, scope)
    for each in node.args.get("laterals") or ():
        add(tracer, each, scope)


def join(tracer: Tracer, node: exp.Join, scope: Scope) -> None:
    asof_join = asof.read(node)
    if asof_join is not None:
        asof.join(tracer, asof_join, scope)
        return
    right = Scope(parent=scope.parent, ctes=scope.ctes)
    if isinstance(node.this, exp.Lateral):
        right.add(_named(node.this, _lateral(tracer, node.this, scope)))
    else:
        add(tracer, node.this, right)
    if node.this.args.get("pivots"):
        scope.unknown.add(Unknown("what PIVOT behind a join is made of is not known"))
        tracer.whole |= scope.stars | right.stars
    by_name = [each.name for each in node.args.get("using") or ()]
    if node.method == "NATURAL":
        tracer.whole |= scope.stars | right.stars
        common = common_names(scope.shown, right.shown)
        if common is None:
            scope.unknown.add(Unknown("which columns NATURAL JOIN joins by is not known"))
        by_name = common or []
    if node.kind in _HALF:
        _halved(tracer, node, right, by_name, scope)
    elif by_name:
        using(scope, right, by_name, node.side)
    else:
        scope.join(right)
        _on(tracer, node, scope, scope)


def _halved(tracer: Tracer, node: exp.Join, right: Scope, by_name: list[str], scope: Scope) -> None:
    """A join of which only the left side stays."""
    both = replace(scope, sources=list(scope.sources), rows=set(), unknown=set())
    if by_name:
        using(both, right, by_name, "")
    else:
        both.join(right)
        _on(tracer, node, both, both)
    scope.take_rows(both)


def _on(tracer: Tracer, node: exp.Join, within: Scope, scope: Scope) -> None:
    on = node.args.get("on")
    if on is not None:
        value = tracer.value(on, within)
        scope.rows |= influences(value, "join")
        scope.unknown |= value.unknown


def _named(node: exp.Expr, relation: Relation) -> Source:
    """A relation under the name, and the names of columns, that the query gives it."""
    alias = node.args.get("alias")
    pivoted = [each for each in node.args.get("pivots") or () if each.alias]
    if pivoted:
        alias = pivoted[-1].args["alias"]
    if isinstance(alias, exp.TableAlias):
        columns = [each.name for each in alias.args.get("columns") or ()]
        if columns and not isinstance(node, exp.Lateral):
            relation = relation.renamed(columns)
        if alias.name:
            return Source((alias.name.lower(),), relation)
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier | exp.Dot):
        return Source(tuple(part.name.lower() for part in node.parts), relation)
    return Source((), relation)


def _relation(tracer: Tracer, node: exp.Expr, scope: Scope) -> Relation:
    found = _plain(tracer, node, scope)
    for each in node.args.get("pivots") or ():
        found = pivots.pivoted(tracer, each, found)
    return found


def _plain(tracer: Tracer, node: exp.Expr, scope: Scope) -> Relation:
    match node:
        case exp.Table():
            return _table(tracer, node, scope)
        case exp.Lateral():
            return _lateral(tracer, node, scope)
        case exp.Values():
            return generators.values(tracer, node, scope)
        case exp.Query():
            return tracer.query(node, scope.parent, scope.ctes)
    return _lost(f"what {node.key.upper()} returns is not known")


def _lost(what: str) -> Relation:
    unknown = frozenset({Unknown(what)})
    return Relation((Rest(value=Value(unknown=unknown)),), unknown=unknown)


def _table(tracer: Tracer, node: exp.Table, scope: Scope) -> Relation:
    tracer.visited.add(id(node))
    if not isinstance(node.this, exp.Identifier | exp.Dot):
        return _function(tracer, node.this, node, scope)
    parts = tuple(part.name for part in node.parts)
    if len(parts) == 1:
        name = parts[0].lower()
        known = scope.ctes.get(name) or tracer.views.get(name)
        if known is not None:
            return known
        if parts[0] in tracer.files:
            return tracer.asset(*tracer.files[parts[0]])
    table = tracer.lake_tables.get(parts[:3])
    if table is None:
        return _lost(f"the columns of {'.'.join(parts)} are not known")
    if len(parts) > 3:
        return tracer.metadata(table)
    travels = node.args.get("version") is not None or node.args.get("when") is not None
    return tracer.lake_table(table, travels=travels)


def _function(tracer: Tracer, call: exp.Expr, node: exp.Expr, scope: Scope) -> Relation:
    if isinstance(call, exp.Anonymous) and str(call.this).lower() == "identifier":
        return _lost("which table IDENTIFIER names is not known")
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    return generators.generated(tracer, call, names, scope)


def _lateral(tracer: Tracer, node: exp.Lateral, scope: Scope) -> Relation:
    """What may use the columns of what stands before it."""
    inner = node.this
    if isinstance(inner, exp.Query):
        found = tracer.query(inner, scope, scope.ctes)
        alias = node.args.get("alias")
        columns = [each.name for each in alias.args.get("columns") or ()] if alias else []
        return found.renamed(columns) if columns else found
    if isinstance(inner, exp.Table):
        return _table(tracer, inner, scope)
    return _function(tracer, inner, node, scope)


def pivot(tracer: Tracer, node: exp.Expr, scope: Scope) -> None:
    """PIVOT over all that a SELECT reads."""
    found = Relation(scope.shown, stars=scope.stars)
    changed = pivots.pivoted(tracer, node, found)
    scope.rows |= changed.rows
    scope.unknown |= changed.unknown
    scope.sources = [Source((), replace(changed, rows=frozenset(), unknown=frozenset()))]
    scope.shown = changed.items
