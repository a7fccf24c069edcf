"""The rows of a table at a snapshot, by Spark's own reader of Parquet."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial, reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from tranche.errors import SourceMissing
from tranche.lakes.ducklake.catalog import LAKE, META, Catalog
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.files import absolute
from tranche.lakes.ducklake.metadata import (
    FIELD_ID,
    Contents,
    DataFile,
    LakeColumn,
    Mapped,
    Version,
    check_located,
)
from tranche.lakes.ducklake.paths import address
from tranche.lakes.ducklake.telling import Told, told
from tranche.lakes.tuning import set_meanwhile
from tranche.script.binding import escaped_path, quoted_name

FILE, POSITION = "_tranche_file", "_tranche_position"
"""Where a row is: the file as DuckDB spells it, and the number of the row in it."""
_ADDRESS = "_tranche_address"
_ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})")
_SNAPSHOT = "_ducklake_internal_snapshot_id"
_AT_ONCE = {
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "32",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
}
"""In a bucket, each file is looked at by a request, which takes its time: many at once."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What files must have in common to be read together."""

    mapping: int | None
    told: Told
    later: tuple[int, ...]
    """The columns that they have not, whose rows have a default."""
    deletes: bool
    partial: bool


def read(
    session: SparkSession,
    catalog: Catalog,
    found: Contents,
    *,
    located: bool = False,
) -> DataFrame:
    """All rows; if they are to be located, each says where it is."""
    with set_meanwhile(session, {} if catalog.lake.bucket is None else _AT_ONCE):
        frames = [
            _frame(session, catalog, found, kind, files, located=located)
            for kind, files in _grouped(found).items()
        ]
    if found.inlined:
        frames.append(_inlined(session, catalog, found, located=located))
    if not frames:
        return session.createDataFrame([], _schema(found, located=located))
    return reduce(DataFrame.unionAll, frames)


def _grouped(found: Contents) -> dict[_Kind, list[DataFile]]:
    grouped: dict[_Kind, list[DataFile]] = defaultdict(list)
    deleted = {file for file, _ in found.gone}
    telling = cache(partial(told, found))
    for file in found.files:
        kind = _Kind(
            file.mapping,
            telling(os.path.dirname(file.path), file.mapping, file.layout),
            tuple(number for number, having in found.having.items() if file.id not in having),
            bool(file.deletes) or file.id in deleted,
            file.partial,
        )
        grouped[kind].append(file)
    return grouped


def _frame(
    session: SparkSession,
    catalog: Catalog,
    found: Contents,
    kind: _Kind,
    files: Sequence[DataFile],
    *,
    located: bool,
) -> DataFrame:
    physical, columns = _physical(found, kind)
    if kind.partial:
        physical.append(StructField(_SNAPSHOT, LongType()))
    folders = kind.told.names
    named = {name.lower() for name in folders}
    fields = [field for field in physical if field.name.lower() not in named]
    fields += [StructField(name, StringType()) for name in folders]
    reader = session.read.schema(StructType(fields))
    if folders:
        # It is no pattern, unlike the paths of files.
        reader = reader.option("basePath", found.version.path)
    rows = _opened(reader, catalog, found, files)
    if kind.partial:
        at = found.version.snapshot
        rows = rows.where(F.coalesce(F.col(_SNAPSHOT), F.lit(0)) <= at)
    if kind.deletes or located:
        path = F.regexp_replace("_metadata.file_path", "^file:/+", "/")
        rows = rows.select(
            *(column.alias(f"_{number}") for number, column in enumerate(columns)),
            path.alias(_ADDRESS),
            F.col("_metadata.row_index").alias(POSITION),
        )
        columns = [F.col(f"_{number}") for number in range(len(columns))]
    if kind.deletes:
        gone = _positions(session, found, files)
        rows = rows.join(gone, [_ADDRESS, POSITION], "left_anti")
    if located:
        rows = rows.join(F.broadcast(_named(session, files)), _ADDRESS)
        columns = [*columns, F.col(FILE), F.col(POSITION)]
    names = _schema(found, located=located).names
    return rows.select(*(c.alias(n) for c, n in zip(columns, names, strict=True)))


