"""`tranche.lake(…)`: reading and writing from Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import tranche
from tranche import Daily, Static
from tranche.errors import (
    ConfigError,
    EngineUnavailable,
    KeyRejected,
    NotPartitioned,
    NotPublished,
    SourceMissing,
    TrancheError,
    UnknownSnapshot,
    UsageError,
)
from tranche.lakes.engine import SparkEngine
from tranche.open_lake import OpenLake
from tranche.state.opening import open_store

DAY = "2026-05-16"


@pytest.fixture
def lake(engine: SparkEngine, tmp_path: Path, root: Path) -> Iterator[OpenLake]:
    """A project of its own on the Spark of all tests, whose lake it shares."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "tranche.toml").write_text(f'[lakes.main]\nwarehouse = "{root}/unused"\n')
    schema = f"py{abs(hash(str(tmp_path))) % 10**9}"
    with tranche.lake("main", project=tmp_path) as opened:
        opened._engine = engine
        opened.schema = schema  # type: ignore[attr-defined]
        engine.session().sql(f"CREATE NAMESPACE IF NOT EXISTS main.{schema}")
        yield opened


def name(lake: OpenLake, table: str = "t") -> str:
    return f"{lake.schema}.{table}"  # type: ignore[attr-defined]


def rows(lake: OpenLake, table: str = "t", **which: Any) -> list[dict[str, Any]]:
    found = lake.read(name(lake, table), **which).collect()
    return sorted((row.asDict() for row in found), key=str)


def numbers(lake: OpenLake, *values: int) -> Any:
    return lake.spark.createDataFrame(
        [(value, f"n{value}") for value in values], "id int, name string"
    )


def states(lake: OpenLake) -> dict[str | None, tuple[str, int | None]]:
    store = open_store(
        lake._project.settings.state_url, create=False, root=Path(lake._project.settings.root)
    )
    found = store.partitions(f"lake://main/{name(lake)}", limit=99)
    store.close()
    return {state.partition: (state.status, state.rows) for state in found}


def test_a_slice_is_replaced_and_the_ledger_knows(lake: OpenLake) -> None:
    first = lake.replace(name(lake), numbers(lake, 1, 2), partition=DAY, partitioning=Daily())
    lake.replace(name(lake), numbers(lake, 7), partition="2026-05-15", partitioning=Daily())
    again = lake.replace(name(lake), numbers(lake, 3), partition=DAY, partitioning=Daily())
    assert (first.rows, again.rows, again.partition) == (2, 1, DAY)
    assert rows(lake, partition=DAY) == [{"id": 3, "name": "n3"}]
    assert states(lake) == {DAY: ("succeeded", 1), "2026-05-15": ("succeeded", 1)}
    both = rows(lake, partitions=[DAY, "2026-05-15"])
    assert [row["_tranche_partition"] for row in both] == [DAY, "2026-05-15"]
    assert [row["id"] for row in rows(lake, partition=DAY, snapshot=first.snapshot)] == [1, 2]


def test_a_slice_can_be_read_and_written_back(lake: OpenLake) -> None:
    lake.replace(name(lake), numbers(lake, 1, 2), partition="it's")
    more = lake.read(name(lake), partition="it's").withColumn("id", F.col("id") + 10)
    lake.replace(name(lake), more, partition="it's")
    assert [row["id"] for row in rows(lake, partition="it's")] == [11, 12]


@pytest.mark.slow
def test_upsert_append_and_history(lake: OpenLake) -> None:
    lake.upsert(name(lake), numbers(lake, 1, 2), key="id")
    found = lake.upsert(name(lake), numbers(lake, 2, 3), key=["id"])
    assert (found.rows, len(rows(lake))) == (3, 3)
    lake.append(name(lake, "log"), numbers(lake, 1))
    lake.append(name(lake, "log"), numbers(lake, 1))
    assert len(rows(lake, "log")) == 2
    lake.history(name(lake, "h"), numbers(lake, 1, 2), key="id")
    lake.history(name(lake, "h"), numbers(lake, 1), key="id", deletes="close")
    assert [row["is_current"] for row in rows(lake, "h")] == [True, False]
    for day in ("2026-05-16", "2026-05-14", "2026-05-15"):
        frame = lake.spark.createDataFrame([(1, day)], "id int, name string")
        lake.history(
            name(lake, "d"), frame, key="id", at="partition", partition=day, partitioning=Daily()
        )
    assert [row["name"] for row in rows(lake, "d")] == ["2026-05-14", "2026-05-15", "2026-05-16"]


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"id": [1, 2], "name": ["a", None]}),
        pl.DataFrame({"id": [1, 2], "name": ["a", None]}),
        pl.LazyFrame({"id": [1, 2], "name": ["a", None]}),
        pa.table({"id": [1, 2], "name": ["a", None]}),
    ],
    ids=["pandas", "polars", "lazy", "arrow"],
)
def test_frames_of_others(lake: OpenLake, given: object) -> None:
    assert lake.replace(name(lake), given).rows == 2
    assert rows(lake) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


@pytest.mark.slow
def test_a_frame_that_reads_tables_with_every_strategy(lake: OpenLake) -> None:
    lake.replace(name(lake, "source"), numbers(lake, 1, 2, 3))
    source = lake.read(name(lake, "source")).where("id > 1")
    lake.spark.sql(f"SELECT * FROM main.{name(lake, 'source')}").createOrReplaceTempView("v")
    for number, frame in enumerate((source, lake.spark.table("v").where("id > 1"))):
        for table, write in (
            ("r", lambda t, f: lake.replace(t, f)),
            ("m", lambda t, f: lake.upsert(t, f, key="id")),
            ("a", lambda t, f: lake.append(t, f)),
            ("h", lambda t, f: lake.history(t, f, key="id")),
        ):
            for _ in range(2):
                write(name(lake, f"{table}{number}"), frame)
        for table, expected in (("r", 2), ("m", 2), ("a", 4), ("h", 2)):
            assert len(rows(lake, f"{table}{number}")) == expected, table


