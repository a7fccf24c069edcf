"""What is made for the catalogs of lakes before Spark starts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tranche.lakes.catalogs import prepare_folders
from tranche.model.project import Lake, Settings, SparkSettings


def settings(root: Path, *lakes: Lake) -> Settings:
    return Settings(
        name="shop",
        root=str(root),
        state_url="sqlite://",
        spark=SparkSettings(),
        lakes={lake.name: lake for lake in lakes},
        default_lake=lakes[0].name,
    )


def tables(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as catalog:
        found = catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return sorted(name for (name,) in found)


def test_a_new_catalog_has_its_tables_before_several_sessions_look(tmp_path: Path) -> None:
    main = Lake(name="main", warehouse=str(tmp_path / "main"))
    files = Lake(name="files", warehouse=str(tmp_path / "files"), format="parquet")
    prepare_folders(settings(tmp_path, main, files))
    expected = ["iceberg_namespace_properties", "iceberg_tables"]
    assert tables(tmp_path / "main" / "catalog.db") == expected
    assert list((tmp_path / "files").iterdir()) == []


def test_a_catalog_that_is_there_is_left_alone(tmp_path: Path) -> None:
    main = Lake(name="main", warehouse=str(tmp_path))
    (tmp_path / "catalog.db").touch()
    prepare_folders(settings(tmp_path, main))
    assert (tmp_path / "catalog.db").stat().st_size == 0
