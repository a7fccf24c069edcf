"""The hash by which DuckLake puts rows into buckets, as Spark computes it.

It is Murmur3 of 32 bits with the seed 0, as in Iceberg: of whole numbers, dates, times and decimals
the 8 bytes of a long, of texts and bytes what they are.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

_LONGS = "org.apache.spark.unsafe.hash.Murmur3_x86_32"
_LONGEST_DECIMAL = 18
"""How many digits fit a long; of longer ones DuckDB hashes the text."""


def bucket(column: Column, type_: DataType, buckets: int) -> Column:
    """The number of the bucket of each value; NULL of NULL."""
    hashed = _hash(column, type_)
    return F.pmod(hashed.bitwiseAND(F.lit(2147483647)), F.lit(buckets))


def _hash(column: Column, type_: DataType) -> Column:
    match type_:
        case StringType():
            return _of_bytes(column.cast("binary"))
        case BinaryType():
            return _of_bytes(column)
        case DecimalType() if type_.precision > _LONGEST_DECIMAL:
            return _of_bytes(column.cast("string").cast("binary"))
        case DecimalType():
            scaled = column.cast(DecimalType(38, type_.scale)) * F.lit(10**type_.scale)
            return _of_long(scaled.cast("long"))
        case DateType():
            return _of_long(F.unix_date(column).cast("long"))
        case TimestampType():
            return _of_long(F.unix_micros(column))
        case TimestampNTZType():
            # The same wall clock in UTC is what DuckDB counts from 1970.
            text = F.concat(column.cast("string"), F.lit("Z"))
            return _of_long(F.unix_micros(text.cast("timestamp")))
    return _of_long(column.cast("long"))


def _of_long(column: Column) -> Column:
    found = F.java_method(F.lit(_LONGS), F.lit("hashLong"), F.coalesce(column, F.lit(0)), F.lit(0))
    return F.when(column.isNotNull(), found.cast("int"))


def _of_bytes(column: Column) -> Column:
    """Four bytes at a time, and then what is left."""
    digits = F.hex(column)
    size = F.floor(F.length(digits) / 2).cast("int")
    whole = F.floor(size / 4).cast("int")
    # A sequence that goes nowhere would go backwards.
    numbers = F.when(whole > 0, F.sequence(F.lit(0), whole - 1)).otherwise(
        F.array().cast("array<int>")
    )
    rest = F.pmod(size, F.lit(4))
    tail = _word(digits, whole * 8 + 1, rest)

    def mixed(hashed: Column, number: Column) -> Column:
        turned = _turned(hashed.bitwiseXOR(_scrambled(_word(digits, number * 8 + 1, F.lit(4)))), 13)
        return (turned * 5 + F.lit(0xE6546B64)).bitwiseAND(_mask())

    def finished(hashed: Column) -> Column:
        last = hashed.bitwiseXOR(_scrambled(tail)).bitwiseXOR(size.cast("long"))
        return _avalanche(last)

    found = F.aggregate(numbers, F.lit(0).cast("long"), mixed, finished)
    # As an int, of which the upper half is below zero.
    return F.when(found > 2147483647, found - 4294967296).otherwise(found).cast("int")


def _word(digits: Column, start: Column, size: Column) -> Column:
    """Up to four bytes from some digit on, the lowest first."""
    text = F.concat(
        *(
            F.when(size > F.lit(n), F.substring(digits, start + n * 2, F.lit(2))).otherwise("")
            for n in (3, 2, 1, 0)
        )
    )
    return F.coalesce(F.conv(text, 16, 10).cast("long"), F.lit(0).cast("long"))


def _scrambled(word: Column) -> Column:
    return _times(_turned(_times(word, 0xCC9E2D51), 15), 0x1B873593)


def _avalanche(hashed: Column) -> Column:
    once = _times(_folded(hashed, 16), 0x85EBCA6B)
    twice = _times(_folded(once, 13), 0xC2B2AE35)
    return _folded(twice, 16)


def _times(value: Column, factor: int) -> Column:
    """The lower 32 bits of a product, which may have 64."""
    product = value.cast(DecimalType(20, 0)) * F.lit(factor).cast(DecimalType(10, 0))
    return F.pmod(product, F.lit(2**32).cast(DecimalType(10, 0))).cast("long")


def _turned(value: Column, bits: int) -> Column:
    return _named(
        F.shiftleft(value, bits),
        lambda v: v.bitwiseAND(_mask()).bitwiseOR(F.shiftright(v, 32)),
    )


def _folded(value: Column, bits: int) -> Column:
    return _named(value, lambda v: v.bitwiseXOR(F.shiftright(v, bits)))


def _named(value: Column, use: Callable[[Column], Column]) -> Column:
    """What is made of a value that is needed more than once: a column would be computed as often."""
    return F.element_at(F.transform(F.array(value), use), 1)


def _mask() -> Column:
    return F.lit(0xFFFFFFFF)
