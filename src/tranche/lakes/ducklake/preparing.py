"""Rows on their way into a table of DuckLake: written as files that wait, and shown before they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tranche.errors import CommitLost, KeyRejected
from tranche.lakes.commit import Commit
from tranche.lakes.ducklake.layout import Part, is_registrable, parts_of, stated_layout
from tranche.lakes.ducklake.merging import Merged
from tranche.lakes.ducklake.metadata import Version, check_located, check_writable
from tranche.lakes.ducklake.placing import is_foreseen, wants_folders
from tranche.lakes.ducklake.reading import FILE, POSITION
from tranche.lakes.ducklake.staging import Entry, StagedFile, for_duckdb, reader
from tranche.lakes.target import Target
from tranche.lakes.tuning import set_meanwhile
from tranche.model.layout import Transform, canonical
from tranche.script.binding import escaped_path, quoted_name

if TYPE_CHECKING:
    from tranche.lakes.ducklake.table import DuckLakeTable


class Preparing:
    """What waits to enter one table."""

    def __init__(self, table: DuckLakeTable) -> None:
        self.table = table
        self.catalog = table.catalog
        self.waiting = table.staging_place
        self._previews: dict[str, Callable[[], DataFrame]] = {}
        """The rows that wait, by attempt."""

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
            columns=tuple(version.schema.names),
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
        gone = f"{place}-gone"
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
            with set_meanwhile(self.table.session, for_duckdb(self.table.session)):
                merged.gone.coalesce(1).write.parquet(gone)
        self._note(
            commit,
            kind="merge",
            place=place,
            keys=_keys(files) if sliced else None,
            based_on=based_on,
            files=files,
            layout=canonical(layout),
            columns=tuple(version.schema.names),
            positions=gone if changed > inserted else None,
            changed=changed,
            inserted=inserted,
            seen=seen,
        )

    def stage_new(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...], commit: Commit
    ) -> Entry:
        """For a table that is made with these rows."""
        inserts = self._inserts(layout, rows.schema) or not is_foreseen(
            self.catalog, self.table.schema, self.table.address.table
        )
        files, place = self._written(
            rows, rows.schema, target, layout, commit, None, inserts=inserts
        )
        return self._note(
            commit,
            kind="replace",
            place=place,
            keys=target.keys if target.sliced else None,
            based_on=None,
            files=files,
            layout=canonical(layout),
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
    ) -> tuple[tuple[StagedFile, ...], str]:
        column = self.table.key_column if target.sliced else None
        key = target.partition if target.sliced and not target.ranged else None
        parts = self._parts(layout, sliced=target.sliced, inserts=inserts)
        in_folders = any(p.in_path and p.column == self.table.key_column for p in parts)
        for each in target.keys if target.sliced else ():
            if in_folders:
                self.waiting.check_length(self.table.key_column, each)
            if "\0" in each:
                raise KeyRejected("a key has a NUL in it", "use another key")
        place = self.waiting.place(commit.attempt.id, self.waiting.next_number(commit.attempt.id))
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
        fields = rows.schema.fields
        required = {c.name for c in version.columns if not c.nullable} if version else set()
        if not required and [(f.name, f.dataType) for f in fields] == [
            (f.name, f.dataType) for f in schema.fields
        ]:
            return rows
        given = {field.name.lower(): field for field in fields}

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

    def _note(self, commit: Commit, *, place: str, **what: Any) -> Entry:
        entry = Entry(
            attempt=commit.attempt.id,
            run=commit.attempt.run,
            publication=commit.publication,
            table=self.table.noted_name,
            number=int(place.rpartition("-")[2]),
            fingerprint=commit.fingerprint,
            partition=commit.partition,
            **what,
        )
        self.waiting.note(entry)
        return entry


def _keys(files: Sequence[StagedFile]) -> tuple[str, ...] | None:
    """The slices that rows come to; None if one of them has no key.

    Rows that go elsewhere are looked for in the commit itself, one by one.
    """
    keys = {file.key for file in files}
    return None if None in keys else tuple(sorted(key for key in keys if key is not None))
