"""Values that are there more than once.

Most slices have none, and to see that is far cheaper than to count them: nothing is counted unless
there is a suspicion. A suspicion may be wrong, the absence of one is not.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

_VALUE, _NUMBER = "_tranche_value", "_tranche_number"
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_HASHED = (BinaryType, DateType, DecimalType, TimestampNTZType, TimestampType)


def suspected(rows: DataFrame, column: Column, type_: DataType) -> DataFrame:
    """One row with `violations`: more than 0 if some value may be there twice."""
    there = rows.where(column.isNotNull())
    if isinstance(type_, _INTEGERS):
        return _among_numbers(there, column)
    # Equal values have equal hashes. A collation makes values equal that have other bytes.
    if isinstance(type_, _HASHED) or type_ == StringType():
        return _among_hashes(there, column)
    return counted(rows, column)


def counted(rows: DataFrame, column: Column) -> DataFrame:
    """One row with `violations`: how many rows have a value that another has too."""
    total = F.coalesce(F.sum(_NUMBER), F.lit(0)).alias("violations")
    return _twice(rows, column).agg(total)


def violating(rows: DataFrame, column: Column) -> DataFrame:
    """Those rows, with the same values next to each other."""
    twice = _twice(rows, column).select(_VALUE)
    there = rows.where(column.isNotNull())
    return there.join(twice, column == F.col(_VALUE), "left_semi").orderBy(column)


def _twice(rows: DataFrame, column: Column) -> DataFrame:
    number = F.count(F.lit(1)).alias(_NUMBER)
    grouped = rows.where(column.isNotNull()).groupBy(column.alias(_VALUE)).agg(number)
    return grouped.where(F.col(_NUMBER) > 1)


def _among_numbers(there: DataFrame, column: Column) -> DataFrame:
    """A bit for each number, 64 to a group: numbers that lie close together need few groups."""
    value = column.cast("long")
    bit = F.call_function(
        "shiftleft", F.lit(1).cast("long"), value.bitwiseAND(F.lit(63)).cast("int")
    )
    grouped = there.groupBy(F.shiftright(value, 6).alias(_VALUE)).agg(
        F.bit_or(bit).alias("bits"), F.count(F.lit(1)).alias(_NUMBER)
    )
    short = grouped.where(F.bit_count("bits") != F.col(_NUMBER))
    return short.agg(F.count(F.lit(1)).alias("violations"))


def _among_hashes(there: DataFrame, column: Column) -> DataFrame:
    """Sorted, not gathered: where every value is another, tables of them are slow."""
    hashes = there.select(F.xxhash64(column).alias(_VALUE))
    number = F.count(F.lit(1)).over(Window.partitionBy(_VALUE))
    several = hashes.select(number.alias(_NUMBER)).where(F.col(_NUMBER) > 1)
    return several.agg(F.count(F.lit(1)).alias("violations"))
