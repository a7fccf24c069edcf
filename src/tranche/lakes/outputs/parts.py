"""Parts of a table: the values of the columns that divide it.

A part is written as JSON, so that a ledger can keep it: each value as a text that Spark casts to
it, or null.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampType

from tranche.script.binding import quoted_name

Values: TypeAlias = Mapping[str, str | None]


def part_text(values: Values) -> str:
    """
    >>> part_text({"region": None, "day": "2026-05-16"})
    '{"day": "2026-05-16", "region": null}'
    """
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False)


def nothing_part(key: str | None) -> str:
    """What is noted of a key for which a task has returned None."""
    return json.dumps(["nothing", key], ensure_ascii=False)


def parts_of(
    known: Mapping[str | None, Collection[str]], keys: Iterable[str | None], by: Collection[str]
) -> set[str]:
    """The parts of keys. Those of columns that rows were once divided by are not there any more.

    >>> parts_of({"a": ['{"day": "1"}', '["nothing", "a"]'], "b": ['{"n": "2"}']}, ["a", "b"], ["day"])
    {'{"day": "1"}'}
    """
    found = (part for key in keys for part in known.get(key, ()) if part != nothing_part(key))
    return {part for part in found if values_of(part).keys() == set(by)}


def text_of(value: Column, type_: DataType) -> Column:
    """A value as a part has it. A time says its offset: an hour that is repeated is two."""
    if isinstance(type_, TimestampType):
        return F.date_format(value, "yyyy-MM-dd HH:mm:ss.SSSSSSXXX")
    return value.cast("string")


def values_of(part: str) -> dict[str, str | None]:
    found: dict[str, str | None] = json.loads(part)
    return found


def columns_of(parts: Sequence[Values]) -> dict[str, tuple[str | None, ...]]:
    """The values of each column.

    >>> columns_of([{"day": "1", "region": "eu"}, {"day": "1", "region": None}])
    {'day': ('1',), 'region': ('eu', None)}
    """
    found: dict[str, dict[str | None, None]] = {}
    for values in parts:
        for name, value in values.items():
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}


def in_parts(parts: Collection[str], columns: StructType) -> Column:
    """Whether a row is of one of these parts.

    Parts that differ in one column alone are one list of its values, and the rest is halved again
    and again: a long chain of ORs would be too deep for Spark.
    """
    known = [values_of(part) for part in sorted(parts)]
    if not known:
        return F.lit(False)
    *outer, inner = sorted(known[0])
    groups: dict[tuple[str | None, ...], list[str | None]] = {}
    for values in known:
        groups.setdefault(tuple(values[name] for name in outer), []).append(values[inner])
    return _any_of(
        [
            _all_of([_is(name, value, columns) for name, value in zip(outer, group, strict=True)])
            & _one_of(inner, values, columns)
            for group, values in groups.items()
        ]
    )


def _is(name: str, value: str | None, columns: StructType) -> Column:
    column = F.col(quoted_name(name))
    return column.isNull() if value is None else column == _literal(name, value, columns)


def _one_of(name: str, values: Sequence[str | None], columns: StructType) -> Column:
    column = F.col(quoted_name(name))
    there = [_literal(name, value, columns) for value in values if value is not None]
    found = [column.isin(there)] if there else []
    if None in values:
        found.append(column.isNull())
    return _any_of(found)


def _literal(name: str, value: str, columns: StructType) -> Column:
    return F.lit(value).cast(columns[name].dataType)


def _all_of(conditions: Iterable[Column]) -> Column:
    found = F.lit(True)
    for condition in conditions:
        found = found & condition
    return found


def _any_of(conditions: Sequence[Column]) -> Column:
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return _any_of(conditions[:middle]) | _any_of(conditions[middle:])
