"""Layouts of DuckLake: columns as they are, buckets, and calendar values of times, in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    StringType,
    StructType,
    TimestampType,
)

from tranche.errors import ColumnsRejected
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.metadata import Version
from tranche.lakes.ducklake.murmur import bucket
from tranche.lakes.ducklake.paths import clashes, value_of
from tranche.model.layout import TIMES, Transform, TransformName
from tranche.script.binding import quoted_name

_BUCKET = re.compile(r"bucket\((\d+)\)")
_DAY, _HOUR = 86_400_000_000, 3_600_000_000
_PLAIN_NAME = re.compile("[A-Za-z0-9_.~-]+")
_PLAIN_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TOLD = (StringType, IntegralType, BooleanType, DateType, DecimalType)
"""What Spark and DuckDB write alike as text, but for some values."""


@dataclass(frozen=True, slots=True)
class Part:
    """What divides the files of a write: a folder's name, or if it stands in files, just them."""

    name: str
    """What the folder is called before the equals sign."""
    column: str
    transform: Transform
    in_path: bool = True

    def value(self, type_: DataType) -> Column:
        """The value as text."""
        return transformed(self.transform, type_).cast("string")


def stated_layout(version: Version) -> tuple[Transform, ...]:
    """The layout that a table has, with its slice."""
    found = []
    for field in version.fields:
        column = version.by_id(field.column)
        if column is None:
            raise ColumnsRejected(
                f"the layout has a column that is gone, the number {field.column}",
                "give the table another layout: ALTER TABLE … SET PARTITIONED BY (…)",
            )
        buckets = _BUCKET.fullmatch(field.transform)
        if buckets is not None:
            found.append(Transform("bucket", column.name, int(buckets[1])))
        elif field.transform == "identity" or field.transform in TIMES:
            found.append(Transform(cast(TransformName, field.transform), column.name))
        else:
            raise ColumnsRejected(
                f"the layout has {field.transform}({column.name}), which Tranche does not know",
                "give the table another layout: ALTER TABLE … SET PARTITIONED BY (…)",
            )
    return tuple(found)


def layout_statement(table: str, layout: Sequence[Transform]) -> str:
    """
    >>> layout_statement("dl.t", [Transform("bucket", "id", 4), Transform("day", "at")])
    'ALTER TABLE dl.t SET PARTITIONED BY (bucket(4, "id"), day("at"))'
    """
    if not layout:
        return f"ALTER TABLE {table} RESET PARTITIONED BY"
    return f"ALTER TABLE {table} SET PARTITIONED BY ({', '.join(map(_written, layout))})"


def _written(transform: Transform) -> str:
    column = identifier(transform.column)
    if transform.name == "identity":
        return column
    if transform.buckets is not None:
        return f"bucket({transform.buckets}, {column})"
    return f"{transform.name}({column})"


def check_layout(layout: Sequence[Transform], columns: StructType, folder: str) -> None:
    """Rejects layouts whose folders would be taken for something else."""
    types = {field.name.lower(): field for field in columns.fields}
    for part in parts_of(layout):
        field = types.get(part.column.lower())
        if part.transform.name != "identity" and part.name.lower() in types:
            raise ColumnsRejected(
                f"the folders of {part.transform} are called {part.name}, and so is a column of the"
                " table, whose values they would be taken for",
                "give the column another name, or lay the table out otherwise",
            )
        unfit = field is not None and isinstance(field.dataType, BinaryType | TimestampType)
        if part.transform.name == "identity" and unfit:
            raise ColumnsRejected(
                f"values of {part.column} cannot be names of folders",
                "use bucket(…), or year, month, day or hour of a time",
            )
    taken = clashes([*types, *(part.name for part in parts_of(layout))], folder)
    if layout and taken:
        raise ColumnsRejected(
            f"the folder {folder} has {taken[0]}=… in its path, which DuckDB would take for the"
            " column",
            "put the files of the lake elsewhere, or name the column otherwise",
        )


def parts_of(layout: Sequence[Transform], *, in_path: bool = True) -> tuple[Part, ...]:
    """The folders that DuckDB knows the values of a layout by.

    >>> [part.name for part in parts_of([Transform("year", "a"), Transform("year", "b")])]
    ['year', 'year_b']
    """
    found: list[Part] = []
    used: set[str] = set()
    for transform in layout:
        name: str = transform.column
        if transform.name != "identity":
            name = transform.name
            if name in used:
                name = f"{name}_{transform.column}"
            used.add(name)
        found.append(Part(name, transform.column, transform, in_path))
    return tuple(found)


def is_registrable(layout: Sequence[Transform], columns: StructType) -> bool:
    """Whether files of others can be registered under a layout.

    DuckDB knows the values of their folders by columns, and of two fields of one column it takes
    one for the other. It finds no folder whose name it spells otherwise than the column's, and
    compacts only files whose folders it would call the same. A folder that is called as a column
    is taken for that, also if it tells a calendar value and the column came later. Tables of other
    layouts get their rows from DuckDB's own INSERT.

    >>> at = StructType().add("at", TimestampType()).add("a b", StringType())
    >>> is_registrable([Transform("year", "at"), Transform("month", "at")], at)
    False
    >>> is_registrable([Transform("day", "at")], at), is_registrable([Transform("day", "a b")], at)
    (True, True)
    >>> is_registrable([Transform("identity", "a b")], at)
    False
    >>> is_registrable([Transform("day", "at")], at.add("Day", StringType()))
    False
    """
    types = {field.name.lower(): field.dataType for field in columns.fields}
    used = [transform.column.lower() for transform in layout]
    return len(set(used)) == len(used) and all(
        _PLAIN_NAME.fullmatch(part.name)
        and (
            isinstance(types.get(part.column.lower()), _TOLD)
            if part.transform.name == "identity"
            else part.name.lower() not in types
        )
        for part in parts_of(layout)
    )


def is_told(value: str | None, type_: DataType) -> bool:
    """Whether DuckDB names a folder after this value as Spark writes it, and reads it from there.

    >>> is_told("a/b", StringType()), is_told(None, StringType()), is_told("null", StringType())
    (True, True, False)
    >>> is_told("0E-10", DecimalType(38, 10)), is_told("+10000-01-01", DateType())
    (False, False)
    """
    match type_:
        case _ if value is None:
            return True
        case StringType():
            return value_of(value) is not None
        case DecimalType():
            return "E" not in value
        case DateType():
            return _PLAIN_DATE.fullmatch(value) is not None
    return True


def transformed(transform: Transform, type_: DataType) -> Column:
    """The value of a field of a layout."""
    column = F.col(quoted_name(transform.column))
    if transform.name == "identity":
        return column
    if transform.buckets is not None:
        return bucket(column, type_, transform.buckets)
    if isinstance(type_, TimestampType):
        return _in_utc(transform.name, F.unix_micros(column))
    return {"year": F.year, "month": F.month, "day": F.day, "hour": F.hour}[transform.name](column)


def _in_utc(name: str, micros: Column) -> Column:
    """A calendar value, whatever the time zone of the session."""
    if name == "hour":
        return F.pmod(_whole(micros, _HOUR), F.lit(24)).cast("int")
    day = F.date_add(F.lit("1970-01-01").cast("date"), _whole(micros, _DAY).cast("int"))
    return {"year": F.year, "month": F.month, "day": F.day}[name](day)


def _whole(micros: Column, unit: int) -> Column:
    """How many whole units, downwards also before 1970."""
    return F.call_function("div", micros - F.pmod(micros, F.lit(unit)), F.lit(unit))
