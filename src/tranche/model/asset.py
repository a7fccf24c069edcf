"""Addresses of what steps read and write: lake tables, sets of files, and what tasks have done."""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import join, normpath
from typing import TypeAlias

DEFAULT_SCHEMA = "default"
PARTITION_TOKEN = "{partition}"
SLICE_TOKEN = "{slice}"

_LAKE_SCHEMES = ("lake", "ducklake")
_FILE_SCHEMES = ("file", "s3")
_STORE_SCHEMES = ("s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "hdfs")
_JOB_SCHEME = "job"
_NAME = re.compile(r"[^\W\d][\w$-]*")


class BadAddress(ValueError):
    """An address that cannot be read; the message says what is wrong and what to write."""


@dataclass(frozen=True, slots=True, order=True)
class LakeTable:
    """A table of a lake.

    >>> str(LakeTable("main", "orders"))
    'lake://main/orders'
    >>> str(LakeTable("main", "orders", schema="raw"))
    'lake://main/raw.orders'
    """

    lake: str
    table: str
    schema: str = DEFAULT_SCHEMA

    def __str__(self) -> str:
        schema = "" if self.schema == DEFAULT_SCHEMA else f"{self.schema}."
        return f"lake://{self.lake}/{schema}{self.table}"

    @property
    def parts(self) -> tuple[str, str, str]:
        return self.lake, self.schema, self.table


@dataclass(frozen=True, slots=True, order=True)
class FileSet:
    """Files below one path, one file set per partition where the path holds `{partition}`.

    A relative path starts at the project.

    >>> str(FileSet("s3", "/raw/{partition}/orders.json"))
    's3:///raw/{partition}/orders.json'
    >>> str(FileSet("file", "data/{partition}.json"))
    'file:data/{partition}.json'
    >>> str(FileSet("s3a", "bucket/raw/orders"))
    's3a://bucket/raw/orders'
    """

    scheme: str
    path: str

    def __str__(self) -> str:
        absolute = self.scheme != "file" or self.path.startswith("/")
        return f"{self.scheme}://{self.path}" if absolute else f"{self.scheme}:{self.path}"

    @property
    def remote(self) -> bool:
        """Whether it lies in a store that only Spark reaches, such as `s3a://…`."""
        return self.scheme in _STORE_SCHEMES


@dataclass(frozen=True, slots=True, order=True)
class JobTask:
    """What a task of a job has done that is no table and no file of ours.

    >>> str(JobTask("sales", "report"))
    'job://sales/report'
    """

    job: str
    task: str

    def __str__(self) -> str:
        return f"{_JOB_SCHEME}://{self.job}/{self.task}"


AssetUri: TypeAlias = LakeTable | FileSet | JobTask


@dataclass(frozen=True, slots=True, order=True)
class ColumnRef:
    """A column of an asset."""

    asset: AssetUri
    column: str

    def __str__(self) -> str:
        return f"{self.asset}.{self.column}"


def parse_address(text: str) -> AssetUri:
    """The asset that an address names.

    >>> parse_address("ducklake://main/orders")
    LakeTable(lake='main', table='orders', schema='default')
    >>> parse_address("lake://main/raw.orders").schema
    'raw'
    """
    if text.startswith("file:") and text[5:6] not in ("", "/"):
        return FileSet("file", text.removeprefix("file:"))
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise BadAddress(
            f"{text!r} is no address; write lake://<lake>/<table>, file:///… or s3:///…"
        )
    if scheme in _LAKE_SCHEMES:
        return _lake_table(text, rest)
    if scheme == _JOB_SCHEME:
        return _job_task(text, rest)
    if scheme in _STORE_SCHEMES:
        if not all(rest.partition("/")[::2]):
            raise BadAddress(f"{text!r} names no file; write {scheme}://<where>/<path>")
        return FileSet(scheme, rest)
    if scheme in _FILE_SCHEMES:
        if not rest.startswith("/") or len(rest) < 2:
            raise BadAddress(
                f"{text!r} names no file; write {scheme}:///<path>, with three slashes"
            )
        return FileSet(scheme, rest)
    known = ", ".join(f"{name}://" for name in (*_LAKE_SCHEMES, *_FILE_SCHEMES, _JOB_SCHEME))
    raise BadAddress(f"unknown scheme {scheme + '://'!r} in {text!r}; use one of {known}")


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, and not as a name; files of the project have no slashes.

    >>> is_address("lake://main/orders"), is_address("file:data/orders"), is_address("orders")
    (True, True, False)
    """
    return "://" in text or text.startswith("file:")


def parse_column(text: str) -> ColumnRef:
    """The column that `<uri>.<col>` names: the last dot segment is the column.

    >>> str(parse_column("lake://main/raw.orders.amount").asset)
    'lake://main/raw.orders'
    """
    address, dot, column = text.rpartition(".")
    if not dot or "://" not in address or not column or "/" in column:
        raise BadAddress(f"{text!r} names no column; write <uri>.<column>")
    return ColumnRef(parse_address(address), column)


def _lake_table(text: str, rest: str) -> LakeTable:
    lake, slash, name = rest.partition("/")
    if not slash or not lake or not name:
        raise BadAddress(f"{text!r} names no table; write lake://<lake>/<table>")
    parts = name.split(".")
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in (lake, *parts)):
        raise BadAddress(
            f"{text!r} is no table address; write lake://<lake>/<table> or"
            " lake://<lake>/<schema>.<table>, with letters, digits and underscores"
        )
    schema = parts[0] if len(parts) == 2 else DEFAULT_SCHEMA
    return LakeTable(lake, parts[-1], schema)


def _job_task(text: str, rest: str) -> JobTask:
    job, _, task = rest.partition("/")
    if not _NAME.fullmatch(job) or not _NAME.fullmatch(task):
        raise BadAddress(f"{text!r} names no task; write job://<job>/<task>")
    return JobTask(job, task)


def below(folder: str, name: str) -> FileSet:
    """The files of that name in a folder, which is a path or an address; BadAddress if it is neither.

    >>> str(below("data/./lake/", "extract")), str(below("s3a://bucket/lake", "extract"))
    ('file:data/lake/extract', 's3a://bucket/lake/extract')
    """
    if "://" in folder:
        found = parse_address(f"{folder.rstrip('/')}/{name}")
        if not isinstance(found, FileSet):
            raise BadAddress(f"{folder!r} is no folder; write a path, s3a://…, or another store")
        return found
    path = folder.removeprefix("file:")
    if ".." in path.split("/"):
        raise BadAddress(f"{folder!r} leaves the project; write a path below it, or a whole path")
    # One folder has one address, however it is spelled.
    return FileSet("file", normpath(join(path, name)))
