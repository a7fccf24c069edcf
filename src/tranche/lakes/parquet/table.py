"""A table that is a folder of Parquet files, with a folder below it for each slice."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, IntegerType, LongType, StringType, StructField, StructType

from tranche.errors import ColumnsRejected, CommitLost, EngineError, UnknownSnapshot
from tranche.lakes.columns import Fit
from tranche.lakes.commit import Commit
from tranche.lakes.digest import Watch
from tranche.lakes.fixed_layout import FixedLayout
from tranche.lakes.folders import Side, Warehouse
from tranche.lakes.parquet.log import Entry, Kind, TableLog
from tranche.lakes.parquet.paths import key_folder, nameable
from tranche.lakes.table import (
    ADDED,
    Returning,
    Shown,
    Snapshot,
    Table,
    TableFacts,
    Waiting,
    in_keys,
)
from tranche.lakes.target import Target
from tranche.model.asset import LakeTable
from tranche.model.layout import Transform, canonical
from tranche.model.snapshot import SeenSnapshot
from tranche.model.strategy import PARTITION_COLUMN, History, Strategy
from tranche.ports import Maintained, Upkeep
from tranche.script.binding import escaped_path, quoted_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IN_PATHS = (StringType, IntegerType, LongType, DateType)
"""What reads the same from the name of a folder in every session."""


class ParquetTable(FixedLayout):
    """Writes wait in folders beside the table; to publish them is to move the folders."""

    kind = "a Parquet table"
    stages = True
    merges = False
    travels = False

    def __init__(self, session: SparkSession, address: LakeTable, warehouse: Warehouse) -> None:
        super().__init__(session, address)
        self.warehouse = warehouse
        self.log = _log(warehouse, address)
        self.commit: Commit | None = None
        """Whose write is being staged."""
        self.based_on = 0

    def called(self, name: str) -> Table:
        address = replace(self.address, table=name)
        return ParquetTable(self.session, address, self.warehouse)

    # What readers ask

    @property
    def name(self) -> str:
        view = quoted_name(view_name(self.address))
        self.rows().createOrReplaceTempView(view)
        return view

    def at(self, snapshot: str) -> str:
        if snapshot != str(self.log.latest()):
            raise self._no_past(snapshot)
        return self.name

    def rows(self, snapshot: str | None = None) -> DataFrame:
        if snapshot is not None and not snapshot.isdigit():
            return self._staged_rows(snapshot)
        if snapshot is not None and snapshot != str(self.log.latest()):
            raise self._no_past(snapshot)
        self.log.settle()
        return self._read(self.log.files, self._columns())

    def columns(self) -> StructType | None:
        return self._noted() or self._foreign()

    def readable(self) -> tuple[StructType, str | None] | None:
        columns = self.columns()
        # What is there is all that can be read.
        return None if columns is None else (columns, None)

    def facts(self) -> TableFacts | None:
        columns = self.columns()
        if columns is None:
            return None
        latest = self.log.latest()
        about = self.log.about() or {}
        properties: dict[str, str] = about.get("properties", {})
        return TableFacts(columns, str(latest) if latest else None, properties)

    def has(self, snapshot: str) -> bool:
        return snapshot == str(self.log.latest())

    def slice_rows(self, partition: str | None, snapshot: str | None) -> int | None:
        rows = self.rows()
        if partition is not None:
            rows = rows.where(F.col(PARTITION_COLUMN) == F.lit(partition))
        return rows.count()

    def key_rows(self, keys: Sequence[str], snapshot: str) -> dict[str, int] | None:
        rows = self.rows().where(in_keys(PARTITION_COLUMN, keys))
        found = rows.groupBy(PARTITION_COLUMN).count().collect()
        return {row[0]: int(row[1]) for row in found}

    # What its commits tell

    def attempted(self, commit: Commit) -> Snapshot | None:
        entry = self.log.find(commit, alone=True) or self.log.staged(commit.attempt.id)
        return None if entry is None else _snapshot(entry, commit)

    def published(self, commit: Commit) -> Snapshot | None:
        entry = self.log.find(commit, alone=False)
        if entry is not None and not entry.done:
            self.log.settle()
        return None if entry is None else _snapshot(entry, commit)

    def seen(
        self,
        *,
        limit: int,
        snapshot: str | None = None,
        until: int | None = None,
        first: bool = False,
    ) -> Sequence[SeenSnapshot]:
        found = [_seen(entry) for entry in self.log.backwards()]
        if snapshot is not None:
            found = [each for each in found if each.id == snapshot]
        if until is not None:
            found = [each for each in found if _micros(each.at) <= until]
        return found[::-1][:limit] if first else found[:limit]

    # How it is written

    def check(self, strategy: Strategy, layout: Collection[Transform]) -> None:
        if isinstance(strategy, History):
            raise ColumnsRejected(
                f"{self.address} is to keep a history, and a Parquet table has no rows that change",
                "put it into a lake of iceberg, delta or ducklake",
            )
        for transform in layout:
            if transform.name != "identity":
                raise ColumnsRejected(
                    f"a Parquet table is laid out by columns as they are, not by {transform}",
                    "select such a column, or use a lake of iceberg, delta or ducklake",
                )

    def create(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        if self.columns() is not None:
            raise CommitLost(f"{self.address} was made in the meantime", "run it again")
        self._make(rows, target, layout, commit)

    def rebuild(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...] | None,
        facts: TableFacts,
        commit: Commit,
    ) -> None:
        self._make(rows, target, layout, commit)

    def alter(self, fitted: Fit) -> None:
        if not fitted.added and not fitted.widened:
            return
        wider = {field.name: field for field in fitted.widened}
        columns = [wider.get(field.name, field) for field in self._columns().fields]
        columns += [StructField(f.name, f.dataType) for f in fitted.added]

        def change(about: dict[str, Any]) -> None:
            about["columns"] = json.loads(_ordered(StructType(columns)).json())

        self.log.change(change)

    def stated_layout(self, facts: TableFacts) -> str | None:
        stated: str | None = (self.log.about() or {}).get("layout")
        return stated

    def overwrite(
        self, rows: DataFrame, target: Target, commit: Commit | None, since: str | None = None
    ) -> None:
        own = commit or self.commit
        assert own is not None, "a write that is nobody's"
        based_on = self.log.latest() if commit is not None else self.based_on
        if since is not None:
            based_on = int(since)
        self._stage(rows, target, "replace", own, based_on)
        if commit is not None:
            self._publish(commit)

    def append(self, rows: DataFrame, target: Target) -> None:
        assert self.commit is not None, "a write that is nobody's"
        self._stage(rows, target, "append", self.commit, self.based_on)

    @contextmanager
    def committing(self, commit: Commit) -> Iterator[None]:
        self.commit, self.based_on = commit, self.log.latest()
        yield
        self._publish(commit)

    def made(
        self, commit: Commit, target: Target, *, before: TableFacts | None, watch: Watch | None
    ) -> Snapshot:
        found = self.published(commit)
        if found is None:
            raise EngineError(
                f"{self.address} has no commit of the attempt {commit.attempt.id}, which made one",
                "another process may have removed it; run it again",
            )
        return found

    def side(self, commit: Commit) -> Waiting:
        return Side(self.session, self.warehouse, self.address, commit)

    def note(self, name: str, value: str) -> None:
        def change(about: dict[str, Any]) -> None:
            about.setdefault("properties", {})[name] = value

        self.log.change(change)

    # Writes that wait

    @contextmanager
    def staging(self, commit: Commit, facts: TableFacts) -> Iterator[None]:
        self.commit = commit
        self.based_on = int(facts.snapshot or 0)
        try:
            yield
        finally:
            self.commit = None

    def staged(self, commit: Commit) -> Snapshot:
        entry = self.log.staged(commit.attempt.id)
        if entry is None:
            raise EngineError(
                f"nothing of the attempt {commit.attempt.id} is staged for {self.address}",
                "another process may have removed it; run it again",
            )
        return _snapshot(entry, commit)

    def pick(self, snapshot: str) -> str | None:
        entry = self.log.staged(snapshot.removeprefix(_STAGED))
        if entry is None or self.log.has(entry.publication):
            return None
        return str(self.log.publish(entry).number)

    def forget(self, commit: Commit) -> None:
        self.log.forget(commit.attempt.id)

    # Going back, and upkeep

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(str(entry.number), str(entry.number - 1), _micros(entry.time))
            for entry in self.log.backwards()
        ]

    def returning(self, snapshot: str) -> Returning:
        facts = self.facts()
        if facts is None or facts.snapshot != snapshot:
            raise self._no_past(snapshot)
        return Returning(snapshot, facts, facts.columns)

    def restore(self, to: Returning, commit: Commit) -> None:
        raise self._no_past(to.snapshot)

    def maintain(self, upkeep: Upkeep) -> Maintained:
        """Removes what attempts have left that ended."""
        self.log.settle()
        left = 0
        for path in self.log.own.glob("staged-*.json"):
            entry = self.log.staged(path.stem.removeprefix("staged-"))
            if entry is None or entry.run in upkeep.running:
                continue
            if datetime.fromtimestamp(path.stat().st_mtime, UTC) < upkeep.left_before:
                left += len(list(self.log.staged_folder(entry.attempt).rglob("*.parquet")))
                self.log.forget(entry.attempt)
        sizes = [path.stat().st_size for path in self.log.files.rglob("*.parquet")]
        number, total = len(sizes), sum(sizes)
        return Maintained(
            table=self.address, orphans=left, files=(number, number), bytes=(total, total)
        )

    # Inside

    def _make(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        self.split = bool(layout)
        unfit = [
            field.name
            for field in rows.schema.fields
            if field.name in {t.column for t in layout or ()}
            and not isinstance(field.dataType, _IN_PATHS)
        ]
        if unfit:
            raise ColumnsRejected(
                f"the values of {', '.join(unfit)} cannot be names of folders",
                "lay the table out by text, whole numbers or dates",
            )
        whole = replace(target, sliced=False) if self.columns() is None else target
        stated = None if layout is None else canonical(layout)
        parts = [transform.column for transform in layout or ()]
        self._stage(
            rows,
            target,
            "replace",
            commit,
            self.log.latest(),
            columns=_ordered(rows.schema, parts).json(),
            layout=stated,
            parts=parts,
            whole=not whole.sliced,
        )
        self._publish(commit)

    def _stage(
        self,
        rows: DataFrame,
        target: Target,
        kind: Kind,
        commit: Commit,
        based_on: int,
        *,
        columns: str | None = None,
        layout: str | None = None,
        parts: Sequence[str] | None = None,
        whole: bool = False,
    ) -> None:
        """Writes rows beside the table, in the folders that they will have in it."""
        folders = None
        if target.sliced and not whole:
            folders = tuple(map(key_folder, target.keys))
        elif target.sliced:
            for key in target.keys:
                key_folder(key)
        self.log.forget(commit.attempt.id)
        staged = self.log.staged_folder(commit.attempt.id)
        named = self._parts() if parts is None else list(parts)
        by = [PARTITION_COLUMN, *named] if target.sliced else named
        rows = nameable(rows, named)
        if target.sliced and target.ranged:
            # A file or few for each key, not one for each of a task's.
            rows = rows.repartition(F.col(PARTITION_COLUMN))
        # Where something is written, a path has no patterns.
        rows.write.partitionBy(*by).parquet(str(staged))
        counted = self._counted(staged, rows.schema, sliced=target.sliced)
        self.log.note_staged(
            Entry(
                kind=kind,
                attempt=commit.attempt.id,
                run=commit.attempt.run,
                publication=commit.publication,
                fingerprint=commit.fingerprint,
                partition=commit.partition,
                folders=folders,
                rows=sum(counted.values()),
                rows_by_key={key: rows for key, rows in counted.items() if key is not None},
                based_on=based_on,
                columns=columns,
                layout=layout,
            )
        )

    def _publish(self, commit: Commit) -> None:
        entry = self.log.staged(commit.attempt.id)
        if entry is not None and not self.log.has(entry.publication):
            self.log.publish(entry)

    def _counted(self, staged: Path, columns: StructType, *, sliced: bool) -> dict[str | None, int]:
        """How many rows were written for each key; the files themselves say so."""
        rows = self._read(staged, columns)
        if not sliced:
            return {None: rows.count()}
        found = rows.groupBy(PARTITION_COLUMN).count().collect()
        return {row[0]: int(row[1]) for row in found}

    def _staged_rows(self, snapshot: str) -> DataFrame:
        """The slice as it will be; of other slices there is nothing."""
        attempt = snapshot.removeprefix(_STAGED)
        entry = self.log.staged(attempt)
        assert entry is not None, f"nothing is staged by {attempt}"
        rows = self._read(self.log.staged_folder(attempt), self._columns())
        return self.rows().unionByName(rows) if entry.kind == "append" else rows

    def _read(self, folder: Path, columns: StructType) -> DataFrame:
        return self.session.read.schema(columns).parquet(escaped_path(str(folder)))

    def _columns(self) -> StructType:
        columns = self.columns()
        assert columns is not None, f"{self.address} does not exist"
        return columns

    def _noted(self) -> StructType | None:
        about = self.log.about()
        return None if about is None else StructType.fromJson(about["columns"])

    def _foreign(self) -> StructType | None:
        """The columns of files that somebody else put there."""
        if not any(self.log.files.rglob("*.parquet")):
            return None
        return self.session.read.parquet(escaped_path(str(self.log.files))).schema

    def _parts(self) -> list[str]:
        """The columns besides the key that are names of folders."""
        stated = (self.log.about() or {}).get("layout")
        return [part.strip() for part in stated.split(",")] if stated else []

    def _no_past(self, snapshot: str) -> UnknownSnapshot:
        return UnknownSnapshot(
            f"{self.address} is a Parquet table and has no past: {snapshot} is not what it is now",
            "tables in lakes of iceberg or delta can be read as they were",
        )


_STAGED = "staged-"


def view_name(table: LakeTable) -> str:
    """The view that stands for a table in a statement; other tables have others.

    >>> view_name(LakeTable("lake", "c", "a_b")), view_name(LakeTable("lake", "b_c", "a"))
    ('_tranche_lake/a_b/c', '_tranche_lake/a/b_c')
    """
    return f"_tranche_{'/'.join(table.parts)}"


def _log(warehouse: Warehouse, address: LakeTable) -> TableLog:
    local, own = warehouse.local, warehouse.local_own(address)
    if local is None or own is None:
        raise ColumnsRejected(
            f"the lake {address.lake!r} has Parquet tables at {warehouse.root}, where folders"
            " cannot be moved at once",
            "use a folder that this machine sees, or a lake of iceberg, delta or ducklake",
        )
    return TableLog(own, local / address.schema / address.table)


def _snapshot(entry: Entry, commit: Commit) -> Snapshot:
    return Snapshot(
        str(entry.number) if entry.number else f"{_STAGED}{entry.attempt}",
        str(entry.based_on),
        {ADDED: str(entry.rows)},
        entry.time if entry.at else None,
        rows_by_key=entry.rows_by_key if entry.kind == "replace" else None,
        own=entry.attempt == commit.attempt.id,
    )


def _seen(entry: Entry) -> SeenSnapshot:
    return SeenSnapshot(
        id=str(entry.number),
        at=entry.time,
        operation="append" if entry.kind == "append" else "overwrite",
        run=entry.run,
        partition=entry.partition,
        added=entry.rows,
        removed=None,
    )


def _micros(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds() * 1_000_000)


def _ordered(columns: StructType, parts: Sequence[str] = ()) -> StructType:
    """As Spark reads them: those that stand in the names of folders come last."""
    last = [*parts, PARTITION_COLUMN]
    first = [field for field in columns.fields if field.name not in last]
    return StructType(
        [StructField(f.name, f.dataType) for f in first]
        + [StructField(f.name, f.dataType) for f in columns.fields if f.name in last]
    )
