"""A table of Delta Lake, as readers, writers and upkeep ask for it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import ColumnsRejected, CommitLost, EngineError, SourceMissing
from tranche.lakes.alone import this_process_alone
from tranche.lakes.columns import Fit
from tranche.lakes.commit import Commit
from tranche.lakes.delta.commits import (
    commit_settings,
    commits_of,
    is_missing,
    log_of,
    micros_of,
    seen_of,
    snapshot_of,
)
from tranche.lakes.delta.layout import (
    check_layout,
    definitions,
    partition_names,
    without_generated,
)
from tranche.lakes.delta.log_files import Logged, logged
from tranche.lakes.digest import Watch
from tranche.lakes.fixed_layout import FixedLayout
from tranche.lakes.folders import Side, Warehouse
from tranche.lakes.parquet.paths import check_key, nameable
from tranche.lakes.table import (
    Returning,
    Shown,
    Snapshot,
    Table,
    TableFacts,
    Waiting,
    in_keys,
    slice_condition,
)
from tranche.lakes.target import Target
from tranche.lakes.tuning import set_meanwhile
from tranche.model.asset import LakeTable
from tranche.model.layout import Transform, canonical
from tranche.model.snapshot import SeenSnapshot
from tranche.model.strategy import PARTITION_COLUMN, Strategy
from tranche.ports import Maintained, Restored, Upkeep
from tranche.script.binding import quoted_name

LAYOUT = "tranche.layout"
PROPERTIES = {
    # With them, the same files could have other rows in another version.
    "delta.enableDeletionVectors": "false",
    # Lets a column become a wider one in place, as in Iceberg.
    "delta.enableTypeWidening": "true",
}
_REFUSED = " ,;{}()\n\t="
"""What Delta takes in no name of a column."""
_UNCHECKED = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}


class DeltaTable(FixedLayout):
    """Delta shows a commit at once, so rows that have to wait do so in files beside the table."""

    kind = "a Delta table"
    stages = False
    watched_making = False

    def __init__(self, session: SparkSession, address: LakeTable, warehouse: Warehouse) -> None:
        super().__init__(session, address)
        self.warehouse = warehouse
        self.named: Sequence[str] = ()
        """The columns that are names of folders as they are."""

    def called(self, name: str) -> Table:
        address = replace(self.address, table=name)
        return DeltaTable(self.session, address, self.warehouse)

    # What readers ask

    @property
    def name(self) -> str:
        return f"spark_catalog.delta.{quoted_name(self.warehouse.folder(self.address))}"

    def at(self, snapshot: str) -> str:
        return f"{self.name} VERSION AS OF {int(snapshot)}"

    def columns(self) -> StructType | None:
        try:
            return without_generated(self.session.table(self.name).schema)
        except AnalysisException as error:
            if is_missing(error):
                return None
            raise

    def readable(self) -> tuple[StructType, str | None] | None:
        latest = log_of(self.session, self.name, 1)
        if not latest:
            return None
        return self.session.table(self.name).schema, str(latest[0]["version"])

    def facts(self) -> TableFacts | None:
        latest = log_of(self.session, self.name, 1)
        if not latest:
            return None
        stated = self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        properties = {row["key"]: row["value"] for row in stated}
        columns = without_generated(self.session.table(self.name).schema)
        return TableFacts(columns, str(latest[0]["version"]), properties)

    def has(self, snapshot: str) -> bool:
        try:
            return bool(self.rows(snapshot).columns)
        except AnalysisException:
            return False

    def slice_rows(self, partition: str | None, snapshot: str | None) -> int | None:
        if snapshot is None:
            return 0
        rows = self.rows(snapshot)
        if partition is not None:
            rows = rows.where(F.col(PARTITION_COLUMN) == F.lit(partition))
        # Delta answers that from its log.
        return rows.count()

    def key_rows(self, keys: Sequence[str], snapshot: str) -> dict[str, int] | None:
        rows = self.rows(snapshot).where(in_keys(PARTITION_COLUMN, keys))
        found = rows.groupBy(PARTITION_COLUMN).count().collect()
        return {row[0]: int(row[1]) for row in found}

    # What its snapshots tell

    def attempted(self, commit: Commit) -> Snapshot | None:
        return commits_of(self.session, self.name, commit, alone=True)

    def published(self, commit: Commit) -> Snapshot | None:
        return commits_of(self.session, self.name, commit, alone=False)

    def seen(
        self,
        *,
        limit: int,
        snapshot: str | None = None,
        until: int | None = None,
        first: bool = False,
    ) -> Sequence[SeenSnapshot]:
        all_of_them = snapshot is not None or until is not None or first
        found = log_of(self.session, self.name, None if all_of_them else limit)
        if snapshot is not None:
            found = [row for row in found if str(row["version"]) == snapshot]
        if until is not None:
            found = [row for row in found if micros_of(row) <= until]
        if first:
            found.reverse()
        return seen_of(found[:limit])

    def logged(self, commit: Commit) -> Logged | None:
        """What its log has of an attempt that was just made, if this process can read it."""
        return logged(self.warehouse.local_folder(self.address), commit)

    # How it is written

    def check(self, strategy: Strategy, layout: Collection[Transform]) -> None:
        check_layout(layout)

    def create(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        _check_names(rows)
        self.split = bool(layout)
        self.named = _named(layout)
        parts = partition_names(layout or (), sliced=target.sliced)
        properties = dict(PROPERTIES)
        if layout is not None:
            properties[LAYOUT] = canonical(layout)
        if any(transform.name != "identity" for transform in layout or ()):
            self._create_generated(rows, layout or (), parts, properties)
            with self.committing(commit):
                self._writer(rows, target).writeTo(self.name).append()
            return
        writer = self._writer(rows, target).writeTo(self.name).using("delta")
        for name, value in properties.items():
            writer = writer.tableProperty(name, value)
        if parts:
            writer = writer.partitionedBy(*(F.col(quoted_name(part)) for part in parts))
        self.create_once(writer, commit)

    def create_once(self, writer: DataFrameWriterV2, commit: Commit) -> None:
        """Makes the table, unless it is there."""
        with self.committing(commit):
            self.begin(writer)

    def begin(self, writer: DataFrameWriterV2) -> None:
        """Makes a table that is not there."""
        try:
            writer.create()
        except AnalysisException as error:
            # A write that failed has left a folder that is no table, which Delta takes for one.
            taken = error.getCondition() == "TABLE_OR_VIEW_ALREADY_EXISTS"
            if not taken or self.columns() is not None:
                raise
            writer.createOrReplace()

    def rebuild(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...] | None,
        facts: TableFacts,
        commit: Commit,
    ) -> None:
        _check_names(rows)
        stated = facts.properties.get(LAYOUT)
        if layout is not None and any(transform.name != "identity" for transform in layout):
            raise ColumnsRejected(
                f"{self.address} is laid out by periods, and its columns change",
                "drop the table and build it anew",
            )
        if layout is None and stated is not None:
            raise ColumnsRejected(
                f"{self.address} was laid out as {stated}, and its columns change",
                "say how it is laid out, or drop the table and build it anew",
            )
        writer = nameable(rows, _named(layout)).writeTo(self.name).using("delta")
        for name, value in PROPERTIES.items():
            writer = writer.tableProperty(name, value)
        if layout is not None:
            writer = writer.tableProperty(LAYOUT, canonical(layout))
            parts = partition_names(layout, sliced=False)
            writer = writer.partitionedBy(*(F.col(quoted_name(part)) for part in parts))
        with self.committing(commit):
            writer.createOrReplace()

    def alter(self, fitted: Fit) -> None:
        with self._alone():
            super().alter(fitted)

    def lay_out(self, layout: tuple[Transform, ...] | None, facts: TableFacts) -> None:
        super().lay_out(layout, facts)
        stated = (self.stated_layout(facts) or "").split(", ")
        self.named = [column for column in stated if column in facts.columns.names]

    def stated_layout(self, facts: TableFacts) -> str | None:
        return facts.properties.get(LAYOUT)

    def overwrite(
        self, rows: DataFrame, target: Target, commit: Commit | None, since: str | None = None
    ) -> None:
        writer = self._writer(rows, target).writeTo(self.name)
        with self.committing(commit) if commit is not None else nullcontext():
            writer.overwrite(slice_condition(target))

    def append(self, rows: DataFrame, target: Target) -> None:
        self._writer(rows, target).writeTo(self.name).append()

    @contextmanager
    def committing(self, commit: Commit) -> Iterator[None]:
        with self._alone(), set_meanwhile(self.session, commit_settings(commit)):
            yield

    def made(
        self, commit: Commit, target: Target, *, before: TableFacts | None, watch: Watch | None
    ) -> Snapshot:
        known = self.logged(commit)
        found = self.published(commit) if known is None else known.snapshot
        if found is None:
            raise EngineError(
                f"{self.address} has no commit of the attempt {commit.attempt.id}, which made one",
                "another process may have removed it; run it again",
            )
        return found

    def side(self, commit: Commit) -> Waiting:
        return Side(self.session, self.warehouse, self.address, commit)

    def note(self, name: str, value: str) -> None:
        with self._alone():
            stated = self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
            if (name, value) not in [(row["key"], row["value"]) for row in stated]:
                self.session.sql(
                    f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{name}' = '{value}')"
                )

    def forget(self, commit: Commit) -> None:
        """Nothing is staged in the table itself."""

    # Going back, and upkeep

    def shown(self) -> Sequence[Shown]:
        found = (snapshot_of(row) for row in log_of(self.session, self.name))
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return [
            Shown(each.id, each.parent, int((each.at - epoch).total_seconds() * 1_000_000))
            for each in found
            if each.at is not None
        ]

    def returning(self, snapshot: str) -> Returning:
        facts = self.facts()
        if facts is None:
            raise SourceMissing(f"{self.address} does not exist", "run the script that makes it")
        then = without_generated(self.rows(snapshot).schema)
        sliced = facts.sliced and PARTITION_COLUMN in then.names
        return Returning(snapshot, facts, then, self._changed(snapshot, facts, sliced=sliced))

    def restore(self, to: Returning, commit: Commit) -> None:
        with self.committing(commit):
            (latest,) = log_of(self.session, self.name, 1)
            if str(latest["version"]) != to.facts.snapshot:
                raise CommitLost(
                    f"another writer changed {self.address} in the meantime", "run it again"
                )
            self.session.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {int(to.snapshot)}")

    def maintain(self, upkeep: Upkeep) -> Maintained:
        before = self._size()
        with self._alone():
            (row,) = self.session.sql(f"OPTIMIZE {self.name}").collect()
            hours = self._kept_hours(upkeep)
            with set_meanwhile(self.session, _UNCHECKED):
                vacuum = f"VACUUM {self.name} RETAIN {hours} HOURS"
                going = len(self.session.sql(f"{vacuum} DRY RUN").collect())
                self.session.sql(vacuum)
        done = row["metrics"]
        return Maintained(
            table=self.address,
            compacted=int(done["numFilesRemoved"]),
            compacted_into=int(done["numFilesAdded"]),
            orphans=going,
            files=(before[0], self._size()[0]),
            bytes=(before[1], self._size()[1]),
        )

    # Inside

    def _writer(self, rows: DataFrame, target: Target) -> DataFrame:
        """The rows as they are written: a file or few for each key, not one for each of a task's."""
        for key in target.keys:
            check_key(key)
        rows = nameable(rows, self.named)
        if target.sliced and target.ranged:
            return rows.repartition(F.col(PARTITION_COLUMN))
        return rows

    def _create_generated(
        self,
        rows: DataFrame,
        layout: Sequence[Transform],
        parts: Sequence[str],
        properties: dict[str, str],
    ) -> None:
        stated = ", ".join(definitions(rows.schema, layout))
        by = ", ".join(map(quoted_name, parts))
        said = ", ".join(f"'{name}' = '{_escaped(value)}'" for name, value in properties.items())
        with self._alone():
            self.session.sql(
                f"CREATE TABLE {self.name} ({stated}) USING delta"
                f" PARTITIONED BY ({by}) TBLPROPERTIES ({said})"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """In a folder, Delta keeps apart the commits of one process only."""
        own = self.warehouse.local_own(self.address)
        if own is None:
            yield
            return
        with this_process_alone(own / "commit.lock"):
            yield

    def _changed(self, snapshot: str, facts: TableFacts, *, sliced: bool) -> tuple[Restored, ...]:
        """The slices whose files are not those of the snapshot, with the rows that they had."""
        if facts.snapshot in (None, snapshot):
            return ()
        then, now = (self._files(each, sliced=sliced) for each in (snapshot, facts.snapshot))
        keys = {key for key, _ in then ^ now}
        counted = self.key_counts(snapshot, sliced=sliced)
        return tuple(
            Restored(key, counted.get(key, 0)) for key in sorted(keys, key=lambda key: key or "")
        )

    def key_counts(self, snapshot: str, *, sliced: bool) -> dict[str | None, int]:
        if not sliced:
            return {None: self.rows(snapshot).count()}
        found = self.rows(snapshot).groupBy(PARTITION_COLUMN).count().collect()
        return {row[0]: int(row[1]) for row in found}

    def _files(self, snapshot: str | None, *, sliced: bool) -> set[tuple[str | None, str]]:
        key = F.col(PARTITION_COLUMN) if sliced else F.lit(None).cast("string")
        rows = self.rows(snapshot).select(key.alias("key"), F.col("_metadata.file_path"))
        return {(row[0], row[1]) for row in rows.distinct().collect()}

    def _size(self) -> tuple[int, int]:
        (row,) = self.session.sql(f"DESCRIBE DETAIL {self.name}").collect()
        return int(row["numFiles"]), int(row["sizeInBytes"])

    def _kept_hours(self, upkeep: Upkeep) -> int:
        """For how long versions stay readable: also those that the ledger names."""
        kept = upkeep.before
        for row in log_of(self.session, self.name):
            if str(row["version"]) in upkeep.needed:
                at = snapshot_of(row).at
                kept = min(kept, at) if at is not None else kept
        kept = min(kept, upkeep.left_before)
        return max(0, math.ceil((datetime.now(UTC) - kept).total_seconds() / 3600))


def _named(layout: Sequence[Transform] | None) -> list[str]:
    return [transform.column for transform in layout or () if transform.name == "identity"]


def _check_names(rows: DataFrame) -> None:
    bad = [name for name in rows.columns if any(sign in _REFUSED for sign in name)]
    if bad:
        raise ColumnsRejected(
            f"Delta takes no spaces or any of ,;{{}}()= in names of columns: {', '.join(bad)}",
            "give them other names in the SELECT",
        )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