def _opened(
    reader: DataFrameReader, catalog: Catalog, found: Contents, files: Sequence[DataFile]
) -> DataFrame:
    try:
        return reader.parquet(*(escaped_path(file.path) for file in files))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        # Spark names the first that it missed, in its own spelling.
        there = catalog.files.sizes(found.version.path)
        others = (file.path for file in files if file.path not in there)
        gone = next((path for path in others if not catalog.files.exists(path)), None)
        raise SourceMissing(
            f"{gone or files[0].path} is named by the catalog, and Spark finds no such file",
            "bring it back, go back to a snapshot without it, or see that Spark reaches the folder",
        ) from error


def _physical(found: Contents, kind: _Kind) -> tuple[list[StructField], list[Column]]:
    """The columns as the files have them, and what is made of each."""
    fields: list[StructField] = []
    columns: list[Column] = []
    values = dict(kind.told.values)
    mapped = found.mappings.get(kind.mapping, ()) if kind.mapping is not None else None
    by_id = {each.column: each for each in mapped or ()}
    named = {name.lower(): name for name in kind.told.names}
    for column in found.version.columns:
        given = by_id.get(column.id)
        if mapped is not None and given is None:
            columns.append(_default(column))
            continue
        if given is not None and given.source.lower() in values:
            columns.append(F.lit(values[given.source.lower()]).cast(column.spark))
            continue
        source = given.source if given is not None else column.name
        if source.lower() in named and (given is None or given.in_path):
            text = F.col(quoted_name(named[source.lower()]))
            if kind.told.in_bytes:
                text = F.decode(F.encode(text, "ISO-8859-1"), "UTF-8")
            columns.append(text.cast(column.spark))
            continue
        if column.id in kind.later:
            columns.append(_default(column))
            continue
        if given is not None:
            type_ = _mapped_type(column, given)
            fields.append(StructField(source, type_))
            read = F.col(quoted_name(source))
            read = read if type_ == column.spark else read.cast(column.spark)
            columns.append(_filled(read, column, kind.later))
        else:
            fields.append(StructField(source, _numbered(column), True, {FIELD_ID: column.id}))
            read = F.col(quoted_name(source)).cast(column.spark)
            columns.append(_filled(read, column, kind.later))
    return fields, columns


def _default(column: LakeColumn) -> Column:
    if column.default is not None and isinstance(column.spark, BinaryType):
        return F.lit(_bytes(column.default))
    return F.lit(column.default).cast(column.spark)


def _bytes(text: str) -> bytes:
    """What DuckDB reads as a BLOB.

    >>> _bytes("\\\\x00\\\\xFFa")
    b'\\x00\\xffa'
    """
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text).encode("latin-1")


def _filled(value: Column, column: LakeColumn, later: Collection[int]) -> Column:
    """A value whose parts have their defaults where the files do not have them."""
    if not any(part.id in later for part in column.every[1:]):
        return value
    match column.type:
        case "struct":
            parts = [
                _default(part)
                if part.id in later
                else _filled(value.getField(part.name), part, later)
                for part in column.parts
            ]
            named = F.struct(*(p.alias(c.name) for p, c in zip(parts, column.parts, strict=True)))
            return F.when(value.isNotNull(), named)
        case "list":
            return F.transform(value, lambda each: _filled(each, column.parts[0], later))
        case _:
            return F.transform_values(value, lambda _, each: _filled(each, column.parts[1], later))


def _numbered(column: LakeColumn) -> DataType:
    """Its type, whose parts are found by their numbers."""
    match column.type:
        case "struct":
            return StructType(
                [StructField(p.name, _numbered(p), True, {FIELD_ID: p.id}) for p in column.parts]
            )
        case "list":
            return ArrayType(_numbered(column.parts[0]))
        case "map":
            return MapType(_numbered(column.parts[0]), _numbered(column.parts[1]))
    return column.spark


def _mapped_type(column: LakeColumn, given: Mapped) -> DataType:
    """Its type, whose parts are called as in the files; those that files lack have no name there."""
    names = {part.column: part for part in given.parts}

    def part(each: LakeColumn) -> DataType:
        held = names.get(each.id)
        return each.spark if held is None else _mapped_type(each, held)

    match column.type:
        case "struct":
            return StructType(
                [
                    StructField(
                        names[p.id].source if p.id in names else f"_tranche_missing_{p.id}", part(p)
                    )
                    for p in column.parts
                ]
            )
        case "list":
            return ArrayType(part(column.parts[0]))
        case "map":
            return MapType(part(column.parts[0]), part(column.parts[1]))
    return column.spark


