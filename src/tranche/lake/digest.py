"""An order-free digest of rows, which comes with the write itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from tranche.model.digest import digest_text

_NULLS = {"ignoreNullFields": "false"}


def observed(frame: DataFrame) -> tuple[DataFrame, Observation]:
    """The frame, and the digest of its rows once an action has gone over them."""
    row = F.xxhash64(*_columns(frame))
    observation = Observation()
    # The two halves of the hash are summed apart: a sum of whole hashes would overflow at once,
    # and even these do beyond two billion rows, where NULL is as good a digest as any.
    watched = frame.observe(
        observation,
        F.count(F.lit(1)).alias("rows"),
        F.try_sum(F.shiftrightunsigned(row, 32)).alias("high"),
        F.try_sum(row.bitwiseAND(F.lit(0xFFFFFFFF))).alias("low"),
        F.bit_xor(row).alias("xor"),
    )
    return watched, observation


def digest_of(metrics: Mapping[str, Any]) -> str:
    """
    >>> digest_of({"rows": 0, "high": None, "low": None, "xor": None})
    '0-0-0-0'
    """
    rows, high, low, xor = (metrics[name] or 0 for name in ("rows", "high", "low", "xor"))
    return digest_text(rows, high, low, xor)


def _columns(frame: DataFrame) -> list[Column]:
    """Names and values in turn: the hash skips NULLs, and a name tells whose NULL it was."""
    columns: list[Column] = []
    for field in sorted(frame.schema.fields, key=lambda field: field.name):
        columns += [F.lit(field.name), _hashable(_column(frame, field.name), field.dataType)]
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
