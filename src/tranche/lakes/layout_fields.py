"""The fields of a layout: what a table has, what is wanted of it, and what lies between."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from tranche.errors import ColumnsRejected, Place
from tranche.model.layout import Transform, TransformName, finest
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

SLICE = Transform("identity", PARTITION_COLUMN)
"""The field of a table with slices that is always there."""

_NAME = r"(?:`(?:[^`]|``)+`|[^`(),. ]+)"
_FIELD = re.compile(
    rf"(?P<column>{_NAME})"
    rf"|bucket\((?P<buckets>\d+), (?P<bucketed>{_NAME})\)"
    rf"|(?P<time>year|month|day|hour)s\((?P<timed>{_NAME})\)"
)
_NESTED: tuple[type[DataType], ...] = (ArrayType, MapType, StructType, VariantType)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIMESTAMPS: tuple[type[DataType], ...] = (TimestampType, TimestampNTZType)
_HASHED: tuple[type[DataType], ...] = (
    ByteType, ShortType, IntegerType, LongType, DecimalType, DateType, *_TIMESTAMPS, StringType,
    BinaryType,
)  # fmt: skip

_REMEDIES: Mapping[TransformName, str] = {
    "identity": "use a column of a simple type",
    "bucket": "use a column of whole numbers, decimals, text, bytes, dates or timestamps",
    "hour": "use a timestamp, or cast it in the SELECT",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table's layout, as Spark writes it."""

    text: str
    transform: Transform | None
    """None for what Tranche has no word for, such as truncate."""


@dataclass(frozen=True, slots=True)
class Change:
    """What turns one layout into another."""

    drops: tuple[Field, ...] = ()
    adds: tuple[Transform, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drops or self.adds)


@dataclass(frozen=True, slots=True)
class Creation:
    """A layout for CREATE TABLE, and those of its fields that it cannot have from the start."""

    stated: tuple[Transform, ...]
    later: tuple[Transform, ...]


# What is wanted


def fitted_layout(
    transforms: Iterable[Transform], columns: StructType, place: Place | None = None
) -> tuple[Transform, ...]:
    """A layout with the table's own spelling of its columns, or what is wrong with it."""
    known = {field.name.lower(): field for field in columns.fields}
    found = []
    for transform in transforms:
        field = known.get(transform.column.lower())
        if field is None:
            names = ", ".join(name for name in columns.names if name != PARTITION_COLUMN)
            raise ColumnsRejected(
                f"the layout names {transform.column}, and the table has no such column",
                f"the columns are {names}",
                place=place,
            )
        if not takes(transform.name, field.dataType):
            raise ColumnsRejected(
                f"{transform} cannot be made of {field.name}, a column of {field.dataType.simpleString()}",
                _REMEDIES.get(
                    transform.name, "use a date or a timestamp, or cast it in the SELECT"
                ),
                place=place,
            )
        found.append(Transform(transform.name, field.name, transform.buckets))
    return finest(found)


def takes(name: TransformName, type_: DataType) -> bool:
    """Whether Iceberg can apply the transform to values of the type.

    >>> takes("hour", TimestampType()), takes("hour", DateType())
    (True, False)
    """
    match name:
        case "identity":
            return not isinstance(type_, _NESTED)
        case "bucket":
            return isinstance(type_, _HASHED)
        case "hour":
            return isinstance(type_, _TIMESTAMPS)
        case _:
            return isinstance(type_, (DateType, *_TIMESTAMPS))


def with_slice(transforms: Iterable[Transform], *, sliced: bool) -> tuple[Transform, ...]:
    return (SLICE, *transforms) if sliced else tuple(transforms)


def still_fitting(current: Iterable[Field], columns: StructType) -> tuple[Transform, ...]:
    """The transforms of a layout that the columns still allow."""
    types = {field.name: field.dataType for field in columns.fields}
    found = (field.transform for field in current if field.transform is not None)
    return tuple(t for t in found if t.column in types and takes(t.name, types[t.column]))


# What is there


def read_fields(rows: Sequence[Row]) -> tuple[Field, ...]:
    """The fields among the rows of a DESCRIBE.

    Behind the columns stands a heading, which has no type as every column has. A layout of whole
    columns is listed by their names, any other by numbered parts.
    """
    found = [(str(row["col_name"]), str(row["data_type"])) for row in rows]
    for position, heading in enumerate(found):
        if heading == ("# Partition Information", ""):
            return tuple(parsed_field(name) for name, _ in found[position + 2 :])
        if heading == ("# Partitioning", ""):
            return tuple(parsed_field(text) for _, text in found[position + 1 :])
    return ()


