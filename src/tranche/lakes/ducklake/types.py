"""Types of DuckLake and of Spark, each as the other has it."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from tranche.errors import ColumnsRejected
from tranche.lakes.ducklake.duck import identifier

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_READ: Mapping[str, DataType] = {
    "boolean": BooleanType(),
    "int8": ByteType(),
    "int16": ShortType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "uint8": ShortType(),
    "uint16": IntegerType(),
    "uint32": LongType(),
    "uint64": DecimalType(20, 0),
    "float32": FloatType(),
    "float64": DoubleType(),
    "date": DateType(),
    "timestamp": TimestampNTZType(),
    "timestamp_us": TimestampNTZType(),
    "timestamp_ms": TimestampNTZType(),
    "timestamp_s": TimestampNTZType(),
    "timestamptz": TimestampType(),
    "varchar": StringType(),
    "json": StringType(),
    "blob": BinaryType(),
}
_WRITTEN: Mapping[type[DataType], str] = {
    BooleanType: "BOOLEAN",
    ByteType: "TINYINT",
    ShortType: "SMALLINT",
    IntegerType: "INTEGER",
    LongType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    DateType: "DATE",
    TimestampNTZType: "TIMESTAMP",
    TimestampType: "TIMESTAMPTZ",
    StringType: "VARCHAR",
    CharType: "VARCHAR",
    VarcharType: "VARCHAR",
    BinaryType: "BLOB",
}
EXACT = frozenset(
    ("boolean", "int8", "int16", "int32", "int64", "float32", "float64", "date", "timestamp")
) | {"timestamp_us", "timestamptz", "varchar", "blob"}
"""What Spark writes as DuckLake has it; of other types it makes wider ones, or texts."""


def spark_type(type_: str) -> DataType | None:
    """A type of a catalog that has no parts; None if Spark has none like it.

    >>> spark_type("decimal(10,2)"), spark_type("uint32"), spark_type("int128")
    (DecimalType(10,2), LongType(), None)
    """
    decimal = _DECIMAL.fullmatch(type_)
    if decimal is not None:
        return DecimalType(int(decimal[1]), int(decimal[2]))
    return _READ.get(type_)


def is_written(type_: str) -> bool:
    """Whether what Spark writes is of this very type."""
    return type_ in EXACT or _DECIMAL.fullmatch(type_) is not None


def duck_type(type_: DataType, column: str) -> str:
    """A type as DuckDB takes it in a statement.

    >>> from pyspark.sql.types import StructField
    >>> duck_type(ArrayType(StructType([StructField("a b", LongType())])), "x")
    'STRUCT("a b" BIGINT)[]'
    """
    match type_:
        case DecimalType():
            return f"DECIMAL({type_.precision},{type_.scale})"
        case ArrayType():
            return f"{duck_type(type_.elementType, column)}[]"
        case MapType():
            key, value = (duck_type(each, column) for each in (type_.keyType, type_.valueType))
            return f"MAP({key}, {value})"
        case StructType():
            inside = (f"{identifier(f.name)} {duck_type(f.dataType, column)}" for f in type_.fields)
            return f"STRUCT({', '.join(inside)})"
    found = _WRITTEN.get(type(type_))
    if found is None:
        raise ColumnsRejected(
            f"{column} is of the type {type_.simpleString()}, which a DuckLake does not take from"
            " Spark",
            "cast it in the SELECT",
        )
    return found
