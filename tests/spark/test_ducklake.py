"""What is DuckLake's own: folders, buckets, clients that write meanwhile, and what is refused."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tranche.errors import BucketLost, CommitLost, EngineError
from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.ducklake import counting, reading
from tranche.lakes.ducklake.access import access_extensions, access_statement
from tranche.lakes.ducklake.catalog import META, Catalog, catalog_of
from tranche.lakes.ducklake.duck import opened
from tranche.lakes.ducklake.layout import transformed
from tranche.lakes.ducklake.publishing import Publishing
from tranche.lakes.ducklake.staging import Entry, Staging
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.lakes.ducklake.types import spark_type
from tranche.lakes.target import Target
from tranche.lakes.tuning import set_meanwhile
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout, Transform
from tranche.model.project import Lake, Project
from tranche.model.run import Attempt
from tranche.model.strategy import Append
from tranche.planning.given import rollback_plan
from tranche.ports import Upkeep
from tranche.run.runner import run_plan
from tranche.testing import MemoryStore

if TYPE_CHECKING:
    from .conftest import Bench

LAKES = ("ducklake",)
DAILY = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t{how}
{more}SELECT * FROM VALUES {rows} AS v(id, name)
"""


@pytest.fixture(autouse=True)
def in_ducklake(bench: Bench) -> None:
    bench.lake = "ducklake"
    # Clients find a lake.
    catalog_of(lake_of(bench)).rows("SELECT 1")


def lake_of(bench: Bench) -> Lake:
    return bench.engine._settings.lakes["ducklake"]


@contextmanager
def client(bench: Bench) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB by itself, as others use it."""
    bucket = lake_of(bench).bucket
    connection = opened(("ducklake", "sqlite_scanner", *access_extensions(bucket)))
    if bucket is not None:
        connection.execute(access_statement(bucket))
    connection.execute("SET ducklake_max_retry_count = 20")
    connection.execute(f"ATTACH 'ducklake:{lake_of(bench).database}' AS l")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS l.{bench.schema}")
    connection.execute(f"USE l.{bench.schema}")
    yield connection
    connection.close()


def attempt_of(id_: str) -> Attempt:
    return Attempt(
        id=id_, run=f"run-{id_}", position=0, number=1, status="running",
        started_at=datetime.now(UTC),
    )  # fmt: skip


def put(bench: Bench, rows: str, day: int = 1, how: str = "", more: str = "") -> Any:
    text = DAILY.format(rows=rows, how=how, more=more)
    step, _ = bench.ran(text, partition=f"2026-05-{day:02}")
    return step.record


def table(bench: Bench, name: str = "t") -> DuckLakeTable:
    address = LakeTable("ducklake", name, bench.schema)
    return DuckLakeTable(bench.engine.session(), address, lake_of(bench))


def write_files(bench: Bench, duck: duckdb.DuckDBPyConnection, beyond: int = 0) -> None:
    """Also of few rows, which would stay in the catalog otherwise."""
    where = f"schema => '{bench.schema}', table_name => 't'"
    duck.execute(f"CALL l.set_option('data_inlining_row_limit', {beyond}, {where})")


def files(bench: Bench) -> set[str]:
    """All files of the schema, registered or not."""
    root, own = lake_of(bench).warehouse, catalog_of(lake_of(bench)).files
    found = {**own.sizes(f"{root}/{bench.schema}"), **own.sizes(f"{root}/_tranche/{bench.schema}")}
    return {path.removeprefix(f"{root}/") for path in found}


def in_folders(bench: Bench) -> None:
    if lake_of(bench).bucket is not None:
        pytest.skip("it looks into folders by itself")


def test_files_are_where_duckdb_has_them_and_a_day_reads_its_own(bench: Bench) -> None:
    for day in range(1, 5):
        assert put(bench, "(1, 'a'), (2, NULL)", day).status == "succeeded"
    assert {os.path.dirname(name) for name in files(bench)} == {
        f"{bench.schema}/t/_tranche_partition=2026-05-0{day}" for day in range(1, 5)
    }
    read = bench.engine.table(bench.engine.session(), LakeTable("ducklake", "t", bench.schema))
    one = read.rows().where(F.col("_tranche_partition") == "2026-05-03")
    touched = {row[0] for row in one.select(F.input_file_name()).collect()}
    assert touched and all("05-03" in name for name in touched)
    with client(bench) as duck:
        found = duck.execute("SELECT * FROM t WHERE _tranche_partition = '2026-05-03'").fetchall()
        assert sorted(found) == [(1, "a", "2026-05-03"), (2, None, "2026-05-03")]
        (info,) = duck.execute(
            f"SELECT commit_extra_info FROM {META.replace('dl', 'l')}.ducklake_snapshot_changes"
            " ORDER BY snapshot_id DESC LIMIT 1"
        ).fetchone() or ("",)
        assert '"tranche.partition": "2026-05-04"' in info


BUCKETED = {
    "int32": "(i * 7919 - 500)::INTEGER",
    "int64": "i * 1234567890123 - 5000000000000",
    "int8": "(i % 200 - 100)::TINYINT",
    "decimal(9,2)": "((i * 31 - 700) / 10)::DECIMAL(9,2)",
    "decimal(30,4)": "((i * 31 - 700) / 10)::DECIMAL(30,4)",
    "date": "DATE '1960-01-01' + (i * 61)::INTEGER",
    "timestamp": "TIMESTAMP '1960-01-01 00:00:00.000001' + to_hours(i * 1001)",
    "timestamptz": "TIMESTAMPTZ '1960-01-01 00:00:00.000001+00' + to_hours(i * 1001)",
    "varchar": "CASE WHEN i = 3 THEN '' ELSE repeat(chr(((i % 60) + 200)::INTEGER), (i % 23)::INTEGER) || i END",
    "blob": "encode(repeat('x', (i % 9)::INTEGER) || i)",
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_buckets_and_calendar_values_are_those_of_duckdb(bench: Bench, zone: str) -> None:
    """Of all types at once, with NULL among them."""
    duck = opened(("ducklake",))
    names = {type_: f"c{number}" for number, type_ in enumerate(BUCKETED)}
    columns = ", ".join(
        f"CASE WHEN i = 7 THEN NULL ELSE {text} END AS {names[type_]}"
        for type_, text in BUCKETED.items()
    )
    select = f"SELECT {columns} FROM range(300) r(i)"
    wanted = [f"(murmur3_32({name}) & 2147483647) % 16" for name in names.values()]
    times = [names["timestamp"], names["timestamptz"], names["date"]]
    wanted += [f"{what}({name})" for name in times for what in ("year", "month", "day")]
    expected = duck.execute(f"SELECT {', '.join(wanted)} FROM ({select})").fetchall()
    rows = duck.execute(select).fetchall()
    types = {type_: spark_type(type_) for type_ in BUCKETED}
    schema = StructType([StructField(names[t], s) for t, s in types.items() if s is not None])
    session = bench.engine.session()
    session.conf.set("spark.sql.session.timeZone", zone)
    frame = session.createDataFrame(rows, schema)
    made = [transformed(Transform("bucket", f.name, 16), f.dataType) for f in schema.fields]
    by_name = {field.name: field.dataType for field in schema.fields}
    made += [
        transformed(Transform(what, name), by_name[name])  # type: ignore[arg-type]
        for name in times
        for what in ("year", "month", "day")
    ]
    assert [tuple(row) for row in frame.select(*made).collect()] == expected


LAYOUT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
-- layout {}
SELECT id, timestamp_seconds(id * 86400 * 20) AS at, nullif('v' || id % 3, 'v1') AS kind
FROM range(12)
"""