def parsed_field(text: str) -> Field:
    """
    >>> parsed_field("months(`at time`)").transform
    Transform(name='month', column='at time', buckets=None)
    >>> parsed_field("truncate(3, name)").transform is None
    True
    """
    match = _FIELD.fullmatch(text)
    if match is None:
        return Field(text, None)
    if match["column"]:
        return Field(text, Transform("identity", _unquoted(match["column"])))
    if match["bucketed"]:
        column = _unquoted(match["bucketed"])
        return Field(text, Transform("bucket", column, int(match["buckets"])))
    name: TransformName = match["time"]  # type: ignore[assignment]
    return Field(text, Transform(name, _unquoted(match["timed"])))


def is_split(fields: Iterable[Field]) -> bool:
    """Whether a slice may have more than one partition of the table."""
    return any(field.transform != SLICE for field in fields)


# From one to the other


def difference(current: Sequence[Field], wanted: Sequence[Transform]) -> Change:
    """What must change; the order of fields means nothing."""
    there = {field.transform for field in current}
    return Change(
        tuple(field for field in current if field.transform not in wanted),
        tuple(transform for transform in wanted if transform not in there),
    )


def creation(
    wanted: Sequence[Transform],
    columns: Collection[str],
    current: Sequence[Field] = (),
    used: Collection[str] = (),
) -> Creation:
    """What a table is created with, or replaced, without two fields of one name.

    Fields have names, which nobody ever sees but Iceberg: it keeps all that a table ever had in
    one struct, and where two of them have one name, nothing can list the table's files any more.
    `CREATE TABLE` takes no names and calls any number of buckets `<column>_bucket`.

    `used` are the names of all the fields that the table ever had. A field that is there now under
    its name can be stated again; where the name is another's, the field comes later.
    """
    there = {field.transform for field in current}
    stated: dict[str, Transform] = {}
    for transform in wanted:
        name = created_name(transform)
        again = transform in there and not _has_other_name(transform, used)
        clashes = name in stated or is_anothers(name, transform, columns)
        # Spark's writer parses the names of columns again, without their quotes.
        plain = _PLAIN.fullmatch(transform.column)
        if plain and not clashes and (name not in used or again):
            stated[name] = transform
    later = tuple(transform for transform in wanted if transform not in stated.values())
    return Creation(tuple(stated.values()), later)


def created_name(transform: Transform) -> str:
    """What Iceberg calls the field when a table is created with it.

    >>> created_name(Transform("bucket", "id", 8)), created_name(Transform("day", "at"))
    ('id_bucket', 'at_day')
    """
    if transform.name == "identity":
        return transform.column
    return f"{transform.column}_{transform.name}"


def free_name(transform: Transform, taken: Collection[str]) -> str:
    """A name for a field that is added.

    >>> free_name(Transform("day", "at"), {"at_day", "at_day_2"})
    'at_day_3'
    """
    name = first = _added_name(transform)
    number = 1
    while name in taken:
        number += 1
        name = f"{first}_{number}"
    return name


def is_anothers(name: str, transform: Transform, columns: Collection[str]) -> bool:
    """Whether a column has that name; the field that is the column itself may have it too."""
    return name in columns and (transform.name, transform.column) != ("identity", name)


def written_field(transform: Transform) -> str:
    """The field in SQL."""
    column = quoted_name(transform.column)
    if transform.name == "identity":
        return column
    if transform.buckets is not None:
        return f"bucket({transform.buckets}, {column})"
    return f"{transform.name}({column})"


def _has_other_name(transform: Transform, used: Iterable[str]) -> bool:
    """Whether one of the names can be the field's, besides that which it was created with."""
    added = re.compile(rf"{re.escape(_added_name(transform))}(_\d+)?")
    return any(added.fullmatch(name) and name != created_name(transform) for name in used)


def _added_name(transform: Transform) -> str:
    """What Iceberg calls the field when it is added to a table."""
    name = created_name(transform)
    return name if transform.buckets is None else f"{name}_{transform.buckets}"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
