"""Rows out of Spark, as plain values in the session's time zone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, TimestampNTZType, TimestampType

from tranche.model.rows import Rows

# collect() would render times in the time zone of this process; JSON keeps the session's.
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}


def fetch(frame: DataFrame, limit: int) -> Rows:
    """Up to `limit` rows, and whether there were more."""
    if not frame.schema.fields:
        return Rows((), ())
    packed = _numbered(frame).limit(limit + 1).select(F.to_json(F.struct("*"), _JSON))
    return _rows(frame, [row[0] for row in packed.collect()], limit)


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
        tuple(_plain(row[f"c{n}"], field.dataType) for n, field in enumerate(fields))
        for row in found[:limit]
    )
    return Rows(columns, values, more=len(found) > limit)


def _plain(value: Any, type_: DataType) -> Any:
    if isinstance(value, Decimal) and isinstance(type_, FloatType | DoubleType):
        return float(value)
    if isinstance(value, str) and isinstance(type_, TimestampType | TimestampNTZType):
        return value.replace(".000000", "")
    return value
