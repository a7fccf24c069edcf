"""How an Iceberg table lays out its files: what it does now, what it should do, and the way there.

A layout is a list of fields, one for each transform, and on a table with slices the managed column
is always one of them. Changing it changes metadata only: files that are there stay as they are, and
new ones are split by the fields that the table has then.

Fields have names, which nobody ever sees but Iceberg: it keeps all that a table ever had in one
struct, and where two of them have one name, nothing can list the table's files any more. `ALTER
TABLE` takes a name, so what is added there gets a free one. `CREATE TABLE` takes none and calls
any number of buckets `<column>_bucket`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from tranche.errors import ColumnsRejected, CommitLost, Place, SourceMissing
from tranche.lake.columns import Fit
from tranche.lake.failures import comes_from_spark, explained
from tranche.lake.iceberg import TableFacts, table_facts
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout, Transform, TransformName, canonical, finest
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.script.binding import quoted, quoted_name

LAYOUT = "tranche.layout"
"""The property of a table whose layout comes from a line of a script, with its canonical text."""
SLICE = Transform("identity", PARTITION_COLUMN)

_TRIES = 8
_NAME = r"(?:`(?:[^`]|``)+`|[^`(),. ]+)"
_FIELD = re.compile(
    rf"(?P<column>{_NAME})"
    rf"|bucket\((?P<buckets>\d+), (?P<bucketed>{_NAME})\)"
    rf"|(?P<time>year|month|day|hour)s\((?P<timed>{_NAME})\)"
)
_HISTORY = dict(
    zip(HISTORY_COLUMNS, (TimestampType(), TimestampType(), BooleanType()), strict=True)
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


# What is wanted


def columns_to_be(
    fitted: Fit, facts: TableFacts | None, managed: Collection[str] = ()
) -> StructType:
    """The columns that the table has once the rows are in it."""
    if facts is None or fitted.rebuild:
        more = [StructField(name, type_) for name, type_ in _HISTORY.items() if name in managed]
        return StructType([*fitted.rows.schema.fields, *more])
    fields = {field.name: field for field in facts.columns.fields}
    fields.update({field.name: field for field in (*fitted.widened, *fitted.added)})
    return StructType(list(fields.values()))


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


def current_fields(session: SparkSession, table: LakeTable) -> tuple[Field, ...]:
    return read_fields(session.sql(f"DESCRIBE TABLE {quoted(table)}").collect())


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


@dataclass(frozen=True, slots=True)
class Creation:
    """A layout for CREATE TABLE, and those of its fields that it cannot have from the start."""

    stated: tuple[Transform, ...]
    later: tuple[Transform, ...]


def creation(
    wanted: Sequence[Transform],
    columns: Collection[str],
    current: Sequence[Field] = (),
    used: Collection[str] = (),
) -> Creation:
    """What a table is created with, or replaced, without two fields of one name.

    `used` are the names of all the fields that the table ever had. A field that is there now under
    its name can be stated again; where the name is another's, the field comes later.
    """
    there = {field.transform for field in current}
    stated: dict[str, Transform] = {}
    for transform in wanted:
        name = created_name(transform)
        again = transform in there and not _has_other_name(transform, used)
        clashes = name in stated or _is_anothers(name, transform, columns)
        # Spark's writer parses the names of columns again, without their quotes.
        plain = _PLAIN.fullmatch(transform.column)
        if plain and not clashes and (name not in used or again):
            stated[name] = transform
    later = tuple(transform for transform in wanted if transform not in stated.values())
    return Creation(tuple(stated.values()), later)


def partition_columns(transforms: Iterable[Transform]) -> list[Column]:
    """The fields as a DataFrame's writer takes them."""
    return [_partition_column(transform) for transform in transforms]


def used_names(session: SparkSession, table: LakeTable) -> frozenset[str]:
    """The names of all fields that the table ever had."""
    columns = session.table(f"{quoted(table)}.`files`").schema
    if "partition" not in columns.names:
        return frozenset()
    fields = columns["partition"].dataType
    assert isinstance(fields, StructType)
    return frozenset(fields.names)


def recreation(
    session: SparkSession,
    table: LakeTable,
    wanted: Sequence[Transform] | None,
    facts: TableFacts,
    columns: StructType,
) -> Creation:
    """The layout for a table that is made anew with other columns."""
    current = current_fields(session, table)
    if wanted is None and LAYOUT not in facts.properties:
        wanted = _still_fitting(current, columns)
    return creation(wanted or (), columns.names, current, used_names(session, table))


