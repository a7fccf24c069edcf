"""Nodes of a plan that make columns."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from tranche.model.lineage import Unknown
from tranche.script.lineage.plans.expressions import value_of
from tranche.script.lineage.plans.lists import in_list, in_lists, named_columns, pieces_of
from tranche.script.lineage.plans.reader import Reader, said, together
from tranche.script.lineage.plans.scopes import Attribute, Given, Scope
from tranche.script.lineage.plans.text import PlanNode, Unreadable, attributes
from tranche.script.lineage.values import NOTHING, element, made, merged, with_unknown

_GENERATOR = re.compile(
    r"(?P<name>\w+)\((?P<given>.*)\)(?:#\d+)?, (?:\[[\d, ]*\], )?(?:true|false)(?:, .*)?", re.DOTALL
)
_CODE = "a function of Python makes the rows, and what it does with columns is not known"


def projected(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    scope = reader.scope(node, outer, child)
    return replace(child, columns=named_columns(in_list(node.rest), scope), closed=None)


def aggregated(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    scope = reader.scope(node, outer, child)
    for groups, shown in in_lists(node.rest):
        keys = pieces_of(groups)
        try:
            columns = named_columns(in_list(shown), scope, partial(value_of, groups=keys))
        except Unreadable:
            continue
        by = merged(value_of(key, scope) for key in keys)
        return said(replace(child, columns=columns, closed=None), by, "group")
    columns = named_columns(in_list(node.rest), scope, partial(value_of, groups=()))
    return replace(child, columns=columns, closed=None)


def windowed(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    scope = reader.scope(node, outer, child)
    for made_, _ in in_lists(node.rest):
        try:
            columns = named_columns(in_list(made_), scope, partial(value_of, windowed=True))
        except Unreadable:
            continue
        return replace(child, columns=(*child.columns, *columns))
    columns = named_columns(in_list(node.rest), scope, partial(value_of, windowed=True))
    return replace(child, columns=(*child.columns, *columns))


def expanded(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """Several rows of each: a column is one of the expressions at its place."""
    child = reader.child(node, outer)
    scope = reader.scope(node, outer, child)
    lists = list(in_lists(node.rest))
    if not lists:
        raise Unreadable("it has no lists")
    several, shown = lists[-1]
    named = attributes(in_list(shown))
    rows = [pieces_of(row) for row in pieces_of(several)]
    if any(len(row) != len(named) for row in rows):
        raise Unreadable("rows differ in length")
    columns = tuple(
        Attribute(number, name, merged(value_of(row[place], scope) for row in rows))
        for place, (name, number) in enumerate(named)
    )
    return replace(child, columns=columns, closed=None)


def generated(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    scope = reader.scope(node, outer, child)
    head, _, shown = node.rest.rpartition(", [")
    found = _GENERATOR.fullmatch(head)
    if found is None:
        raise Unreadable("its function is not where it is expected")
    whole = value_of(found["given"], scope)
    one = scope.exactly(found["given"])
    each = made(whole) if one is None else element(one)
    columns = [Attribute(number, name, each) for name, number in attributes(shown[:-1])]
    if found["name"].startswith("posexplode") and columns:
        columns[0] = replace(columns[0], value=NOTHING)
    return said(replace(child, columns=(*child.columns, *columns)), whole, "unnest")


def made_by_code(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """A function of frames: each column may be made of all that it is given."""
    children = [reader.given(child, outer) for child in node.children]
    lost = Unknown(_CODE)
    value = with_unknown(merged((v for c in children for v in c.values()), "expression"), lost)
    named = attributes(node.rest.rpartition("[")[2].partition("]")[0])
    columns = tuple(Attribute(number, name, value) for name, number in named)
    rows, unknown = together(children)
    return Given(columns, rows, unknown | {lost})
