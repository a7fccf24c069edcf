"""Rows out of Spark, as plain values in the session's time zone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from tranche.model.rows import Cut, Rows

# collect() would render times in the time zone of this process; JSON keeps the session's.
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}


def fetch(frame: DataFrame, limit: int, longest: int | None = None) -> Rows:
    """Up to `limit` rows, and whether there were more; values that are longer come cut."""
    if not frame.schema.fields:
        return Rows((), ())
    found = _numbered(frame).limit(limit + 1)
    if longest is not None:
        types = [field.dataType for field in frame.schema.fields]
        found = found.select(
            *(part for n, type_ in enumerate(types) for part in _cut(n, type_, longest))
        )
    packed = found.select(F.to_json(F.struct("*"), _JSON))
    return _rows(frame, [row[0] for row in packed.collect()], limit)


def _cut(number: int, type_: DataType, longest: int) -> list[Column]:
    """A column, and where a value of it is longer: its beginning as text, and how long it is."""
    column = F.col(f"c{number}")
    if isinstance(type_, StringType | BinaryType):
        text, kept = column, F.substring(column, 1, longest)
    elif isinstance(type_, ArrayType | MapType | StructType | VariantType):
        # Written as JSON it is an object of one, whatever it is itself.
        whole = F.to_json(F.struct(column.alias("v")), _JSON)
        text = F.substring(whole, len('{"v":') + 1, 2**31 - 1)
        kept = F.when(F.length(text) <= longest + 1, column)
        begins = F.when(F.length(text) > longest + 1, F.substring(text, 1, longest))
        length = F.when(F.length(text) > longest + 1, F.length(text) - 1)
        return [kept.alias(f"c{number}"), begins.alias(f"t{number}"), length.alias(f"l{number}")]
    else:
        return [column]
    return [
        kept.alias(f"c{number}"),
        F.when(F.length(text) > longest, F.length(text)).alias(f"l{number}"),
    ]


def count_and_fetch(frame: DataFrame, limit: int) -> tuple[int, Rows]:
    """How many rows there are, and the first of them in their order, from one query."""
    # The upper bits of such a number are the task's, the lower ones count the rows of the task. No
    # task has to keep more than its own first rows.
    place = F.monotonically_increasing_id()
    packed = _numbered(frame).select(
        place.alias("place"), F.to_json(F.struct("*"), _JSON).alias("row")
    )
    first = F.col("place").bitwiseAND((1 << 33) - 1) < limit
    [found] = packed.agg(
        F.count(F.lit(1)).alias("count"),
        F.array_sort(F.collect_list(F.when(first, F.struct("place", "row")))).alias("rows"),
    ).collect()
    count = int(found["count"])
    rows = _rows(frame, [row["row"] for row in found["rows"]], limit)
    return count, Rows(rows.columns, rows.values, more=count > limit)


def _numbered(frame: DataFrame) -> DataFrame:
    """With positions instead of names: a result may have the same name twice."""
    return frame.toDF(*(f"c{position}" for position in range(len(frame.schema.fields))))


def _rows(frame: DataFrame, packed: Sequence[str], limit: int) -> Rows:
    fields = frame.schema.fields
    columns = tuple((field.name, field.dataType.simpleString()) for field in fields)
    found = [json.loads(row, parse_float=Decimal) for row in packed[: limit + 1]]
    values = tuple(
        tuple(
            _plain(row[f"c{n}"], field.dataType)
            if row.get(f"l{n}") is None
            else Cut(row.get(f"t{n}", row[f"c{n}"]), row[f"l{n}"])
            for n, field in enumerate(fields)
        )
        for row in found[:limit]
    )
    return Rows(columns, values, more=len(found) > limit)


def _plain(value: Any, type_: DataType) -> Any:
    if isinstance(value, Decimal) and isinstance(type_, FloatType | DoubleType):
        return float(value)
    if isinstance(value, str) and isinstance(type_, TimestampType | TimestampNTZType):
        return value.replace(".000000", "")
    return value
