"""Tables of Iceberg and Delta that columns of the rows divide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext

from pyspark.sql import DataFrame, DataFrameWriterV2
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructField, StructType

from tranche.lakes.alone import alone
from tranche.lakes.commit import Commit
from tranche.lakes.delta.table import PROPERTIES, DeltaTable
from tranche.lakes.iceberg import metadata
from tranche.lakes.iceberg.table import IcebergTable
from tranche.lakes.outputs.fitting import check_divided, fitted
from tranche.lakes.outputs.merges import SOURCE, MergePlace, Opened
from tranche.lakes.outputs.parts import in_parts, part_text, text_of
from tranche.lakes.outputs.place import DividedPlace, Kept
from tranche.lakes.parquet.paths import UNNAMED, nameable
from tranche.lakes.tuning import in_few_words
from tranche.script.binding import escaped_path, quoted_name

_LOG = StructType(
    [
        StructField(
            "add",
            StructType([StructField("partitionValues", MapType(StringType(), StringType()))]),
        )
    ]
)


class TablePlace(MergePlace, DividedPlace):
    """A table that is written with the API that both formats share."""

    def rows(self) -> DataFrame:
        return self.table.rows()

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

    def merging(self, rows: DataFrame, keys: Sequence[str]) -> tuple[str, Opened]:
        name = self.table.name
        return name, lambda on: rows.alias(SOURCE).mergeInto(name, on)


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
