"""Nodes of a plan that pick, join and order rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tranche.script.lineage.plans.expressions import value_of
from tranche.script.lineage.plans.reader import Reader, said, together
from tranche.script.lineage.plans.scopes import Given, Scope
from tranche.script.lineage.plans.text import PlanNode, Unreadable
from tranche.script.lineage.values import Value, merged


def filtered(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    return said(child, value_of(node.rest, reader.scope(node, outer, child)), "filter")


def sorted_rows(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    return said(child, value_of(node.rest, reader.scope(node, outer, child)), "order")


def deduplicated(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    return said(child, value_of(node.rest, reader.scope(node, outer, child)), "group")


def distinct(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    child = reader.child(node, outer)
    return said(child, merged(child.values()), "group")


def joined(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    left, right = reader.both(node, outer)
    by = value_of(node.rest, reader.scope(node, outer, left, right))
    rows, unknown = together([left, right])
    columns = left.columns
    if not node.rest.startswith(("LeftSemi", "LeftAnti")):
        columns += right.columns
    if "ExistenceJoin(" in node.rest:
        raise Unreadable("it is a join that Spark makes only later")
    closed = left.closed or right.closed
    return said(Given(columns, rows, unknown, closed), by, "join")


def lateral(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    left = reader.child(node, outer)
    if len(node.inner) != 1:
        raise Unreadable("its query is not where it is expected")
    right = reader.given(node.inner[0], Scope((left,), outer))
    behind = node.rest.partition("], ")[2]
    by = value_of(behind, Scope((left, right), outer))
    rows, unknown = together([left, right])
    closed = left.closed or right.closed
    return said(Given((*left.columns, *right.columns), rows, unknown, closed), by, "join")


def union(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """Columns go by their position, under the names and numbers of the first."""
    each = [reader.given(child, outer) for child in node.children]
    rows, unknown = together(each)
    closed = next((given.closed for given in each if given.closed is not None), None)
    if closed is not None:
        return Given((), rows, unknown, closed)
    if len({len(given.columns) for given in each}) != 1:
        raise Unreadable("what it is made of differs in length")
    columns = tuple(
        replace(same[0], value=_one_of([column.value for column in same]))
        for same in zip(*(given.columns for given in each), strict=True)
    )
    return Given(columns, rows, unknown)


def _one_of(values: Sequence[Value]) -> Value:
    first = values[0]
    return first if all(value == first for value in values) else merged(values)


def compared(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """INTERSECT and EXCEPT, by which rows of both sides pick."""
    left, right = reader.both(node, outer)
    rows, unknown = together([left, right])
    both = merged([*left.values(), *right.values()])
    return said(replace(left, rows=rows, unknown=unknown), both, "filter")