def lay_out(
    session: SparkSession,
    table: LakeTable,
    wanted: Sequence[Transform] | None,
    facts: TableFacts,
) -> bool:
    """Gives a table its layout, if it has another, and says whether it splits slices then.

    Where no line asks for one, a layout that came from a line goes with it, and any other stays.
    """
    stated = facts.properties.get(LAYOUT)
    unasked = wanted is None and stated is None
    # Most tables never had a layout, and a schema is the quickest way to learn of it.
    if unasked and used_names(session, table) <= {PARTITION_COLUMN}:
        return False
    current = current_fields(session, table)
    if unasked:
        return is_split(current)
    fields = with_slice(wanted or (), sliced=facts.sliced)
    text = None if wanted is None else canonical(wanted)
    if text == stated and not difference(current, fields):
        return is_split(current)
    if stated is None:
        # First, so that it can be undone even if this ends half way.
        _set_property(session, table, str(text))
    current = evolve(session, table, fields)
    if text is None:
        forget(session, table)
    elif stated not in (None, text):
        _set_property(session, table, text)
    return is_split(current)


def set_layout(session: SparkSession, asked: SetLayout) -> None:
    """What somebody asks for by hand; it then does not come from a line any more."""
    table = asked.table
    facts = table_facts(session, table)
    if facts is None:
        raise SourceMissing(f"{table} does not exist", "make it first, or correct its name")
    wanted = fitted_layout(asked.transforms, facts.columns)
    evolve(session, table, with_slice(wanted, sliced=facts.sliced))
    if LAYOUT in facts.properties:
        forget(session, table)


def evolve(
    session: SparkSession, table: LakeTable, wanted: Sequence[Transform]
) -> tuple[Field, ...]:
    """Makes the fields of a table these; others may be doing the same."""
    for number in range(_TRIES):
        current = current_fields(session, table)
        change = difference(current, wanted)
        if not change:
            return current
        try:
            _apply(session, table, change)
        except Exception as error:
            if number == _TRIES - 1 or not _raced(session, table, error, current):
                raise
            time.sleep(0.05 * 2**number)
    return current_fields(session, table)


def forget(session: SparkSession, table: LakeTable) -> None:
    session.sql(f"ALTER TABLE {quoted(table)} UNSET TBLPROPERTIES IF EXISTS ('{LAYOUT}')")


def _apply(session: SparkSession, table: LakeTable, change: Change) -> None:
    name = quoted(table)
    for field in change.drops:
        session.sql(f"ALTER TABLE {name} DROP PARTITION FIELD {field.text}")
    if not change.adds:
        return
    columns = set(session.table(name).columns)
    used = set(used_names(session, table))
    for transform in change.adds:
        free = PARTITION_COLUMN
        if transform != SLICE:
            others = {other for other in columns if _is_anothers(other, transform, columns)}
            free = free_name(transform, used | others)
        used.add(free)
        session.sql(
            f"ALTER TABLE {name} ADD PARTITION FIELD {_written(transform)} AS {quoted_name(free)}"
        )


def _raced(
    session: SparkSession, table: LakeTable, error: Exception, before: Sequence[Field]
) -> bool:
    """Whether somebody else was faster: committed something, or changed the layout."""
    if not comes_from_spark(error):
        return False
    return isinstance(explained(error), CommitLost) or current_fields(session, table) != before


def _still_fitting(current: Iterable[Field], columns: StructType) -> tuple[Transform, ...]:
    """The transforms of a layout that the columns still allow."""
    types = {field.name: field.dataType for field in columns.fields}
    found = (field.transform for field in current if field.transform is not None)
    return tuple(t for t in found if t.column in types and takes(t.name, types[t.column]))


def _is_anothers(name: str, transform: Transform, columns: Collection[str]) -> bool:
    """Whether a column has that name; the field that is the column itself may have it too."""
    return name in columns and (transform.name, transform.column) != ("identity", name)


def _has_other_name(transform: Transform, used: Iterable[str]) -> bool:
    """Whether one of the names can be the field's, besides that which it was created with."""
    added = re.compile(rf"{re.escape(_added_name(transform))}(_\d+)?")
    return any(added.fullmatch(name) and name != created_name(transform) for name in used)


def _added_name(transform: Transform) -> str:
    """What Iceberg calls the field when it is added to a table."""
    name = created_name(transform)
    return name if transform.buckets is None else f"{name}_{transform.buckets}"


def _written(transform: Transform) -> str:
    """The field in SQL."""
    column = quoted_name(transform.column)
    if transform.name == "identity":
        return column
    if transform.buckets is not None:
        return f"bucket({transform.buckets}, {column})"
    return f"{transform.name}({column})"


def _partition_column(transform: Transform) -> Column:
    column = F.col(quoted_name(transform.column))
    match transform.name:
        case "identity":
            return column
        case "bucket":
            assert transform.buckets is not None
            return partitioning.bucket(transform.buckets, column)
        case "year":
            return partitioning.years(column)
        case "month":
            return partitioning.months(column)
        case "day":
            return partitioning.days(column)
        case "hour":
            return partitioning.hours(column)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _set_property(session: SparkSession, table: LakeTable, text: str) -> None:
    value = text.replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"ALTER TABLE {quoted(table)} SET TBLPROPERTIES ('{LAYOUT}' = '{value}')")
