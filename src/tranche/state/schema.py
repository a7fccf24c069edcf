"""Which version of the tables a database has. Alembic is slow to import, so it is not asked."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

HEAD = "0001"
VERSION_TABLE = "tranche_version"
"""Not Alembic's usual name: on PostgreSQL another application may keep its own beside ours."""


def recorded_version(connection: Connection) -> str | None:
    """The revision that the database is at; None when it has no tables of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
    return version
