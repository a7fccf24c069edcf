"""A table of Iceberg, as readers, writers and upkeep ask for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql.types import StructType

from tranche.errors import EngineError, SourceMissing
from tranche.lakes.commit import Commit
from tranche.lakes.digest import Watch
from tranche.lakes.iceberg import metadata, publishing, restoring
from tranche.lakes.iceberg.layout import (
    LAYOUT,
    evolve,
    forget,
    lay_out,
    partition_columns,
    recreation,
    set_layout,
)
from tranche.lakes.iceberg.maintenance import maintained
from tranche.lakes.iceberg.metadata import KEY_PATHS, with_properties
from tranche.lakes.iceberg.seeing import seen_snapshots
from tranche.lakes.layout_fields import SLICE, creation, with_slice
from tranche.lakes.meanwhile import Meanwhile
from tranche.lakes.table import (
    ADDED,
    Returning,
    Shown,
    Snapshot,
    Table,
    TableFacts,
    Waiting,
    slice_condition,
)
from tranche.lakes.target import Target
from tranche.lakes.tuning import in_few_words
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout, Transform, canonical
from tranche.model.snapshot import SeenSnapshot
from tranche.model.strategy import Strategy
from tranche.ports import Maintained, Upkeep
from tranche.script.binding import quoted, quoted_name

_ORDERED = {"distribution-mode": "none"}
_AS_THEY_COME = {"use-table-distribution-and-ordering": "false"}


class _SideTable:
    """Rows that wait in a table of their own."""

    def __init__(self, session: SparkSession, address: LakeTable) -> None:
        self.session = session
        self.address = address

    def put(self, rows: DataFrame) -> None:
        metadata.make_namespace(self.session, self.address)
        with_properties(rows.writeTo(quoted(self.address))).create()

    def rows(self) -> DataFrame:
        return self.session.table(quoted(self.address))

    def drop(self) -> None:
        self.session.sql(f"DROP TABLE IF EXISTS {quoted(self.address)} PURGE")


class IcebergTable(Table):
    """Writes wait as commits that are staged in the table itself."""

    stages = True

    def __init__(
        self, session: SparkSession, address: LakeTable, database: Path | None = None
    ) -> None:
        """`database` has the catalog, where it is an embedded one."""
        super().__init__(session, address)
        self.database = database

    def called(self, name: str) -> Table:
        return IcebergTable(self.session, replace(self.address, table=name), self.database)

    # What readers ask

    @property
    def name(self) -> str:
        return quoted(self.address)

    def at(self, snapshot: str) -> str:
        return metadata.at_snapshot(self.address, snapshot)

    def columns(self) -> StructType | None:
        return metadata.existing_columns(self.session, self.address)

    def readable(self) -> tuple[StructType, str | None] | None:
        return metadata.readable(self.session, self.address)

    def facts(self) -> TableFacts | None:
        return metadata.table_facts(self.session, self.address)

    def has(self, snapshot: str) -> bool:
        return metadata.has_snapshot(self.session, self.address, snapshot)

    def slice_rows(self, partition: str | None, snapshot: str | None) -> int | None:
        return metadata.slice_rows(self.session, self.address, partition, snapshot)

    def key_rows(self, keys: Sequence[str], snapshot: str) -> dict[str, int] | None:
        return metadata.key_rows(self.session, self.address, keys, snapshot)

    # What its snapshots tell

    def attempted(self, commit: Commit) -> Snapshot | None:
        found = metadata.read_off(self.database, self.address, commit)
        return found or metadata.attempted(self.session, self.address, commit)

    def published(self, commit: Commit) -> Snapshot | None:
        return metadata.published(self.session, self.address, commit)

    def seen(
        self,
        *,
        limit: int,
        snapshot: str | None = None,
        until: int | None = None,
        first: bool = False,
    ) -> Sequence[SeenSnapshot]:
        return seen_snapshots(
            self.session, self.address, limit=limit, snapshot=snapshot, until=until, first=first
        )

    # How it is written

    def check(self, strategy: Strategy, layout: Collection[Transform]) -> None:
        """It can do all of it."""

    def create(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        metadata.make_namespace(self.session, self.address)
        fields = with_slice(layout or (), sliced=target.sliced)
        made = creation(fields, rows.columns)
        self.split = bool(layout)
        self._laid_out(self._direct(rows, target, commit), target, layout, made.stated).create()
        if made.later:
            evolve(self.session, self.address, fields)

    def rebuild(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...] | None,
        facts: TableFacts,
        commit: Commit,
    ) -> None:
        made = recreation(self.session, self.address, layout, facts, rows.schema)
        writer = self._direct(rows, target, commit)
        self._laid_out(writer, target, layout, made.stated).createOrReplace()
        if made.later:
            evolve(self.session, self.address, (*made.stated, *made.later))
        if layout is None and LAYOUT in facts.properties:
            forget(self.session, self.address)

    def lay_out(self, layout: tuple[Transform, ...] | None, facts: TableFacts) -> None:
        self.split = lay_out(self.session, self.address, layout, facts)
        # It was said how rows are to be ordered in files (`WRITE ORDERED BY`).
        self.ordered = "sort-order" in facts.properties

    def set_layout(self, transforms: tuple[Transform, ...]) -> None:
        set_layout(self.session, SetLayout(self.address, transforms))

    def overwrite(
        self, rows: DataFrame, target: Target, commit: Commit | None, since: str | None = None
    ) -> None:
        writer = self._writer(rows, target)
        if commit is not None:
            writer = writer.options(**commit.options())
        if since is not None:
            checks = {"validate-from-snapshot-id": since, "isolation-level": "serializable"}
            writer = writer.options(**checks)
        writer.overwrite(slice_condition(target))

    def append(self, rows: DataFrame, target: Target) -> None:
        self._writer(rows, target).append()

    @contextmanager
    def committing(self, commit: Commit) -> Iterator[None]:
        with publishing.committing(self.session, commit):
            yield

    def made(
        self, commit: Commit, target: Target, *, before: TableFacts | None, watch: Watch | None
    ) -> Snapshot:
        found: Snapshot | None = None
        if before is not None and target.sliced and target.ranged:
            found = self._next_commit_of_keys(before, target, commit)
        elif before is not None:
            found = metadata.read_off(self.database, self.address, commit)
            found = found or self._next_commit(before, target, watch)
        return found or self.staged(commit)

    def side(self, commit: Commit) -> Waiting:
        address = self.beside(f"__tranche_{commit.attempt.id}").address
        return _SideTable(self.session, address)

    def note(self, name: str, value: str) -> None:
        self.session.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{name}' = '{value}')")

    # Writes that wait

    @contextmanager
    def staging(self, commit: Commit, facts: TableFacts) -> Iterator[None]:
        publishing.allow_staging(self.session, self.address, facts)
        with publishing.staging(self.session, commit, split=self.split):
            yield

    def staged(self, commit: Commit) -> Snapshot:
        found = self.attempted(commit)
        if found is None:
            raise EngineError(
                f"{self.address} has no snapshot of the attempt {commit.attempt.id}, which wrote one",
                "another process may have removed it; run it again",
            )
        return found

    def pick(self, snapshot: str) -> str | None:
        return publishing.pick(self.session, self.address, snapshot)

    def forget(self, commit: Commit) -> None:
        """On a cluster, a call of the dead process may still be on its way to publish it."""
        if self.columns() is None or self.published(commit) is not None:
            return
        staged = self.attempted(commit)
        if staged is not None:
            publishing.expire(self.session, self.address, [int(staged.id)])

    # Going back, and upkeep

    def shown(self) -> Sequence[Shown]:
        return restoring.shown_snapshots(self.session, self.address)

    def returning(self, snapshot: str) -> Returning:
        facts = self.facts()
        if facts is None:
            raise SourceMissing(f"{self.address} does not exist", "run the script that makes it")
        return restoring.returning(self.session, self.address, snapshot, facts)

    def restore(self, to: Returning, commit: Commit) -> None:
        restoring.restore(self.session, self.address, to, commit)

    def maintain(self, upkeep: Upkeep) -> Maintained:
        return maintained(self.session, self.address, upkeep)

    # The view of a history's current rows

    def has_view(self) -> bool:
        lake, schema, name = self.address.parts
        place = f"{quoted_name(lake)}.{quoted_name(schema)}"
        found = self.session.sql(f"SHOW VIEWS IN {place}").collect()
        return any(row["viewName"] == name for row in found)

    def show_current(self, columns: Sequence[str], history: Table, condition: str) -> None:
        there = self.columns()
        if there is not None and there.names == list(columns):
            return
        names = ", ".join(quoted_name(name) for name in columns)
        self.session.sql(
            f"CREATE OR REPLACE VIEW {self.name} AS"  # noqa: S608
            f" SELECT {names} FROM {history.name} WHERE {condition}"
        )

    # Inside

    def _writer(self, rows: DataFrame, target: Target) -> DataFrameWriterV2:
        writer = rows.writeTo(self.name)
        if not target.sliced or self.split:
            return writer
        if target.ranged:
            # Sorted by key, since a writer for each of many keys takes a lot of memory.
            return writer.options(**{"fanout-enabled": "false"})
        # Rows of one slice are clustered: they need no shuffle, no sorting, no writer per slice.
        how = _ORDERED if self.ordered else _AS_THEY_COME
        return writer.options(**how, **{"fanout-enabled": "false"})

    def _direct(self, rows: DataFrame, target: Target, commit: Commit) -> DataFrameWriterV2:
        """Readers see it with its commit."""
        return self._writer(rows, target).options(**commit.options())

    def _laid_out(
        self,
        writer: DataFrameWriterV2,
        target: Target,
        layout: tuple[Transform, ...] | None,
        fields: Sequence[Transform],
    ) -> DataFrameWriterV2:
        """Writes a table that begins with these fields."""
        stated = {} if layout is None else {LAYOUT: canonical(layout)}
        if target.key_paths and all(field == SLICE for field in fields):
            stated |= KEY_PATHS
        made = with_properties(writer, **stated)
        return made.partitionedBy(*partition_columns(fields)) if fields else made

    def _next_commit(
        self, before: TableFacts, target: Target, watch: Watch | None
    ) -> Snapshot | None:
        """The commit to one slice, if nobody else made one since.

        What it added is what passed by on the way to the files, each row once: only where rows are
        shuffled on that way can a task that is run again count them twice.
        """
        alone = target.sliced and not self.split
        if before.snapshot is None or watch is None or not alone:
            return None
        found = metadata.only_commit_since(self.session, self.address, before.snapshot)
        if found is None:
            return None
        snapshot, at = found
        return Snapshot(snapshot, before.snapshot, {ADDED: str(watch.rows)}, at)

    def _next_commit_of_keys(
        self, before: TableFacts, target: Target, commit: Commit
    ) -> Snapshot | None:
        """The commit that replaced several keys, whose rows are counted at the same time."""
        if metadata.sums_up(before, len(target.keys)):
            with in_few_words(self.session):
                return self.staged(commit)
        if before.snapshot is None:
            return None
        # Read before it is asked who has committed, so that it is of this commit if nobody else has.
        files = metadata.key_files(self.session, self.address, target.keys)
        since = before.snapshot
        asked = Meanwhile(lambda: metadata.only_commit_since(self.session, self.address, since))
        rows = metadata.rows_in(self.session, files)
        found = asked.answer()
        if found is None:
            return None
        snapshot, at = found
        return Snapshot(snapshot, since, {}, at, rows_by_key=rows)
