"""UNION, INTERSECT and EXCEPT: columns go by their position."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from sqlglot import exp

from tranche.model.lineage import Influence, Unknown, Why
from tranche.script.lineage.relations import Column, Item, Relation, Rest, candidates
from tranche.script.lineage.values import Value, influences, merged, with_unknown

if TYPE_CHECKING:
    from tranche.script.lineage.tracer import Tracer

_UNEVEN = Unknown("which columns of the two queries belong together is not known")


def combined(tracer: Tracer, node: exp.SetOperation, left: Relation, right: Relation) -> Relation:
    """The rows of two queries under the names of the first."""
    rows: set[Influence] = {*left.rows, *right.rows}
    unknown = {*left.unknown, *right.unknown}
    # A column more moves those behind it.
    tracer.whole |= left.stars | right.stars
    union = isinstance(node, exp.Union)
    both = (*left.items, *right.items)
    if not union or node.args.get("distinct"):
        why: Why = "group" if union else "filter"
        for item in both:
            if isinstance(item, Column):
                rows |= influences(item.value, why)
                unknown |= item.value.unknown
            else:
                unknown.add(Unknown(f"the columns of {item.label} are not known"))
    items = left.items
    by_name = bool(node.args.get("by_name"))
    closed = not (left.is_open or right.is_open)
    if closed and not by_name and len(left.items) != len(right.items):
        unknown.add(_UNEVEN)
    if union:
        items = _by_name(left, right) if by_name else _by_position(left, right)
    return Relation(items, frozenset(rows), frozenset(unknown), stars=left.stars | right.stars)


def _by_position(left: Relation, right: Relation) -> tuple[Item, ...]:
    """Behind a star that nobody can write out, positions are lost, unless both have the same."""
    if len(left.items) == len(right.items) and not (left.is_open or right.is_open):
        return tuple(map(_both, left.items, right.items))
    if left.items == right.items:
        return left.items
    known = min(_known(left), _known(right))
    ahead = tuple(map(_both, left.items[:known], right.items[:known]))
    return (*ahead, *(_lost(item) for item in left.items[known:]))


def _known(relation: Relation) -> int:
    """How many columns stand before the first star."""
    return len(list(takewhile(lambda item: isinstance(item, Column), relation.items)))


def _both(left: Item, right: Item) -> Item:
    if isinstance(left, Column) and isinstance(right, Column):
        if left.value == right.value:
            return left
        return Column(left.name, merged([left.value, right.value]))
    return left


def _lost(item: Item) -> Item:
    if isinstance(item, Column):
        return Column(item.name, with_unknown(item.value, _UNEVEN))
    return replace(item, asset=None, place=None, value=Value(unknown=frozenset({_UNEVEN})))


def _by_name(left: Relation, right: Relation) -> tuple[Item, ...]:
    if left.is_open or right.is_open:
        return tuple(_lost(item) for item in left.items)
    items: list[Item] = []
    for item in left.items:
        assert not isinstance(item, Rest)
        also = [each.value for each in candidates(right.items, item.name)]
        items.append(Column(item.name, merged([item.value, *also])))
    have = {item.name.lower() for item in items if isinstance(item, Column)}
    items += [i for i in right.items if isinstance(i, Column) and i.name.lower() not in have]
    return tuple(items)
