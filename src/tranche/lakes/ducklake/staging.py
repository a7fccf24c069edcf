"""Rows that wait in files until a commit registers them.

Spark writes them below `_tranche` in the folder of the lake. A commit gives each a second name, in
the folder where DuckDB would have put it, and registers that; the first one goes when that is done.
What was not committed goes with the note that says which names there were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StringType, StructField, StructType
from pyspark.sql.utils import is_remote

from tranche.errors import EngineError, KeyRejected
from tranche.lakes.ducklake.catalog import Catalog
from tranche.lakes.ducklake.files import Files
from tranche.lakes.ducklake.layout import Part, is_told
from tranche.lakes.ducklake.paths import NULL_FOLDER, folder_name
from tranche.lakes.folders import ASIDE, Side
from tranche.lakes.tuning import set_meanwhile
from tranche.model.partitioning_text import shown
from tranche.script.binding import escaped_path, quoted_name

_LONGEST = 255
_NAKED_FILES = "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem"
"""Sets permissions itself, where Hadoop starts a `chmod` for each file and each folder."""
_RAW_FILES = "org.apache.hadoop.fs.RawLocalFileSystem"
_SHARED = {"spark.sql.adaptive.coalescePartitions.minPartitionSize": "1"}
"""Many files of a few rows take as long as they are many: all cores share them."""
_FOR_DUCKDB = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""What DuckDB takes files to be; of others it refuses some, and reads some as other values."""
_CODEC, _UNKNOWN_CODECS = "spark.sql.parquet.compression.codec", ("lz4", "lzo")
_NOTE, _TABLE = ".json", "table.json"
_VALUE = "v"
"""What values begin with on their way through Spark, for which an empty one is none."""
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that waits, and where it will be."""

    path: str
    name: str
    """Below the folder of the table."""
    rows: int
    size: int
    key: str | None = None
    """The slice whose rows it has, if the table has slices."""
    inserted: bool = False
    """Whether DuckDB reads the rows and writes a file of its own, instead of registering this."""
    absent: tuple[tuple[str, str | None], ...] = ()
    """The columns that it has not, with the values that its folder is named after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What an attempt has staged."""

    attempt: str
    run: str
    publication: str
    table: str
    number: int
    """Which of the attempt's writes it is."""
    kind: str
    """replace, append or merge."""
    keys: tuple[str, ...] | None = None
    """The slices that it replaces or brings rows to; None for the whole table."""
    based_on: int | None = None
    """The snapshot that it was made of, which nobody may have changed since."""
    files: tuple[StagedFile, ...] = ()
    layout: str = ""
    """By what the files are divided."""
    columns: tuple[str, ...] = ()
    """Those of the table that they were written for."""
    positions: str | None = None
    """The folder with the rows that go, if some do."""
    seen: int | None = None
    """The snapshot in which these are."""
    changed: int | None = None
    inserted: int | None = None
    fingerprint: str = ""
    partition: str | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def rows_by_key(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for file in self.files:
            if file.key is not None:
                found[file.key] = found.get(file.key, 0) + file.rows
        return found


@dataclass(frozen=True, slots=True)
class Staging:
    """The folder for what waits of one table."""

    folder: str
    catalog: Catalog = field(repr=False)

    @property
    def files(self) -> Files:
        return self.catalog.files

    def next_number(self, attempt: str) -> int:
        begin = f"staged-{attempt}-"
        numbers = [
            int(name.removeprefix(begin))
            for name in self.files.names(self.folder)
            if name.startswith(begin) and name.removeprefix(begin).isdecimal()
        ]
        return max(numbers, default=-1) + 1

    def place(self, attempt: str, number: int) -> str:
        return f"{self.folder}/staged-{attempt}-{number}"

    def write(
        self,
        rows: DataFrame,
        place: str,
        parts: Sequence[Part],
        *,
        slice_column: str | None = None,
        key: str | None = None,
        spread: bool = False,
        inserted: bool = False,
    ) -> tuple[StagedFile, ...]:
        """Writes rows; each file has one value of each part.

        `key` is that of all rows, if they are of one slice. `spread` says that they are many keys'
        or are split otherwise, so that those of one folder should come together first. `inserted`
        says that none of the files can be registered.
        """
        types = {f.name: f.dataType for f in rows.schema.fields}
        fixed: dict[str | None, str | None] = {}
        if slice_column is not None and key is not None:
            fixed[slice_column] = key
        moving = [part for part in parts if part.column not in fixed]
        dropped = {p.column for p in parts if p.in_path and p.transform.name == "identity"}
        columns = [F.col(quoted_name(n)) for n in rows.columns if n not in dropped]
        values = [
            F.concat(F.lit(_VALUE), part.value(types[part.column])).alias(f"_p{number}")
            for number, part in enumerate(moving)
        ]
        by = [f"_p{number}" for number in range(len(moving))]
        frame = rows.select(*columns, *values)
        if moving and spread:
            frame = frame.repartition(*by)
        writer = frame.write.partitionBy(*by) if by else frame.write
        if "://" not in place:
            writer = writer.options(**_local_files())
        settings = for_duckdb(rows.sparkSession) | (_SHARED if moving and spread else {})
        with set_meanwhile(rows.sparkSession, settings):
            writer.parquet(place)
        found = self._found(place, parts, fixed, slice_column, types)
        return tuple(replace(file, inserted=True) for file in found) if inserted else found

    def _found(
        self,
        place: str,
        parts: Sequence[Part],
        fixed: Mapping[str | None, str | None],
        slice_column: str | None,
        types: Mapping[str, DataType],
    ) -> tuple[StagedFile, ...]:
        sizes = self.files.sizes(place)
        counted = self.counted(list(sizes))
        found = []
        for path, rows in counted.items():
            if rows == 0:
                continue
            said = iter(path.removeprefix(f"{place}/").split("/")[:-1])
            values = {
                part.column: fixed[part.column] if part.column in fixed else _value(next(said))
                for part in parts
            }
            in_path = [(part.name, values[part.column]) for part in parts if part.in_path]
            for name, value in in_path:
                self.check_length(name, value)
            folders = [folder_name(name, value) for name, value in in_path]
            absent = tuple(
                (part.column, values[part.column])
                for part in parts
                if part.in_path and part.transform.name == "identity"
            )
            told = all(is_told(value, types[column]) for column, value in absent)
            absent = tuple((column, _cast(value, types[column])) for column, value in absent)
            name = f"tranche-{uuid4()}.parquet"
            key = values.get(slice_column, fixed.get(slice_column)) if slice_column else None
            whole = "/".join((*folders, name))
            found.append(StagedFile(path, whole, rows, sizes[path], key, not told, absent))
        return tuple(found)

    def check_length(self, column: str, value: str | None) -> None:
        """Whether a folder may be called after a value; names in a bucket may be longer."""
        if self.catalog.lake.bucket is None and len(folder_name(column, value)) > _LONGEST:
            raise KeyRejected(
                f"the value {shown(value or '')} is too long for the name of a folder, in which"
                " a sign that is no ASCII letter takes up to twelve",
                "use shorter values, or a lake of iceberg",
            )

    def counted(self, paths: Sequence[str]) -> dict[str, int]:
        """How many rows files have, as they say themselves."""
        if not paths:
            return {}
        rows = self.catalog.rows(
            "SELECT file_name, num_rows FROM parquet_file_metadata(?)", [list(paths)]
        )
        return {str(name): int(count) for name, count in rows}

    def note(self, entry: Entry) -> None:
        self.files.put(self._noted(entry.attempt), json.dumps(asdict(entry)))

    def entry(self, attempt: str) -> Entry | None:
        text = self.files.text(self._noted(attempt))
        if text is None:
            return None
        found = json.loads(text)
        found["files"] = tuple(_file(each) for each in found["files"])
        found["columns"] = tuple(found.get("columns", ()))
        if found["keys"] is not None:
            found["keys"] = tuple(found["keys"])
        return Entry(**found)

    def entries(self) -> list[tuple[Entry, datetime]]:
        """What attempts have staged, and when they noted it."""
        names = [name for name in self.files.names(self.folder) if name.endswith(_NOTE)]
        found = ((self.entry(name.removesuffix(_NOTE)), name) for name in names if name != _TABLE)
        return [
            (entry, self.files.changed_at(f"{self.folder}/{name}"))
            for entry, name in found
            if entry is not None
        ]

    def strays(self, before: datetime) -> list[str]:
        """What was written before a time by attempts that broke off before they noted anything."""
        noted = tuple(f"-{entry.attempt}-" for entry, _ in self.entries())
        names = (n for n in self.files.names(self.folder) if n.startswith(("staged-", ASIDE)))
        places = (f"{self.folder}/{n}" for n in names if not any(a in f"{n}-" for a in noted))
        return [place for place in places if self.files.changed_at(place) < before]

    def shown(self, entry: Entry, table: str) -> list[str]:
        """The names of the files that are registered."""
        return [f"{table}/{file.name}" for file in entry.files if not file.inserted]

    def show(self, entry: Entry, table: str) -> None:
        """Gives them these names."""
        paths = (file.path for file in entry.files if not file.inserted)
        self.files.give_names(list(zip(paths, self.shown(entry, table), strict=True)))

    def hide(self, entry: Entry, table: str) -> None:
        """Takes the names back."""
        self.files.remove(self.shown(entry, table))

    def clear(self, attempt: str) -> None:
        """Removes what waits of an attempt."""
        for name in self.files.names(self.folder):
            if name.startswith(f"staged-{attempt}-") or name == f"{ASIDE}{attempt}":
                self.files.remove_folder(f"{self.folder}/{name}")
        self.files.remove([self._noted(attempt)])

    # What is noted of a table

    def properties(self) -> dict[str, str]:
        text = self.files.text(f"{self.folder}/{_TABLE}")
        found: dict[str, str] = {} if text is None else json.loads(text)
        return found

    def set_property(self, name: str, value: str) -> None:
        noted = json.dumps({**self.properties(), name: value})
        self.files.put(f"{self.folder}/{_TABLE}", noted)

    def _noted(self, attempt: str) -> str:
        return f"{self.folder}/{attempt}{_NOTE}"


def for_duckdb(session: SparkSession) -> dict[str, str]:
    """The settings for files that DuckDB reads, where somebody has given Spark others."""
    known = {name: session.conf.get(name, None) for name in (*_FOR_DUCKDB, _CODEC)}
    found = {n: v for n, v in _FOR_DUCKDB.items() if (known[n] or v).lower() != v.lower()}
    if (known[_CODEC] or "").lower() in _UNKNOWN_CODECS:
        found[_CODEC] = "lz4_raw"
    return found


def _local_files() -> dict[str, str]:
    """How files get into folders.

    Files of sums beside those of rows would be of the first names only, and DuckDB reads none.
    A server of Spark Connect has what others gave it.
    """
    files = _RAW_FILES if is_remote() else _NAKED_FILES
    return {"fs.file.impl": files, "fs.file.impl.disable.cache": "true"}


class Aside(Side):
    """Rows that wait in the folder of the lake before the table can be written."""

    def __init__(self, files: Files, *of: Any) -> None:
        super().__init__(*of)
        self.files = files

    def drop(self) -> None:
        self.files.remove_folder(self.path)


def reader(
    session: SparkSession,
    place: str,
    parts: Sequence[Part],
    fixed: Mapping[str, str],
    schema: StructType,
) -> Callable[[], DataFrame]:
    """How to read again what was written: columns that folders tell are in no file."""
    moving = [part for part in parts if part.column not in fixed]
    told = {
        part.column: number
        for number, part in enumerate(moving)
        if part.in_path and part.transform.name == "identity"
    }
    absent = {*told, *(p.column for p in parts if p.in_path and p.column in fixed)}
    inside = [f for f in schema.fields if f.name not in absent]
    folders = [StructField(f"_p{number}", StringType()) for number in range(len(moving))]

    def value(field_: StructField) -> Column:
        if field_.name in told:
            text = F.col(f"_p{told[field_.name]}")
            held = text.substr(F.lit(len(_VALUE) + 1), F.length(text))
            return held.cast(field_.dataType).alias(field_.name)
        if field_.name in absent:
            return F.lit(fixed[field_.name]).cast(field_.dataType).alias(field_.name)
        return F.col(quoted_name(field_.name))

    def read() -> DataFrame:
        opened = session.read.schema(StructType([*inside, *folders]))
        rows = opened.parquet(escaped_path(place))
        return rows.select(*(value(field_) for field_ in schema.fields))

    return read


def _cast(value: str | None, type_: DataType) -> str | None:
    """A value as DuckDB reads it; the years of Spark have a sign from 10,000 on."""
    return value.removeprefix("+") if value and isinstance(type_, DateType) else value


def _file(noted: dict[str, Any]) -> StagedFile:
    absent = tuple((column, value) for column, value in noted.pop("absent", ()))
    return StagedFile(**noted, absent=absent)


def _value(folder: str) -> str | None:
    """What Spark wrote into the name of a folder."""
    text = folder.partition("=")[2]
    if text == NULL_FOLDER:
        return None
    value = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    if not value.startswith(_VALUE):
        raise EngineError(f"Spark made a folder {folder} that nobody asked for", "report this")
    return value[len(_VALUE) :]
