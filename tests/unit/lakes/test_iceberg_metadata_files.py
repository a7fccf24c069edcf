"""A commit is found in the metadata of an Iceberg table without a job of Spark."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tranche.lakes.catalogs import embedded_catalog, prepare_folders
from tranche.lakes.commit import Commit
from tranche.lakes.iceberg.metadata import read_off
from tranche.lakes.table import ADDED
from tranche.model.asset import LakeTable
from tranche.model.project import Lake, Settings, SparkSettings
from tranche.model.run import Attempt

AT = datetime(2026, 5, 16, 12, 0, 0, 250_000, tzinfo=UTC)
OURS = Commit(
    Attempt(id="a1", run="r", position=0, number=1, status="running", started_at=AT), "print"
)
OTHERS = replace(OURS, attempt=replace(OURS.attempt, id="b", run="other"))
TABLE = LakeTable("main", "orders")


class Stored:
    """A table as an embedded catalog has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a lake"
        lake = Lake(name="main", warehouse=str(self.folder))
        spark = SparkSettings()
        prepare_folders(
            Settings(
                name="shop",
                root=folder,
                state_url="",
                spark=spark,
                lakes={"main": lake},
                default_lake="main",
            )
        )
        database = embedded_catalog(lake)
        assert database is not None
        self.database = database

    def write(self, *commits: Commit, name: str = "1.metadata.json", scheme: str = "") -> Path:
        """Its metadata after these commits."""
        snapshots = []
        for number, commit in enumerate(commits, 1):
            about = {"operation": "overwrite", ADDED: "7", **commit.properties()}
            snapshot = {"snapshot-id": number, "timestamp-ms": 1_778_932_800_250, "summary": about}
            snapshots.append(snapshot | ({"parent-snapshot-id": number - 1} if number > 1 else {}))
        file = self.folder / name
        file.write_text(json.dumps({"format-version": 2, "snapshots": snapshots}))
        self.put(f"{scheme}{file}")
        return file

    def put(self, location: str | None) -> None:
        with closing(sqlite3.connect(self.database)) as catalog, catalog:
            catalog.execute(
                "INSERT OR REPLACE INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE')",
                (*TABLE.parts, location),
            )


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_what_the_commit_says(stored: Stored, scheme: str) -> None:
    stored.write(OTHERS, OURS, OTHERS, scheme=scheme)
    found = read_off(stored.database, TABLE, OURS)
    assert found is not None
    assert (found.id, found.parent, found.at, found.count(ADDED)) == ("2", "1", AT, 7)


def test_the_first_commit_has_no_parent(stored: Stored) -> None:
    stored.write(OURS)
    found = read_off(stored.database, TABLE, OURS)
    assert found is not None and found.parent is None


def test_what_is_not_there_is_asked_of_spark(stored: Stored) -> None:
    assert read_off(None, TABLE, OURS) is None
    assert read_off(stored.database, TABLE, OURS) is None
    assert read_off(stored.folder / "no.db", TABLE, OURS) is None
    assert not (stored.folder / "no.db").exists()
    file = stored.write(OTHERS)
    assert read_off(stored.database, TABLE, OURS) is None
    file.write_text('{"snapshots": [')
    assert read_off(stored.database, TABLE, OURS) is None
    file.unlink()
    assert read_off(stored.database, TABLE, OURS) is None
    stored.put("s3a://bucket/1.metadata.json")
    assert read_off(stored.database, TABLE, OURS) is None
    stored.put(None)
    assert read_off(stored.database, TABLE, OURS) is None


def test_large_and_compressed_files_are_asked_of_spark(stored: Stored) -> None:
    stored.write(OURS, name="1.gz.metadata.json")
    assert read_off(stored.database, TABLE, OURS) is None
    file = stored.write(OURS)
    assert read_off(stored.database, TABLE, OURS) is not None
    with file.open("a") as more:
        more.write(" " * 2**22)
    assert read_off(stored.database, TABLE, OURS) is None


def test_other_catalogs_are_asked_of_spark() -> None:
    lake = Lake(name="main", warehouse="/lake", catalog={"type": "rest"})
    assert embedded_catalog(lake) is None
    assert embedded_catalog(Lake(name="main", format="delta", warehouse="/lake")) is None
