"""Catalogs of DuckLake that can be used, and what is said of those that cannot."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import duckdb
import pytest

from tranche.errors import ConfigError, EngineUnavailable, TrancheError
from tranche.lakes.ducklake import duck
from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.duck import opened
from tranche.lakes.ducklake.metadata import check_readable, look
from tranche.model.project import Lake


def lake(folder: Path, kind: str = "sqlite", *, named: bool = True) -> Lake:
    return Lake(
        name="l",
        format="ducklake",
        warehouse=str(folder / "data"),
        database=f"{kind}:{folder}/lake.db",
        data_named=named,
    )


def client(folder: Path, kind: str = "sqlite", options: str = "") -> duckdb.DuckDBPyConnection:
    connection = opened(("ducklake", "sqlite_scanner"))
    connection.execute(f"ATTACH 'ducklake:{kind}:{folder}/lake.db' AS l {options}")
    return connection


def change(folder: Path, key: str, value: str) -> None:
    """Changes what the catalog says of itself, in a process of its own."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('UPDATE ducklake_metadata SET value = ? WHERE key = ?', sys.argv[3:1:-1]);"
        "c.commit()"
    )
    subprocess.run([sys.executable, "-c", code, f"{folder}/lake.db", key, value], check=True)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_catalog_is_made_and_found_again(tmp_path: Path, kind: str) -> None:
    first = Catalog(lake(tmp_path, kind))
    with first.transaction():
        first.asked("CREATE TABLE dl.t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR[]))")
    again = Catalog(lake(tmp_path, kind, named=False))
    found = look(again, "main", "T")
    assert found is not None
    assert found.schema.simpleString() == "struct<id:int,s:struct<a:int,b:array<string>>>"
    assert again.folder == str(tmp_path / "data")
    assert look(again, "main", "other") is None


def test_a_catalog_of_duckdb_is_let_go_of(tmp_path: Path) -> None:
    own = Catalog(lake(tmp_path, "duckdb"))
    assert own.rows(f"SELECT count(*) FROM {META}.ducklake_table") == [(0,)]
    other = client(tmp_path, "duckdb")
    other.execute("CREATE TABLE l.t (id INTEGER)")
    other.close()
    assert own.rows(f"SELECT count(*) FROM {META}.ducklake_table") == [(1,)]


def refused(catalog: Lake, error: type[TrancheError] = EngineUnavailable) -> str:
    with pytest.raises(error) as caught:
        Catalog(catalog).rows("SELECT 1")
    return str(caught.value)


def test_another_version(tmp_path: Path) -> None:
    client(tmp_path, options=f"(DATA_PATH '{tmp_path}/data/')").close()
    change(tmp_path, "version", "9.9")
    said = refused(lake(tmp_path))
    assert "version of DuckLake" in said and "knows 1.0" in said and "\n" not in said


def test_an_encrypted_lake(tmp_path: Path) -> None:
    client(tmp_path, options=f"(DATA_PATH '{tmp_path}/data/', ENCRYPTED)").close()
    assert "are encrypted with keys that Spark has not" in refused(lake(tmp_path))


def test_files_that_are_elsewhere(tmp_path: Path) -> None:
    client(tmp_path, options=f"(DATA_PATH '{tmp_path}/other/')").close()
    said = refused(lake(tmp_path), ConfigError)
    assert "has its files elsewhere than lakes.l.data says" in said
    assert Catalog(lake(tmp_path, named=False)).rows("SELECT 1") == [(1,)]


def test_files_in_a_bucket(tmp_path: Path) -> None:
    client(tmp_path, options=f"(DATA_PATH '{tmp_path}/data/')").close()
    change(tmp_path, "data_path", "s3://bucket/lake/")
    said = refused(lake(tmp_path, named=False))
    assert "are in a bucket, at s3://bucket/lake/; write lakes.l.data = " in said
    change(tmp_path, "data_path", "gs://bucket/lake/")
    assert "are at gs://bucket/lake/, which is neither a folder" in refused(
        lake(tmp_path, named=False)
    )


def test_what_is_no_catalog(tmp_path: Path) -> None:
    (tmp_path / "lake.db").write_text("no database at all, but long enough to look at" * 50)
    assert "the catalog of the DuckLake 'l' cannot be opened" in refused(lake(tmp_path))


@pytest.mark.parametrize(
    "place",
    [
        "host=127.0.0.1 port=1 password=hunter22 dbname=x connect_timeout=1",
        "host=127.0.0.1 port=1 password='hunter22' dbname=x",
        "postgresql://me:hunter22@127.0.0.1:1/x?connect_timeout=1",
        "//me:hunter22@127.0.0.1:1/x",
    ],
)
def test_a_password_is_not_shown(place: str) -> None:
    database = f"postgres:{place}"
    own = Catalog(Lake(name="l", format="ducklake", warehouse="/nowhere", database=database))
    with pytest.raises(EngineUnavailable) as caught:
        own.rows("SELECT 1")
    assert "cannot be opened" in caught.value.what
    shown = "".join(traceback.format_exception(caught.value))
    assert "hunter22" not in shown


@pytest.mark.parametrize("type_", ["HUGEINT", "INTERVAL", "TIME", "STRUCT(a HUGEINT)[]"])
def test_types_that_spark_lacks(tmp_path: Path, type_: str) -> None:
    own = Catalog(lake(tmp_path))
    with own.transaction():
        own.asked(f"CREATE TABLE dl.t (id INTEGER, x {type_})")
    found = look(own, "main", "t")
    assert found is not None
    with pytest.raises(TrancheError, match=r"x of lake://l/t is of DuckDB's type .*Spark has none"):
        check_readable(found, "lake://l/t")


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "find_spec", lambda name: None)
    with pytest.raises(EngineUnavailable) as caught:
        opened(("ducklake",))
    assert str(caught.value) == (
        "a DuckLake needs the package duckdb-extension-ducklake; pip install 'tranche[ducklake]'"
    )


def test_duckdb_is_loaded_for_ducklakes_only() -> None:
    code = (
        "import sys, tranche.lakes.engine, tranche.cli; from tranche.lakes.tables import Tables;"
        "sys.exit('duckdb' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