@pytest.mark.parametrize(
    "layout",
    [
        "bucket(4, id), kind",
        "year(at), month(at), kind",
        pytest.param("month(at)", marks=pytest.mark.slow),
        pytest.param("hour(at), bucket(3, kind)", marks=pytest.mark.slow),
    ],
)
def test_layouts_are_duckdbs(bench: Bench, layout: str) -> None:
    """DuckDB finds every row by filters that it prunes with, and can compact the files."""
    for day in ("2026-05-15", "2026-05-16", "2026-05-15"):
        step, _ = bench.ran(LAYOUT.format(layout), partition=day)
        assert step.record.status == "succeeded", step.record.error
    with client(bench) as duck:
        for number in range(12):
            found = duck.execute(f"SELECT count(*) FROM t WHERE id = {number}").fetchone()
            assert found == (2,), number
        by_kind = duck.execute("SELECT kind, count(*) FROM t GROUP BY 1 ORDER BY 1").fetchall()
        assert by_kind == [("v0", 8), ("v2", 8), (None, 8)]
        month = duck.execute('SELECT count(*) FROM t WHERE month("at") = 1').fetchone()
        duck.execute(f"CALL ducklake_merge_adjacent_files('l', 't', schema => '{bench.schema}')")
        assert duck.execute('SELECT count(*) FROM t WHERE month("at") = 1').fetchone() == month
    assert len(bench.sql("SELECT id FROM @t")) == 24
    other, _ = bench.ran(LAYOUT.format("year(at)"), partition="2026-05-17")
    assert other.record.status == "succeeded", other.record.error
    assert [str(t) for t in table(bench)._layout()] == ["year(at)"]
    bench.engine.query(SetLayout(LakeTable("ducklake", "t", bench.schema)), limit=1)
    assert table(bench)._layout() == ()
    assert len(bench.sql("SELECT id FROM @t WHERE kind IS NULL")) == 12


@pytest.mark.slow
def test_a_table_that_duckdb_laid_out_by_two_fields_of_a_column(bench: Bench) -> None:
    """As DuckLake's own manual does it; rows come and go by every strategy."""
    text = (
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t{how}\n"
        "SELECT CAST(id AS INT) AS id, timestamp_seconds(id * 86400 * 20) AS ts, '{name}' AS name\n"
        "FROM range({start}, {end})"
    )
    assert table(bench).version() is None
    with client(bench) as duck:
        duck.execute(
            "CREATE TABLE t (id INTEGER, ts TIMESTAMPTZ, name VARCHAR, _tranche_partition VARCHAR)"
        )
        duck.execute("ALTER TABLE t SET PARTITIONED BY (year(ts), month(ts))")
        duck.execute("INSERT INTO t VALUES (100, '2026-05-01 12:00:00+00', 'theirs', '2026-05-02')")
        for how, name, start, end in (
            ("", "first", 0, 30),
            ("", "second", 0, 40),
            (" key=id", "merged", 30, 50),
            (" append", "appended", 50, 60),
        ):
            script = text.format(how=how, name=name, start=start, end=end)
            step, _ = bench.ran(script, partition="2026-05-01")
            assert step.record.status == "succeeded", step.record.error
        found = duck.execute("SELECT name, count(*) FROM t GROUP BY 1 ORDER BY 1").fetchall()
        assert found == [("appended", 10), ("merged", 20), ("second", 30), ("theirs", 1)]
        for number in range(60):
            question = (
                "SELECT id FROM t WHERE ts = to_timestamp(? * 86400 * 20) AND year(ts) = "
                "year(to_timestamp(? * 86400 * 20)) AND month(ts) = month(to_timestamp(? * 86400 * 20))"
            )
            assert duck.execute(question, [number] * 3).fetchall() == [(number,)]
    assert len(bench.sql("SELECT id FROM @t")) == 61
    assert [str(t) for t in table(bench)._layout()] == ["year(ts)", "month(ts)"]


def test_layouts_that_duckdb_would_mix_up(bench: Bench) -> None:
    text = "-- pipeline\n-- materialize lake://main/@t\n-- layout {}\nSELECT 1 AS id, now() AS at"
    step, _ = bench.ran(text.format("month(at)") + ", 5 AS month")
    assert "folders of month(at) are called month, and so is a column" in str(step.record.error)
    assert bench.tables() == [] and files(bench) == set()


def test_clients_that_commit_meanwhile_lose_nothing(bench: Bench) -> None:
    """A commit that comes between looking and committing makes Tranche look again."""
    assert put(bench, "(1, 'a')").status == "succeeded"
    with client(bench) as duck:
        duck.execute("CREATE TABLE other (id INTEGER)")
        own = catalog_of(lake_of(bench))
        asked, came = Catalog.asked, []

        def slow(self: Catalog, statement: str, parameters: Any = ()) -> Any:
            if statement.startswith("DELETE") and len(came) < 2:
                came.append(statement)
                duck.execute(f"INSERT INTO other VALUES ({len(came)})")
                duck.execute(
                    f"INSERT INTO t VALUES ({100 + len(came)}, 'theirs', '2026-05-0{len(came) + 1}')"
                )
            return asked(self, statement, parameters)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Catalog, "asked", slow)
            done = put(bench, "(1, 'b')")
        assert done.status == "succeeded", done.error
        assert len(came) == 2
        assert duck.execute("SELECT * FROM other ORDER BY 1").fetchall() == [(1,), (2,)]
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
        assert found == [(1, "b"), (101, "theirs"), (102, "theirs")]
    assert own.lake.name == "ducklake"


