"""An order-free digest of rows, which comes with the write itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    VariantType,
)

from tranche.model.digest import NO_ROWS, digest_text
from tranche.model.strategy import PARTITION_COLUMN

_NULLS = {"ignoreNullFields": "false"}
_SPARE = 24
"""How many bits of a hash are left out, to have room for the sum."""


def observed(frame: DataFrame) -> tuple[DataFrame, Observation]:
    """The frame, and the digest of its rows once an action has gone over them.

    One sum, since Spark works out the hash anew for each. The upper 40 bits of a hash are a number
    around zero, so that a sum of them stays small however many rows there are; only that of many
    millions of equal rows overflows, and then there is no digest.
    """
    row = F.shiftright(F.xxhash64(*_columns(frame)), _SPARE)
    observation = Observation()
    watched = frame.observe(
        observation, F.count(F.lit(1)).alias("rows"), F.try_sum(row).alias("sum")
    )
    return watched, observation


def digest_of(metrics: Mapping[str, Any]) -> str | None:
    """None if it could not be told.

    >>> digest_of({"rows": 0, "sum": None}), digest_of({"rows": 9, "sum": None})
    ('0-0', None)
    """
    rows, total = metrics["rows"], metrics["sum"]
    if total is None:
        return NO_ROWS if rows == 0 else None
    return digest_text(rows, total)


def _columns(frame: DataFrame) -> list[Column]:
    """A number for each name, and the value: the hash skips NULLs, and this tells whose it was.

    A number, since it is hashed several times faster than a name, and that for every row.
    """
    data = (field for field in frame.schema.fields if field.name != PARTITION_COLUMN)
    columns: list[Column] = []
    for field in sorted(data, key=lambda field: field.name):
        name = hashlib.sha256(field.name.encode("utf-8", "surrogatepass")).digest()
        number = int.from_bytes(name[:8], "big", signed=True)
        value = _hashable(_column(frame, field.name), field.dataType)
        columns += [F.lit(number).cast("long"), value]
    return columns


def _column(frame: DataFrame, name: str) -> Column:
    escaped = name.replace("`", "``")
    return frame[f"`{escaped}`"]


def _hashable(column: Column, type_: DataType) -> Column:
    if isinstance(type_, StructType | ArrayType | MapType | VariantType):
        return F.to_json(F.struct(_sorted(column, type_).alias("v")), _NULLS)
    return column


def _sorted(column: Column, type_: DataType) -> Column:
    """The column with every map in it as entries in order, and every variant as JSON."""
    match type_:
        case VariantType():
            return F.to_json(column)
        case MapType():
            entries = F.transform(
                F.map_entries(column),
                lambda entry: F.struct(
                    _sorted(entry["key"], type_.keyType).alias("k"),
                    _sorted(entry["value"], type_.valueType).alias("v"),
                ),
            )
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(column, lambda item: _sorted(item, type_.elementType))
        case StructType():
            fields = [_sorted(column[f.name], f.dataType).alias(f.name) for f in type_.fields]
            return F.when(column.isNotNull(), F.struct(*fields)) if fields else column
        case _:
            return column
