"""What a database's errors mean to the user."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tranche.errors import StateError, StateLocked, StateUnavailable
from tranche.state.address import Address

_WAIT = "try again when the other process is done"


@contextmanager
def explained(address: Address) -> Iterator[None]:
    """Raises the errors of the database as a StateError that says what, where and what to do."""
    try:
        yield
    except PoolTimeout as error:
        raise StateLocked(
            f"every connection to the state at {address.shown} is in use", "try again"
        ) from error
    except DBAPIError as error:
        # The traceback shows the cause with its own text, so a cause that tells is dropped.
        cause = None if address.reveals_secrets(str(error)) else error
        raise explain(error, address) from cause
    except OSError as error:
        raise StateUnavailable(
            f"the state at {address.shown} cannot be opened: {error.strerror or error}",
            "check the file and its folder, or set another [state] url",
        ) from error


def explain(error: DBAPIError, address: Address) -> StateError:
    orig = error.orig
    if isinstance(orig, sqlite3.Error):
        return _sqlite(orig, address)
    return _postgresql(orig, error, address)


def _sqlite(error: sqlite3.Error, address: Address) -> StateError:
    where = f"the state at {address.shown}"
    # The lower byte is the kind of error, the rest a variant of it.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StateLocked(f"{where} is held by another process", _WAIT)
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


def _postgresql(orig: BaseException | None, error: DBAPIError, address: Address) -> StateError:
    where = f"the state at {address.shown}"
    text = address.without_secrets(" ".join(str(orig).split()))
    code: str = getattr(orig, "sqlstate", None) or ""
    if code in ("55P03", "40P01"):  # lock_not_available, deadlock_detected
        return StateLocked(f"{where} is held by another process", _WAIT)
    if code in ("42501", "25006"):  # insufficient_privilege, read_only_sql_transaction
        return StateUnavailable(
            f"{where} may not be used: {text}", "grant the user the right to create and write"
        )
    if code == "42P07":  # duplicate_table
        return StateUnavailable(
            f"{where} has tables of others: {text}", "set another [state] url, or a search_path"
        )
    # A failure to connect has no code, only the server's own words.
    if error.connection_invalidated or not code or code[:2] in ("08", "53", "57"):
        return StateUnavailable(
            f"{where} cannot be reached: {text}",
            "check user, password, host and database in the [state] url, and that the server runs",
        )
    return StateError(f"{where} refused: {text}")
