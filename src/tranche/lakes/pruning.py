"""How many partitions of a table a scan has read.

Iceberg counts the files that a scan reads, and not their partitions. Its metadata has all
partitions with their files, and a scan has the filters that chose among them. Where the partitions
that a filter can mean have exactly the files and bytes that were read, these are the partitions
that were read; otherwise there are bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tranche.lakes.iceberg.layout import current_fields
from tranche.lakes.layout_fields import created_name
from tranche.lakes.parameters import asked
from tranche.lakes.periods import nearest
from tranche.lakes.predicates import Predicate
from tranche.model.asset import LakeTable
from tranche.model.layout import TIMES, Transform
from tranche.model.scan import Portion
from tranche.script.binding import quoted, quoted_name

_MOST_VALUES = 200
_HELD = """\
count_if({0}) AS {1}_partitions, sum(if({0}, file_count, 0)) AS {1}_files,
sum(if({0}, total_data_file_size_in_bytes, 0)) AS {1}_bytes, max(if({0}, file_count, 0)) AS {1}_largest
"""
_PARTITIONS = "SELECT {} FROM {}.partitions VERSION AS OF {} WHERE file_count > 0"


@dataclass(frozen=True, slots=True)
class FilesRead:
    """How many files a scan has read, at least and at most."""

    least: int
    most: int
    bytes: int | None = None
    """What they have, if their number is certain."""


@dataclass(frozen=True, slots=True)
class Held:
    """What some partitions of a table hold."""

    partitions: int
    files: int
    bytes: int
    largest: int
    """The most files that one of them has."""


@dataclass(frozen=True, slots=True)
class TableParts:
    """A table at a snapshot by its partitions."""

    partitioned: bool
    every: Held
    certain: Held
    """Those that can have rows for the filters, whatever is read; all, if the filters do not say."""
    likely: Held
    """Of these, those that have if the fields of the table are what their names say."""


def table_parts(
    session: SparkSession, table: LakeTable, snapshot: str, predicates: Sequence[Predicate]
) -> TableParts:
    fields = _fields(session, table)
    conditions = _Conditions(table, session.table(quoted(table)).schema)
    certain = conditions.all_of(
        predicates, {name: t for name, t in fields.items() if t.name == "identity"}
    )
    likely = conditions.all_of(predicates, fields)
    columns = ", ".join(
        _HELD.format(condition, name)
        for name, condition in (("every", "true"), ("certain", certain), ("likely", likely))
    )
    statement = _PARTITIONS.format(columns, quoted(table), int(snapshot))
    [row] = asked(session, statement, conditions.arguments).collect()

    def held(name: str) -> Held:
        names = (f"{name}_{what}" for what in ("partitions", "files", "bytes", "largest"))
        return Held(*(int(row[each] or 0) for each in names))

    partitioned = _partition_type(session, table) is not None
    return TableParts(partitioned, held("every"), held("certain"), held("likely"))


def partitions_read(read: FilesRead, parts: TableParts) -> Portion:
    """
    >>> every = Held(partitions=5, files=20, bytes=200, largest=4)
    >>> day = Held(partitions=1, files=4, bytes=40, largest=4)
    >>> str(partitions_read(FilesRead(4, 4, 40), TableParts(True, every, every, day)))
    '1 of 5'
    >>> str(partitions_read(FilesRead(5, 5, 55), TableParts(True, every, every, every)))
    'at most 5 of 5'
    >>> str(partitions_read(FilesRead(3, 3, 33), TableParts(True, every, day, day)))
    '1 of 5'
    """
    of = parts.every.partitions
    exact = read.least == read.most
    if exact and read.most and (read.most, read.bytes) == (parts.likely.files, parts.likely.bytes):
        return Portion(parts.likely.partitions, parts.likely.partitions, of)
    within = parts.certain if parts.certain.files >= read.least else parts.every
    if exact and read.most == within.files:
        return Portion(within.partitions, within.partitions, of)
    # No partition has more files than the largest, so that it takes some to have so many.
    least = -(-read.least // within.largest) if within.largest else 0
    return Portion(least, max(least, min(read.most, within.partitions)), of)


def _fields(session: SparkSession, table: LakeTable) -> dict[str, Transform]:
    """The fields of the table's layout by the names under which its metadata has their values."""
    struct = _partition_type(session, table)
    if struct is None:
        return {}
    found = {}
    for field in current_fields(session, table):
        if field.transform is None:
            continue
        created = created_name(field.transform)
        for name in (f"{created}_{field.transform.buckets}", created):
            if name in struct.names:
                found[name] = field.transform
                break
    return found


def _partition_type(session: SparkSession, table: LakeTable) -> StructType | None:
    columns = session.table(f"{quoted(table)}.`partitions`").schema
    if "partition" not in columns.names:
        return None
    struct = columns["partition"].dataType
    assert isinstance(struct, StructType)
    return struct


class _Conditions:
    """Filters on columns as conditions on the values of partition fields."""

    def __init__(self, table: LakeTable, columns: StructType) -> None:
        self.bucket = f"{quoted_name(table.lake)}.system.bucket"
        self.types = {field.name: field.dataType for field in columns.fields}
        self.arguments: dict[str, str] = {}

    def all_of(self, predicates: Sequence[Predicate], fields: Mapping[str, Transform]) -> str:
        """What must hold; a filter that says nothing about a field is left out."""
        conditions = []
        for name, transform in fields.items():
            field = f"partition.{quoted_name(name)}"
            for predicate in predicates:
                if predicate.column != transform.column:
                    continue
                condition = self.condition(field, transform, predicate)
                if condition is not None:
                    # Files of an older layout have no value for a field that came later.
                    conditions.append(f"({field} IS NULL OR {condition})")
        return " AND ".join(conditions) or "true"

    def condition(self, field: str, transform: Transform, predicate: Predicate) -> str | None:
        type_ = self.types.get(predicate.column)
        if type_ is None or len(predicate.values) > _MOST_VALUES:
            return None
        if transform.name in TIMES:
            return self.period(field, transform, predicate, type_)
        values = [self.typed(value, type_) for value in predicate.values]
        if any(value is None for value in values):
            return None
        if transform.name == "identity":
            tests = (f"{field} {predicate.comparison} {value}" for value in values)
            return f"({' OR '.join(tests)})"
        if predicate.comparison != "=":
            return None
        hashed = (f"{self.bucket}({transform.buckets}, {value})" for value in values)
        return f"{field} IN ({', '.join(hashed)})"

    def period(
        self, field: str, transform: Transform, predicate: Predicate, type_: DataType
    ) -> str | None:
        number = f"unix_date({field})" if transform.name == "day" else field
        tests = []
        for value in predicate.values:
            if not value.lstrip("-").isdigit() or not isinstance(
                type_, DateType | TimestampType | TimestampNTZType
            ):
                return None
            found = nearest(
                transform.name, predicate.comparison, int(value), days=isinstance(type_, DateType)
            )
            if found is None:
                return None
            tests.append(f"{number} {found[0]} {found[1]}")
        return f"({' OR '.join(tests)})"

    def typed(self, value: str, type_: DataType) -> str | None:
        """A value of a column's type, bound."""
        name = f"v{len(self.arguments)}"
        match type_:
            case StringType():
                text = f":{name}"
            case IntegerType() | LongType():
                text = f"CAST(:{name} AS {type_.simpleString()})"
            case DateType():
                text = f"date_from_unix_date(CAST(:{name} AS INT))"
            case TimestampType():
                text = f"timestamp_micros(CAST(:{name} AS BIGINT))"
            case _:
                return None
        self.arguments[name] = value
        return text
