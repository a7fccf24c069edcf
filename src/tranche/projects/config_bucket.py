"""`s3` of a lake: how to reach the bucket that its files are in."""

from __future__ import annotations

import re
from typing import Any, Protocol

from tranche.errors import ConfigError
from tranche.model.project import Bucket

_PLACE = re.compile(r"s3a?://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?")
_ENDPOINT = re.compile(r"https?://[^/\s@?#]+/?")
_NAMES = ("endpoint", "region", "access_key", "secret_key", "session_token", "path_style")


class Reader(Protocol):
    """What checks the settings of one file."""

    def error(self, what: str, remedy: str, name: str) -> ConfigError: ...

    def string(self, table: dict[str, Any], name: str, default: str) -> str: ...

    def mapping(self, tables: dict[str, Any], name: str, where: str = "") -> dict[str, Any]: ...

    def check_names(self, table: dict[str, Any], known: tuple[str, ...], where: str) -> None: ...


def place_in_bucket(text: str) -> tuple[str, str] | None:
    """The name of a bucket, and the folder in it.

    >>> place_in_bucket("s3a://acme-lake/data/"), place_in_bucket("/data")
    (('acme-lake', 'data'), None)
    """
    found = _PLACE.fullmatch(text)
    return None if found is None else (found[1], (found[2] or "").strip("/"))


def is_plain(folder: str) -> bool:
    """Whether all programs find the same objects below it: some take `//` and `..` for a path's.

    >>> is_plain("a/b"), is_plain(""), is_plain("a//b"), is_plain("a/../b")
    (True, True, False, False)
    """
    return not folder or not {"", ".", ".."} & {*folder.split("/")}


def read_bucket(reader: Reader, where: str, table: dict[str, Any], name: str) -> Bucket:
    """What a lake says of its bucket."""
    whole = f"{where}.s3"
    given = reader.mapping(table, "s3", where)
    reader.check_names(given, _NAMES, whole)

    def text(setting: str) -> str | None:
        return reader.string(given, f"{whole}.{setting}", "") if setting in given else None

    endpoint = text("endpoint")
    if endpoint is not None and not _ENDPOINT.fullmatch(endpoint):
        raise reader.error(
            f"{whole}.endpoint is no address of a server",
            'write it as "https://minio.example.com:9000"',
            f"{whole}.endpoint",
        )
    path_style = given.get("path_style", endpoint is not None)
    if not isinstance(path_style, bool):
        raise reader.error(
            f"{whole}.path_style is {path_style!r}", "write true or false", f"{whole}.path_style"
        )
    bucket = Bucket(
        name=name,
        endpoint=None if endpoint is None else endpoint.rstrip("/"),
        region=text("region"),
        access_key=text("access_key"),
        secret_key=text("secret_key"),
        session_token=text("session_token"),
        path_style=path_style,
    )
    if (bucket.access_key is None) != (bucket.secret_key is None) or (
        bucket.session_token is not None and bucket.access_key is None
    ):
        raise reader.error(
            f"{whole} has a part of what gives access",
            "give access_key and secret_key, or neither: then the environment and the files of"
            " AWS tell, or the machine's role",
            whole,
        )
    return bucket
