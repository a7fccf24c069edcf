"""Where tasks keep rows: whatever is written is what is read, or it is refused."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected, KeyRejected, StatementFailed
from tranche.lakes.commit import Commit
from tranche.lakes.engine import SparkEngine
from tranche.lakes.outputs.parts import part_text
from tranche.lakes.outputs.place import Place
from tranche.lakes.outputs.places import Places
from tranche.model.asset import AssetUri, FileSet, LakeTable
from tranche.model.output import Kind
from tranche.model.run import Attempt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .conftest import Bench

LAKES = ("main", "delta", "parquet")
KINDS: tuple[Kind, ...] = ("iceberg", "delta", "parquet", "csv", "json")
NOW = datetime.now(UTC)
_NUMBERS = itertools.count()


class Kept:
    """A place that is written again and again."""

    def __init__(self, session: SparkSession, place: Place) -> None:
        self.session = session
        self.place = place

    def frame(self, rows: list[tuple[Any, ...]], columns: str) -> DataFrame:
        return self.session.createDataFrame(rows, columns)

    def make(self, rows: list[tuple[Any, ...]], columns: str, *by: str) -> None:
        if by:
            self.place.create(self.frame(rows, columns), by, _commit())
        else:
            self.place.replace_all(self.frame(rows, columns), _commit())

    def put(self, rows: list[tuple[Any, ...]], columns: str, *by: str) -> None:
        self.place.replace_written(self.frame(rows, columns), by, _commit())

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        found = self.place.rows()
        shown = found.select(*(f"`{name}`" for name in names)) if names else found
        return sorted(map(tuple, shown.collect()), key=repr)


def _commit() -> Commit:
    id_ = f"place{next(_NUMBERS)}"
    return Commit(Attempt(id=id_, run=id_, position=0, number=1, status="running", started_at=NOW))


@pytest.fixture
def kept(engine: SparkEngine, root: Path) -> Callable[[Kind], Kept]:
    session = engine.session()
    session.conf.set("spark.sql.session.timeZone", "UTC")

    def made(kind: Kind) -> Kept:
        name = f"t{next(_NUMBERS)}"
        asset: AssetUri = FileSet("file", f"data/pl[a]ces {{b}}/{name}")
        if kind == "iceberg":
            asset = LakeTable("main", name, "places")
        return Kept(session, Places(session, engine._settings).of(asset, kind))

    return made


def some(*quick: Kind) -> Any:
    """All kinds, of which few are tried each time."""
    return pytest.mark.parametrize(
        "kind", [k if k in quick else pytest.param(k, marks=pytest.mark.slow) for k in KINDS]
    )


Places_ = Callable[[Kind], Kept]
CELLS = ('q"q', "l\nm", " pad ", "", None, "=1+1", "a\\", "a,b", "\r\n", '\\"', "#c", "null", "\\N")


@some("csv")
def test_texts_stay_what_they_are(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    names = [f"c{n}" for n in range(len(CELLS))]
    columns = "region string, " + ", ".join(f"{name} string" for name in names)
    rows = [("eu", *CELLS), ("us", *[None] * len(CELLS)), ("us", *[""] * len(CELLS))]
    place.make(rows, columns, "region")
    assert place.rows("region", *names) == sorted(rows, key=repr)


@some("csv")
def test_rows_of_one_column_are_not_lost(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    rows = [("eu", "x"), ("eu", "")]
    place.make(rows, "region string, c string", "region")
    assert place.rows("region", "c") == sorted(rows, key=repr)
    if kind == "csv":
        with pytest.raises(Exception, match="a row has no c, and nothing else: CSV has no line"):
            place.put([("eu", None)], "region string, c string", "region")
        return
    place.put([("eu", None)], "region string, c string", "region")
    assert place.rows("region", "c") == [("eu", None)]


@some("csv", "json")
def test_numbers_and_times_stay_what_they_are(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    at = datetime(2026, 1, 1, 1, 2, 3, 456789)
    row = ("eu", Decimal("123456789012345678.123456789"), at, float("inf"), date(1, 1, 1), 2**62)
    place.make(
        [row],
        "region string, d decimal(30,9), u timestamp_ntz, f double, o date, l bigint",
        "region",
    )
    assert place.rows("region", "d", "u", "f", "o", "l") == [row]
    zoned = place.frame([(at.replace(tzinfo=UTC), 1)], "t timestamp, n int")
    place.place.replace_all(zoned, _commit())
    assert place.place.rows().selectExpr("unix_micros(t) % 1000").collect()[0][0] == 789


def test_csv_takes_nothing_that_it_cannot_say(kept: Places_) -> None:
    with pytest.raises(
        ColumnsRejected, match="CSV has no form for b, which is binary; make a text"
    ):
        kept("csv").make([(b"\xff",)], "b binary")


@some("parquet")
def test_parts_are_told_apart(kept: Places_, kind: Kind) -> None:
    """What a folder's name could not tell from NULL is refused: it would replace those rows."""
    place = kept(kind)
    odd = ("a/b", "..", "%2F", "a=b", "q'\"`", "l\nm", "ü中", "null", " ", "[x]{y}*?", "a%20b")
    place.make([*((each, 1) for each in odd), (None, 1)], "region string, n int", "region")
    assert place.rows("region") == sorted([*((each,) for each in odd), (None,)], key=repr)
    place.put([("a/b", 2), (None, 3)], "region string, n int", "region")
    assert [row for row in place.rows("region", "n") if row[1] != 1] == [("a/b", 2), (None, 3)]
    if kind == "iceberg":
        place.put([("", 4)], "region string, n int", "region")
        assert (None, 3) in place.rows("region", "n")
        return
    for text in ("", "__HIVE_DEFAULT_PARTITION__"):
        with pytest.raises(Exception, match="which would be taken for NULL"):
            place.put([(text, 4)], "region string, n int", "region")
    assert (None, 3) in place.rows("region", "n")


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_values_that_read_otherwise_in_other_zones_are_no_names(kept: Places_, kind: Kind) -> None:
    with pytest.raises(ColumnsRejected, match="values of at cannot be names of folders"):
        kept(kind).make([(NOW, 1)], "at timestamp, n int", "at")