def _positions(session: SparkSession, found: Contents, files: Sequence[DataFile]) -> DataFrame:
    """The rows of files that are gone."""
    frames = []
    pairs = [
        (address(absolute(gone)), address(file.path)) for file in files for gone in file.deletes
    ]
    if pairs:
        schema = StructType([StructField("pos", LongType()), StructField(_SNAPSHOT, LongType())])
        paths = [escaped_path(absolute(gone)) for file in files for gone in file.deletes]
        rows = session.read.schema(schema).parquet(*paths)
        rows = rows.where(F.coalesce(F.col(_SNAPSHOT), F.lit(0)) <= found.version.snapshot)
        rows = rows.select(
            F.regexp_replace("_metadata.file_path", "^file:/+", "/").alias("_gone"), "pos"
        )
        owners = session.createDataFrame(pairs, f"_gone string, {_ADDRESS} string")
        rows = rows.join(F.broadcast(owners), "_gone")
        frames.append(rows.select(_ADDRESS, F.col("pos").alias(POSITION)))
    known = {file.id: address(file.path) for file in files}
    kept = [(known[file], row) for file, row in found.gone if file in known]
    if kept:
        frames.append(session.createDataFrame(kept, f"{_ADDRESS} string, {POSITION} long"))
    return reduce(DataFrame.unionAll, frames)


def _named(session: SparkSession, files: Iterable[DataFile]) -> DataFrame:
    pairs = [(address(file.path), file.name) for file in files]
    return session.createDataFrame(pairs, f"{_ADDRESS} string, {FILE} string")


def _schema(found: Contents, *, located: bool) -> StructType:
    fields = list(found.version.schema.fields)
    if located:
        fields += [StructField(FILE, StringType()), StructField(POSITION, LongType())]
    return StructType(fields)


def _inlined(
    session: SparkSession, catalog: Catalog, found: Contents, *, located: bool
) -> DataFrame:
    """The rows that the catalog itself has, which are few."""
    names = ", ".join(identifier(column.name) for column in found.version.columns)
    listed = ", ".join("?" for _ in found.inlined)
    where, table = table_of(catalog, found.version), found.version
    check_located(table, where)
    rows = catalog.rows(
        f"SELECT {names}, filename, file_row_number FROM {where} AT (VERSION => {table.snapshot})"
        f" WHERE filename IN ({listed})",
        found.inlined,
    )
    columns = table.columns
    width = len(columns) + (2 if located else 0)
    values = [
        tuple(
            _value(value, columns[number].spark) if number < len(columns) else value
            for number, value in enumerate(row[:width])
        )
        for row in rows
    ]
    return session.createDataFrame(values, _schema(found, located=located))


def table_of(catalog: Catalog, version: Version) -> str:
    """What stands for a table in statements at a snapshot."""
    at = version.snapshot
    rows = catalog.rows(
        f"SELECT s.schema_name, t.table_name FROM {META}.ducklake_table t"
        f" JOIN {META}.ducklake_schema s USING (schema_id) WHERE t.table_id = ?"
        " AND t.begin_snapshot <= ? AND (t.end_snapshot IS NULL OR t.end_snapshot > ?)",
        (version.id, at, at),
    )
    if not rows:
        raise SourceMissing("the table was removed meanwhile", "run it again")
    return ".".join((LAKE, *(identifier(str(part)) for part in rows[0])))


def _value(value: Any, type_: DataType) -> Any:
    """A value of DuckDB's as Spark takes it."""
    if value is None:
        return None
    match type_:
        case StructType():
            return tuple(_value(value[f.name], f.dataType) for f in type_.fields)
        case ArrayType():
            return [_value(each, type_.elementType) for each in value]
        case MapType():
            return {
                _value(k, type_.keyType): _value(v, type_.valueType) for k, v in _entries(value)
            }
        case DecimalType():
            return Decimal(value)
    return bytearray(value) if isinstance(value, bytes | bytearray | memoryview) else value


def _entries(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        if set(value) == {"key", "value"} and isinstance(value["key"], list):
            return zip(value["key"], value["value"], strict=True)
        return value.items()
    return [(each["key"], each["value"]) for each in value]