def test_a_slice_that_a_client_changed_is_merged_anew(bench: Bench) -> None:
    assert put(bench, "(1, 'a'), (2, 'b')", how=" key=id").status == "succeeded"
    text = DAILY.format(rows="(2, 'B'), (3, 'c')", how=" key=id", more="")
    with client(bench) as duck:
        work = bench.work(text, partition="2026-05-01")
        with bench.engine.attempt(work) as trial:
            trial.stage()
            duck.execute("UPDATE t SET name = 'theirs' WHERE id = 1")
            with pytest.raises(Exception, match="another writer changed the same slice"):
                trial.publish()
        assert put(bench, "(2, 'B'), (3, 'c')", how=" key=id").status == "succeeded"
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
        assert found == [(1, "theirs"), (2, "B"), (3, "c")]


@pytest.mark.parametrize(
    ("theirs", "is_the_same"),
    [
        ("INSERT INTO t VALUES (9, 'theirs', '2026-05-02')", False),
        ("DELETE FROM t WHERE id = 8", False),
        ("INSERT INTO t VALUES (9, 'theirs', '2026-05-01')", True),
        ("DELETE FROM t WHERE id = 7", True),
        ("INSERT INTO t VALUES (9, 'theirs', NULL)", False),
    ],
)
def test_rows_that_the_catalog_has_are_of_slices_too(
    bench: Bench, theirs: str, is_the_same: bool
) -> None:
    """Few rows of clients are kept there, and not in files."""
    assert put(bench, "(1, 'a')").status == "succeeded"
    with client(bench) as duck:
        duck.execute("INSERT INTO t VALUES (7, 'x', '2026-05-01'), (8, 'y', '2026-05-02')")
        work = bench.work(
            DAILY.format(rows="(1, 'b')", how="", more="-- data_test not_null id\n"),
            partition="2026-05-01",
        )
        with bench.engine.attempt(work) as trial:
            trial.stage()
            duck.execute(theirs)
            if is_the_same:
                with pytest.raises(CommitLost, match="another writer changed the same slice"):
                    trial.publish()
                return
            trial.publish()
        found = duck.execute("SELECT id FROM t WHERE _tranche_partition = '2026-05-01'")
        assert found.fetchall() == [(1,)]


def test_files_of_a_commit_that_failed_are_gone(bench: Bench) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"
    before = files(bench)
    asked = Catalog.asked

    def broken(self: Catalog, statement: str, parameters: Any = ()) -> Any:
        if "set_commit_message" in statement:
            raise duckdb.IOException("the disk is gone")
        return asked(self, statement, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "asked", broken)
        with pytest.raises(duckdb.IOException):
            bench.run(
                DAILY.format(rows="(9, 'z')", how="", more=""), "dies", partition="2026-05-02"
            )
    shown = {name for name in files(bench) - before if not name.startswith("_tranche")}
    assert shown == set()
    attempt = Attempt(
        id="dies", run="run-dies", position=0, number=1, status="running",
        started_at=datetime.now(UTC),
    )  # fmt: skip
    address = LakeTable("ducklake", "t", bench.schema)
    assert bench.engine.recover(address, ["2026-05-02"], attempt) is None
    assert files(bench) == before and [r["id"] for r in bench.sql("SELECT id FROM @t")] == [1]


def test_an_attempt_whose_process_died_after_the_commit_is_found(bench: Bench) -> None:
    bench.run(DAILY.format(rows="(1, 'a'), (2, 'b')", how="", more=""), "x", partition="2026-05-01")
    attempt = Attempt(
        id="y", run="run-x", position=0, number=2, status="running", started_at=datetime.now(UTC)
    )
    address = LakeTable("ducklake", "t", bench.schema)
    found = bench.engine.recover(address, ["2026-05-01"], attempt)
    assert found is not None and found.rows == 2 and found.snapshot is not None
    assert table(bench).attempted(Commit(replace(attempt, id="x"))) is not None


def test_a_file_that_is_missing(bench: Bench) -> None:
    in_folders(bench)
    assert put(bench, "(1, 'a')").status == "succeeded"
    (name,) = files(bench)
    (Path(lake_of(bench).warehouse) / name).unlink()
    with pytest.raises(Exception, match=r"is named by the catalog, and Spark finds no such file"):
        bench.sql("SELECT * FROM @t")


def test_columns_that_spark_does_not_write(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute(
            "CREATE TABLE t (id INTEGER, name VARCHAR, n UTINYINT, _tranche_partition VARCHAR)"
        )
        duck.execute("INSERT INTO t VALUES (1, 'a', 200, '2026-05-01')")
        duck.execute("CREATE TABLE wide (x HUGEINT)")
    assert bench.sql("SELECT n FROM @t") == [{"n": 200}]
    done = put(bench, "(1, 'a')", how=" on_schema_change=ignore")
    assert "n of" in str(done.error) and "UINT8, which Spark does not write" in str(done.error)
    with pytest.raises(Exception, match="DuckDB's type HUGEINT, for which Spark has none"):
        bench.sql("SELECT * FROM @wide")


def test_parts_of_columns_that_came_with_a_default(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER), l STRUCT(a INTEGER)[])")
        duck.execute("INSERT INTO t SELECT i, {a: i}, [{a: i}] FROM range(20) r(i)")
        duck.execute("INSERT INTO t VALUES (50, NULL, NULL)")
        duck.execute("ALTER TABLE t ADD COLUMN s.c INTEGER DEFAULT 5")
        duck.execute("ALTER TABLE t ADD COLUMN since TIMESTAMP DEFAULT '2024-01-01'")
        duck.execute("INSERT INTO t SELECT i, {a: i, c: NULL}, [], NULL FROM range(60, 80) r(i)")
        duck.execute(r"ALTER TABLE t ADD COLUMN raw BLOB DEFAULT '\x00\xfFa\x5C'")
        duck.execute("INSERT INTO t VALUES (90, NULL, NULL, NULL, NULL)")
        asked = "SELECT id, s.a, s.c, s IS NULL AS n, CAST(since AS {}) AS since, hex(raw) AS raw"
        theirs = duck.execute(f"{asked.format('VARCHAR')} FROM t").fetchall()
    found = bench.sql(f"{asked.format('STRING')} FROM @t")
    assert sorted(tuple(row.values()) for row in found) == sorted(theirs)
    assert {row[2] for row in theirs} == {5, None}
    assert {row[5] for row in theirs} == {"00FF615C", None}


