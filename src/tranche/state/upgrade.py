"""Brings a database to the newest version of the tables. Imported only when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, text

from tranche.errors import StateLocked, StateTooNew
from tranche.state.address import Address
from tranche.state.connections import recorded_version, without_transaction, writing
from tranche.state.schema import HEAD

# Any number will do, as long as every Tranche asks for the same one.
_LOCK = 7_263_812_390_417


def upgrade(engine: Engine, address: Address, timeout: float) -> None:
    """Makes or upgrades the tables; of several processes, one does it and the others wait."""
    with _alone(engine, address, timeout) as connection:
        version = recorded_version(connection)
        if version == HEAD:
            return
        config = migrations(connection)
        if version is not None and not _known(config, version):
            raise StateTooNew(
                f"the state at {address.shown} was written by a newer Tranche",
                "upgrade Tranche or set another [state] url",
            )
        command.upgrade(config, "head")


def migrations(connection: Connection | None = None) -> Config:
    config = Config()
    # Alembic interpolates its options as configparser does.
    folder = str(Path(__file__).parent / "migrations").replace("%", "%%")
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _known(config: Config, version: str) -> bool:
    try:
        return ScriptDirectory.from_config(config).get_revision(version) is not None
    except CommandError:
        return False


@contextmanager
def _alone(engine: Engine, address: Address, timeout: float) -> Iterator[Connection]:
    if address.path is None:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection
        return
    try:
        with FileLock(f"{address.path}.lock", timeout=timeout):
            # Readers do not wait for a writer in this mode. The file remembers it.
            with without_transaction(engine).connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            with writing(engine).begin() as connection:
                yield connection
    except Timeout as error:
        raise StateLocked(
            f"the state at {address.shown} is being upgraded by another process",
            "try again when it is done",
        ) from error
