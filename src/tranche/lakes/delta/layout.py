"""Layouts of Delta tables: whole columns, and columns that Delta generates of times.

A layout is given when a table is made. Periods are those of UTC, whatever the time zone of the
session that writes, as they are in Iceberg.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql.types import DataType, DateType, StructField, StructType, TimestampType

from tranche.errors import ColumnsRejected
from tranche.lakes.type_text import type_text
from tranche.model.layout import Transform
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

GENERATED = "_tranche_of_"
"""What the names of generated columns begin with."""

_DAYS = "date_add(DATE'1970-01-01', CAST(floor(CAST({} AS BIGINT) / 86400) AS INT))"
_HOURS = "CAST(floor(CAST({} AS BIGINT) / 3600) AS BIGINT)"


def check_layout(layout: Collection[Transform]) -> None:
    for transform in layout:
        if transform.name == "bucket":
            raise ColumnsRejected(
                f"Delta has no buckets, and the layout asks for {transform}",
                "use columns as they are, or year, month, day or hour of one",
            )


def generated_name(transform: Transform) -> str:
    return f"{GENERATED}{transform.name}_{transform.column}"


def partition_names(layout: Sequence[Transform], *, sliced: bool) -> list[str]:
    """The columns by which files are laid out."""
    names = [
        t.column if t.name == "identity" else generated_name(t) for t in layout if t is not None
    ]
    return [PARTITION_COLUMN, *names] if sliced else names


def definitions(columns: StructType, layout: Sequence[Transform]) -> list[str]:
    """The columns of a CREATE TABLE, with those that are generated."""
    types = {field.name: field for field in columns.fields}
    stated = [f"{quoted_name(f.name)} {type_text(f.dataType)}" for f in columns.fields]
    for transform in layout:
        if transform.name != "identity":
            type_, text = _expression(transform, types[transform.column])
            name = quoted_name(generated_name(transform))
            stated.append(f"{name} {type_} GENERATED ALWAYS AS ({text})")
    return stated


def without_generated(columns: StructType) -> StructType:
    return StructType([f for f in columns.fields if not f.name.startswith(GENERATED)])


def _expression(transform: Transform, field: StructField) -> tuple[str, str]:
    """The type of a period's column and what it is made of; text that Delta allows."""
    column = quoted_name(field.name)
    if transform.name == "hour":
        return _hour(column, field.dataType)
    day = _day(column, field.dataType)
    match transform.name:
        case "day":
            return "DATE", day
        case "month":
            return "DATE", f"trunc({day}, 'MM')"
        case _:
            return "INT", f"year({day})"


def _day(column: str, type_: DataType) -> str:
    if isinstance(type_, DateType):
        return column
    if isinstance(type_, TimestampType):
        return _DAYS.format(column)
    return f"CAST({column} AS DATE)"


def _hour(column: str, type_: DataType) -> tuple[str, str]:
    if isinstance(type_, TimestampType):
        return "BIGINT", _HOURS.format(column)
    return "STRING", f"date_format({column}, 'yyyy-MM-dd-HH')"
