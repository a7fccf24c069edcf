"""Nodes of a plan that rows come from, and names for others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tranche.model.asset import AssetUri
from tranche.model.lineage import SourceColumn, Unknown
from tranche.script.lineage.plans.expressions import uncast, value_of
from tranche.script.lineage.plans.lists import in_list, named_columns
from tranche.script.lineage.plans.reader import Reader
from tranche.script.lineage.plans.scopes import Attribute, Given, Scope
from tranche.script.lineage.plans.text import PlanNode, Unreadable, attributes, identifier
from tranche.script.lineage.values import NOTHING, Value, of_column

VIEW = "tranche_traced"
"""The view of a frame that Spark is asked about."""
_MADE = "values that the code has made come from where no plan tells"


def aliased(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """A name for something; where it is that of an asset, the columns are its own."""
    before = dict(reader.tables), reader.placeless
    child = reader.child(node, outer)
    asset = reader.assets.named(identifier(node.rest))
    if asset is None or child.closed is not None:
        return child
    reader.tables, reader.placeless = before
    return _scanned(reader, asset, [(c.name, c.number) for c in child.columns])


def view(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    """What a view shows: the columns of its query, under names and with types of its own."""
    child = reader.child(node, outer)
    child = replace(child, columns=_uncast(reader, node, outer) or child.columns)
    named = attributes(node.rest.partition("[")[2].removesuffix("])"))
    known = {column.number: column.value for column in child.columns}
    if all(number in known for _, number in named):
        columns = tuple(Attribute(number, name, known[number]) for name, number in named)
    elif len(named) == len(child.columns) and child.closed is None:
        pairs = zip(named, child.values(), strict=True)
        columns = tuple(Attribute(number, name, value) for (name, number), value in pairs)
    else:
        raise Unreadable("its columns are not those of its query")
    return replace(child, columns=columns, closed=None)


def _uncast(reader: Reader, node: PlanNode, outer: Scope | None) -> tuple[Attribute, ...]:
    """The columns of a view's query, where Spark has cast all of them to what they are already.

    It does so for views that were made by SQL, and not for that of a frame.
    """
    [below] = node.children
    if node.rest.startswith(f"(`{VIEW}`") or below.name != "Project" or below.inner:
        return ()
    plain = True

    def read(text: str, scope: Scope) -> Value:
        nonlocal plain
        inner = uncast(text)
        plain = plain and inner != text and scope.exactly(inner) is not None
        return value_of(inner, scope)

    scope = Scope((reader.child(below, outer),), outer)
    columns = named_columns(in_list(below.rest), scope, read)
    return columns if plain else ()


def with_cte(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    *definitions, last = node.children
    for definition in definitions:
        if definition.name != "CTERelationDef":
            raise Unreadable("it defines something else")
        number = definition.rest.partition(",")[0]
        reader.ctes[number] = reader.child(definition, outer)
    return reader.given(last, outer)


def cte(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    found = reader.ctes.get(node.rest.partition(",")[0])
    if found is None or found.closed is not None:
        raise Unreadable("what it refers to is not known")
    named = attributes(node.rest.partition("[")[2].rpartition("]")[0])
    if len(named) != len(found.columns):
        raise Unreadable("its columns are not those of what it refers to")
    pairs = zip(named, found.values(), strict=True)
    return replace(found, columns=tuple(Attribute(no, name, value) for (name, no), value in pairs))


def _scanned(reader: Reader, asset: AssetUri, named: Sequence[tuple[str, int | None]]) -> Given:
    reader.tables[asset] = None
    return Given(
        tuple(
            Attribute(number, name, of_column(SourceColumn(asset, name))) for name, number in named
        )
    )


def table(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    shown, _, name = node.text.partition("[")[2].partition("] ")
    named = attributes(shown)
    name = re.split(r" (?:VERSION|TIMESTAMP) AS OF ", name)[0]
    asset = reader.assets.named(identifier(name))
    if asset is None:
        return _nowhere(named, f"{name} is a table of no lake of the project")
    return _scanned(reader, asset, named)


def files(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    named = attributes(node.rest.partition("[")[2].rpartition("]")[0], ",")
    asset = reader.assets.numbered(frozenset(number for _, number in named))
    if asset is None:
        reader.placeless = True
        return _nowhere(named, "the plan of the frame does not say where files lie that it reads")
    return _scanned(reader, asset, named)


def local(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    return _nowhere(attributes(node.rest.partition("[")[2].partition("]")[0]), _MADE)


def _nowhere(named: Sequence[tuple[str, int]], why: str) -> Given:
    lost = frozenset({Unknown(why)})
    columns = (Attribute(number, name, Value(unknown=lost)) for name, number in named)
    return Given(tuple(columns), unknown=lost)


def range_rows(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    # Its text has no number for its column.
    return Given((Attribute(None, "id", NOTHING),))


def one_row(reader: Reader, node: PlanNode, outer: Scope | None) -> Given:
    return Given()
