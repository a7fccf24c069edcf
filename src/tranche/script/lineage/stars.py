"""`*` and `t.*`, written out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Unknown
from tranche.script.lineage.relations import Column, Item, Relation, Rest, without
from tranche.script.lineage.scopes import Name, Scope, find_source, resolve
from tranche.script.lineage.values import NOTHING, Value, with_unknown

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer


def starred(tracer: Tracer, node: exp.Expr, scope: Scope) -> Relation:
    """What a star shows: all that is read, a relation of it, or the fields of a struct."""
    star = node if isinstance(node, exp.Star) else node.this
    if isinstance(node, exp.Column):
        tracer.visited.add(id(node))
        found = _qualified(tracer, node, scope)
    else:
        found = Relation(scope.shown, stars=scope.stars)
    return _changed(tracer, star, found, scope)


def _qualified(tracer: Tracer, node: exp.Column, scope: Scope) -> Relation:
    parts = tuple(part.name for part in node.parts[:-1])
    source = find_source(scope, parts)
    if source is not None:
        return Relation(source.relation.items, stars=source.relation.stars)
    name = Name(parts, tracer.line(node))
    return _struct(resolve(scope, name, tracer.variables), name)


def _struct(value: Value, name: Name) -> Relation:
    """The fields of a struct; unless they were captured, only where they come from."""
    if value.fields is not None:
        fields = tuple(
            replace(item, value=_also(item.value, value)) if isinstance(item, Column) else item
            for item in value.fields.items
        )
        return Relation(fields, unknown=value.unknown)
    if value.place is not None:
        return Relation((Rest(place=value.place),), unknown=value.unknown)
    lost = Unknown(f"the fields of {name} are not known", name.line)
    return Relation((Rest(value=value),), unknown=value.unknown | {lost})


def _also(field: Value, whole: Value) -> Value:
    return replace(field, indirect=field.indirect | whole.indirect)


def _changed(tracer: Tracer, star: exp.Expr, found: Relation, scope: Scope) -> Relation:
    """EXCEPT, REPLACE and RENAME."""
    # A field that is left out leaves its column, of which the other fields stay.
    hidden = [each.name for each in star.args.get("except_") or () if _is_shown(each, scope)]
    items = without(found.items, hidden) if hidden else found.items
    for each in star.args.get("except_") or ():
        tracer.visited |= {id(column) for column in each.find_all(exp.Column)}
    for each in star.args.get("replace") or ():
        value = tracer.value(each, scope)
        items = _exchanged(items, each.alias, Column(each.alias, value))
    for each in star.args.get("rename") or ():
        tracer.visited |= {id(column) for column in each.find_all(exp.Column)}
        items = _renamed(items, each.this.name, each.alias)
    return replace(found, items=items)


def _is_shown(node: exp.Expr, scope: Scope) -> bool:
    """Whether a name in EXCEPT is that of a column, and not of a field in one."""
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column) else [node.name]
    return len(parts) == 1 or find_source(scope, parts[:-1]) is not None


def _exchanged(items: tuple[Item, ...], name: str, column: Column) -> tuple[Item, ...]:
    known = any(isinstance(item, Column) and item.name.lower() == name.lower() for item in items)
    if not known:
        return (*without(items, [name]), column)
    return tuple(
        column if isinstance(item, Column) and item.name.lower() == name.lower() else item
        for item in items
    )


def _renamed(items: tuple[Item, ...], old: str, new: str) -> tuple[Item, ...]:
    for item in items:
        if isinstance(item, Column) and item.name.lower() == old.lower():
            return _exchanged(items, old, Column(new, item.value))
    rests = [item for item in items if isinstance(item, Rest)]
    value = rests[0].column(old) if len(rests) == 1 else None
    if value is None:
        value = with_unknown(
            NOTHING, Unknown(f"which column {old} of RENAME is meant is not known")
        )
    return (*without(items, [old]), Column(new, value))
