"""What a database's errors mean to the user."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tranche.errors import StateError, StateLocked, StateUnavailable
from tranche.state.address import Address
from tranche.state.sqlite_file import WAIT, explain_sqlite


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
    if isinstance(orig, sqlite3.Error) and address.path is not None:
        return explain_sqlite(orig, address.path)
    return _postgresql(orig, error, address)


def _postgresql(orig: BaseException | None, error: DBAPIError, address: Address) -> StateError:
    where = f"the state at {address.shown}"
    text = address.without_secrets(" ".join(str(orig).split()))
    code: str = getattr(orig, "sqlstate", None) or ""
    if code in ("55P03", "40P01"):  # lock_not_available, deadlock_detected
        return StateLocked(f"{where} is held by another process", WAIT)
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
