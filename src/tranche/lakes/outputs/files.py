"""Files of Parquet, CSV and JSON in Hive folders, which are written beside and moved into place."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tranche.errors import ColumnsRejected, SourceMissing
from tranche.lakes.commit import Commit
from tranche.lakes.folders import OWN
from tranche.lakes.outputs.parts import part_text, values_of
from tranche.lakes.outputs.place import Kept, Place
from tranche.lakes.parquet.log import Entry, Kind, TableLog
from tranche.lakes.parquet.paths import escaped_name
from tranche.script.binding import escaped_path, quoted_name

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value, as Hive and Spark name it."""

_TIMES = {
    # Without these, Spark writes milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_OPTIONS: dict[str, dict[str, str | bool]] = {
    "parquet": {},
    "json": {**_TIMES},
    "csv": {
        **_TIMES,
        "header": True,
        # Texts come back as they are: with spaces around them, quotes and backslashes.
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
        "escape": '"',
    },
}
_READING: dict[str, dict[str, str | bool]] = {
    "parquet": {},
    "json": {"mode": "FAILFAST"},
    # A text may have several lines.
    "csv": {"mode": "FAILFAST", "enforceSchema": False, "multiLine": True},
}


class FilesPlace(Place):
    """A folder for each value of each column, as Spark lays it out."""

    merges: ClassVar[bool] = False

    def __init__(
        self,
        session: SparkSession,
        root: Path,
        task: str,
        format_: Literal["parquet", "csv", "json"],
    ) -> None:
        self.session = session
        self.format = format_
        self.log = TableLog(root / OWN / task, root / task)

    def __str__(self) -> str:
        return str(self.log.files)

    def columns(self) -> StructType | None:
        about = self.log.about()
        return None if about is None else StructType.fromJson(about["columns"])

    def divided_by(self) -> tuple[str, ...] | None:
        about = self.log.about()
        noted = None if about is None else about["layout"]
        return None if noted is None else tuple(json.loads(noted))

    def rows(self) -> DataFrame:
        columns = self.columns()
        if columns is None:
            raise SourceMissing(f"nothing is kept in {self}", "run the task that writes it")
        self.log.settle()
        return self.read(self.log.files, columns)

    def published(self, commit: Commit) -> Kept | None:
        entry = self.log.find(commit, alone=False)
        if entry is None:
            return None
        self.log.settle()
        return _kept(entry)

    def forget(self, commit: Commit) -> None:
        self.log.forget(commit.attempt.id)

    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        found = self.published(commit)
        assert found is not None, f"{self} does not show the commit that was made to it"
        return found

    def create(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        self.write(rows, by, commit, "replace", whole=True, based_on=0)

    def replace_all(self, rows: DataFrame, commit: Commit) -> None:
        self.write(rows, (), commit, "replace", whole=True)

    def append(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        self.write(rows, by, commit, "append")

    def replace_written(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        self.write(rows, by, commit, "replace")

    def replace_where(
        self, rows: DataFrame, by: Sequence[str], parts: Collection[str], commit: Commit
    ) -> None:
        self.write(rows, by, commit, "replace", [folder_of(part, by) for part in parts])

    def write(
        self,
        rows: DataFrame,
        by: Sequence[str],
        commit: Commit,
        kind: Kind,
        more: Sequence[str] = (),
        *,
        whole: bool = False,
        based_on: int | None = None,
    ) -> None:
        """Writes rows beside what is there, and puts them into their places."""
        self.log.forget(commit.attempt.id)
        based_on = self.log.latest() if based_on is None else based_on
        staged = self.log.staged_folder(commit.attempt.id)
        known = None if whole else self.columns()
        if self.format == "csv" and known is not None:
            rows = self.in_order(rows, known)
        writer = rows.write.format(self.format).options(**_OPTIONS[self.format])
        if self.format == "csv" and len(rows.columns) == len(by) + 1:
            # A line without anything is no row.
            writer = writer.option("nullValue", '""')
        writer.partitionBy(*by).save(escaped_path(str(staged)))
        written = _leaves(staged, len(by))
        folders = None if whole or not by else tuple(sorted({*written, *more}))
        columns = _columns_with(known, rows.schema, by)
        self.log.note_staged(
            Entry(
                kind=kind,
                attempt=commit.attempt.id,
                run=commit.attempt.run,
                publication=commit.publication,
                fingerprint=commit.fingerprint,
                partition=commit.partition,
                folders=folders,
                rows=self.read(staged, columns).count(),
                rows_by_key={part_of(folder): 0 for folder in written},
                based_on=based_on,
                columns=columns.json(),
                layout=json.dumps(list(by)),
            )
        )
        entry = self.log.staged(commit.attempt.id)
        assert entry is not None, "what was staged is gone"
        if not self.log.has(entry.publication):
            self.log.publish(entry)

    def in_order(self, rows: DataFrame, known: StructType) -> DataFrame:
        """Rows with the columns that files of CSV have, in their order: only that tells them apart."""
        new = [name for name in rows.columns if name not in known.names]
        if new:
            raise ColumnsRejected(
                f"the files in {self} have no column {', '.join(new)}, and CSV cannot add one",
                "leave it out; or keep the task with ParquetIO or JsonIO, or in another folder, and"
                " backfill it",
            )
        there = set(rows.columns)
        return rows.select(
            *(
                F.col(quoted_name(field.name))
                if field.name in there
                else F.lit(None).cast(field.dataType).alias(field.name)
                for field in known.fields
            )
        )

    def read(self, folder: Path, columns: StructType) -> DataFrame:
        reader = self.session.read.format(self.format).schema(columns)
        reader = reader.options(**_OPTIONS[self.format], **_READING[self.format])
        return reader.load(escaped_path(str(folder)))


def _columns_with(known: StructType | None, new: StructType, by: Sequence[str]) -> StructType:
    """The columns that are known, and those that are new; folders come last."""
    fields = {field.name: field for field in (known.fields if known else ())}
    fields |= {field.name: StructField(field.name, field.dataType) for field in new.fields}
    last = [fields.pop(name) for name in by]
    return StructType([*fields.values(), *last])


def folder_of(part: str, by: Sequence[str]) -> str:
    """The folder of a part, as Spark names it.

    >>> folder_of('{"day": "2026-05-16", "region": null}', ("day", "region"))
    'day=2026-05-16/region=__HIVE_DEFAULT_PARTITION__'
    """
    values = values_of(part)

    def named(name: str) -> str:
        value = values[name]
        return f"{escaped_name(name)}={_NULL if value is None else escaped_name(value)}"

    return "/".join(map(named, by))


def part_of(folder: str) -> str:
    """
    >>> part_of("day=2026-05-16/region=a%2Fb")
    '{"day": "2026-05-16", "region": "a/b"}'
    """
    pairs = (piece.partition("=")[::2] for piece in folder.split("/"))
    return part_text({unquote(n): None if v == _NULL else unquote(v) for n, v in pairs})


def _leaves(folder: Path, depth: int) -> list[str]:
    """The folders of the parts that were written."""
    found = [""]
    for _ in range(depth):
        found = [
            f"{above}/{name}".lstrip("/")
            for above in found
            for name in sorted(os.listdir(folder / above))
            if "=" in name and (folder / above / name).is_dir()
        ]
    return [] if depth == 0 else found


def _kept(entry: Entry) -> Kept:
    return Kept(rows=entry.rows, snapshot=str(entry.number), parts=frozenset(entry.rows_by_key))
