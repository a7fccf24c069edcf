"""Rows that somebody wants to look at: those that pass filters, in an order."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from tranche.errors import FilterRejected
from tranche.model.wanted import Kind, RowFilter, RowOrder, Wanted, find_column, value_of
from tranche.script.binding import quoted_name

_BITS = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_KINDS: dict[type[DataType], Kind] = {
    **dict.fromkeys(_BITS, "number"),
    FloatType: "number",
    DoubleType: "number",
    DecimalType: "number",
    BooleanType: "boolean",
    DateType: "date",
    TimestampType: "time",
    TimestampNTZType: "time",
    StringType: "text",
    CharType: "text",
    VarcharType: "text",
    BinaryType: "bytes",
}


def wanted_rows(rows: DataFrame, wanted: Wanted) -> DataFrame:
    """The rows that pass, sorted; of a large table only those that are shown are ever kept."""
    passes = [_passes(rows.schema, each) for each in wanted.filters]
    if passes:
        rows = rows.where(reduce(lambda a, b: a & b, passes))
    if wanted.order:
        rows = rows.orderBy(*(_sorted(rows.schema, each) for each in wanted.order))
    return rows


def _passes(columns: StructType, given: RowFilter) -> Column:
    name = find_column(given.column, tuple(columns.names))
    column, type_ = F.col(quoted_name(name)), columns[name].dataType
    kind = _KINDS.get(type(type_), "nested")
    value = value_of(given, kind) if given.takes_value else None
    match given.comparison:
        case "is null":
            return column.isNull()
        case "is not null":
            return column.isNotNull()
        case "contains":
            return F.lower(_text(column, type_)).contains(F.lower(F.lit(_part(given, kind))))
    literal = _literal(value, type_)
    return {
        "=": column == literal,
        "!=": column != literal,
        "<": column < literal,
        "<=": column <= literal,
        ">": column > literal,
        ">=": column >= literal,
    }[given.comparison]


def _part(given: RowFilter, kind: Kind) -> str:
    text = given.value or ""
    return text.removeprefix("0x") if kind == "bytes" else text


def _text(column: Column, type_: DataType) -> Column:
    """What a column has, as the page shows it."""
    if isinstance(type_, BinaryType):
        return F.hex(column)
    if type(type_) in _KINDS:
        return column.cast("string")
    return F.to_json(F.struct(column.alias("value")))


def _literal(value: object, type_: DataType) -> Column:
    """A value as a literal of the column's type, or of one that holds it."""
    match value:
        case Decimal():
            return _number(value, type_)
        case datetime():
            if isinstance(type_, TimestampType) and value.tzinfo is not None:
                value = value.astimezone(UTC)
            return F.lit(value.isoformat(sep=" ")).cast(type_)
        case bytes():
            return F.unhex(F.lit(value.hex()))
        case bool() | str():
            return F.lit(value)
        case _:
            return F.lit(str(value)).cast(type_)


def _number(value: Decimal, type_: DataType) -> Column:
    if not value.is_finite() or isinstance(type_, FloatType | DoubleType):
        # As the column has it: a float that is widened is no longer what somebody wrote.
        kept = type_ if isinstance(type_, FloatType | DoubleType) else DoubleType()
        return F.lit(float(value)).cast(kept)
    bits = next((bits for kind, bits in _BITS.items() if isinstance(type_, kind)), None)
    if bits is not None and value == value.to_integral_value() and abs(value) < 2 ** (bits - 1):
        return F.lit(int(value)).cast(type_)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    if precision > 38:
        return F.lit(float(value)).cast("double")
    return F.lit(f"{value:f}").cast(DecimalType(precision, scale))


def _sorted(columns: StructType, given: RowOrder) -> Column:
    name = find_column(given.column, tuple(columns.names))
    type_ = columns[name].dataType
    if not _has_order(type_):
        raise FilterRejected(
            f"{name} is a {type_.simpleString()[:80]}, which has no order", "sort by another column"
        )
    column = F.col(quoted_name(name))
    return column.desc_nulls_last() if given.descending else column.asc_nulls_last()


def _has_order(type_: DataType) -> bool:
    match type_:
        case ArrayType():
            return _has_order(type_.elementType)
        case StructType():
            return all(_has_order(field.dataType) for field in type_.fields)
        case _:
            return type(type_) in _KINDS
