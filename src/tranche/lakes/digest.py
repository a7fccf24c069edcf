"""An order-free digest of rows, which comes with the write itself."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from tranche.model.digest import NO_ROWS, Seen, digest_text, set_id
from tranche.script.binding import quoted_name

_SPARE = 24
"""How many bits of a hash are left out, to have room for the sum."""


Sets: TypeAlias = Mapping[str, StructType]
"""Some of the columns, by the id of their set."""

_SET = "sum of "


@dataclass(frozen=True, slots=True)
class Watch:
    """What an action will have seen of a frame's rows."""

    observation: Observation
    columns: StructType
    sets: Sets = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.observation.get["rows"])

    @property
    def seen(self) -> Seen:
        return _seen(self.observation.get, self.columns, self.sets)


def watched(
    frame: DataFrame, columns: StructType, sets: Sets | None = None
) -> tuple[DataFrame, Watch]:
    """The frame, and the digest of these columns once an action has gone over its rows.

    One sum, since Spark works out the hash anew for each. The upper 40 bits of a hash are a number
    around zero, so that a sum of them stays small however many rows there are; only that of many
    millions of equal rows overflows, and then there is no digest. Each set of columns is a sum more.
    """
    observation = Observation()
    seen = frame.observe(observation, *_sums(columns, sets or {}))
    return seen, Watch(observation, columns, sets or {})


def digest_of(frame: DataFrame, columns: StructType, sets: Sets | None = None) -> Seen:
    """The same for rows that are there; it goes over them."""
    (found,) = frame.agg(*_sums(columns, sets or {})).collect()
    return _seen(found.asDict(), columns, sets or {})


def digests_of(
    frame: DataFrame, columns: StructType, by: str, sets: Sets | None = None
) -> dict[str, Seen]:
    """The same for each value of a column."""
    found = frame.groupBy(by).agg(*_sums(columns, sets or {})).collect()
    return {row[by]: _seen(row.asDict(), columns, sets or {}) for row in found}


def sets_in(columns: StructType, read: Iterable[frozenset[str]], *, proper: bool = True) -> Sets:
    """Those of the sets that these columns have; if proper, only those that leave one of them out.

    What stands for all columns stands for a set of all of them, too.

    >>> columns = StructType([StructField("A", LongType()), StructField("b", LongType())])
    >>> read = [frozenset({"a"}), frozenset({"a", "b"}), frozenset({"c"}), frozenset()]
    >>> [found.names for found in sets_in(columns, read).values()]
    [['A'], []]
    """
    found: dict[str, StructType] = {}
    for names in read:
        fields = [field for field in columns if field.name.lower() in names]
        there = {field.name.lower() for field in fields}
        if there == names and (len(fields) < len(columns) or not proper):
            found[set_id(names)] = StructType(fields)
    return found


def _sums(columns: StructType, sets: Sets) -> list[Column]:
    return [
        F.expr("count(1)").alias("rows"),
        F.expr(_sum(columns)).alias("sum"),
        *(F.expr(_sum(some)).alias(f"{_SET}{set_}") for set_, some in sets.items() if some),
    ]


def _sum(columns: StructType) -> str:
    values = ", ".join(_value(field.name, field.dataType) for field in _in_order(columns))
    return f"try_sum(shiftright(xxhash64({values}), {_SPARE}))"


def _seen(found: Mapping[str, Any], columns: StructType, sets: Sets) -> Seen:
    rows = int(found["rows"])
    # Of no columns, there is nothing but how many rows they are.
    sums = {set_: found[f"{_SET}{set_}"] if some else 0 for set_, some in sets.items()}
    each = {set_: _digest(rows, sums[set_], _columns(some)) for set_, some in sets.items()}
    return Seen(
        rows,
        _digest(rows, found["sum"], _columns(columns)),
        {set_: digest for set_, digest in each.items() if digest is not None},
    )


def _columns(columns: StructType) -> int:
    """Stands for the names of the columns, and for what kind of values they have."""
    kinds = (f"{field.name}\0{_kind(field.dataType)}" for field in _in_order(columns))
    return _number("\0".join(kinds))


def _in_order(columns: StructType) -> list[StructField]:
    return sorted(columns, key=lambda field: field.name)


def _digest(rows: int, total: int | None, columns: int) -> str | None:
    if rows == 0:
        return NO_ROWS
    if total is None:
        return None
    return digest_text(rows, total + rows * columns)


def _value(name: str, type_: DataType) -> str:
    """What is hashed of a column, as SQL: putting many columns together from Python takes longer.

    The hash skips NULLs, so that something must stand for them. It is a value that the column
    cannot have, or one of 2⁶⁴ that it is as unlikely to have as its hash. Each further value makes
    the hash slower, and there is one for every row.

    >>> _value("paid", BooleanType())
    'coalesce(CAST(`paid` AS BIGINT), 1099511627776L)'
    """
    column, number = quoted_name(name), _number(name)
    match type_:
        case BooleanType() | ByteType() | ShortType() | IntegerType():
            return f"coalesce(CAST({column} AS BIGINT), {1 << 40}L)"
        case DateType():
            return f"coalesce(CAST(unix_date({column}) AS BIGINT), {1 << 40}L)"
        case LongType():
            return f"coalesce({column}, {number}L)"
        case TimestampType():
            return f"coalesce(unix_micros({column}), {number}L)"
        case FloatType() | DoubleType():
            return f"coalesce(CAST({column} AS DOUBLE), {math.ldexp(number, -1000)!r}D)"
        case StringType():
            return f"coalesce({column}, 'NULL {number:x}')"
        case BinaryType():
            return f"coalesce({column}, X'{f'NULL {number:x}'.encode().hex()}')"
        case StructType() | ArrayType() | MapType() | VariantType():
            value = f"struct({_sorted(column, type_)} AS v)"
            return f"to_json({value}, map('ignoreNullFields', 'false'))"
        case _:
            return f"{number}L, {column}"


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


def _sorted(value: str, type_: DataType, depth: int = 0) -> str:
    """The value with every map in it as entries in order, and every variant as JSON.

    >>> _sorted("x", ArrayType(MapType(LongType(), LongType())))
    'transform(x, e0 -> array_sort(transform(map_entries(e0), e1 -> struct(e1.key AS k, e1.value AS v))))'
    """
    item = f"e{depth}"
    match type_:
        case VariantType():
            return f"to_json({value})"
        case MapType():
            key = _sorted(f"{item}.key", type_.keyType, depth + 1)
            held = _sorted(f"{item}.value", type_.valueType, depth + 1)
            entry = f"struct({key} AS k, {held} AS v)"
            return f"array_sort(transform(map_entries({value}), {item} -> {entry}))"
        case ArrayType():
            return f"transform({value}, {item} -> {_sorted(item, type_.elementType, depth + 1)})"
        case StructType() if type_.fields:
            names = [quoted_name(field.name) for field in type_.fields]
            fields = ", ".join(
                f"{_sorted(f'{value}.{name}', field.dataType, depth)} AS {name}"
                for name, field in zip(names, type_.fields, strict=True)
            )
            return f"CASE WHEN {value} IS NOT NULL THEN struct({fields}) END"
        case _:
            return value
