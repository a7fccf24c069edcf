"""Rows out of Spark, as plain values in the session's time zone."""

from __future__ import annotations

import json
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
    fields = frame.schema.fields
    columns = tuple((field.name, field.dataType.simpleString()) for field in fields)
    if not fields:
        return Rows((), ())
    # Positions instead of names: a result may have the same name twice.
    numbered = frame.toDF(*(f"c{position}" for position in range(len(fields))))
    packed = numbered.limit(limit + 1).select(F.to_json(F.struct("*"), _JSON))
    found = [json.loads(row[0], parse_float=Decimal) for row in packed.collect()]
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
