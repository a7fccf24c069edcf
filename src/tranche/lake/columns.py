"""Which columns a table can take."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StructType,
)

from tranche.errors import ColumnsRejected
from tranche.model.asset import LakeTable
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

_INTEGERS: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType)
_DIGITS = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}


def check_columns(rows: DataFrame) -> None:
    """Rejects what no table could hold, before anything is written."""
    names = [name.lower() for name in rows.columns]
    if not names:
        raise ColumnsRejected("the SELECT has no columns", "select at least one")
    if PARTITION_COLUMN in names:
        raise ColumnsRejected(
            f"the SELECT projects {PARTITION_COLUMN}, which Tranche manages",
            "leave it out; SELECT * EXCEPT (…) helps when it comes from a star",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnsRejected(
            f"the SELECT has two columns called {', '.join(twice)}", "give one another name"
        )
    untyped = [field.name for field in rows.schema.fields if isinstance(field.dataType, NullType)]
    if untyped:
        raise ColumnsRejected(
            f"the SELECT gives NULL without a type for {', '.join(untyped)}",
            f"cast it, as in CAST(NULL AS STRING) AS {untyped[0]}",
        )


def fitted(table: LakeTable, rows: DataFrame, existing: StructType) -> DataFrame:
    """The rows with the columns of an existing sliced table, by name; nothing is lost on the way."""
    have = {field.name.lower(): field for field in existing.fields}
    if PARTITION_COLUMN not in have:
        raise ColumnsRejected(
            f"{table} was written without partitions",
            "drop it and run again, or write to another table",
        )
    del have[PARTITION_COLUMN]
    give = {field.name.lower(): field for field in rows.schema.fields}
    _check_names(table, {k: f.name for k, f in give.items()}, {k: f.name for k, f in have.items()})
    unfit = [
        f"{field.name} as {give[name].dataType.simpleString()}, the table has"
        f" {field.dataType.simpleString()}"
        for name, field in have.items()
        if not widens(give[name].dataType, field.dataType)
    ]
    if unfit:
        raise ColumnsRejected(
            f"the SELECT gives {'; '.join(unfit)}",
            f"cast in the SELECT, or drop {table} and run its partitions again",
        )
    return rows.select(
        *(
            F.col(quoted_name(give[name].name)).cast(field.dataType).alias(field.name)
            if give[name].dataType != field.dataType
            else F.col(quoted_name(give[name].name)).alias(field.name)
            for name, field in have.items()
        )
    )


def _check_names(table: LakeTable, give: dict[str, str], have: dict[str, str]) -> None:
    added = [name for lower, name in give.items() if lower not in have]
    dropped = [name for lower, name in have.items() if lower not in give]
    if added or dropped:
        changes = [f"adds {', '.join(added)}"] if added else []
        changes += [f"lacks {', '.join(dropped)}"] if dropped else []
        raise ColumnsRejected(
            f"the SELECT {' and '.join(changes)}, compared with {table}",
            "select the table's columns, or drop the table and run its partitions again",
        )


def widens(given: DataType, wanted: DataType) -> bool:
    """Whether one type takes the values of the other, as Spark's own upcasts see it."""
    if given.simpleString() == wanted.simpleString():
        return True
    kind = type(given)
    if kind in _INTEGERS and type(wanted) in _INTEGERS:
        return _INTEGERS.index(kind) < _INTEGERS.index(type(wanted))
    if isinstance(wanted, DoubleType):
        # A day of whole numbers in JSON must fit a column of numbers.
        return kind in _INTEGERS or isinstance(given, FloatType)
    if isinstance(wanted, DecimalType):
        whole = wanted.precision - wanted.scale
        if isinstance(given, DecimalType):
            return given.scale <= wanted.scale and given.precision - given.scale <= whole
        return kind in _DIGITS and _DIGITS[kind] <= whole
    return False


def shape(columns: StructType) -> list[tuple[str, str]]:
    """What makes two tables alike."""
    return [(field.name, field.dataType.simpleString()) for field in columns.fields]
