"""An order-free digest of rows, which comes with the write itself."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
)

from tranche.model.digest import NO_ROWS, digest_text
from tranche.model.strategy import PARTITION_COLUMN

_NULLS = {"ignoreNullFields": "false"}
_SPARE = 24
"""How many bits of a hash are left out, to have room for the sum."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What an action will have seen of a frame's rows."""

    observation: Observation
    columns: int
    """Stands for the names of the columns, and for what kind of values they have."""

    @property
    def rows(self) -> int:
        return int(self.observation.get["rows"])

    @property
    def digest(self) -> str | None:
        """None if it could not be told."""
        rows, total = self.rows, self.observation.get["sum"]
        if total is None:
            return NO_ROWS if rows == 0 else None
        return digest_text(rows, total + rows * self.columns)


def watched(frame: DataFrame) -> tuple[DataFrame, Watch]:
    """The frame, and the digest of its rows once an action has gone over them.

    One sum, since Spark works out the hash anew for each. The upper 40 bits of a hash are a number
    around zero, so that a sum of them stays small however many rows there are; only that of many
    millions of equal rows overflows, and then there is no digest.
    """
    fields = [field for field in frame.schema.fields if field.name != PARTITION_COLUMN]
    fields.sort(key=lambda field: field.name)
    values = [
        value
        for field in fields
        for value in _values(_column(frame, field.name), field.dataType, field.name)
    ]
    row = F.shiftright(F.xxhash64(*values), _SPARE)
    observation = Observation()
    seen = frame.observe(observation, F.count(F.lit(1)).alias("rows"), F.try_sum(row).alias("sum"))
    kinds = (f"{field.name}\0{_kind(field.dataType)}" for field in fields)
    return seen, Watch(observation, _number("\0".join(kinds)))


def _values(column: Column, type_: DataType, name: str) -> list[Column]:
    """What is hashed of a column. The hash skips NULLs, so that something must stand for them.

    It is a value that the column cannot have, or one of 2⁶⁴ that it is as unlikely to have as its
    hash. Each further value makes the hash slower, and there is one for every row.
    """
    number = _number(name)
    match type_:
        case BooleanType() | ByteType() | ShortType() | IntegerType():
            return [F.coalesce(column.cast("long"), F.lit(1 << 40))]
        case DateType():
            return [F.coalesce(F.unix_date(column).cast("long"), F.lit(1 << 40))]
        case LongType():
            return [F.coalesce(column, F.lit(number).cast("long"))]
        case TimestampType():
            return [F.coalesce(F.unix_micros(column), F.lit(number).cast("long"))]
        case FloatType() | DoubleType():
            return [F.coalesce(column.cast("double"), F.lit(math.ldexp(number, -1000)))]
        case StringType():
            return [F.coalesce(column, F.lit(f"\0NULL {number:x}"))]
        case BinaryType():
            return [F.coalesce(column, F.lit(f"\0NULL {number:x}".encode()))]
        case StructType() | ArrayType() | MapType() | VariantType():
            return [F.to_json(F.struct(_sorted(column, type_).alias("v")), _NULLS)]
        case _:
            return [F.lit(number).cast("long"), column]


def _kind(type_: DataType) -> str:
    """A type, of which wider ones with the same values are no other.

    >>> _kind(ByteType()), _kind(LongType()), _kind(DateType())
    ('integer', 'integer', 'date')
    """
    match type_:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return "integer"
        case FloatType() | DoubleType():
            return "float"
        case _:
            return type_.typeName()


def _number(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _column(frame: DataFrame, name: str) -> Column:
    escaped = name.replace("`", "``")
    return frame[f"`{escaped}`"]


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
