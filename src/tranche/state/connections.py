"""How the databases are spoken to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text

from tranche.errors import StateUnavailable
from tranche.state.address import Address
from tranche.state.schema import VERSION_TABLE

_BEGIN = "tranche_begin"


def connect(address: Address, timeout: float) -> Engine:
    """An engine for the address; nothing is opened yet."""
    if address.path is not None:
        return _sqlite(address, timeout)
    return _postgresql(address, timeout)


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write.

    On SQLite they take the write lock at once. A transaction that first reads and then wants to
    write would fail, without any waiting, when another process wrote in between.
    """
    return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def without_transaction(engine: Engine) -> Engine:
    """The engine for SQLite's settings of the whole file, which cannot be made in a transaction."""
    return engine.execution_options(**{_BEGIN: ""})


def recorded_version(connection: Connection) -> str | None:
    """The revision that the database is at; None when it has no tables of ours.

    Alembic, which wrote it, is not asked: it is slow to import.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
    return version


def _sqlite(address: Address, timeout: float) -> Engine:
    engine = create_engine(
        address.url, connect_args={"timeout": timeout}, hide_parameters=True, pool_timeout=timeout
    )

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        # The driver must not begin by itself: it knows no IMMEDIATE, and leaves reads outside.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        statement = connection.get_execution_options().get(_BEGIN, "BEGIN")
        if statement:
            connection.exec_driver_sql(statement)

    return engine


def _postgresql(address: Address, timeout: float) -> Engine:
    seconds = max(1, round(timeout))
    given = {"connect_timeout": str(seconds), "client_encoding": "utf8"}
    arguments = {name: value for name, value in given.items() if name not in address.url.query}
    try:
        engine = create_engine(
            address.url,
            connect_args=arguments,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_timeout=timeout,
        )
    except ImportError as error:
        raise StateUnavailable(
            f"the state at {address.shown} needs a driver for PostgreSQL",
            "pip install 'tranche[postgres]'",
        ) from error

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        # Times come in the connection's zone, and in any other than UTC the year 1 or 9999 is cut.
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute(f"SET lock_timeout = {round(timeout * 1000)}")
        connection.commit()

    return engine
