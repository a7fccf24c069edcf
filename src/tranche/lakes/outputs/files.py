"""Files of Parquet, CSV and JSON in Hive folders, which are written beside and moved into place."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from tranche.errors import ColumnsRejected, SourceMissing
from tranche.lakes.columns import Fit
from tranche.lakes.commit import Commit
from tranche.lakes.folders import OWN
from tranche.lakes.outputs.fitting import check_divided, fitted
from tranche.lakes.outputs.parts import part_text, values_of
from tranche.lakes.outputs.place import DividedPlace, Kept
from tranche.lakes.parquet.log import Entry, Kind, TableLog
from tranche.lakes.parquet.paths import NULL_FOLDER, UNNAMED, escaped_name, nameable
from tranche.script.binding import escaped_path, quoted_name

_TIMES = {
    # Spark would leave out what is smaller than a millisecond.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_CSV = {"header": "true", "escape": '"', "multiLine": "true"}
_WRITTEN: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    "csv": {
        **_CSV,
        **_TIMES,
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    },
    "json": _TIMES,
}
_READ: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    # Nothing between commas is NULL, and quotes with nothing between them are an empty text, as
    # Spark writes them; if that stood for NULL, as it does by default, both would be.
    "csv": {**_CSV, "nullValue": "\0"},
    "json": {"mode": "FAILFAST"},
}


class FilesPlace(DividedPlace):
    """A folder for each value of each column, as Spark lays it out."""

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
        rows = self.fit(nameable(rows, by, UNNAMED), by, whole=whole).rows
        columns = _folders_last(rows.schema, by)
        writer = rows.write.format(self.format).options(**_WRITTEN[self.format])
        # Where something is written, a path has no patterns.
        writer.partitionBy(*by).save(str(staged))
        written = _leaves(staged, len(by))
        folders = None if whole or not by else tuple(sorted({*written, *more}))
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

    def fit(self, rows: DataFrame, by: Sequence[str], *, whole: bool) -> Fit:
        """The rows with the columns of those that stay, in their order: CSV goes by that."""
        if self.format == "csv":
            rows = _on_lines(rows, by)
        known = None if whole else self.columns()
        if known is None:
            return Fit(rows)
        check_divided(self.divided_by(), by, str(self))
        return fitted(rows, known, str(self))

    def divided_by(self) -> list[str] | None:
        """The columns that are names of folders; None if nobody has noted them."""
        noted: str | None = (self.log.about() or {}).get("layout")
        found: list[str] | None = None if noted is None else json.loads(noted)
        return found

    def read(self, folder: Path, columns: StructType) -> DataFrame:
        reader = self.session.read.format(self.format).options(**_READ[self.format])
        return reader.schema(columns).load(escaped_path(str(folder)))


def folder_of(part: str, by: Sequence[str]) -> str:
    """The folder of a part, as Spark names it.

    >>> folder_of('{"day": "2026-05-16", "region": null}', ("day", "region"))
    'day=2026-05-16/region=__HIVE_DEFAULT_PARTITION__'
    """
    values = values_of(part)

    def named(name: str) -> str:
        value = values[name]
        return f"{escaped_name(name)}={NULL_FOLDER if value is None else escaped_name(value)}"

    return "/".join(map(named, by))


def part_of(folder: str) -> str:
    """
    >>> part_of("day=2026-05-16/region=a%2Fb")
    '{"day": "2026-05-16", "region": "a/b"}'
    """
    pairs = (piece.partition("=")[::2] for piece in folder.split("/"))
    return part_text({unquote(n): None if v == NULL_FOLDER else unquote(v) for n, v in pairs})


def _on_lines(rows: DataFrame, by: Sequence[str]) -> DataFrame:
    """The rows, if each is a line of CSV."""
    binary = [f.name for f in rows.schema.fields if isinstance(f.dataType, BinaryType)]
    if binary:
        raise ColumnsRejected(
            f"CSV has no form for {', '.join(binary)}, which is binary",
            "make a text of it with base64(), or keep it with another IO",
        )
    inside = [name for name in rows.columns if name not in by]
    if len(inside) != 1:
        return rows
    # Lines with nothing on them are passed over by whoever reads CSV.
    said = F.lit(f"a row has no {inside[0]}, and nothing else: CSV has no line for it")
    value = F.col(quoted_name(inside[0]))
    return rows.withColumn(
        inside[0], F.when(value.isNotNull(), value).otherwise(F.raise_error(said))
    )


def _folders_last(columns: StructType, by: Sequence[str]) -> StructType:
    """The columns as Spark reads them."""
    fields = {field.name: StructField(field.name, field.dataType) for field in columns.fields}
    last = [fields.pop(name) for name in by]
    return StructType([*fields.values(), *last])


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
