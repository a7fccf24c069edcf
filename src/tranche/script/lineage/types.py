"""The fields of a column, from the type that was captured of it."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tranche.model.columns import Columns
from tranche.model.lineage import SourceColumn
from tranche.script.lineage.relations import Column, Relation
from tranche.script.lineage.values import of_column


def fields_of(place: SourceColumn, type_: str) -> Relation | None:
    """The fields of a struct, of the structs in an array, or of a map's values."""
    if "struct<" not in type_.lower():
        return None
    parsed = _parsed(type_)
    return None if parsed is None else _fields(place, parsed)


def columns_of_schema(text: str) -> Columns | None:
    """The columns that `schema => 'a INT, b STRING'` names; None if they cannot be read.

    >>> columns_of_schema("a INT, b STRUCT<c: STRING>")
    (('a', 'INT'), ('b', 'STRUCT<c: STRING>'))
    """
    parsed = _parsed(f"STRUCT<{text}>")
    if parsed is None or not parsed.expressions:
        return None
    found = tuple(
        (each.name, each.args["kind"].sql("spark"))
        for each in parsed.expressions
        if isinstance(each, exp.ColumnDef) and each.args.get("kind") is not None
    )
    return found if len(found) == len(parsed.expressions) else None


@lru_cache(maxsize=256)
def _parsed(type_: str) -> exp.DataType | None:
    try:
        return exp.DataType.build(type_, dialect="spark")
    except (SqlglotError, ValueError):
        return None


def _fields(place: SourceColumn, type_: exp.DataType) -> Relation | None:
    if type_.is_type(exp.DType.ARRAY, exp.DType.MAP) and type_.expressions:
        inner = type_.expressions[-1]
        return _fields(place, inner) if isinstance(inner, exp.DataType) else None
    if not type_.is_type(exp.DType.STRUCT):
        return None
    items: list[Column] = []
    for each in type_.expressions:
        field = SourceColumn(place.asset, place.column, (*place.path, each.name))
        kind = each.args.get("kind") if isinstance(each, exp.ColumnDef) else None
        inner_fields = _fields(field, kind) if isinstance(kind, exp.DataType) else None
        items.append(Column(each.name, of_column(field, inner_fields)))
    return Relation(tuple(items))
