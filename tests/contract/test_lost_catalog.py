"""The catalog of a DuckLake on a server that goes away: nothing is lost, least of all the process."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import duckdb
import psycopg
import pytest

from tranche.errors import CatalogLost, EngineError
from tranche.lakes.ducklake.catalog import Catalog
from tranche.lakes.ducklake.commits import committed
from tranche.model.project import Lake


class Server:
    """A database of its own, whose connections can be ended."""

    def __init__(self, url: str) -> None:
        self.admin = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
        self.name = f"lake_{uuid.uuid4().hex}"
        self.admin.execute(f'CREATE DATABASE "{self.name}"')
        info = self.admin.info
        self.address = (
            f"host={info.host} port={info.port} user={info.user} password=hunter22"
            f" dbname={self.name}"
        )

    def let_in(self, anybody: bool) -> None:
        self.admin.execute(f'ALTER DATABASE "{self.name}" ALLOW_CONNECTIONS {anybody}')

    def end_connections(self) -> None:
        self.admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [self.name],
        )


@pytest.fixture
def server(postgres: str) -> Iterator[Server]:
    made = Server(postgres)
    yield made
    made.admin.close()


@pytest.fixture
def catalog(server: Server, tmp_path: Path) -> Catalog:
    made = Catalog(
        Lake(
            name="l",
            format="ducklake",
            warehouse=str(tmp_path / "data"),
            database=f"postgres:{server.address}",
        )
    )
    with made.transaction():
        made.asked("CREATE TABLE dl.t AS SELECT range AS i FROM range(100)")
    return made


def count(catalog: Catalog) -> int:
    return int(catalog.rows("SELECT count(*) FROM dl.t")[0][0])


def test_between_transactions(server: Server, catalog: Catalog) -> None:
    server.end_connections()
    assert count(catalog) == 100


@pytest.mark.parametrize("statement", ["DELETE FROM dl.t WHERE i < 20", None])
def test_inside_of_a_transaction(server: Server, catalog: Catalog, statement: str | None) -> None:
    def change() -> None:
        with catalog.transaction():
            catalog.asked("DELETE FROM dl.t WHERE i < 10")
            server.end_connections()
            if statement is not None:
                catalog.asked(statement)

    with pytest.raises(CatalogLost) as caught:
        change()
    assert "the catalog of the DuckLake 'l' does not answer" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert count(catalog) == 100


def test_a_fault_of_duckdb_after_it(server: Server, catalog: Catalog) -> None:
    """A connection with a transaction that cannot be rolled back must not be closed as it is."""

    def change() -> None:
        with catalog.transaction():
            catalog.asked("DELETE FROM dl.t WHERE i < 10")
            server.end_connections()
            raise catalog.explained(duckdb.InternalException("a fault"))

    with pytest.raises(EngineError, match="the DuckLake 'l' refused: a fault"):
        change()
    assert count(catalog) == 100


def test_a_commit_is_tried_again(server: Server, catalog: Catalog) -> None:
    tries = 0

    def act(_: None) -> None:
        nonlocal tries
        tries += 1
        catalog.asked("DELETE FROM dl.t WHERE i < 10")
        if tries == 1:
            server.end_connections()

    assert committed(catalog, None, lambda _: None, act) is not None
    assert (tries, count(catalog)) == (2, 90)


def test_what_a_commit_is_based_on_is_looked_at_again(server: Server, catalog: Catalog) -> None:
    tries = 0

    def look(_: int) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            server.end_connections()
        return count(catalog)

    def act(_: int) -> None:
        catalog.asked("DELETE FROM dl.t WHERE i < 10")

    assert committed(catalog, None, look, act) is not None
    assert count(catalog) == 90


def test_a_database_that_is_away_for_a_while_is_waited_for(
    server: Server, catalog: Catalog
) -> None:
    tries = 0

    def act(_: None) -> None:
        nonlocal tries
        tries += 1
        catalog.asked("DELETE FROM dl.t WHERE i < 10")
        if tries == 1:
            server.let_in(False)
            server.end_connections()
            Timer(2, server.let_in, [True]).start()
            raise catalog.explained(duckdb.InternalException("terminating connection"))

    assert committed(catalog, None, lambda _: None, act) is not None
    assert (tries, count(catalog)) == (2, 90)
