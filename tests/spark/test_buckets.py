"""A DuckLake whose files are in a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tranche.lakes.ducklake.access import access_extensions, access_statement
from tranche.lakes.ducklake.duck import opened
from tranche.lakes.engine import SparkEngine
from tranche.model.asset import LakeTable
from tranche.model.project import Lake
from tranche.ports import Upkeep

from ..stores import Store, store
from .conftest import BUCKET, CONF

if TYPE_CHECKING:
    from .conftest import Bench

DAILY = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t{how}
{more}SELECT * FROM VALUES {rows} AS v(id, name)
"""


@pytest.fixture(scope="module")
def objects() -> Iterator[Store]:
    with store(BUCKET) as found:
        yield found


@pytest.fixture(scope="module")
def engine(engines: Callable[[str], SparkEngine], objects: Store) -> SparkEngine:
    lake = '[lakes.main]\n[lakes.ducklake]\nformat = "ducklake"\ncatalog = "sqlite:bucket.db"\n'
    return engines(CONF + lake + objects.lake(BUCKET, "some data"))


@pytest.fixture(autouse=True)
def in_ducklake(bench: Bench) -> None:
    bench.lake = "ducklake"


def lake_of(bench: Bench) -> Lake:
    return bench.engine._settings.lakes["ducklake"]


@contextmanager
def client(bench: Bench) -> Iterator[duckdb.DuckDBPyConnection]:
    bucket = lake_of(bench).bucket
    assert bucket is not None
    duck = opened(("ducklake", "sqlite_scanner", *access_extensions(bucket)))
    duck.execute(access_statement(bucket))
    duck.execute(f"ATTACH 'ducklake:{lake_of(bench).database}' AS l")
    duck.execute(f"USE l.{bench.schema}")
    yield duck
    duck.close()


def put(bench: Bench, rows: str, day: int = 1, how: str = "", more: str = "") -> Any:
    text = DAILY.format(rows=rows, how=how, more=more)
    step, _ = bench.ran(text, partition=f"2026-05-{day:02}")
    return step.record


def rows_of(bench: Bench) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in bench.sql("SELECT id, name FROM @t ORDER BY id, name")]


@pytest.mark.slow
def test_slices_are_written_tested_and_read_by_duckdb(bench: Bench, objects: Store) -> None:
    keyed = " key=id"
    tested = {"how": keyed, "more": "-- data_test not_null name\n"}
    assert put(bench, "(1, 'a'), (2, 'b')", **tested).status == "succeeded"
    for _ in range(2):
        assert put(bench, "(3, 'c')", day=2, how=keyed).status == "succeeded"
    left = objects.keys(BUCKET, f"some data/_tranche/{bench.schema}/")
    assert not [key for key in left if not key.endswith("/")]
    before = objects.keys(BUCKET, f"some data/{bench.schema}/")
    failed = put(
        bench, "(4, 'd'), (5, NULL)", day=2, how=keyed, more="-- data_test not_null name\n"
    )
    assert failed.status == "failed"
    assert objects.keys(BUCKET, f"some data/{bench.schema}/") == before
    # Rows of a slice that are merged become others, where they are.
    assert put(bench, "(2, 'B'), (6, 'f')", how=keyed).status == "succeeded"
    expected = [(1, "a"), (2, "B"), (3, "c"), (6, "f")]
    assert rows_of(bench) == expected
    with client(bench) as duck:
        assert duck.execute("SELECT id, name FROM t ORDER BY id").fetchall() == expected
        duck.execute("DELETE FROM t WHERE id = 1")
        duck.execute("UPDATE t SET name = 'C' WHERE id = 3")
    assert rows_of(bench) == [(2, "B"), (3, "C"), (6, "f")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["it's", "a/b c%", "東京", "p=1", "x　y", '~!@#$&*()+,;?[]{}|^`"<>=:']
)
def test_keys_of_any_signs(bench: Bench, key: str) -> None:
    text = (
        '-- pipeline\n-- partitioned dynamic key="$.k"\n-- materialize lake://main/@t\n'
        "SELECT '{partition}' AS name, {n} AS id"
    )
    for number, each in enumerate((key, "other", key)):
        step, _ = bench.ran(text.replace("{n}", str(number)), partition=each)
        assert step.record.status == "succeeded", step.record.error
    assert rows_of(bench) == [(1, "other"), (2, key)]
    one = bench.sql("SELECT id FROM @t WHERE name = 'other'")
    assert [row["id"] for row in one] == [1]
    with client(bench) as duck:
        found = duck.execute("SELECT id, name FROM t ORDER BY id").fetchall()
        assert found == [(1, "other"), (2, key)]
        duck.execute("CALL ducklake_merge_adjacent_files('l', 't', schema => ?)", [bench.schema])
    assert rows_of(bench) == [(1, "other"), (2, key)]


@pytest.mark.slow
def test_upkeep_leaves_what_is_read(bench: Bench, objects: Store) -> None:
    for number in range(4):
        assert put(bench, f"({number}, 'a')", how=" append").status == "succeeded"
    assert put(bench, "(7, 'b')", day=2).status == "succeeded"
    soon = datetime.now(UTC) + timedelta(minutes=1)
    upkeep = Upkeep(before=soon, needed=frozenset(), running=frozenset(), left_before=soon)
    (done,) = bench.engine.maintain(LakeTable("ducklake", "t", bench.schema), upkeep)
    assert done.files == (5, 2)
    kept = objects.keys(BUCKET, f"some data/{bench.schema}/")
    assert len([key for key in kept if key.endswith(".parquet")]) == 2
    assert rows_of(bench) == [(0, "a"), (1, "a"), (2, "a"), (3, "a"), (7, "b")]


@pytest.mark.slow
def test_a_file_that_is_gone(bench: Bench, objects: Store) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"
    (key,) = [
        key
        for key in objects.keys(BUCKET, f"some data/{bench.schema}/")
        if key.endswith(".parquet")
    ]
    objects.client.delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(Exception, match="is named by the catalog, and Spark finds no such file"):
        rows_of(bench)