@pytest.mark.slow
def test_tests_keep_bad_rows_from_readers(lake: OpenLake) -> None:
    lake.replace(name(lake), numbers(lake, 1), tests=["unique id"])
    with pytest.raises(NotPublished, match=r"unique id \(2 rows\)") as failed:
        lake.replace(name(lake), numbers(lake, 5, 5), tests=["unique id", "not_null name"])
    assert [test.violations for test in failed.value.tests] == [2, 0]  # type: ignore[attr-defined]
    assert [row["id"] for row in rows(lake)] == [1]
    warned = lake.replace(name(lake), numbers(lake, 5, 5), tests=["unique id severity=warn"])
    assert "unique id" in warned.warnings[0]


def test_what_a_script_declares_holds_for_given_rows(lake: OpenLake) -> None:
    root = Path(lake._project.settings.root)
    (root / "pipelines" / "t.sql").write_text(
        f"-- pipeline\n-- partitioned daily\n-- materialize lake://main/{name(lake)} key=id\n"
        "-- data_test accepted_values id = 1,2\nSELECT 1 AS id, 'n1' AS name\n"
    )
    lake._project = tranche.lake("main", project=root)._project
    with pytest.raises(KeyRejected, match="has partitions"):
        lake.replace(name(lake), numbers(lake, 1))
    with pytest.raises(KeyRejected):
        lake.replace(name(lake), numbers(lake, 1), partition="yesterday")
    with pytest.raises(NotPublished, match="accepted_values"):
        lake.replace(name(lake), numbers(lake, 3), partition=DAY)
    assert lake.replace(name(lake), numbers(lake, 2), partition=DAY).rows == 1


def test_the_session_of_the_program_keeps_its_settings(lake: OpenLake) -> None:
    lake.append(name(lake), numbers(lake, 1))
    seen: list[str | None] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.append(lake.spark.conf.get("spark.wap.id", None))

    thread = threading.Thread(target=look)
    thread.start()
    lake.append(name(lake), numbers(lake, 2))
    stop.set()
    thread.join()
    assert set(seen) == {None}
    assert lake.spark.sql("SHOW VIEWS IN global_temp").collect() == []


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda k: k.read("nothing.here"), SourceMissing, "does not exist"),
        (lambda k: k.read("lake://other/t"), UsageError, "no table of the lake 'main'"),
        (lambda k: k.read(""), UsageError, "names no table"),
        (lambda k: k.read("t", partition="a", partitions=["b"]), UsageError, "both"),
        (lambda k: k.read("t", partitions="abc"), UsageError, "a list"),
        (lambda k: k.replace("t", [1, 2]), NotPublished, "builtins.list cannot be written"),
        (lambda k: k.upsert("t", numbers(k, 1), key=""), UsageError, "names no columns"),
        (lambda k: k.upsert("t", numbers(k, 1), key="nope"), NotPublished, "nope"),
        (lambda k: k.upsert("t", numbers(k, 1, 1), key="id"), NotPublished, "same key id: 1"),
        (lambda k: k.replace("t", numbers(k, 1), tests=["unqiue id"]), TrancheError, "unqiue"),
        (lambda k: k.replace("t", numbers(k, 1), tests=["sane"]), UsageError, "called 'sane'"),
        (lambda k: k.replace("t", numbers(k, 1), tests=["unique x"]), NotPublished, "column x"),
        (lambda k: k.replace("t", numbers(k, 1), layout="bucket(0, id)"), UsageError, "bucket"),
        (lambda k: k.replace("t", numbers(k, 1), partition=""), KeyRejected, "empty"),
        (
            lambda k: k.replace("t", numbers(k, 1), partition="x", partitioning=Static(("a",))),
            KeyRejected,
            "x",
        ),
        (lambda k: k.history("t", numbers(k, 1), key="id", at="partition"), NotPartitioned, "key"),
        (lambda k: k.history("t", numbers(k, 1), key="id", partition="a"), NotPartitioned, "at="),
    ],
)
def test_wrong_use(lake: OpenLake, act: Any, error: type[TrancheError], says: str) -> None:
    with pytest.raises(error, match=says):
        act(lake)


def test_a_snapshot_that_is_not_there(lake: OpenLake) -> None:
    lake.replace(name(lake), numbers(lake, 1))
    with pytest.raises(UnknownSnapshot, match="no snapshot 77"):
        lake.read(name(lake), snapshot=77)
    with pytest.raises(NotPartitioned):
        lake.read(name(lake), partition="a")


def test_a_lake_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    with pytest.raises(ConfigError, match="no lake 'mian'; its lakes are main"):
        tranche.lake("mian", project=tmp_path)


def test_columns_that_do_not_fit(lake: OpenLake) -> None:
    lake.replace(name(lake), numbers(lake, 1), partition="a")
    other = lake.spark.range(1)
    with pytest.raises(NotPublished, match="name"):
        lake.replace(name(lake), other, partition="a")


def test_a_spark_that_is_running_is_used_and_left_running(engine: SparkEngine) -> None:
    joined = SparkEngine(engine._settings)
    assert joined.session().range(3).count() == 3
    joined.close()
    assert engine.session().range(3).count() == 3


def test_a_spark_of_another_project(engine: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    with (
        tranche.lake("main", project=tmp_path) as other,
        pytest.raises(EngineUnavailable, match="does not know the lakes of this project"),
    ):
        other.read("t")
