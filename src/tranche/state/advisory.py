"""PostgreSQL's advisory locks: on things that have no row to lock, or none yet.

The server knows them by a number, in which all applications of a database share.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, text


def lock_number(kind: str, name: str) -> int:
    """The lock of a thing of ours, with 63 bits: bigint has a sign."""
    digest = hashlib.sha256(f"tranche {kind} {name}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def share_in_transaction(connection: Connection, kind: str, name: str) -> None:
    """Holds off those who want the lock for themselves until the transaction ends; others share it."""
    if connection.dialect.name != "sqlite":
        statement = text("SELECT pg_advisory_xact_lock_shared(:lock)")
        connection.execute(statement, {"lock": lock_number(kind, name)})


def lock_in_transaction(connection: Connection, kind: str, name: str) -> None:
    """Waits for a lock that ends with the transaction.

    SQLite needs none: it has one writer at a time.
    """
    if connection.dialect.name != "sqlite":
        statement = text("SELECT pg_advisory_xact_lock(:lock)")
        connection.execute(statement, {"lock": lock_number(kind, name)})
