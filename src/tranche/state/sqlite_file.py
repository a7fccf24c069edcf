"""SQLite without SQLAlchemy, whose import takes longer than all of `status` does."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import unquote

from tranche.errors import StateError, StateLocked, StateUnavailable

FORMS = "use sqlite:///<file> or postgresql+psycopg://<user>:<password>@<host>/<database>"
WAIT = "try again when the other process is done"
DEFAULT_TIMEOUT = 10.0
"""Seconds to wait for a connection or for another process's lock."""
_SCHEMES = ("sqlite://", "sqlite+pysqlite://")


def is_sqlite(url: str) -> bool:
    return url.startswith(_SCHEMES)


def sqlite_file(url: str, root: Path | None = None) -> Path:
    """The file that a state url names; a relative one lies in `root`, else in the working folder.

    >>> sqlite_file("sqlite:///.tranche/100%25.db", Path("/shop")).as_posix()
    '/shop/.tranche/100%.db'
    """
    place, mark, _options = url.partition("://")[2].partition("?")
    host, _, file = place.partition("/")
    if host:
        raise StateUnavailable(
            "the state url names a host for SQLite",
            "write three slashes before a relative file, four before an absolute one",
        )
    file = unquote(file)
    if not file or file == ":memory:":
        raise StateUnavailable(
            "the state url names no file; a database in memory would be forgotten", FORMS
        )
    if file.startswith("file:") or mark:
        raise StateUnavailable("the state url has options, and SQLite takes none here", FORMS)
    return (root or Path.cwd()) / Path(file).expanduser()


def explain_sqlite(error: sqlite3.Error, path: Path) -> StateError:
    """What an error of SQLite means to the user."""
    where = f"the state at {path}"
    # The lower byte is the kind of error, the rest a variant of it.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StateLocked(f"{where} is held by another process", WAIT)
        case sqlite3.SQLITE_NOTADB:
            return StateUnavailable(
                f"{where} is not a database", "move the file away or set another [state] url"
            )
        case sqlite3.SQLITE_CORRUPT:
            return StateUnavailable(
                f"{where} is damaged: {error}", "restore it from a copy or move it away"
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StateUnavailable(
                f"{where} cannot be opened",
                "check that it is a file, and that you may write it and its folder",
            )
        case sqlite3.SQLITE_READONLY:
            return StateUnavailable(
                f"{where} cannot be written", "check the permissions of the file and its folder"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return StateUnavailable(f"{where}: {error}", "check the disk")
        case _:
            return StateError(f"{where} refused: {error}")