def test_files_of_others_whose_folders_tell_values(bench: Bench, tmp_path: Path) -> None:
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, day DATE, kind VARCHAR)")
        for number, kind in enumerate(("a", "NULL", "b%20c", "")):
            place = tmp_path / "day=2026-05-01" / f"kind={kind}" / f"{number}.parquet"
            place.parent.mkdir(parents=True)
            duck.execute(f"COPY (SELECT {number}::INTEGER AS id) TO '{place}'")
            duck.execute(
                "CALL ducklake_add_data_files('l', 't', ?, schema => ?, hive_partitioning => true)",
                [str(place), bench.schema],
            )
        duck.execute("ALTER TABLE t RENAME COLUMN kind TO sort")
        theirs = duck.execute("SELECT id, day, sort FROM t ORDER BY id").fetchall()
    found = bench.sql("SELECT id, day, sort FROM @t ORDER BY id")
    assert [tuple(row.values()) for row in found] == [
        (number, str(day), sort) for number, day, sort in theirs
    ]
    assert [row[2] for row in theirs] == ["a", None, "b c", ""]


def test_folders_are_not_used_where_the_lake_wants_none(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute(f"CALL l.set_option('hive_file_pattern', false, schema => '{bench.schema}')")
    for day in (1, 2, 1):
        assert put(bench, f"({day}, 'a')", day).status == "succeeded"
    assert {os.path.dirname(name) for name in files(bench)} == {f"{bench.schema}/t"}
    assert sorted(r["id"] for r in bench.sql("SELECT id FROM @t")) == [1, 2]
    with client(bench) as duck:
        plan = duck.execute(
            "EXPLAIN ANALYZE SELECT * FROM t WHERE _tranche_partition = '2026-05-02'"
        ).fetchall()
        assert re.search(r"Total Files Read: 1\b", str(plan))


@pytest.mark.slow
def test_a_layout_without_folders(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute(f"CALL l.set_option('hive_file_pattern', false, schema => '{bench.schema}')")
        duck.execute("CREATE TABLE t (id INTEGER, name VARCHAR, _tranche_partition VARCHAR)")
        duck.execute("ALTER TABLE t SET PARTITIONED BY (_tranche_partition, name)")
        write_files(bench, duck)
        duck.execute("INSERT INTO t VALUES (1, 'a', '2026-05-01')")
    for how, rows in ((" append", "(2, 'a'), (3, 'b')"), (" key=id", "(3, 'a'), (4, 'b')")):
        done = put(bench, rows, how=how)
        assert done.status == "succeeded", done.error
    with client(bench) as duck:
        duck.execute(f"CALL ducklake_merge_adjacent_files('l', 't', schema => '{bench.schema}')")
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
    assert found == [(1, "a"), (2, "a"), (3, "a"), (4, "b")]
    assert sorted(tuple(r.values()) for r in bench.sql("SELECT id, name FROM @t")) == found


def test_a_table_keeps_its_own_column_of_the_key(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, name VARCHAR, _wm_partition VARCHAR)")
        duck.execute("ALTER TABLE t SET PARTITIONED BY (_wm_partition)")
        duck.execute("INSERT INTO t VALUES (1, 'a', '2026-05-01'), (2, 'b', '2026-05-02')")
    lakes = bench.engine._settings.lakes
    with pytest.MonkeyPatch.context() as patch:
        own = replace(lake_of(bench), partition_column="_wm_partition")
        patch.setitem(lakes, "ducklake", own)  # type: ignore[arg-type]
        for how, rows in ((" key=id", "(1, 'A'), (3, 'c')"), (" append", "(4, 'd')")):
            done = put(bench, rows, how=how)
            assert done.status == "succeeded", done.error
        found = bench.sql("SELECT id, name, _wm_partition AS day FROM @t ORDER BY id")
        assert [tuple(row.values()) for row in found] == [
            (1, "A", "2026-05-01"),
            (2, "b", "2026-05-02"),
            (3, "c", "2026-05-01"),
            (4, "d", "2026-05-01"),
        ]
        shown = bench.engine.preview(
            LakeTable("ducklake", "t", bench.schema), "2026-05-02", limit=9
        )
        assert [row["id"] for row in shown.rows.records()] == [2]
        own_table, now = table(bench), table(bench).readable()
        assert now is not None and captured(own_table.rows(now[1]).schema) == captured(now[0])


def test_a_catalog_in_a_file_of_duckdb(bench: Bench, tmp_path: Path) -> None:
    own = Lake(
        name="ducklake",
        format="ducklake",
        warehouse=str(tmp_path / "data"),
        database=f"duckdb:{tmp_path}/lake.ducklake",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bench.engine._settings.lakes, "ducklake", own)  # type: ignore[arg-type]
        for how, rows in (("", "(1, 'a'), (2, 'b')"), (" key=id", "(2, 'B')")):
            done = put(bench, rows, how=how)
            assert done.status == "succeeded", done.error
        found = bench.sql("SELECT id, name FROM @t ORDER BY id")
        assert [tuple(row.values()) for row in found] == [(1, "a"), (2, "B")]
        # Nobody holds the file when nothing is done.
        with client(bench) as duck:
            assert duck.execute("SELECT count(*) FROM t").fetchone() == (2,)


@pytest.mark.slow
def test_a_lake_in_a_folder_whose_name_looks_like_a_pattern(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "sh[o]p {a,b}* é"
    own = Lake(
        name="ducklake",
        format="ducklake",
        warehouse=str(folder / "data"),
        database=f"sqlite:{folder}/lake.ducklake",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bench.engine._settings.lakes, "ducklake", own)  # type: ignore[arg-type]
        for how, rows in (
            ("", "(1, 'a'), (2, 'b')"),
            (" key=id", "(2, 'B')"),
            (" append", "(3, 'c')"),
        ):
            done = put(bench, rows, how=how, more="-- data_test not_null id\n")
            assert done.status == "succeeded", done.error
        with client(bench) as duck:
            duck.execute("DELETE FROM t WHERE id = 1")
        found = bench.sql("SELECT id, name FROM @t WHERE _tranche_partition = '2026-05-01'")
        assert sorted(tuple(row.values()) for row in found) == [(2, "B"), (3, "c")]


SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.compression.codec": "lz4",
}


def test_files_are_as_duckdb_reads_them_whatever_spark_is_told(bench: Bench) -> None:
    own, rows = table(bench), ", ".join(f"({n}, array('a', NULL))" for n in range(3))
    values = (
        "SELECT id, list, DATE '1500-01-01' AS day, TIMESTAMP '1500-01-01 00:00:00.123456Z' AS at,"
        f" '1' AS _tranche_partition FROM VALUES {rows} AS v(id, list)"
    )
    assert own.version() is None
    with client(bench) as duck:
        duck.execute(
            'CREATE TABLE t (id INTEGER, list VARCHAR[], day DATE, "at" TIMESTAMPTZ,'
            " _tranche_partition VARCHAR)"
        )
        duck.execute("INSERT INTO t VALUES (1, [], NULL, NULL, '1')")
        facts = own.facts()
        assert facts is not None
        with set_meanwhile(own.session, SETTINGS), own.staging(Commit(attempt_of("a")), facts):
            into = own.merging(own.session.sql(values))
            merged = into.on(into.equal(("id",))).whenMatched().updateAll()
            merged.whenNotMatched().insertAll().merge()
            assert own.session.conf.get("spark.sql.parquet.compression.codec") == "lz4"
        assert own.pick(own.staged(Commit(attempt_of("a"))).id) is not None
        found = duck.execute(
            'SELECT id, list, day, microsecond("at") FROM t WHERE "at" < \'1500-01-02\' ORDER BY id'
        ).fetchall()
    assert found == [(n, ["a", None], date(1500, 1, 1), 123456) for n in range(3)]


def test_it_is_read_as_it_was_and_goes_back(bench: Bench) -> None:
    store = MemoryStore()
    address = LakeTable("ducklake", "t", bench.schema)
    for day, rows in ((1, "(1, 'a')"), (2, "(2, 'b')"), (1, "(1, 'A')")):
        text = DAILY.format(rows=rows, how="", more="")
        step, _ = bench.ran(text, store, partition=f"2026-05-0{day}")
        assert step.record.status == "succeeded", step.record.error
    seen = bench.engine.snapshots(address, limit=10).snapshots
    assert [each.partition for each in seen] == ["2026-05-01", "2026-05-02", "2026-05-01"]
    then = bench.engine.preview(address, None, limit=9, snapshot=seen[1].id)
    assert sorted(row["name"] for row in then.rows.records()) == ["a", "b"]
    plan = rollback_plan(
        Project(settings=bench.engine._settings, scripts=()), address, seen[1].id, datetime.now(UTC)
    )
    result = run_plan(plan, bench.engine, store, lambda: datetime.now(UTC))
    assert result.status == "succeeded", result.steps[0].record.error
    assert sorted(row["name"] for row in bench.sql("SELECT name FROM @t")) == ["a", "b"]
    state = store.partition(str(address), "2026-05-01")
    assert state is not None and (state.rows, state.run) == (1, result.id)
    with client(bench) as duck:
        assert sorted(duck.execute("SELECT name FROM t").fetchall()) == [("a",), ("b",)]


def test_upkeep(bench: Bench) -> None:
    for number in range(3):
        assert put(bench, f"({number}, 'a')", how=" append").status == "succeeded"
    at = datetime.now(UTC) + timedelta(minutes=1)
    upkeep = Upkeep(before=at, needed=frozenset(), running=frozenset(), left_before=at)
    (done,) = bench.engine.maintain(LakeTable("ducklake", "t", bench.schema), upkeep)
    assert done.files == (3, 1) and done.snapshots >= 1
    assert len(bench.sql("SELECT id FROM @t")) == 3
    assert len(files(bench)) == 1
    with client(bench) as duck:
        assert duck.execute("SELECT count(*) FROM t").fetchone() == (3,)
    assert put(bench, "(9, 'a')", how=" append").status == "succeeded"
    assert len(bench.sql("SELECT id FROM @t")) == 4


def test_upkeep_of_files_that_others_put_elsewhere(bench: Bench) -> None:
    in_folders(bench)
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, p VARCHAR)")
        duck.execute("ALTER TABLE t SET PARTITIONED BY (p)")
        write_files(bench, duck)
        duck.execute("INSERT INTO t VALUES (1, 'New York')")
        folder = Path(lake_of(bench).warehouse) / bench.schema / "t" / "p=New York"
        folder.mkdir()
        duck.execute(f"COPY (SELECT 2 AS id) TO '{folder}/x.parquet'")
        duck.execute(
            f"CALL ducklake_add_data_files('l', 't', '{folder}/x.parquet',"
            f" schema => '{bench.schema}', hive_partitioning => true)"
        )
    at = datetime.now(UTC) + timedelta(minutes=1)
    upkeep = Upkeep(before=at, needed=frozenset(), running=frozenset(), left_before=at)
    with pytest.raises(EngineError, match="rows of one value in files of several folders"):
        bench.engine.maintain(LakeTable("ducklake", "t", bench.schema), upkeep)
    found = sorted(row["id"] for row in bench.sql("SELECT id FROM @t WHERE p = 'New York'"))
    assert found == [1, 2]


SPACES = "東　京\u00a0x"


@pytest.mark.slow
def test_keys_with_spaces_that_are_not_ascii(bench: Bench) -> None:
    """Spark spells such signs otherwise in the addresses of files."""
    text = (
        '-- pipeline\n-- partitioned dynamic key="$.k"\n-- materialize lake://main/@t key=id\n'
        "SELECT * FROM VALUES {} AS v(id, name)"
    )
    for rows in ("(1, 'a'), (2, 'b'), (3, 'c')", "(2, 'B'), (4, 'd')"):
        step, _ = bench.ran(text.format(rows), partition=SPACES)
        assert step.record.status == "succeeded", step.record.error
    with client(bench) as duck:
        duck.execute("DELETE FROM t WHERE id = 3")
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
    assert found == [(1, "a"), (2, "B"), (4, "d")]
    assert sorted(tuple(row.values()) for row in bench.sql("SELECT id, name FROM @t")) == found


def test_columns_that_are_called_as_ducklake_calls_where_rows_are(bench: Bench) -> None:
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, filename VARCHAR, _tranche_partition VARCHAR)")
        duck.execute("CALL l.set_option('data_inlining_row_limit', 10)")
        duck.execute("INSERT INTO t VALUES (1, 'a.csv', '2026-05-01')")
        with pytest.raises(Exception, match="has a column filename, as DuckLake calls"):
            bench.sql("SELECT * FROM @t")
        duck.execute("CALL ducklake_flush_inlined_data('l', table_name => 't')")
        duck.execute("CALL l.set_option('data_inlining_row_limit', 0)")
    assert [row["filename"] for row in bench.sql("SELECT * FROM @t")] == ["a.csv"]
    text = DAILY.format(rows="(1, 'b.csv')", how=" key=id", more="").replace("name", "filename")
    step, _ = bench.ran(text, partition="2026-05-01")
    assert "has a column filename" in str(step.record.error)
    assert [row["filename"] for row in bench.sql("SELECT * FROM @t")] == ["a.csv"]


