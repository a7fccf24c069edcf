"""Addresses of what steps read and write: lake tables and sets of files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

DEFAULT_SCHEMA = "default"
PARTITION_TOKEN = "{partition}"
SLICE_TOKEN = "{slice}"

_LAKE_SCHEMES = ("lake", "ducklake")
_FILE_SCHEMES = ("file", "s3")
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
    """

    scheme: str
    path: str

    def __str__(self) -> str:
        absolute = self.scheme != "file" or self.path.startswith("/")
        return f"{self.scheme}://{self.path}" if absolute else f"{self.scheme}:{self.path}"


AssetUri: TypeAlias = LakeTable | FileSet


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
    if scheme in _FILE_SCHEMES:
        if not rest.startswith("/") or len(rest) < 2:
            raise BadAddress(
                f"{text!r} names no file; write {scheme}:///<path>, with three slashes"
            )
        return FileSet(scheme, rest)
    known = ", ".join(f"{name}://" for name in (*_LAKE_SCHEMES, *_FILE_SCHEMES))
    raise BadAddress(f"unknown scheme {scheme + '://'!r} in {text!r}; use one of {known}")


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
