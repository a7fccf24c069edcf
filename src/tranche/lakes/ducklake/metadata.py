"""What the catalog of a DuckLake says of a table: its columns, its layout and its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from tranche.errors import ColumnsRejected, EngineError
from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.files import absolute
from tranche.lakes.ducklake.types import is_written, spark_type

FIELD_ID = "parquet.field.id"
"""What Spark calls the number of a column in the files."""
_KNOWN = 1_000
"""How many answers are kept."""
_T = TypeVar("_T")
_ALIVE = "{0}begin_snapshot <= ? AND ({0}end_snapshot IS NULL OR {0}end_snapshot > ?)"


@dataclass(frozen=True)
class LakeColumn:
    """A column of a table, or a part of one."""

    id: int
    name: str
    type: str
    nullable: bool
    default: str | None
    """What rows have that were there before it."""
    since: int
    """The snapshot that brought it."""
    parts: tuple[LakeColumn, ...] = ()

    @cached_property
    def spark(self) -> DataType:
        """Its type in Spark, which is there if it is `readable`."""
        match self.type:
            case "struct":
                return StructType([part.field for part in self.parts])
            case "list":
                return ArrayType(self.parts[0].spark)
            case "map":
                return MapType(self.parts[0].spark, self.parts[1].spark)
        found = spark_type(self.type)
        assert found is not None, f"{self.name} is of the type {self.type}"
        return found

    @property
    def field(self) -> StructField:
        return StructField(self.name, self.spark)

    @property
    def every(self) -> tuple[LakeColumn, ...]:
        """It and all of its parts."""
        return (self, *(each for part in self.parts for each in part.every))

    @property
    def unreadable(self) -> str | None:
        """The type in it that Spark has not, if there is one."""
        if self.type in ("struct", "list", "map"):
            return next((found for part in self.parts if (found := part.unreadable)), None)
        return None if spark_type(self.type) is not None else self.type

    @property
    def unwritable(self) -> str | None:
        """The type in it that Spark does not write as it is."""
        if self.type in ("struct", "list", "map"):
            return next((found for part in self.parts if (found := part.unwritable)), None)
        return None if is_written(self.type) else self.type


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a layout, as the catalog has it."""

    index: int
    column: int
    transform: str


