"""How rows enter a table of DuckLake: files that wait, and the commit that registers them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tranche.errors import CommitLost, KeyRejected
from tranche.lakes.commit import Commit
from tranche.lakes.ducklake.catalog import LAKE, META
from tranche.lakes.ducklake.commits import (
    PUBLICATION,
    TABLE,
    Told,
    committed,
    find,
    snapshot_of,
)
from tranche.lakes.ducklake.conflicts import check_positions, check_unchanged
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.layout import (
    Part,
    check_layout,
    is_registrable,
    layout_statement,
    parts_of,
    stated_layout,
)
from tranche.lakes.ducklake.merging import Merged
from tranche.lakes.ducklake.metadata import Version, check_located, check_writable, look
from tranche.lakes.ducklake.paths import folder_name
from tranche.lakes.ducklake.placing import is_foreseen, new_folder, wants_folders
from tranche.lakes.ducklake.reading import FILE, POSITION
from tranche.lakes.ducklake.staging import Entry, StagedFile, check_length, reader
from tranche.lakes.ducklake.types import duck_type
from tranche.lakes.table import ADDED, ADDED_SIZE, Snapshot
from tranche.lakes.target import Target
from tranche.model.layout import Transform, canonical
from tranche.script.binding import escaped_path, quoted_name

if TYPE_CHECKING:
    from tranche.lakes.ducklake.table import DuckLakeTable


class Landed(Exception):
    """Another attempt of the step has committed already."""

    def __init__(self, told: Told) -> None:
        super().__init__(f"snapshot {told.id}")
        self.told = told


class Publishing:
    """The writes to one table."""

    def __init__(self, table: DuckLakeTable) -> None:
        self.table = table
        self.catalog = table.catalog
        self.waiting = table.staging_place
        self._previews: dict[str, Callable[[], DataFrame]] = {}
        """The rows that wait, by attempt."""

    @property
    def name(self) -> str:
        parts = (LAKE, identifier(self.table.schema), identifier(self.table.address.table))
        return ".".join(parts)

    # What waits

    def stage(
        self, rows: DataFrame, target: Target, kind: str, commit: Commit, based_on: int | None
    ) -> None:
        version = self._version()
        layout = stated_layout(version)
        inserts = self._inserts(layout, version.schema)
        files, place = self._written(
            rows, version.schema, target, layout, commit, version, inserts=inserts
        )
        self._note(
            commit,
            kind=kind,
            place=place,
            keys=target.keys if target.sliced else None,
            based_on=based_on,
            files=files,
            layout=canonical(layout),
        )

    def stage_merge(self, merged: Merged, commit: Commit, based_on: int | None, seen: int) -> None:
        """`seen` is the snapshot that the rows were joined with."""
        version = self._version()
        check_located(version, self.table.address)
        layout = stated_layout(version)
        sliced = version.column(self.table.key_column) is not None
        changed, inserted = merged.counts()
        inserts = self._inserts(layout, version.schema)
        parts = self._parts(layout, sliced=sliced, inserts=inserts)
        files: tuple[StagedFile, ...] = ()
        place = self.waiting.place(commit.attempt.id, self.waiting.next_number(commit.attempt.id))
        gone = Path(f"{place}-gone")
        if changed:
            physical = self.table.physical(merged.rows)
            rows = self._fitting(physical, version.schema, version)
            column = self.table.key_column if sliced else None
            files = self.waiting.write(
                rows, place, parts, slice_column=column, spread=True, inserted=inserts
            )
            self._previews[commit.attempt.id] = reader(
                self.table.session, place, parts, {}, version.schema
            )
            merged.gone.coalesce(1).write.parquet(str(gone))
        self._note(
            commit,
            kind="merge",
            place=place,
            keys=_keys(files) if sliced else None,
            based_on=based_on,
            files=files,
            layout=canonical(layout),
            positions=str(gone) if changed > inserted else None,
            changed=changed,
            inserted=inserted,
            seen=seen,
        )

    def preview(self, entry: Entry) -> DataFrame:
        """The table, or what it replaces of it, as it will be."""
        made = self._previews.get(entry.attempt)
        come = None if made is None else self.table.logical(made())
        if entry.kind == "replace" and come is not None:
            return come
        base = None if entry.seen is None else str(entry.seen)
        if entry.positions is not None:
            held = self.table.logical(self.table.own_rows(base, located=True))
            gone = self.table.session.read.parquet(escaped_path(entry.positions))
            there = held.join(gone, [FILE, POSITION], "left_anti").drop(FILE, POSITION)
        else:
            there = self.table.rows(base)
        return there if come is None else there.unionByName(come)

    # What is committed

    def publish(self, entry: Entry) -> Snapshot:
        """Makes what waits a commit, unless another attempt of the step has made one."""
        if not entry.files and entry.kind != "replace" and not entry.changed:
            self.waiting.clear(entry.attempt)
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
            check_unchanged(self.catalog, version, entry, self.table.key_column)
            return version

        def act(version: Version) -> None:
            self._delete(entry)
            self._register(entry, version)

        return self._committed(entry, seen, act)

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
        inserts = self._inserts(whole, rows.schema) or not is_foreseen(
            self.catalog, self.table.schema, self.table.address.table
        )
        files, place = self._written(
            rows, rows.schema, target, whole, commit, None, inserts=inserts
        )
        entry = self._note(
            commit,
            kind="replace",
            place=place,
            keys=target.keys if target.sliced else None,
            based_on=None,
            files=files,
            layout=canonical(whole),
        )

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
            self._register(entry, None, folder)

        return self._committed(entry, seen, act)

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
        names = [os.path.basename(file.name) for file in entry.files if not file.inserted]
        if not names:
            return None
        (found,) = self.catalog.rows(
            f"SELECT min(begin_snapshot) FROM {META}.ducklake_data_file"
            " WHERE parse_filename(path) IN (SELECT unnest(CAST(? AS VARCHAR[])))",
            (names,),
        )
        return None if found[0] is None else int(found[0])

    # Inside

    def _version(self) -> Version:
        version = self.table.version()
        if version is None:
            raise CommitLost(f"{self.table.address} was removed meanwhile", "run it again")
        check_writable(version, self.table.address)
        return version

    def _inserts(self, layout: Sequence[Transform], columns: StructType) -> bool:
        """Whether DuckDB must put the rows into files itself."""
        if not layout:
            return False
        return not is_registrable(layout, columns) or not wants_folders(
            self.catalog, self.table.schema, self.table.address.table
        )

    def _parts(
        self, layout: Sequence[Transform], *, sliced: bool, inserts: bool
    ) -> tuple[Part, ...]:
        # What DuckDB inserts itself, it divides itself.
        parts = () if inserts else parts_of(layout)
        if sliced and not any(p.column == self.table.key_column for p in parts):
            # Each file has rows of one slice, also where the table has no layout.
            slice_ = Transform("identity", self.table.key_column)
            return (*parts_of([slice_], in_path=False), *parts)
        return parts

    def _written(
        self,
        rows: DataFrame,
        schema: StructType,
        target: Target,
        layout: Sequence[Transform],
        commit: Commit,
        version: Version | None,
        *,
        inserts: bool,
    ) -> tuple[tuple[StagedFile, ...], Path]:
        column = self.table.key_column if target.sliced else None
        key = target.partition if target.sliced and not target.ranged else None
        for each in target.keys if target.sliced else ():
            check_length(folder_name(self.table.key_column, each))
            if "\0" in each:
                raise KeyRejected("a key has a NUL in it", "use another key")
        place = self.waiting.place(commit.attempt.id, self.waiting.next_number(commit.attempt.id))
        parts = self._parts(layout, sliced=target.sliced, inserts=inserts)
        fitting = self._fitting(self.table.physical(rows), schema, version)
        split = len(parts) > (1 if target.sliced else 0)
        files = self.waiting.write(
            fitting,
            place,
            parts,
            slice_column=column,
            key=key,
            spread=split or (target.sliced and target.ranged),
            inserted=inserts,
        )
        fixed = {} if column is None or key is None else {column: key}
        self._previews[commit.attempt.id] = reader(self.table.session, place, parts, fixed, schema)
        return files, place

    def _fitting(self, rows: DataFrame, schema: StructType, version: Version | None) -> DataFrame:
        """The rows in the order and with the types of the table."""
        given = {field.name.lower(): field for field in rows.schema.fields}
        required = {c.name for c in version.columns if not c.nullable} if version else set()

        def column(field: StructField) -> Column:
            held = given.get(field.name.lower())
            if held is None:
                return F.lit(None).cast(field.dataType).alias(field.name)
            value = F.col(quoted_name(held.name))
            if held.dataType != field.dataType:
                value = value.cast(field.dataType)
            if field.name in required:
                said = F.lit(f"a row has no {field.name}, which is NOT NULL in the table")
                value = F.when(value.isNull(), F.raise_error(said)).otherwise(value)
            return value.alias(field.name)

        return rows.select(*(column(field) for field in schema.fields))

    def _note(self, commit: Commit, *, place: Path, **what: Any) -> Entry:
        entry = Entry(
            attempt=commit.attempt.id,
            run=commit.attempt.run,
            publication=commit.publication,
            table=self.table.noted_name,
            number=int(place.name.rpartition("-")[2]),
            fingerprint=commit.fingerprint,
            partition=commit.partition,
            **what,
        )
        self.waiting.note(entry)
        return entry

    def _check_first(self, entry: Entry) -> None:
        told = find(self.catalog, entry.publication, entry.table)
        if told is not None:
            raise Landed(told)

    def _committed(
        self,
        entry: Entry,
        seen: Callable[[int], Any],
        act: Callable[[Any], None],
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

        def seen_now(base: int) -> Any:
            # Others may have committed since the rows were written.
            if self.table.version() is not None:
                note["tranche.parent"] = self.table.touched()
            return seen(base)

        try:
            made = committed(self.catalog, note, seen_now, act)
        except Landed as landed:
            self.forget(entry.attempt)
            return self._landed(landed.told, entry)
        except BaseException:
            self._hide_unless_registered(entry)
            raise
        self.waiting.clear(entry.attempt)
        if made is None:
            return self._nothing(entry)
        told = find(self.catalog, entry.publication, entry.table)
        assert told is not None, f"the commit {made} does not say whose it is"
        return self._landed(told, entry)

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
            files = os.path.join(entry.positions, "*.parquet")
            expected = check_positions(self.catalog, files)
            own = identifier(self.table.address.table)
            ((gone,),) = self.catalog.asked(
                f"DELETE FROM {self.name} USING read_parquet(?) _p"
                f" WHERE {own}.filename = _p.{FILE} AND {own}.file_row_number = _p.{POSITION}",
                (files,),
            )
            if int(gone) != expected:
                raise CommitLost(
                    f"rows of {self.table.address} have moved meanwhile", "run it again"
                )

    def _register(self, entry: Entry, version: Version | None, folder: str | None = None) -> None:
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
        root = folder if folder is not None else os.path.abspath(version.name if version else "")
        paths = self.waiting.show(entry, root)
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
        found = [] if version is None else [os.path.abspath(version.name)]
        return [*found, self._new_folder()]


def _keys(files: Sequence[StagedFile]) -> tuple[str, ...] | None:
    """The slices that rows come to; None if one of them has no key.

    Rows that go elsewhere are looked for in the commit itself, one by one.
    """
    keys = {file.key for file in files}
    return None if None in keys else tuple(sorted(key for key in keys if key is not None))
