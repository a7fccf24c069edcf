"""The commits to a table of DuckLake, which register the files that wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from tranche.errors import CommitLost, EngineError
from tranche.lakes.commit import Commit
from tranche.lakes.ducklake.catalog import LAKE, META
from tranche.lakes.ducklake.commits import (
    PUBLICATION,
    TABLE,
    Refused,
    Told,
    committed,
    find,
    snapshot_of,
)
from tranche.lakes.ducklake.conflicts import check_positions, check_unchanged
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.layout import check_layout, layout_statement, stated_layout
from tranche.lakes.ducklake.metadata import Version, check_writable, look
from tranche.lakes.ducklake.placing import new_folder, wants_folders
from tranche.lakes.ducklake.preparing import Preparing
from tranche.lakes.ducklake.reading import FILE, POSITION
from tranche.lakes.ducklake.staging import Entry
from tranche.lakes.ducklake.types import duck_type
from tranche.lakes.table import ADDED, ADDED_SIZE, Snapshot
from tranche.lakes.target import Target
from tranche.model.layout import Transform, canonical

if TYPE_CHECKING:
    from tranche.lakes.ducklake.table import DuckLakeTable

_T = TypeVar("_T")


class Landed(Exception):
    """Another attempt of the step has committed already."""

    def __init__(self, told: Told) -> None:
        super().__init__(f"snapshot {told.id}")
        self.told = told


class Publishing:
    """What is committed to one table."""

    def __init__(self, table: DuckLakeTable, preparing: Preparing) -> None:
        self.table = table
        self.preparing = preparing
        self.catalog = table.catalog
        self.waiting = table.staging_place

    @property
    def name(self) -> str:
        parts = (LAKE, identifier(self.table.schema), identifier(self.table.address.table))
        return ".".join(parts)

    # What is committed

    def publish(self, entry: Entry) -> Snapshot:
        """Makes what waits a commit, unless another attempt of the step has made one."""
        if not entry.files and entry.kind != "replace" and not entry.changed:
            self._clear(entry.attempt)
            return self._nothing(entry)

        def seen(base: int) -> Version:
            self._check_first(entry)
            version = look(self.catalog, self.table.schema, self.table.address.table, base)
            if version is None:
                raise CommitLost(f"{self.table.address} was removed meanwhile", "run it again")
            check_writable(version, self.table.address)
            if canonical(stated_layout(version)) != entry.layout:
                raise CommitLost(
                    f"the layout of {self.table.address} was changed meanwhile", "run it again"
                )
            missing = [name for name in entry.columns if version.column(name) is None]
            if missing:
                raise CommitLost(
                    f"the column {missing[0]} of {self.table.address} was taken away or renamed"
                    " meanwhile",
                    "run it again",
                )
            check_unchanged(self.catalog, version, entry, self.table.key_column)
            return version

        def act(version: Version) -> None:
            self._delete(entry)
            self._register(entry, version.path)

        return self._committed(entry, seen, act, folder=lambda version: version.path)

    def new_table(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...],
        commit: Commit,
        *,
        replaces: bool,
        since: str | None = None,
    ) -> Snapshot:
        """Makes the table with these rows, in one commit.

        If it replaces one, not if that was changed since a snapshot, where one is given.
        """
        rows = self.table.physical(rows)
        whole = self.table.whole_layout(layout, sliced=target.sliced)
        if not layout and not wants_folders(
            self.catalog, self.table.schema, self.table.address.table
        ):
            whole = ()
        with self.catalog.using():
            check_layout(whole, rows.schema, self.catalog.folder)
        definitions = ", ".join(
            f"{identifier(f.name)} {duck_type(f.dataType, f.name)}" for f in rows.schema.fields
        )
        entry = self.preparing.stage_new(rows, target, whole, commit)

        def seen(base: int) -> str:
            self._check_first(entry)
            if since is not None and str(self.table.touched()) != since:
                raise CommitLost(
                    f"another writer changed {self.table.address} in the meantime", "run it again"
                )
            there = look(self.catalog, self.table.schema, self.table.address.table, base)
            if there is not None and not replaces:
                raise CommitLost(f"{self.table.address} was made in the meantime", "run it again")
            return self._new_folder()

        def act(folder: str) -> None:
            schema = identifier(self.table.schema)
            self.catalog.asked(f"CREATE SCHEMA IF NOT EXISTS {LAKE}.{schema}")
            how = "CREATE OR REPLACE TABLE" if replaces else "CREATE TABLE"
            self.catalog.asked(f"{how} {self.name} ({definitions})")
            if whole:
                self.catalog.asked(layout_statement(self.name, whole))
            self._register(entry, folder)

        return self._committed(entry, seen, act, folder=lambda folder: folder)

    def alter(self, added: Sequence[StructField], widened: Sequence[StructField]) -> None:
        def act(_: None) -> None:
            for field in widened:
                column, type_ = identifier(field.name), duck_type(field.dataType, field.name)
                self.catalog.asked(f"ALTER TABLE {self.name} ALTER COLUMN {column} TYPE {type_}")
            for field in added:
                column, type_ = identifier(field.name), duck_type(field.dataType, field.name)
                self.catalog.asked(
                    f"ALTER TABLE {self.name} ADD COLUMN IF NOT EXISTS {column} {type_}"
                )

        committed(self.catalog, None, lambda _: None, act)

    def lay_out(self, layout: Sequence[Transform]) -> None:
        statement = layout_statement(self.name, layout)

        def act(_: None) -> None:
            self.catalog.asked(statement)

        committed(self.catalog, None, lambda _: None, act)

    def forget(self, attempt: str) -> None:
        """Removes what an attempt has staged, and files of it that nobody has registered."""
        entry = self.waiting.entry(attempt)
        if entry is not None:
            self._hide_unless_registered(entry)
        self.waiting.clear(attempt)

    def registered_since(self, entry: Entry) -> int | None:
        """Since which snapshot the catalog has files of it; None if it has none.

        The snapshot may have expired, and with it what it said of itself.
        """
        names = [file.name.rpartition("/")[2] for file in entry.files if not file.inserted]
        if not names:
            return None
        (found,) = self.catalog.rows(
            f"SELECT min(begin_snapshot) FROM {META}.ducklake_data_file"
            " WHERE parse_filename(path) IN (SELECT unnest(CAST(? AS VARCHAR[])))",
            (names,),
        )
        return None if found[0] is None else int(found[0])

    # Inside

    def _check_first(self, entry: Entry) -> None:
        told = find(self.catalog, entry.publication, entry.table)
        if told is not None:
            raise Landed(told)

    def _committed(
        self,
        entry: Entry,
        seen: Callable[[int], _T],
        act: Callable[[_T], None],
        *,
        folder: Callable[[_T], str],
    ) -> Snapshot:
        size = sum(file.size for file in entry.files)
        note = {
            "tranche.run": entry.run,
            "tranche.attempt": entry.attempt,
            "tranche.fingerprint": entry.fingerprint,
            PUBLICATION: entry.publication,
            TABLE: entry.table,
            "tranche.rows": entry.rows,
            "tranche.size": size,
            "tranche.partition": entry.partition,
            "tranche.changed": entry.changed,
            "tranche.inserted": entry.inserted,
        }
        note = {name: value for name, value in note.items() if value is not None}

        shown: set[str] = set()

        def seen_now(base: int) -> _T:
            # Others may have committed since the rows were written.
            if self.table.version() is not None:
                note["tranche.parent"] = self.table.touched()
            found = seen(base)
            # A bucket copies the files to give them names: before the transaction, and once.
            if folder(found) not in shown:
                self.waiting.show(entry, folder(found))
                shown.add(folder(found))
            return found

        try:
            made = committed(self.catalog, note, seen_now, act)
        except Landed as landed:
            with suppress(EngineError, OSError):
                self.forget(entry.attempt)
            return self._landed(landed.told, entry)
        except BaseException:
            self._hide_unless_registered(entry)
            raise
        self._clear(entry.attempt)
        if made is None:
            return self._nothing(entry)
        told = find(self.catalog, entry.publication, entry.table)
        assert told is not None, f"the commit {made} does not say whose it is"
        return self._landed(told, entry)

    def _clear(self, attempt: str) -> None:
        """The commit stands, whatever becomes of what waited: upkeep removes what is left."""
        with suppress(EngineError, OSError):
            self.waiting.clear(attempt)

    def _landed(self, told: Told, entry: Entry) -> Snapshot:
        found = snapshot_of(told, entry.attempt)
        replaced = found.own and entry.kind == "replace"
        return replace(found, rows_by_key=entry.rows_by_key if replaced else None)

    def _nothing(self, entry: Entry) -> Snapshot:
        """A commit without any change, of which the catalog has no snapshot."""
        return Snapshot(
            str(self.table.touched()),
            None,
            {ADDED: "0", ADDED_SIZE: "0"},
            None,
            rows_by_key={} if entry.kind == "replace" else None,
            changed=entry.changed,
            inserted=entry.inserted,
        )

    def _delete(self, entry: Entry) -> None:
        if entry.kind == "replace":
            where = ""
            if entry.keys is not None:
                listed = ", ".join("?" for _ in entry.keys)
                where = f" WHERE {identifier(self.table.key_column)} IN ({listed})"
            self.catalog.asked(f"DELETE FROM {self.name}{where}", entry.keys or ())
        elif entry.positions is not None:
            # By their names: a pattern would read signs of the folder as its own.
            files = list(self.catalog.files.sizes(entry.positions))
            if not files:
                raise Refused(
                    CommitLost(
                        f"{entry.positions} is gone, which waited for its commit", "run it again"
                    )
                )
            expected = check_positions(self.catalog, files)
            own = identifier(self.table.address.table)
            ((gone,),) = self.catalog.asked(
                f"DELETE FROM {self.name} USING read_parquet(?) _p"
                f" WHERE {own}.filename = _p.{FILE} AND {own}.file_row_number = _p.{POSITION}",
                (files,),
            )
            if int(gone) != expected:
                # They are in other files for good: only another MERGE finds them.
                raise Refused(
                    CommitLost(f"rows of {self.table.address} have moved meanwhile", "run it again")
                )

    def _register(self, entry: Entry, folder: str) -> None:
        inserted: dict[tuple[tuple[str, str | None], ...], list[str]] = defaultdict(list)
        for file in entry.files:
            if file.inserted:
                inserted[file.absent].append(file.path)
        for absent, files in inserted.items():
            added = "".join(f", ? AS {identifier(column)}" for column, _ in absent)
            self.catalog.asked(
                f"INSERT INTO {self.name} BY NAME SELECT *{added}"
                " FROM read_parquet(?, hive_partitioning => false)",
                (*(value for _, value in absent), files),
            )
        paths = self.waiting.shown(entry, folder)
        if not paths:
            return
        self.catalog.asked(
            f"CALL ducklake_add_data_files('{LAKE}', ?, ?, schema => ?, hive_partitioning => ?,"
            " allow_missing => true)",
            (self.table.address.table, paths, self.table.schema, bool(entry.layout)),
        )

    def _hide_unless_registered(self, entry: Entry) -> None:
        """Takes names of files back that no commit has; whoever looks at the catalog sees the rest."""
        told = find(self.catalog, entry.publication, entry.table)
        if told is not None and told.about.get("tranche.attempt") == entry.attempt:
            return
        if self.registered_since(entry) is not None:
            return
        for root in self._folders():
            self.waiting.hide(entry, root)

    def _new_folder(self) -> str:
        return new_folder(self.catalog, self.table.schema, self.table.address.table)

    def _folders(self) -> list[str]:
        version = self.table.version()
        found = [] if version is None else [version.path]
        return [*found, self._new_folder()]
