"""A table of DuckLake, as readers, writers and upkeep ask for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from tranche.errors import CommitLost, EngineError, SourceMissing, UnknownSnapshot
from tranche.lakes.columns import Fit, captured
from tranche.lakes.commit import Commit
from tranche.lakes.digest import Watch
from tranche.lakes.ducklake.catalog import META, catalog_of
from tranche.lakes.ducklake.commits import (
    Told,
    find,
    find_attempt,
    lives_of,
    seen_of,
    snapshot_of,
    told_of,
)
from tranche.lakes.ducklake.counting import by_key, total
from tranche.lakes.ducklake.layout import check_layout, stated_layout
from tranche.lakes.ducklake.maintenance import maintained
from tranche.lakes.ducklake.merging import LakeMerging, Merged
from tranche.lakes.ducklake.metadata import (
    Version,
    check_readable,
    last_change,
    latest_snapshot,
    look,
    settled,
)
from tranche.lakes.ducklake.preparing import Preparing
from tranche.lakes.ducklake.publishing import Publishing
from tranche.lakes.ducklake.reading import read
from tranche.lakes.ducklake.restoring import changed_keys
from tranche.lakes.ducklake.staging import Aside, Entry, Staging
from tranche.lakes.folders import Warehouse
from tranche.lakes.table import (
    ADDED,
    ADDED_SIZE,
    Returning,
    Shown,
    Snapshot,
    Table,
    TableFacts,
    Waiting,
    in_keys,
)
from tranche.lakes.target import Target
from tranche.model.asset import DEFAULT_SCHEMA, LakeTable
from tranche.model.layout import Transform
from tranche.model.project import Lake
from tranche.model.snapshot import SeenSnapshot
from tranche.model.strategy import PARTITION_COLUMN, Replace, Strategy
from tranche.ports import Maintained, Upkeep
from tranche.script.binding import quoted_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STAGED = "staged-"
_OWN_SCHEMA = "main"
"""The schema that every DuckLake has, in which tables without one are."""


class DuckLakeTable(Table):
    """Writes wait in files of the lake; to publish them is to register them."""

    stages = True
    merges = True

    def __init__(self, session: SparkSession, address: LakeTable, lake: Lake) -> None:
        super().__init__(session, address)
        self.lake = lake
        self.catalog = catalog_of(lake)
        self.schema = _OWN_SCHEMA if address.schema == DEFAULT_SCHEMA else address.schema
        self.commit: Commit | None = None
        """Whose write is being staged."""
        self.based_on: int | None = None
        self.last: Snapshot | None = None
        """What was published last by this object."""

    def called(self, name: str) -> Table:
        return DuckLakeTable(self.session, replace(self.address, table=name), self.lake)

    @cached_property
    def staging_place(self) -> Staging:
        with self.catalog.using():
            folder = f"{self.catalog.folder}/_tranche/{self.schema}/{self.address.table}"
        return Staging(folder, self.catalog)

    @property
    def key_column(self) -> str:
        """What the table calls the column of the key."""
        return self.lake.partition_column or PARTITION_COLUMN

    # What readers ask

    @property
    def name(self) -> str:
        return self._view(None)

    def at(self, snapshot: str) -> str:
        return self._view(snapshot)

    def rows(self, snapshot: str | None = None) -> DataFrame:
        if snapshot is not None and not snapshot.isdigit():
            return self._staged_rows(snapshot)
        return self.logical(self.own_rows(snapshot))

    def columns(self) -> StructType | None:
        version = self.version()
        return None if version is None else self._known(version.schema)

    def readable(self) -> tuple[StructType, str | None] | None:
        version = self.version()
        if version is None:
            return None
        check_readable(version, self.address)
        return self._known(version.schema), str(self.touched())

    def facts(self) -> TableFacts | None:
        version = self.version()
        if version is None:
            return None
        check_readable(version, self.address)
        columns = self._known(version.schema)
        return TableFacts(columns, str(self.touched()), self.staging_place.properties())

    def has(self, snapshot: str) -> bool:
        if not snapshot.isdigit():
            return False
        kept = self.catalog.rows(
            f"SELECT 1 FROM {META}.ducklake_snapshot WHERE snapshot_id = ?",
            (int(snapshot),),
        )
        return bool(kept) and self.version(int(snapshot)) is not None

    def slice_rows(self, partition: str | None, snapshot: str | None) -> int | None:
        if snapshot is None:
            return 0
        if partition is not None:
            return (self.key_rows([partition], snapshot) or {}).get(partition, 0)
        version = self._version_at(snapshot)
        found = settled(self.catalog, version, partial(total, self.catalog))
        return self.rows(snapshot).count() if found is None else found

    def key_rows(self, keys: Sequence[str], snapshot: str) -> dict[str, int] | None:
        version = self._version_at(snapshot)
        known = settled(
            self.catalog, version, partial(by_key, self.catalog, column=self.key_column)
        )
        if known is not None:
            return {key: known[key] for key in keys if known.get(key)}
        rows = self.rows(snapshot).where(in_keys(PARTITION_COLUMN, keys))
        found = rows.groupBy(PARTITION_COLUMN).count().collect()
        return {row[0]: int(row[1]) for row in found}

    # What its snapshots tell

    def attempted(self, commit: Commit) -> Snapshot | None:
        told = find_attempt(self.catalog, commit.attempt.id, self.noted_name)
        if told is not None:
            return snapshot_of(told, commit.attempt.id)
        entry = self.staging_place.entry(commit.attempt.id)
        return None if entry is None else _snapshot(entry)

    def published(self, commit: Commit) -> Snapshot | None:
        told = find(self.catalog, commit.publication, self.noted_name)
        return self._expired(commit) if told is None else snapshot_of(told, commit.attempt.id)

    def seen(
        self,
        *,
        limit: int,
        snapshot: str | None = None,
        until: int | None = None,
        first: bool = False,
    ) -> Sequence[SeenSnapshot]:
        found = self._told()
        if snapshot is not None:
            found = [told for told in found if str(told.id) == snapshot]
        if until is not None:
            found = [told for told in found if _micros(told.at) <= until]
        return [seen_of(told) for told in (found[::-1] if first else found)[:limit]]

    # How it is written

    def check(self, strategy: Strategy, layout: Collection[Transform]) -> None:
        """Every strategy can be done; a layout is looked at when the columns are known."""

    def create(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        self._publish_new(rows, target, layout or (), commit, replaces=False)

    def rebuild(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...] | None,
        facts: TableFacts,
        commit: Commit,
    ) -> None:
        kept = layout
        if kept is None:
            names = rows.columns
            kept = tuple(t for t in self._layout() if t.column in names)
        self._publish_new(rows, target, kept, commit, replaces=True)

    def alter(self, fitted: Fit) -> None:
        if fitted.added or fitted.widened:
            self._publishing.alter(fitted.added, fitted.widened)

    def lay_out(self, layout: tuple[Transform, ...] | None, facts: TableFacts) -> None:
        held = self._layout()
        if layout is not None and set(layout) != set(held):
            self._lay_out(layout, facts.columns)
            held = layout
        self.split = bool(held)

    def set_layout(self, transforms: tuple[Transform, ...]) -> None:
        columns = self.columns()
        if columns is None:
            raise SourceMissing(f"{self.address} does not exist", "run the script that makes it")
        self._lay_out(transforms, columns)

    def overwrite(
        self, rows: DataFrame, target: Target, commit: Commit | None, since: str | None = None
    ) -> None:
        based_on = self.based_on if commit is None else None
        if since is not None:
            based_on = int(since)
        self._preparing.stage(rows, target, "replace", commit or self._own, based_on)
        if commit is not None:
            self._publish(commit)

    def append(self, rows: DataFrame, target: Target) -> None:
        self._preparing.stage(rows, target, "append", self._own, self.based_on)

    def merging(self, rows: DataFrame) -> LakeMerging:
        # Its columns may have changed since the commit that this is based on.
        now = self.touched()
        held = self.logical(self.own_rows(str(now), located=True))
        based_on = self.based_on if self.commit is not None else now

        def write(merged: Merged) -> None:
            self._preparing.stage_merge(merged, self._own, based_on, now)

        return LakeMerging(held, rows, write)

    @contextmanager
    def committing(self, commit: Commit) -> Iterator[None]:
        self.commit, self.based_on = commit, self.touched()
        try:
            yield
            self._publish(commit)
        finally:
            self.commit = None

    def made(
        self, commit: Commit, target: Target, *, before: TableFacts | None, watch: Watch | None
    ) -> Snapshot:
        if self.last is not None:
            return self.last
        found = self.published(commit)
        if found is None:
            raise EngineError(
                f"{self.address} has no commit of the attempt {commit.attempt.id}, which made one",
                "another process may have removed it; run it again",
            )
        return found

    def side(self, commit: Commit) -> Waiting:
        with self.catalog.using():
            root = self.catalog.folder
        address = replace(self.address, schema=self.schema)
        return Aside(self.catalog.files, self.session, Warehouse(root), address, commit)

    def note(self, name: str, value: str) -> None:
        self.staging_place.set_property(name, value)

    # Writes that wait

    @contextmanager
    def staging(self, commit: Commit, facts: TableFacts) -> Iterator[None]:
        self.commit, self.based_on = commit, int(facts.snapshot or 0)
        try:
            yield
        finally:
            self.commit = None

    def staged(self, commit: Commit) -> Snapshot:
        entry = self.staging_place.entry(commit.attempt.id)
        if entry is None:
            raise EngineError(
                f"nothing of the attempt {commit.attempt.id} is staged for {self.address}",
                "another process may have removed it; run it again",
            )
        return _snapshot(entry)

    def pick(self, snapshot: str) -> str | None:
        entry = self.staging_place.entry(snapshot.removeprefix(_STAGED))
        if entry is None:
            return None
        return self._publishing.publish(entry).id

    def tidy(self, commit: Commit) -> None:
        self.forget_attempt(commit.attempt.id)

    def forget(self, commit: Commit) -> None:
        self.forget_attempt(commit.attempt.id)

    def forget_attempt(self, attempt: str) -> None:
        self._publishing.forget(attempt)

    # Going back, and upkeep

    def shown(self) -> Sequence[Shown]:
        told = self._told()
        parents = [str(each.id) for each in told[1:]]
        return [
            Shown(str(each.id), parent, _micros(each.at))
            for each, parent in zip(told, [*parents, None], strict=True)
        ]

    def returning(self, snapshot: str) -> Returning:
        facts = self.facts()
        if facts is None:
            raise SourceMissing(f"{self.address} does not exist", "run the script that makes it")
        then, now = self._version_at(snapshot), self._version_at(facts.snapshot)
        keys = settled(
            self.catalog,
            then,
            lambda one: settled(self.catalog, now, partial(changed_keys, self, one)),
        )
        return Returning(snapshot, facts, self._known(then.schema), keys)

    def restore(self, to: Returning, commit: Commit) -> None:
        rows = self.rows(to.snapshot)
        sliced = PARTITION_COLUMN in to.then.names
        target = Target(
            table=self.address, strategy=Replace(), sliced=sliced, policy="sync", keys=()
        )
        now = self.facts()
        if now is None or now.snapshot != to.facts.snapshot:
            raise CommitLost(
                f"another writer changed {self.address} in the meantime", "run it again"
            )
        if captured(to.then, ()) != captured(to.facts.columns, ()):
            then = self._version_at(to.snapshot)
            layout = self._without_slice(stated_layout(then))
            # Rows of whatever keys there are, each of which says its own.
            every = replace(target, keys=("", ""))
            since = to.facts.snapshot
            self._publish_new(rows, every, layout, commit, replaces=True, since=since)
            return
        keys = tuple(key.partition for key in to.keys if key.partition is not None)
        if len(keys) < len(to.keys):
            # Rows without a key, which others have written, are in no slice: all of it goes back.
            target = replace(target, sliced=False)
        elif sliced:
            rows = rows.where(in_keys(PARTITION_COLUMN, keys))
            target = replace(target, keys=keys)
        self.overwrite(rows, target, commit, to.facts.snapshot)

    def maintain(self, upkeep: Upkeep) -> Maintained:
        return maintained(self, upkeep)

    # Inside

    def version(self, snapshot: int | None = None) -> Version | None:
        return look(self.catalog, self.schema, self.address.table, snapshot)

    @property
    def _own(self) -> Commit:
        assert self.commit is not None, "a write that is nobody's"
        return self.commit

    @cached_property
    def _preparing(self) -> Preparing:
        return Preparing(self)

    @cached_property
    def _publishing(self) -> Publishing:
        return Publishing(self, self._preparing)

    @property
    def noted_name(self) -> str:
        """What commits call the table."""
        return f"{self.schema}.{self.address.table}"

    def _known(self, columns: StructType) -> StructType:
        """The columns, with Tranche's own name for that of the key."""
        return StructType(
            [
                StructField(PARTITION_COLUMN if f.name == self.key_column else f.name, f.dataType)
                for f in columns.fields
            ]
        )

    def logical(self, rows: DataFrame) -> DataFrame:
        if self.key_column == PARTITION_COLUMN or self.key_column not in rows.columns:
            return rows
        return rows.withColumnRenamed(self.key_column, PARTITION_COLUMN)

    def physical(self, rows: DataFrame) -> DataFrame:
        """The rows with the table's name for the column of the key."""
        if self.key_column == PARTITION_COLUMN or PARTITION_COLUMN not in rows.columns:
            return rows
        return rows.withColumnRenamed(PARTITION_COLUMN, self.key_column)

    def _version_at(self, snapshot: str | None) -> Version:
        version = self.version(None if snapshot is None else int(snapshot))
        if version is None:
            raise UnknownSnapshot(
                f"{self.address} has nothing at the snapshot {snapshot}",
                f"tranche show {self.address} --snapshots lists those that it has",
            )
        return version

    def own_rows(self, snapshot: str | None, *, located: bool = False) -> DataFrame:
        if snapshot is None and self.version() is None:
            raise SourceMissing(f"{self.address} does not exist", "run the script that makes it")
        version = self._version_at(snapshot)
        check_readable(version, self.address)
        return settled(
            self.catalog,
            version,
            partial(read, self.session, self.catalog, located=located),
        )

    def _view(self, snapshot: str | None) -> str:
        at = "" if snapshot is None else f"@{snapshot}"
        view = quoted_name(f"_tranche_{'/'.join(self.address.parts)}{at}")
        self.own_rows(snapshot).createOrReplaceTempView(view)
        return view

    def _staged_rows(self, snapshot: str) -> DataFrame:
        """The slice as it will be; of other slices there may be nothing."""
        entry = self.staging_place.entry(snapshot.removeprefix(_STAGED))
        assert entry is not None, f"nothing is staged as {snapshot}"
        return self._preparing.preview(entry)

    def _expired(self, commit: Commit) -> Snapshot | None:
        """What an attempt has committed whose snapshot is gone, and which had no time to clear up."""
        entry = self.staging_place.entry(commit.attempt.id)
        since = None if entry is None else self._publishing.registered_since(entry)
        return None if entry is None or since is None else replace(_snapshot(entry), id=str(since))

    def _told(self) -> list[Told]:
        return told_of(self.catalog, lives_of(self.catalog, self.schema, self.address.table))

    def touched(self) -> int:
        """The snapshot at which it became what it is; the next one that is kept, if that is gone."""
        with self.catalog.using():
            asked = ("touched", self.noted_name.lower(), latest_snapshot(self.catalog))
            if asked not in self.catalog.known:
                self.catalog.known[asked] = self._last_change()
            found = self.catalog.known[asked]
            assert isinstance(found, int)
            return found

    def _last_change(self) -> int:
        told, version = self._told(), self.version()
        since = told[0].id if told else 0
        if version is not None:
            # Its snapshot may have expired, and earlier ones be kept, which show less.
            since = max(since, last_change(self.catalog, version))
        ((kept,),) = self.catalog.asked(
            f"SELECT min(snapshot_id) FROM {META}.ducklake_snapshot WHERE snapshot_id >= ?",
            (since,),
        )
        return int(kept)

    def _layout(self) -> tuple[Transform, ...]:
        version = self.version()
        return () if version is None else self._without_slice(stated_layout(version))

    def _without_slice(self, layout: Sequence[Transform]) -> tuple[Transform, ...]:
        return tuple(t for t in layout if (t.name, t.column) != ("identity", self.key_column))

    def _lay_out(self, layout: Sequence[Transform], columns: StructType) -> None:
        whole = self.whole_layout(layout, sliced=PARTITION_COLUMN in columns.names)
        with self.catalog.using():
            check_layout(whole, self.physical_columns(columns), self.catalog.folder)
        self._publishing.lay_out(whole)

    def physical_columns(self, columns: StructType) -> StructType:
        return StructType(
            [
                StructField(self.key_column if f.name == PARTITION_COLUMN else f.name, f.dataType)
                for f in columns.fields
            ]
        )

    def whole_layout(self, layout: Sequence[Transform], *, sliced: bool) -> tuple[Transform, ...]:
        slice_ = (Transform("identity", self.key_column),) if sliced else ()
        return (*slice_, *layout)

    def _publish_new(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...],
        commit: Commit,
        *,
        replaces: bool,
        since: str | None = None,
    ) -> None:
        self.split = bool(layout)
        self.last = self._publishing.new_table(
            rows, target, layout, commit, replaces=replaces, since=since
        )

    def _publish(self, commit: Commit) -> None:
        entry = self.staging_place.entry(commit.attempt.id)
        if entry is not None:
            self.last = self._publishing.publish(entry)


def _snapshot(entry: Entry) -> Snapshot:
    size = sum(file.size for file in entry.files)
    return Snapshot(
        f"{_STAGED}{entry.attempt}",
        None if entry.based_on is None else str(entry.based_on),
        {ADDED: str(entry.rows), ADDED_SIZE: str(size)},
        None,
        rows_by_key=entry.rows_by_key if entry.kind == "replace" else None,
        changed=entry.changed,
        inserted=entry.inserted,
    )


def _micros(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds() * 1_000_000)
