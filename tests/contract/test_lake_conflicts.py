"""Whether another writer has changed a slice, as catalogs of each kind tell it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tranche.errors import CommitLost
from tranche.lakes.ducklake.catalog import Catalog
from tranche.lakes.ducklake.conflicts import check_unchanged
from tranche.lakes.ducklake.metadata import latest_snapshot, look
from tranche.lakes.ducklake.staging import Entry
from tranche.model.project import Lake

KEY = "it's 東"


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    admin = None
    database = f"{request.param}:{tmp_path}/lake.db"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        admin = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
        name = f"lake_{uuid.uuid4().hex}"
        admin.execute(f'CREATE DATABASE "{name}"')
        info = admin.info
        database = f"postgres:host={info.host} port={info.port} user={info.user} dbname={name}"
    data = str(tmp_path / "data")
    made = Catalog(Lake(name="l", format="ducklake", warehouse=data, database=database))
    change(made, 'CREATE TABLE dl.t (id INTEGER, "the key" VARCHAR)')
    # Few rows, which stay in the catalog.
    with made.using():
        made.asked("CALL dl.set_option('data_inlining_row_limit', 100, table_name => 't')")
    change(made, f"INSERT INTO dl.t VALUES (1, '{KEY.replace(chr(39), chr(39) * 2)}'), (2, 'b')")
    yield made
    if admin is not None:
        admin.close()


def change(catalog: Catalog, statement: str) -> None:
    with catalog.transaction():
        catalog.asked(statement)


def entry(based_on: int, keys: tuple[str, ...] | None) -> Entry:
    return Entry(
        attempt="a",
        run="r",
        publication="r.0",
        table="main.t",
        number=0,
        kind="replace",
        keys=keys,
        based_on=based_on,
    )


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("INSERT INTO dl.t VALUES (3, 'b')", {"b"}),
        ('INSERT INTO dl.t SELECT 3, "the key" FROM dl.t WHERE id = 1', {KEY}),
        ("DELETE FROM dl.t WHERE id = 1", {KEY}),
        ("UPDATE dl.t SET id = 9 WHERE id = 2", {"b"}),
        ("INSERT INTO dl.t VALUES (3, NULL)", set()),
        ("UPDATE dl.t SET \"the key\" = 'b'", {KEY, "b"}),
        ("CREATE TABLE dl.other AS SELECT 1 AS x", set()),
    ],
)
def test_rows_in_the_catalog(catalog: Catalog, statement: str, changed: set[str]) -> None:
    inlined = catalog.rows("SELECT count(*) FROM __ducklake_metadata_dl.ducklake_data_file")
    assert inlined == [(0,)]
    with catalog.using():
        base = latest_snapshot(catalog)
    change(catalog, statement)
    version = look(catalog, "main", "t")
    assert version is not None
    for keys in ((KEY,), ("b",), ("c",), None):
        told = False
        try:
            with catalog.using():
                check_unchanged(catalog, version, entry(base, keys), "the key")
        except CommitLost:
            told = True
        assert told == (bool(changed & set(keys)) if keys else "other" not in statement), keys