@dataclass(frozen=True)
class Version:
    """A table at a snapshot."""

    id: int
    snapshot: int
    begin: int
    name: str
    """Its folder, as DuckDB spells it."""
    columns: tuple[LakeColumn, ...]
    fields: tuple[PartitionField, ...] = ()
    """Its layout; empty if it has none."""

    @cached_property
    def path(self) -> str:
        return absolute(self.name)

    @cached_property
    def schema(self) -> StructType:
        return StructType([column.field for column in self.columns])

    def column(self, name: str) -> LakeColumn | None:
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)

    def by_id(self, number: int) -> LakeColumn | None:
        return next((c for c in self.columns if c.id == number), None)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table at a snapshot, and the file that says which of its rows are gone."""

    id: int
    name: str
    """Its path, as DuckDB spells it."""
    rows: int
    size: int
    begin: int
    mapping: int | None = None
    partial: bool = False
    """Whether its rows say themselves since which snapshot they are there."""
    layout: int | None = None
    """The number of the layout that it was written with."""
    deletes: tuple[str, ...] = ()
    deleted: int = 0
    seen_at: int | None = None
    """The snapshot that it is looked at from, if rows came to it or were deleted from it later: the
    numbers above count these too."""

    @property
    def path(self) -> str:
        return absolute(self.name)


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a column is called in files that somebody registered."""

    source: str
    column: int
    in_path: bool
    """Whether the names of the folders tell its value."""
    parts: tuple[Mapped, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """Where the rows of a table are at a snapshot."""

    version: Version
    files: tuple[DataFile, ...]
    mappings: Mapping[int, tuple[Mapped, ...]] = field(default_factory=dict)
    layouts: Mapping[int, tuple[PartitionField, ...]] = field(default_factory=dict)
    inlined: tuple[str, ...] = ()
    """The tables of the catalog that have rows of it."""
    gone: tuple[tuple[int, int], ...] = ()
    """Files and rows of them that the catalog itself knows as deleted."""
    having: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """The files that have a column, for each that has a default where it is missing."""


def latest_snapshot(catalog: Catalog) -> int:
    return int(catalog.rows(f"SELECT max(snapshot_id) FROM {META}.ducklake_snapshot")[0][0])


def last_change(catalog: Catalog, version: Version) -> int:
    """The snapshot that changed files or columns of a table last, as these tell themselves."""
    tables = ("data_file", "delete_file", "column")
    each = " UNION ALL ".join(
        "SELECT greatest(max(begin_snapshot), coalesce(max(end_snapshot), 0)) AS changed"
        f" FROM {META}.ducklake_{table} WHERE table_id = ?"
        for table in tables
    )
    ((found,),) = catalog.asked(
        f"SELECT coalesce(max(changed), 0) FROM ({each})", (version.id,) * len(tables)
    )
    return int(found)


def look(catalog: Catalog, schema: str, table: str, snapshot: int | None = None) -> Version | None:
    """A table at a snapshot, or now; None if there was none."""
    with catalog.using():
        at = latest_snapshot(catalog) if snapshot is None else snapshot
        asked = ("version", schema.lower(), table.lower(), at)
        if asked not in catalog.known:
            if len(catalog.known) > _KNOWN:
                catalog.known.clear()
            catalog.known[asked] = _look(catalog, schema, table, at)
        return cast(Version | None, catalog.known[asked])


def _look(catalog: Catalog, schema: str, table: str, at: int) -> Version | None:
    alive = f"{_ALIVE.format('t.')} AND {_ALIVE.format('s.')}"
    found = catalog.asked(
        f"SELECT t.table_id, (SELECT min(begin_snapshot) FROM {META}.ducklake_table o"
        " WHERE o.table_id = t.table_id), s.path, s.path_is_relative, t.path,"
        f" t.path_is_relative FROM {META}.ducklake_table t JOIN {META}.ducklake_schema s"
        " USING (schema_id) WHERE lower(s.schema_name) = lower(?)"
        f" AND lower(t.table_name) = lower(?) AND {alive}",
        (schema, table, at, at, at, at),
    )
    if not found:
        return None
    number, begin, above, above_relative, path, relative = found[0]
    root = joined(catalog.root, above, above_relative)
    return Version(
        int(number),
        at,
        int(begin),
        joined(root, path, relative),
        _columns(catalog, int(number), at),
        _layout(catalog, int(number), at),
    )


def contents(catalog: Catalog, version: Version) -> Contents:
    """Where the rows are."""
    return settled(catalog, version, lambda found: found)


def settled(catalog: Catalog, version: Version, use: Callable[[Contents], _T]) -> _T:
    """What is made of where the rows are.

    What DuckLake moves from the catalog to files, or from files to others, must not be found twice
    or not at all: neither while it is looked for, nor until rows of the catalog itself are fetched.
    """
    for _ in range(10):
        with catalog.using():
            before = latest_snapshot(catalog)
            found = _contents(catalog, version)
        made = use(found)
        with catalog.using():
            if before == latest_snapshot(catalog) or not _moved(catalog, version.id, before):
                return made
    raise EngineError("the table is being rewritten all the time", "run it again later")


def _contents(catalog: Catalog, version: Version) -> Contents:
    at, table = version.snapshot, version.id
    gone = catalog.missing(
        f"SELECT file_id, row_id FROM {META}.ducklake_inlined_delete_{table}"
        " WHERE begin_snapshot <= ?",
        (at,),
    )
    inlined = catalog.asked(
        f"SELECT table_name FROM {META}.ducklake_inlined_data_tables WHERE table_id = ?",
        (table,),
    )
    held = [
        str(name)
        for (name,) in inlined
        if catalog.missing(
            f'SELECT 1 FROM {META}."{name}" WHERE {_ALIVE.format("")} LIMIT 1', (at, at)
        )
    ]
    files = _files(catalog, version)
    known = {file.id for file in files}
    return Contents(
        version,
        files,
        _mappings(catalog, table) if any(file.mapping is not None for file in files) else {},
        _layouts(catalog, table) if any(file.layout is not None for file in files) else {},
        tuple(held),
        tuple((int(file), int(row)) for file, row in gone or () if int(file) in known),
        _having(catalog, version),
    )


def _having(catalog: Catalog, version: Version) -> dict[int, frozenset[int]]:
    """The files that have each column with a default, as their statistics tell."""
    found = {}
    for column in (each for own in version.columns for each in own.every):
        if column.default is not None:
            rows = catalog.asked(
                f"SELECT data_file_id FROM {META}.ducklake_file_column_stats"
                " WHERE table_id = ? AND column_id = ?",
                (version.id, column.id),
            )
            found[column.id] = frozenset(int(number) for (number,) in rows)
    return found


def _moved(catalog: Catalog, table: int, since: int) -> bool:
    """Whether rows of a table may have gone from one place to another."""
    changes = catalog.asked(
        f"SELECT changes_made FROM {META}.ducklake_snapshot_changes WHERE snapshot_id > ?",
        (since,),
    )
    plain = ("inserted_into", "deleted_from", "created", "altered", "inlined_")
    parts = [part for (made,) in changes for part in str(made).split(",")]
    return any(part.endswith(f":{table}") and not part.startswith(plain) for part in parts)


def _files(catalog: Catalog, version: Version) -> tuple[DataFile, ...]:
    at = version.snapshot
    rows = catalog.asked(
        "SELECT f.data_file_id, f.path, f.path_is_relative, f.record_count, f.file_size_bytes,"
        " f.begin_snapshot, f.mapping_id, f.partial_max, f.partition_id, f.encryption_key, d.path,"
        " d.path_is_relative, d.delete_count, d.format,"
        " coalesce(f.partial_max, 0) > ? OR coalesce(d.partial_max, 0) > ?"
        f" FROM {META}.ducklake_data_file f LEFT JOIN {META}.ducklake_delete_file d"
        f" ON d.data_file_id = f.data_file_id AND {_ALIVE.format('d.')}"
        f" WHERE f.table_id = ? AND {_ALIVE.format('f.')} ORDER BY f.data_file_id",
        (at, at, at, at, version.id, at, at),
    )
    found: dict[int, DataFile] = {}
    for row in rows:
        (number, path, relative, count, size, begin, mapping, partial, layout, key) = row[:10]
        gone, gone_relative, deleted, kind, later = row[10:]
        if key is not None:
            raise EngineError(
                f"{path} is encrypted with a key that Spark has not", "use files that are not"
            )
        if kind is not None and kind != "parquet":
            raise EngineError(
                f"rows of {path} are deleted by a file of the kind {kind}, which Tranche cannot"
                " read",
                "have DuckDB rewrite the table: CALL ducklake_rewrite_data_files(…)",
            )
        before = found.get(int(number))
        deletes = () if before is None else before.deletes
        if gone is not None:
            deletes = (*deletes, joined(version.name, gone, gone_relative))
        found[int(number)] = DataFile(
            int(number),
            joined(version.name, path, relative),
            int(count),
            int(size),
            int(begin),
            None if mapping is None else int(mapping),
            partial is not None,
            None if layout is None else int(layout),
            deletes,
            (0 if before is None else before.deleted) + int(deleted or 0),
            at if later or (before is not None and before.seen_at is not None) else None,
        )
    return tuple(found.values())


def _columns(catalog: Catalog, table: int, at: int) -> tuple[LakeColumn, ...]:
    rows = catalog.asked(
        "SELECT c.column_id, c.column_name, c.column_type, c.nulls_allowed, c.initial_default,"
        f" (SELECT min(o.begin_snapshot) FROM {META}.ducklake_column o WHERE o.table_id = c.table_id"
        " AND o.column_id = c.column_id), c.parent_column"
        f" FROM {META}.ducklake_column c WHERE c.table_id = ? AND {_ALIVE.format('c.')}"
        " ORDER BY c.column_order",
        (table, at, at),
    )

    def below(parent: int | None) -> tuple[LakeColumn, ...]:
        return tuple(
            LakeColumn(
                int(number),
                str(name),
                str(type_),
                bool(nullable),
                None if default is None else str(default),
                int(since),
                below(int(number)),
            )
            for number, name, type_, nullable, default, since, above in rows
            if (None if above is None else int(above)) == parent
        )

    return below(None)


def _layout(catalog: Catalog, table: int, at: int) -> tuple[PartitionField, ...]:
    rows = catalog.asked(
        "SELECT c.partition_key_index, c.column_id, c.transform"
        f" FROM {META}.ducklake_partition_info i JOIN {META}.ducklake_partition_column c"
        f" USING (partition_id, table_id) WHERE table_id = ? AND {_ALIVE.format('i.')} ORDER BY 1",
        (table, at, at),
    )
    return tuple(PartitionField(int(i), int(column), str(how)) for i, column, how in rows)


def _layouts(catalog: Catalog, table: int) -> dict[int, tuple[PartitionField, ...]]:
    rows = catalog.asked(
        "SELECT partition_id, partition_key_index, column_id, transform"
        f" FROM {META}.ducklake_partition_column WHERE table_id = ? ORDER BY 1, 2",
        (table,),
    )
    found: dict[int, tuple[PartitionField, ...]] = {}
    for number, index, column, how in rows:
        field_ = PartitionField(int(index), int(column), str(how))
        found[int(number)] = (*found.get(int(number), ()), field_)
    return found


def _mappings(catalog: Catalog, table: int) -> dict[int, tuple[Mapped, ...]]:
    rows = catalog.asked(
        "SELECT n.mapping_id, n.column_id, n.source_name, n.target_field_id, n.parent_column,"
        f" n.is_partition FROM {META}.ducklake_name_mapping n"
        f" JOIN {META}.ducklake_column_mapping m USING (mapping_id) WHERE m.table_id = ?",
        (table,),
    )
    grouped: dict[int, dict[int | None, list[Sequence[object]]]] = {}
    for number, column, source, target, parent, in_path in rows:
        above = None if parent is None else int(parent)
        grouped.setdefault(int(number), {}).setdefault(above, []).append(
            (int(column), str(source), int(target), bool(in_path))
        )

    def below(
        rows_: dict[int | None, list[Sequence[object]]], parent: int | None
    ) -> tuple[Mapped, ...]:
        return tuple(
            Mapped(str(source), int(str(target)), bool(in_path), below(rows_, int(str(column))))
            for column, source, target, in_path in rows_.get(parent, ())
        )

    return {number: below(each, None) for number, each in grouped.items()}


def joined(root: str, path: str, relative: object = True) -> str:
    return f"{root.rstrip('/')}/{path}" if relative else path


def check_readable(version: Version, table: object) -> None:
    """Rejects columns that Spark cannot have."""
    for column in version.columns:
        if column.unreadable is not None:
            raise ColumnsRejected(
                f"{column.name} of {table} is of DuckDB's type {_spelled(column.unreadable)}, for"
                " which Spark has none",
                "cast it in DuckDB, as by ALTER TABLE … ALTER COLUMN … TYPE VARCHAR or in a copy",
            )


def check_writable(version: Version, table: object) -> None:
    """Rejects columns that Spark would write as something else."""
    for column in version.columns:
        if column.unwritable is not None:
            raise ColumnsRejected(
                f"{column.name} of {table} is of DuckDB's type {_spelled(column.unwritable)}, which"
                " Spark does not write",
                "give it a type that both have, or write to another table",
            )


def check_located(version: Version, table: object) -> None:
    """Rejects columns behind which DuckLake's own are hidden that say where rows are."""
    for name in ("filename", "file_row_number"):
        held = version.column(name)
        if held is not None:
            raise ColumnsRejected(
                f"{table} has a column {held.name}, as DuckLake calls what says where rows are,"
                " which this needs",
                "rename the column; or, to read, have DuckDB write the rows that its catalog keeps"
                " to files: CALL ducklake_flush_inlined_data(…)",
            )


def _spelled(type_: str) -> str:
    return {"int128": "HUGEINT", "uint128": "UHUGEINT", "uint64": "UBIGINT"}.get(
        type_, type_.upper()
    )
