"""[lakes.<name>] of the format ducklake: a catalog in a database, and a folder of files."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from tranche.model.project import Bucket, Lake
from tranche.projects import config_bucket
from tranche.projects.config_bucket import is_plain, place_in_bucket, read_bucket

_KINDS = ("sqlite", "duckdb", "postgres")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_COLUMN = re.compile(r"[^\W\d]\w*")


class Reader(config_bucket.Reader, Protocol):
    """What checks the settings of one file."""

    root: Path

    def retention(self, table: dict[str, Any], where: str) -> timedelta: ...


def read_ducklake(reader: Reader, name: str, table: dict[str, Any]) -> Lake:
    where = f"lakes.{name}"
    if "warehouse" in table:
        raise reader.error(
            f"{where} is a DuckLake, whose files lie where data says",
            "write data = … instead of warehouse",
            f"{where}.warehouse",
        )
    warehouse, bucket = _data(reader, name, table)
    return Lake(
        name=name,
        format="ducklake",
        warehouse=warehouse,
        bucket=bucket,
        database=_database(reader, name, table),
        data_named="data" in table,
        retention=reader.retention(table, where),
        partition_column=_column(reader, where, table),
    )


def _data(reader: Reader, name: str, table: dict[str, Any]) -> tuple[str, Bucket | None]:
    """Where the files are, as DuckDB is told it."""
    where = f"lakes.{name}"
    folder = reader.string(table, f"{where}.data", f".tranche/warehouse/{name}")
    inside = place_in_bucket(folder)
    if inside is not None:
        bucket, path = inside
        if not is_plain(path):
            raise reader.error(
                f"{where}.data has a part that is empty, '.' or '..'",
                "write the folder with one slash between its parts",
                f"{where}.data",
            )
        return f"s3://{bucket}/{path}".rstrip("/"), read_bucket(reader, where, table, bucket)
    if _ELSEWHERE.match(folder) and not folder.startswith("file://"):
        # What stands before an @ may be a password.
        said = "" if "@" in folder else f"{folder!r}, which is "
        raise reader.error(
            f"{where}.data is {said}neither a folder nor in a bucket of S3",
            'give a folder that Spark and this machine see, or "s3://<bucket>/<folder>"',
            f"{where}.data",
        )
    if "s3" in table:
        raise reader.error(
            f"{where}.s3 says how to reach a bucket, and the files of {where} are in a folder",
            f'write {where}.data = "s3://<bucket>/<folder>", or take it back',
            f"{where}.s3",
        )
    if folder.startswith("file:"):
        folder = "/" + folder.removeprefix("file:").lstrip("/")
    return str(reader.root / folder), None


def _database(reader: Reader, name: str, table: dict[str, Any]) -> str:
    setting = f"lakes.{name}.catalog"
    text = reader.string(table, setting, f"sqlite:.tranche/warehouse/{name}.ducklake")
    kind, _, place = text.partition(":")
    if kind not in _KINDS or not place or (kind == "postgres" and place.startswith("//")):
        # It may hold a password, and is not shown.
        raise reader.error(
            f"{setting} is no catalog of a DuckLake",
            'write it as "sqlite:lake.db", "duckdb:lake.ducklake" or "postgres:dbname=… host=…"',
            setting,
        )
    if kind == "postgres":
        return text
    return f"{kind}:{reader.root / place.removeprefix('//')}"


def _column(reader: Reader, where: str, table: dict[str, Any]) -> str | None:
    name = f"{where}.partition_column"
    if "partition_column" not in table:
        return None
    column = reader.string(table, name, "")
    if not _COLUMN.fullmatch(column):
        raise reader.error(
            f"{name} is {column!r}", "give the name of a column, such as _wm_partition", name
        )
    return column