def test_deletes_of_several_snapshots_in_one_file_are_told_apart(bench: Bench) -> None:
    store, address = MemoryStore(), LakeTable("ducklake", "t", bench.schema)
    rows = ", ".join(f"({n}, 'a')" for n in range(20))
    assert put(bench, rows).status == "succeeded"
    with client(bench) as duck:
        duck.execute("CALL l.set_option('data_inlining_row_limit', 0)")
        for rest in (2, 3, 5):
            duck.execute(f"DELETE FROM t WHERE id % 7 = {rest}")
    snapshots = [each.id for each in reversed(bench.engine.snapshots(address, limit=9).snapshots)]
    held = [table(bench).key_rows(["2026-05-01"], snapshot) for snapshot in snapshots]
    assert [each["2026-05-01"] for each in held if each] == [20, 17, 14, 11]
    assert table(bench).slice_rows(None, snapshots[2]) == 14
    plan = rollback_plan(
        Project(settings=bench.engine._settings, scripts=()),
        address,
        snapshots[2],
        datetime.now(UTC),
    )
    result = run_plan(plan, bench.engine, store, lambda: datetime.now(UTC))
    assert result.status == "succeeded", result.steps[0].record.error
    assert len(bench.sql("SELECT id FROM @t")) == 14


def test_a_rollback_over_columns_loses_no_commit_that_came_meanwhile(bench: Bench) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"
    (first,) = table(bench).shown()
    with client(bench) as duck:
        duck.execute("ALTER TABLE t ADD COLUMN more INTEGER")
        own = table(bench)
        to = own.returning(first.id)
        attempt = Attempt(
            id="back", run="run-back", position=0, number=1, status="running",
            started_at=datetime.now(UTC),
        )  # fmt: skip
        written, came = Staging.write, []

        def slow(self: Staging, *args: Any, **more: Any) -> Any:
            if not came:
                came.append(duck.execute("INSERT INTO t VALUES (7, 'theirs', '2026-05-02', 1)"))
            return written(self, *args, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Staging, "write", slow)
            with pytest.raises(CommitLost, match="another writer changed"):
                own.restore(to, Commit(attempt))
        assert duck.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_files_of_a_commit_whose_snapshot_has_expired_stay(bench: Bench) -> None:
    """The process ended before it cleared up, and nobody knows the snapshot by now."""
    text = DAILY.format(rows="(1, 'a'), (2, 'b')", how=" append", more="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Staging, "clear", lambda self, attempt: None)
        bench.run(text, "dies", partition="2026-05-01")
    (made,) = table(bench).shown()
    with client(bench) as duck:
        duck.execute("CREATE TABLE other (id INTEGER)")
        duck.execute(f"CALL ducklake_expire_snapshots('l', versions => [{made.id}])")
    catalog_of(lake_of(bench)).known.clear()
    attempt = Attempt(
        id="dies", run="run-dies", position=0, number=1, status="running",
        started_at=datetime.now(UTC),
    )  # fmt: skip
    found = bench.engine.recover(table(bench).address, ["2026-05-01"], attempt)
    assert found is not None and found.rows == 2
    assert len(bench.sql("SELECT id FROM @t")) == 2


def test_a_commit_that_arrived_although_it_was_said_to_be_lost(bench: Bench) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"
    asked, lost = Catalog.asked, []

    def broken(self: Catalog, statement: str, parameters: Any = ()) -> Any:
        found = asked(self, statement, parameters)
        if statement == "COMMIT" and not lost:
            lost.append(statement)
            raise CommitLost("nobody knows", "run it again")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "asked", broken)
        done = put(bench, "(2, 'b')", how=" append")
    assert (done.status, lost) == ("succeeded", ["COMMIT"]), done.error
    assert len(bench.sql("SELECT id FROM @t")) == 2