@pytest.mark.slow
def test_an_hour_that_is_repeated_is_two_parts(kept: Places_) -> None:
    place = kept("iceberg")
    place.session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    hours = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    commit = _commit()
    place.place.create(place.frame([(hours[0], 1)], "at timestamp, n int"), ("at",), commit)
    (first,) = place.place.made(commit, ("at",)).parts
    place.put([(hours[1], 2)], "at timestamp, n int", "at")
    assert [row["n"] for row in place.place.of_parts([first]).collect()] == [1]


@some("csv")
def test_columns_come_and_go_by_name(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    place.make([("a", 1)], "region string, n int", "region")
    place.put([("x", "b", 2)], "m string, region string, n int", "region")
    place.put([("c",)], "region string", "region")
    place.put([(2**40, "d")], "N bigint, region string", "region")
    assert place.rows("region", "n", "m") == [
        ("a", 1, None),
        ("b", 2, "x"),
        ("c", None, None),
        ("d", 2**40, None),
    ]
    place.put([(3, "b")], "n int, region string", "region")
    assert ("b", 3, None) in place.rows("region", "n", "m")


def test_names_within_new_columns_are_names_too(kept: Places_) -> None:
    """Fields of structures come from data, and must not become part of a statement."""
    place = kept("iceberg")
    place.make([("a", 1)], "region string, n int", "region")
    inside = "a`b:int>, other string"
    field = inside.replace("`", "``")
    place.put([("b", (1,))], f"region string, s struct<`{field}`:int>", "region")
    columns = place.place.columns()
    assert columns is not None and columns.names == ["region", "n", "s"]
    assert columns["s"].dataType.names == [inside]  # type: ignore[attr-defined]


@some("csv")
def test_another_type_is_refused_and_nothing_is_lost(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    place.make([("a", "x")], "region string, n string", "region")
    with pytest.raises(ColumnsRejected, match="the rows have n as int, not string"):
        place.put([("b", 2)], "region string, n int", "region")
    assert place.rows("region", "n") == [("a", "x")]


@some("parquet")
def test_a_whole_has_the_columns_of_its_rows(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    place.make([("a", 1)], "region string, n int")
    place.make([("b",)], "z string")
    assert place.rows() == [("b",)]


@some("iceberg", "parquet")
def test_rows_that_are_divided_otherwise_are_refused(kept: Places_, kind: Kind) -> None:
    """By columns that the table is not divided by, more would be replaced than was written."""
    place = kept(kind)
    place.make([("a", 1, 1), ("a", 2, 2)], "day string, n int, m int", "day")
    with pytest.raises(ColumnsRejected, match="is divided by day, and the task divides its rows"):
        place.put([("a", 1, 9)], "day string, n int, m int", "day", "n")
    assert place.rows("day", "n", "m") == [("a", 1, 1), ("a", 2, 2)]


@some("iceberg", "delta", "parquet")
def test_what_others_make_at_the_same_time_stays(kept: Places_, kind: Kind) -> None:
    """Keys that run at once find no table, and each would make it of its own rows alone."""
    place, columns = kept(kind), "region string, n int"
    frames = [place.frame([(region, 1)], columns) for region in ("eu", "us")]
    both = threading.Barrier(2, timeout=60)

    def create(frame: DataFrame) -> str:
        assert place.place.columns() is None
        both.wait()
        try:
            place.place.create(frame, ("region",), _commit())
        except Exception as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(create, frames))
    assert said[0] == "" and said[1], said
    assert len(place.rows()) == 1


@some("parquet")
def test_names_of_columns_are_names(kept: Places_, kind: Kind) -> None:
    place = kept(kind)
    columns = "`a.b` string, `c``d` int"
    place.make([("x", 1), ("y", 2)], columns, "a.b")
    place.put([("y", 3)], columns, "a.b")
    place.place.replace_where(
        place.frame([("z", 4)], columns),
        ("a.b",),
        [part_text({"a.b": "x"}), part_text({"a.b": "z"})],
        _commit(),
    )
    assert sorted(row["a.b"] for row in place.place.rows().collect()) == ["y", "z"]


@pytest.mark.parametrize("lake", ["parquet", pytest.param("delta", marks=pytest.mark.slow)])
def test_layouts_and_keys_are_not_taken_for_null_either(bench: Bench, lake: str) -> None:
    bench.lake = lake
    laid_out = (
        "-- pipeline\n-- materialize lake://main/@t\n-- layout region\nSELECT {} AS region, 1 AS n"
    )
    bench.run(laid_out.format("CAST(NULL AS STRING)"))
    with pytest.raises(
        StatementFailed, match="a row has region = '', which would be taken for NULL"
    ):
        bench.run(laid_out.format("''"))
    keyed = '-- pipeline\n-- partitioned dynamic key="$.k"\n-- materialize lake://main/@u\nSELECT 1 AS n'
    with pytest.raises(KeyRejected, match="means NULL as the name of a folder"):
        bench.run(keyed, partition="__HIVE_DEFAULT_PARTITION__")


def test_tables_with_names_that_look_alike_are_two(bench: Bench) -> None:
    for number, table in enumerate(("x_y.z", "x.y_z")):
        bench.run(f"-- pipeline\n-- materialize lake://parquet/{table}\nSELECT {number} AS n")
    found = bench.sql("SELECT a.n, b.n AS m FROM parquet.x_y.z AS a, parquet.x.y_z AS b")
    assert found == [{"n": 0, "m": 1}]
