"""A plan while it is read, node by node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.lineage import Influence, Unknown, Why
from tranche.script.lineage.plans.scopes import Given, Scope
from tranche.script.lineage.plans.text import PlanNode, Unreadable
from tranche.script.lineage.values import NOTHING, Value, influences, merged

_SAME = frozenset(
    {
        *("CollectMetrics", "EventTimeWatermark", "GlobalLimit", "LocalLimit", "Offset"),
        *("PipeOperator", "RebalancePartitions", "Repartition", "RepartitionByExpression"),
        *("ResolvedHint", "Sample", "Tail"),
    }
)
"""Nodes that give the columns that they are given, whatever they do to the rows."""
_SUBQUERIES = re.compile(r"(?:scalar-subquery|exists|list|lateral-subquery)#(\d+) \[")


class Assets(Protocol):
    """What the names of tables and files in a plan stand for."""

    def named(self, name: tuple[str, ...]) -> AssetUri | None:
        """The asset that has a name, or that an alias was given to."""
        ...

    def numbered(self, numbers: frozenset[int]) -> AssetUri | None:
        """The files whose columns have these numbers."""
        ...


Read: TypeAlias = "Callable[[Reader, PlanNode, Scope | None], Given]"
"""How a node is read; with the columns around it, in a subquery."""


@dataclass(slots=True)
class Reader:
    """A plan while it is read."""

    assets: Assets
    nodes: Mapping[str, Read]
    """How each kind of node is read."""
    tables: dict[AssetUri, None] = field(default_factory=dict)
    """What is scanned."""
    placeless: bool = False
    """Whether there are files of which the plan does not say where they lie."""
    ctes: dict[str, Given] = field(default_factory=dict)

    known: dict[int, Given] = field(default_factory=dict)
    """What nodes give that were read already."""

    def given(self, node: PlanNode, outer: Scope | None = None) -> Given:
        """What a node gives; what is not understood closes it, and is said."""
        if id(node) not in self.known:
            self.known[id(node)] = self.read(node, outer)
        return self.known[id(node)]

    def read(self, node: PlanNode, outer: Scope | None) -> Given:
        read = self.nodes.get(node.name)
        try:
            if read is not None:
                return read(self, node, outer)
            if node.name in _SAME:
                [child] = node.children
                return self.given(child, outer)
        except ValueError as error:
            lost = Unknown(f"{node.name} in the plan of the frame cannot be read: {error}")
            return self.closed(node, outer, lost)
        lost = Unknown(f"what {node.name} in the plan of the frame does is not known")
        return self.closed(node, outer, lost)

    def closed(self, node: PlanNode, outer: Scope | None, lost: Unknown) -> Given:
        # The tables below it are read all the same.
        below = [self.given(child, outer) for child in (*node.inner, *node.children)]
        rows = frozenset(each for given in below for each in given.rows)
        return Given((), rows, frozenset({lost}), lost)

    def child(self, node: PlanNode, outer: Scope | None) -> Given:
        if len(node.children) != 1:
            raise Unreadable("it is made of several")
        return self.given(node.children[0], outer)

    def both(self, node: PlanNode, outer: Scope | None) -> tuple[Given, Given]:
        if len(node.children) != 2:
            raise Unreadable("it is not made of two")
        left, right = (self.given(child, outer) for child in node.children)
        return left, right

    def scope(self, node: PlanNode, outer: Scope | None, *given: Given) -> Scope:
        """The columns that a node can use, and the subqueries that stand in it."""
        around = Scope(given, outer)
        numbers = list(dict.fromkeys(map(int, _SUBQUERIES.findall(node.text))))
        if len(numbers) != len(node.inner):
            raise Unreadable("its subqueries are not where they are expected")
        subqueries = {
            number: _subquery(self.given(inner, around), f"exists#{number} [" in node.text)
            for number, inner in zip(numbers, node.inner, strict=True)
        }
        return replace(around, subqueries=subqueries)


def _subquery(found: Given, exists: bool) -> Value:
    value = NOTHING if exists else merged(found.values())
    unknown = value.unknown | found.unknown
    return Value(value.direct, value.indirect | found.rows, unknown)


def said(given: Given, value: Value, why: Why) -> Given:
    """What has a say in the rows."""
    rows, unknown = given.rows | influences(value, why), given.unknown | value.unknown
    return replace(given, rows=rows, unknown=unknown)


def together(values: Sequence[Given]) -> tuple[frozenset[Influence], frozenset[Unknown]]:
    rows = frozenset(each for given in values for each in given.rows)
    return rows, frozenset(each for given in values for each in given.unknown)