def test_a_commit_stands_whatever_becomes_of_what_waited(bench: Bench) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"

    def broken(self: Staging, attempt: str) -> None:
        raise BucketLost("the bucket does not answer", "run it again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Staging, "clear", broken)
        done = put(bench, "(2, 'b')", how=" append")
    assert (done.status, done.rows) == ("succeeded", 2), done.error
    assert len(bench.sql("SELECT id FROM @t")) == 2
    staging, at = table(bench).staging_place, datetime.now(UTC) + timedelta(minutes=1)
    assert len(staging.entries()) == 1
    upkeep = Upkeep(before=at, needed=frozenset(), running=frozenset(), left_before=at)
    bench.engine.maintain(table(bench).address, upkeep)
    assert staging.entries() == [] and len(bench.sql("SELECT id FROM @t")) == 2


def test_files_get_their_names_once_and_before_the_transaction(bench: Bench) -> None:
    """A bucket copies them, for which nobody else should wait."""
    assert put(bench, "(1, 'a')").status == "succeeded"
    asked, show, said = Catalog.asked, Staging.show, []

    def watched(self: Catalog, statement: str, parameters: Any = ()) -> Any:
        said.extend(word for word in ("BEGIN", "COMMIT") if statement == word)
        if statement == "COMMIT" and said.count("COMMIT") == 1:
            raise CommitLost("another writer came first", "run it again")
        return asked(self, statement, parameters)

    def shown(self: Staging, entry: Entry, folder: str) -> None:
        said.append("names")
        show(self, entry, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "asked", watched)
        patch.setattr(Staging, "show", shown)
        assert put(bench, "(2, 'b')").status == "succeeded"
    assert said == ["names", "BEGIN", "COMMIT", "BEGIN", "COMMIT"]
    assert [r["id"] for r in bench.sql("SELECT id FROM @t")] == [2]


def test_rows_that_came_meanwhile_are_counted(bench: Bench) -> None:
    assert put(bench, "(1, 'a')", how=" append").status == "succeeded"
    text = DAILY.format(rows="(2, 'b')", how=" append", more="")
    with (
        client(bench) as duck,
        bench.engine.attempt(bench.work(text, partition="2026-05-01")) as it,
    ):
        it.stage()
        duck.execute("INSERT INTO t VALUES (7, 'theirs', '2026-05-01')")
        assert it.publish().rows == 3


def test_a_table_whose_folder_has_another_name_than_it(bench: Bench) -> None:
    """DuckLake gives it one that nobody knows before the table is there."""
    text = DAILY.replace("@t", "@tablé").format(rows="(1, 'a')", how="", more="")
    for day in (1, 2):
        step, _ = bench.ran(text, partition=f"2026-05-0{day}")
        assert step.record.status == "succeeded", step.record.error
    version = table(bench, "tablé").version()
    assert version is not None and not version.name.rstrip("/").endswith("tablé")
    with client(bench) as duck:
        found = duck.execute("SELECT filename FROM tablé").fetchall()
        assert len(found) == 2 and all(name.startswith(version.name) for (name,) in found)


def test_what_attempts_left_that_noted_nothing_goes(bench: Bench) -> None:
    in_folders(bench)
    assert put(bench, "(1, 'a')").status == "succeeded"
    left = Path(table(bench).staging_place.place("broke-off", 0))
    aside = left.with_name("waiting-broke-off")
    for folder in (left, aside):
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"")
    at = datetime.now(UTC)
    upkeep = Upkeep(before=at, needed=frozenset(), running=frozenset(), left_before=at)
    bench.engine.maintain(table(bench).address, replace(upkeep, left_before=at - timedelta(days=3)))
    assert left.exists() and aside.exists()
    soon = at + timedelta(minutes=1)
    (done,) = bench.engine.maintain(table(bench).address, replace(upkeep, left_before=soon))
    assert not left.exists() and not aside.exists() and done.orphans >= 2


