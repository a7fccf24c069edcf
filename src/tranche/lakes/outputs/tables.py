"""Tables of Iceberg and Delta that columns of the rows divide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriterV2
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructField, StructType

from tranche.jobs.merge import Merge, When
from tranche.lakes.alone import alone
from tranche.lakes.commit import Commit
from tranche.lakes.delta.table import PROPERTIES, DeltaTable
from tranche.lakes.iceberg import metadata
from tranche.lakes.iceberg.table import IcebergTable
from tranche.lakes.outputs.fitting import check_divided, fitted
from tranche.lakes.outputs.parts import in_parts, part_text, text_of
from tranche.lakes.outputs.place import Kept, Place
from tranche.lakes.parquet.paths import UNNAMED, nameable
from tranche.lakes.table import ADDED, Snapshot, Table
from tranche.lakes.tuning import in_few_words
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import escaped_path, quoted_name
from tranche.script.retargeting import retargeted

_LOG = StructType(
    [
        StructField(
            "add",
            StructType([StructField("partitionValues", MapType(StringType(), StringType()))]),
        )
    ]
)


_UNRESOLVED = "DELTA_MERGE_UNRESOLVED_EXPRESSION"
"""What Delta says of a column that is not there; of which, Spark cannot read from it."""


class TablePlace(Place):
    """A table that is written with the API that both formats share."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __str__(self) -> str:
        return str(self.table)

    def columns(self) -> StructType | None:
        return self.table.columns()

    def rows(self) -> DataFrame:
        return self.table.rows()

    def published(self, commit: Commit) -> Kept | None:
        if self.table.columns() is None:
            return None
        found = self.table.published(commit)
        return None if found is None else self.kept(found, self.parts_of(found.id))

    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        found = self.table.published(commit)
        # No rows that take the place of nothing are no commit for Iceberg.
        return Kept(rows=0) if found is None else self.kept(found, self.parts_of(found.id))

    def kept(self, found: Snapshot, parts: frozenset[str]) -> Kept:
        rows = found.count(ADDED) if found.changed is None else found.changed
        return Kept(rows=rows, snapshot=found.id, parts=parts)

    def parts_of(self, snapshot: str) -> frozenset[str]:
        """The parts that a commit has brought rows to."""
        raise NotImplementedError

    def creating(self, rows: DataFrame, by: Sequence[str]) -> DataFrameWriterV2:
        """What makes the table."""
        writer = self.writer(self.sayable(rows, by))
        return writer.partitionedBy(*(F.col(quoted_name(name)) for name in by)) if by else writer

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        raise NotImplementedError

    def create(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        with self.table.committing(commit):
            # Another key may have made it since, whose rows must stay.
            self.begin(self.creating(rows, by))

    def begin(self, writer: DataFrameWriterV2) -> None:
        """Makes a table that is not there."""
        writer.create()

    def replace_all(self, rows: DataFrame, commit: Commit) -> None:
        there = self.columns()
        with self.table.committing(commit):
            if there is not None and _types(there) == _types(rows.schema):
                # Made anew, it would lose its past.
                rows.writeTo(self.table.name).overwrite(F.lit(True))
            else:
                self.creating(rows, ()).createOrReplace()

    def append(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        fitting = self.fit(rows, by)
        with self.table.committing(commit):
            fitting.writeTo(self.table.name).append()

    def replace_written(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        fitting = self.fit(rows, by)
        with self.table.committing(commit):
            fitting.writeTo(self.table.name).overwritePartitions()

    def replace_where(
        self, rows: DataFrame, by: Sequence[str], parts: Collection[str], commit: Commit
    ) -> None:
        fitting = self.fit(rows, by)
        with self.table.committing(commit):
            fitting.writeTo(self.table.name).overwrite(in_parts(parts, fitting.schema))

    def fit(self, rows: DataFrame, by: Sequence[str]) -> DataFrame:
        """The rows as the table takes them, which gets the columns that are new."""
        columns = self.columns()
        assert columns is not None, f"{self} does not exist"
        check_divided(sorted(self.divided_by()), sorted(by), str(self))
        found = fitted(self.sayable(rows, by), columns, str(self))
        if found.changes:
            self.table.alter(found)
        return found.rows

    def divided_by(self) -> Collection[str]:
        """The columns whose values say which files rows are in."""
        raise NotImplementedError

    def sayable(self, rows: DataFrame, by: Sequence[str]) -> DataFrame:
        """The rows; it breaks where the table would keep another part than one has."""
        return rows

    def merge(
        self, merge: Merge, rows: DataFrame, commit: Commit, keys: Sequence[str] = ()
    ) -> None:
        name = self.table.name
        on = F.expr(retargeted(merge.condition, name))
        if keys:
            own = F.col(f"{name}.{PARTITION_COLUMN}")
            on = own.isin(list(keys)) & (own == F.col(f"source.{PARTITION_COLUMN}")) & on
        writer: Any = rows.alias("source").mergeInto(name, on)
        columns = list(rows.columns)
        for when in merge.clauses:
            writer = self.clause(writer, when, columns, keys)
        with self.table.committing(commit):
            writer.merge()

    def clause(self, writer: Any, when: When, columns: Sequence[str], keys: Sequence[str]) -> Any:
        name = self.table.name
        condition = None if when.condition is None else F.expr(retargeted(when.condition, name))
        if keys and when.match == "not_matched_by_source":
            # Rows of other slices have no match either.
            own = F.col(f"{name}.{PARTITION_COLUMN}").isin(list(keys))
            condition = own if condition is None else own & condition
        match when.match:
            case "matched":
                open_ = writer.whenMatched(condition)
            case "not_matched":
                open_ = writer.whenNotMatched(condition)
            case _:
                open_ = writer.whenNotMatchedBySource(condition)
        if when.action == "delete":
            return open_.delete()
        if when.values is None:
            values = {quoted_name(c): F.col(f"source.{quoted_name(c)}") for c in columns}
        else:
            values = {quoted_name(c): F.expr(retargeted(v, name)) for c, v in when.values}
        if keys and when.action == "insert":
            values[quoted_name(PARTITION_COLUMN)] = F.col(f"source.{PARTITION_COLUMN}")
        return open_.update(values) if when.action == "update" else open_.insert(values)


class IcebergPlace(TablePlace):
    def __init__(self, table: IcebergTable) -> None:
        super().__init__(table)

    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        with in_few_words(self.table.session):
            # It was not staged, so that readers see it.
            found = self.table.attempted(commit)
        # No rows that take the place of nothing are no commit for Iceberg.
        return Kept(rows=0) if found is None else self.kept(found, self.parts_of(found.id))

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        metadata.make_namespace(self.table.session, self.table.address)
        return metadata.with_properties(rows.writeTo(self.table.name))

    def divided_by(self) -> Collection[str]:
        return metadata.layout_names(self.table.session, self.table.address)

    def parts_of(self, snapshot: str) -> frozenset[str]:
        entries = self.table.session.table(f"{self.table.name}.`entries`")
        file = entries.schema["data_file"].dataType
        assert isinstance(file, StructType)
        if "partition" not in file.names:
            return frozenset()
        type_ = file["partition"].dataType
        assert isinstance(type_, StructType)
        texts = [
            text_of(F.col(f"data_file.partition.{quoted_name(each.name)}"), each.dataType).alias(
                each.name
            )
            for each in type_.fields
        ]
        new = entries.where((F.col("snapshot_id") == int(snapshot)) & (F.col("status") == 1))
        with in_few_words(self.table.session):
            # Those of several files are the same; Spark would shuffle them to find that out.
            found = new.select(*texts).collect()
        return frozenset(part_text(row.asDict()) for row in found)


class DeltaPlace(TablePlace):
    table: DeltaTable

    def __init__(self, table: DeltaTable) -> None:
        super().__init__(table)
        self.folder = table.warehouse.folder(table.address)

    def __str__(self) -> str:
        return self.folder

    def create(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        own = self.table.warehouse.local_own(self.table.address)
        # To Delta, what another one is just making is a folder that a write has left which failed.
        with nullcontext() if own is None else alone(own / "create.lock"):
            self.table.create_once(self.creating(rows, by), commit)

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        writer = rows.writeTo(self.table.name).using("delta")
        for name, value in PROPERTIES.items():
            writer = writer.tableProperty(name, value)
        return writer

    def divided_by(self) -> Collection[str]:
        # DESCRIBE DETAIL would have Spark go over the log for it.
        told = self.table.session.sql(f"DESCRIBE TABLE {self.table.name}").collect()
        names = [row["col_name"] for row in told]
        if "# Partition Information" not in names:
            return ()
        # After the title stand the titles of its columns. Names that are no words are quoted.
        return [
            name[1:-1].replace("``", "`") if name.startswith("`") else name
            for name in names[names.index("# Partition Information") + 2 :]
        ]

    def sayable(self, rows: DataFrame, by: Sequence[str]) -> DataFrame:
        return nameable(rows, by, UNNAMED)

    def begin(self, writer: DataFrameWriterV2) -> None:
        self.table.begin(writer)

    def merge(
        self, merge: Merge, rows: DataFrame, commit: Commit, keys: Sequence[str] = ()
    ) -> None:
        try:
            super().merge(merge, rows, commit, keys)
        except Exception as error:
            if _UNRESOLVED in str(error):
                self.resolve(merge, rows)
            raise

    def resolve(self, merge: Merge, rows: DataFrame) -> None:
        """Breaks where an expression of a merge names a column that neither side has."""
        both = self.rows().alias("target").join(rows.alias("source"))
        texts = [merge.condition]
        for when in merge.clauses:
            texts += [when.condition] if when.condition is not None else []
            texts += [value for _, value in when.values or ()]
        both.select(*map(F.expr, texts)).schema  # noqa: B018 - Spark looks at it then

    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        known = self.table.logged(commit)
        if known is None:
            return super().made(commit, by)
        return self.kept(known.snapshot, frozenset(map(part_text, filter(None, known.parts))))

    def parts_of(self, snapshot: str) -> frozenset[str]:
        log = f"{self.folder}/_delta_log/{int(snapshot):020}.json"
        reader = self.table.session.read.schema(_LOG)
        added = reader.json(escaped_path(log)).where("add IS NOT NULL")
        found = added.select("add.partitionValues").collect()
        return frozenset(part_text(row[0]) for row in found if row[0])


def _types(columns: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in columns.fields}