def test_a_merge_that_changes_nothing_leaves_nothing(bench: Bench) -> None:
    for _ in range(2):
        assert put(bench, "(1, 'a')", how=" key=id").status == "succeeded"
    staging = table(bench).staging_place
    assert staging.entries() == [] and staging.files.sizes(staging.folder) == {}


FOLDERS = {
    "VARCHAR": ["plain", "New York", "it's　so", "a/b é%", "東京", "null", "NULL", "", None,
                "__HIVE_DEFAULT_PARTITION__", "~!@#$&*()+,;?[]{}|^`\"\\<>=:", "\u00a0\u2028😀\u0085x"],
    "INTEGER": [-5, 0, None],
    "BOOLEAN": [True, False, None],
    "DATE": [date(2024, 2, 29), date(1, 1, 1), None],
    "DECIMAL(10,2)": [Decimal("1.50"), Decimal("0.00"), Decimal("-12345678.90"), None],
    "DECIMAL(38,10)": [Decimal("0"), Decimal("1e-10"), Decimal("-7.5")],
    "DOUBLE": [1.0, 1e20, -0.5, None],
    "TIMESTAMP": [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 500000)],
}  # fmt: skip
QUICK = {("VARCHAR", "p"), ("DOUBLE", "p"), ("DATE", "p é/=q")}
"""What is run each time: folders of Tranche's, and what DuckDB has to write itself."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("type_", "column"),
    [
        pytest.param(*each, marks=() if each in QUICK else pytest.mark.slow)
        for each in itertools.product(FOLDERS, ("p", "p é/=q"))
    ],
)
def test_duckdb_compacts_what_both_have_written(bench: Bench, type_: str, column: str) -> None:
    """Rows of one value are in folders that are called the same, whoever wrote them."""
    values = FOLDERS[type_]
    own = table(bench)
    assert own.version() is None
    with client(bench) as duck:
        duck.execute(f'CREATE TABLE t (id INTEGER, "{column}" {type_})')
        duck.execute(f'ALTER TABLE t SET PARTITIONED BY ("{column}")')
        write_files(bench, duck)
        for value in values:
            duck.execute("INSERT INTO t VALUES (1, ?)", [value])
        facts = own.facts()
        assert facts is not None
        rows = [(number, value) for number in (2, 3) for value in values]
        target = Target(table=own.address, strategy=Append(), sliced=False, policy="fail", keys=())
        for number in (2, 3):
            commit = Commit(attempt_of(f"a{number}"))
            frame = own.session.createDataFrame(
                [row for row in rows if row[0] == number], facts.columns
            )
            with own.staging(commit, facts):
                own.append(frame.coalesce(1), target)
            assert own.pick(own.staged(commit).id) is not None
        expected = Counter([(1, value) for value in values] + rows)
        assert Counter(duck.execute("SELECT * FROM t").fetchall()) == expected
        assert Counter(map(tuple, own.rows().collect())) == expected
        duck.execute(f"CALL ducklake_merge_adjacent_files('l', 't', schema => '{bench.schema}')")
        assert Counter(duck.execute("SELECT * FROM t").fetchall()) == expected
        (left,) = duck.execute(
            f"SELECT count(*) FROM ducklake_list_files('l', 't', schema => '{bench.schema}')"
        ).fetchone() or (0,)
        assert left == len(values)
    assert Counter(map(tuple, own.rows().collect())) == expected


def test_a_slice_with_signs_beyond_ascii_reads_its_own_files(bench: Bench) -> None:
    in_folders(bench)
    keys = ("東京", "it's　so", "plain")
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, _tranche_partition VARCHAR)")
        duck.execute("ALTER TABLE t SET PARTITIONED BY (_tranche_partition)")
        write_files(bench, duck)
        for number, key in enumerate(keys):
            duck.execute("INSERT INTO t VALUES (?, ?)", [number, key])
        written = duck.execute("SELECT _tranche_partition, filename FROM t").fetchall()
    for number, key in enumerate(keys):
        kept = {}
        for other, name in written:
            if other != key:
                kept[name] = Path(name).read_bytes()
                Path(name).write_bytes(b"whoever opens this fails")
        one = table(bench).rows().where(F.col("_tranche_partition") == key)
        assert [row.id for row in one.collect()] == [number]
        for name, content in kept.items():
            Path(name).write_bytes(content)


def test_rows_that_were_moved_to_other_files_can_be_written_again(bench: Bench) -> None:
    """By those who compact, which is no change of the slice."""
    rows = ", ".join(f"({n}, 'a')" for n in range(20))
    assert put(bench, rows, how=" key=id").status == "succeeded"
    with client(bench) as duck:
        write_files(bench, duck)
        duck.execute("DELETE FROM t WHERE id < 17")
        duck.execute(
            f"CALL ducklake_rewrite_data_files('l', 't', schema => '{bench.schema}',"
            " delete_threshold => 0.0)"
        )
        tested = "-- data_test unique id\n"
        done = put(bench, "(17, 'B'), (40, 'c')", how=" key=id", more=tested)
        assert done.status == "succeeded", done.error
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
    assert found == [(17, "B"), (18, "a"), (19, "a"), (40, "c")]
    assert bench.engine.snapshots(table(bench).address, limit=3).snapshots[1].operation == "rewrite"


@pytest.mark.slow
def test_a_table_whose_last_snapshot_has_expired(bench: Bench) -> None:
    """Others may choose which ones go, and keep earlier ones, which show less."""
    for day in (1, 2):
        assert put(bench, f"({day}, 'a')", day).status == "succeeded"
    last = table(bench).shown()[0]
    with client(bench) as duck:
        duck.execute("CREATE TABLE other (id INTEGER)")
        duck.execute(f"CALL ducklake_expire_snapshots('l', versions => [{last.id}])")
    own = table(bench)
    known = own.readable()
    assert known is not None and own.rows(known[1]).count() == 2
    done = put(bench, "(2, 'B')", 2, how=" key=id", more="-- data_test not_null id\n")
    assert done.status == "succeeded", done.error


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "what",
    [
        "merge_adjacent_files('l', 't', schema => '{schema}')",
        "flush_inlined_data('l', table_name => 't', schema_name => '{schema}')",
    ],
)
def test_a_merge_into_rows_that_were_moved_meanwhile_is_not_tried_in_vain(
    bench: Bench, what: str
) -> None:
    for number in (1, 2):
        assert put(bench, f"({number}, 'a')", how=" append").status == "succeeded"
    tries = []

    def counted(self: Publishing, entry: Entry) -> None:
        tries.append(entry.attempt)
        delete(self, entry)

    with client(bench) as duck, pytest.MonkeyPatch.context() as patch:
        write_files(bench, duck, beyond=10)
        duck.execute("INSERT INTO t VALUES (3, 'theirs', '2026-05-01')")
        text = DAILY.format(rows="(1, 'B'), (3, 'C')", how=" key=id", more="")
        delete = Publishing._delete
        patch.setattr(Publishing, "_delete", counted)
        with bench.engine.attempt(bench.work(text, partition="2026-05-01")) as trial:
            trial.stage()
            duck.execute(f"CALL ducklake_{what.format(schema=bench.schema)}")
            with pytest.raises(CommitLost, match="have moved meanwhile"):
                trial.publish()
        assert len(tries) == 1
        assert put(bench, "(1, 'B'), (3, 'C')", how=" key=id").status == "succeeded"
        found = duck.execute("SELECT id, name FROM t ORDER BY 1").fetchall()
    assert found == [(1, "B"), (2, "a"), (3, "C")]


def test_a_column_that_is_renamed_before_the_commit_is_told_by_its_name(bench: Bench) -> None:
    assert put(bench, "(1, 'a')").status == "succeeded"
    text = DAILY.format(rows="(2, 'b')", how=" append", more="")
    with client(bench) as duck:
        with bench.engine.attempt(bench.work(text, partition="2026-05-01")) as trial:
            trial.stage()
            duck.execute("ALTER TABLE t RENAME COLUMN name TO label")
            with pytest.raises(CommitLost, match=r"the column name of lake://\S+ .* renamed"):
                trial.publish()
        assert duck.execute("SELECT id, label FROM t").fetchall() == [(1, "a")]


def test_what_waits_to_be_taken_away_is_told_to_be_gone(bench: Bench) -> None:
    assert put(bench, "(1, 'a')", how=" key=id").status == "succeeded"
    text = DAILY.format(rows="(1, 'b')", how=" key=id", more="")
    own = table(bench)
    with bench.engine.attempt(bench.work(text, partition="2026-05-01")) as trial:
        trial.stage()
        ((entry, _),) = own.staging_place.entries()
        assert entry.positions is not None
        own.catalog.files.remove_folder(entry.positions)
        with pytest.raises(CommitLost, match="which waited for its commit"):
            trial.publish()


FETCHED: dict[str, tuple[Any, Callable[[DuckLakeTable], int]]] = {
    "rows": (reading, lambda own: own.rows().count()),
    "count": (counting, lambda own: own.slice_rows(None, str(own.touched())) or 0),
    "counts": (counting, lambda own: (own.key_rows(["d"], str(own.touched())) or {})["d"]),
}


@pytest.mark.parametrize("what", FETCHED)
def test_rows_that_go_from_the_catalog_to_files_while_they_are_read(
    bench: Bench, what: str
) -> None:
    module, read = FETCHED[what]
    fetched, came = module._inlined, []
    with client(bench) as duck:
        duck.execute("CREATE TABLE t (id INTEGER, _tranche_partition VARCHAR)")
        write_files(bench, duck, beyond=10)
        duck.execute("INSERT INTO t VALUES (7, 'd'), (8, 'd')")

        def slow(*of: Any, **more: Any) -> Any:
            if not came:
                flush = f"CALL ducklake_flush_inlined_data('l', schema_name => '{bench.schema}')"
                came.append(duck.execute(flush).fetchall())
            return fetched(*of, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_inlined", slow)
            assert read(table(bench)) == 2
        assert came


@pytest.mark.slow
def test_a_column_that_came_later_than_folders_called_so(bench: Bench) -> None:
    text = (
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t on_schema_change=sync\n"
        "-- layout month(at)\nSELECT id, timestamp_seconds(id * 86400 * 20) AS at{} FROM range(6)"
    )
    for day, more in ((1, ""), (2, ", CAST(id + 6 AS INT) AS month")):
        step, _ = bench.ran(text.format(more), partition=f"2026-05-0{day}")
        assert step.record.status == "succeeded", step.record.error
    ours = [tuple(row.values()) for row in bench.sql("SELECT id, month FROM @t")]
    with client(bench) as duck:
        for _ in range(2):
            found = duck.execute("SELECT id, month FROM t").fetchall()
            assert Counter(found) == Counter(
                [(n, None) for n in range(6)] + [(n, n + 6) for n in range(6)]
            )
            assert duck.execute('SELECT count(*) FROM t WHERE month("at") = 1').fetchone() == (4,)
            assert duck.execute("SELECT id FROM t WHERE month = 8").fetchall() == [(2,)]
            duck.execute(
                f"CALL ducklake_merge_adjacent_files('l', 't', schema => '{bench.schema}')"
            )
    assert Counter(ours) == Counter(found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("others", [(), ("INSERT INTO t VALUES (5, 'z', '2026-05-01')",)])
def test_a_rollback_takes_rows_without_a_key_along(bench: Bench, others: tuple[str, ...]) -> None:
    store, address = MemoryStore(), LakeTable("ducklake", "t", bench.schema)
    assert put(bench, "(1, 'a')").status == "succeeded"
    with client(bench) as duck:
        for statement in (
            "INSERT INTO t VALUES (8, 'theirs', NULL)",
            "INSERT INTO t VALUES (9, 'theirs', NULL)",
            *others,
        ):
            duck.execute(statement)
        for back, expected in ((-2, [1, 8]), (-1, [1])):
            to = table(bench).shown()[back].id
            project = Project(settings=bench.engine._settings, scripts=())
            plan = rollback_plan(project, address, to, datetime.now(UTC))
            result = run_plan(plan, bench.engine, store, lambda: datetime.now(UTC))
            assert result.status == "succeeded", result.steps[0].record.error
            assert [
                n for (n,) in duck.execute("SELECT id FROM t ORDER BY 1").fetchall()
            ] == expected
            assert sorted(row["id"] for row in bench.sql("SELECT id FROM @t")) == expected
