"""ASOF JOIN on Spark, beside a reference that tries every pair of rows."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tranche.lakes.engine import SparkEngine
from tranche.lakes.iceberg.metadata import at_snapshot
from tranche.model.statement import TableHole
from tranche.script.binding import Values, bind, quoted
from tranche.script.names import Lakes
from tranche.script.sql import read_sql_script

HEAD = """\
-- pipeline
-- partitioned daily
CREATE TEMP VIEW l AS SELECT 1; -- as far as the reader knows
CREATE TEMP VIEW r AS SELECT 1;
"""
LAKES = Lakes(frozenset({"main"}), "main")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


class Left(NamedTuple):
    n: int
    id: int | None
    ts: int | None


class Right(NamedTuple):
    id: int | None
    ts: int | None
    name: str
    l: dict[str, int]  # noqa: E741
    """A struct that is called like the left side and has its columns."""


def rows(seed: int) -> tuple[list[Left], list[Right]]:
    """Few keys and few times, so that there are ties, gaps and rows without a match."""
    chance = random.Random(seed)

    def value(limit: int) -> int | None:
        return chance.choice([None, *range(limit)])

    left = [Left(n, value(5), value(12)) for n in range(60)]
    right = [Right(value(4), value(12), f"r{n}", {"id": 1, "ts": 3}) for n in range(25)]
    return left, right


def nearest(left: Left, right: list[Right], symbol: str, *, keyed: bool = True) -> list[Right]:
    """All right rows that are equally near; one of them has to be the match."""
    found = [
        row
        for row in right
        if None not in (left.ts, row.ts)
        and COMPARE[symbol](left.ts, row.ts)
        and (not keyed or (left.id is not None and left.id == row.id))
    ]
    best = (max if symbol.startswith(">") else min)((row.ts for row in found), default=None)
    return [row for row in found if row.ts == best]


class Scripts:
    """Runs the SELECT of a script in a session of its own, where `l` and `r` are views."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def fill(self, left: list[Left], right: list[Right]) -> None:
        made = self.session.createDataFrame(left, "n int, id int, ts int")
        made.createOrReplaceTempView("l")
        schema = "id int, ts int, name string, l struct<id: int, ts: int>"
        self.session.createDataFrame(right, schema).createOrReplaceTempView("r")

    def select(self, text: str) -> DataFrame:
        read = read_sql_script("s", "s.sql", HEAD + text, LAKES)
        assert read.script is not None, read.faults
        assert read.script.query is not None
        values = Values("2026-05-16", {}, {})
        found = bind(read.script.query, values, table=self.table, files=str)
        return self.session.sql(found.text, args=dict(found.parameters))

    def run(self, text: str) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in self.select(text).collect()]

    def table(self, hole: TableHole) -> str:
        """As a run pins what it reads."""
        [row] = self.session.sql(
            f"SELECT snapshot_id FROM {quoted(hole.table)}.snapshots"
            " ORDER BY committed_at DESC LIMIT 1"
        ).collect()
        return at_snapshot(hole.table, row[0]) if hole.pinned else quoted(hole.table)


@pytest.fixture
def scripts(engine: SparkEngine) -> Scripts:
    return Scripts(engine._spark.open())


def check(found: list[dict[str, Any]], left: list[Left], expected: Any, *, outer: bool) -> None:
    """Each left row once with one of its nearest rows; without one only if the join is outer."""
    matched = {row["n"]: row["name"] for row in found}
    assert len(matched) == len(found)
    for row in left:
        names = [right.name for right in expected(row)]
        if names:
            assert matched[row.n] in names, row
        elif outer:
            assert matched[row.n] is None, row
        else:
            assert row.n not in matched, row


@pytest.mark.parametrize("outer", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("symbol", COMPARE)
def test_the_nearest_row_of_each(symbol: str, outer: bool, scripts: Scripts) -> None:
    left, right = rows(seed=2 * list(COMPARE).index(symbol) + outer)
    scripts.fill(left, right)
    turned = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}[symbol]
    for on in (f"l.id = r.id AND l.ts {symbol} r.ts", f"r.ts {turned} l.ts AND (r.id = l.id)"):
        join = f"ASOF {'LEFT ' if outer else ''}JOIN r ON {on}"
        found = scripts.run(f"SELECT l.n, r.name FROM l {join}")
        check(found, left, lambda row: nearest(row, right, symbol), outer=outer)


@pytest.mark.parametrize("outer", [False, True])
def test_using(outer: bool, scripts: Scripts) -> None:
    left, right = rows(seed=7)
    scripts.fill(left, right)
    join = f"ASOF {'LEFT ' if outer else ''}JOIN r USING (id, ts)"
    found = scripts.run(f"SELECT * FROM l {join}")
    check(found, left, lambda row: nearest(row, right, ">="), outer=outer)
    assert found and all(list(row) == ["n", "id", "ts", "name", "l"] for row in found)
    assert all((row["id"], row["ts"]) == left[row["n"]][1:] for row in found)


def test_using_finds_its_columns_in_any_table_of_the_left(scripts: Scripts) -> None:
    left, right = rows(seed=8)
    scripts.fill(left, right)
    found = scripts.run(
        "SELECT n, name FROM (SELECT n, id FROM l) a JOIN (SELECT n AS m, ts FROM l) b ON n = m"
        " ASOF JOIN r USING (id, ts)",
    )
    check(found, left, lambda row: nearest(row, right, ">="), outer=False)


def test_without_equality(scripts: Scripts) -> None:
    left, right = rows(seed=9)
    scripts.fill(left, right)
    found = scripts.run("SELECT l.n, x.name FROM l ASOF LEFT JOIN r x ON l.ts > x.ts")
    check(found, left, lambda row: nearest(row, right, ">", keyed=False), outer=True)


def test_operands_can_be_expressions_of_one_side(scripts: Scripts) -> None:
    left, right = rows(seed=10)
    scripts.fill(left, right)
    found = scripts.run(
        "SELECT l.n, r.name FROM l ASOF JOIN r ON abs(l.id) + 1 = r.id + 1"
        " AND CASE WHEN l.ts > 5 AND true THEN l.ts ELSE l.ts END >= coalesce(r.ts, r.ts)",
    )
    check(found, left, lambda row: nearest(row, right, ">="), outer=False)


def test_only_the_columns_of_the_tables_show(scripts: Scripts) -> None:
    scripts.fill([Left(1, 1, 5)], [Right(1, 4, "a", {"id": 9, "ts": 9})])
    join = "FROM l ASOF JOIN r AS d ON l.id = d.id AND l.ts >= d.ts"
    everything = scripts.select(f"SELECT * {join}")
    assert everything.columns == ["n", "id", "ts", "id", "ts", "name", "l"]
    assert [tuple(row) for row in everything.collect()] == [(1, 1, 5, 1, 4, "a", (9, 9))]
    of_right = scripts.select(f"SELECT d.*, l.ts AS at, d.l.ts AS deep {join}")
    assert of_right.columns == ["id", "ts", "name", "l", "at", "deep"]
    assert [tuple(row) for row in of_right.collect()] == [(1, 4, "a", (9, 9), 5, 9)]


def test_many_joins_in_one_query(scripts: Scripts) -> None:
    left, right = rows(seed=11)
    scripts.fill(left, right)
    found = scripts.run(
        "WITH matched AS (SELECT l.*, r.name AS before FROM l ASOF LEFT JOIN r"
        " ON l.id = r.id AND l.ts >= r.ts),"
        " near AS (SELECT l.n AS n, l.id, l.ts, r.name AS name FROM l ASOF JOIN r"
        " ON l.id = r.id AND l.ts >= r.ts)"
        " SELECT m.n, m.before, r.name AS after, s.name AS inner_name, k.one"
        " FROM matched m JOIN (SELECT 1 AS one) k ON true"
        " ASOF LEFT JOIN r ON m.id = r.id AND m.ts < r.ts"
        " LEFT JOIN l AS other ON other.n = m.n"
        " ASOF LEFT JOIN (SELECT * FROM near WHERE ts IS NOT NULL) AS s"
        " ON other.n = s.n AND other.ts >= s.ts"
        " WHERE EXISTS (SELECT 1 FROM l AS z ASOF LEFT JOIN r ON z.ts >= r.ts WHERE z.n = m.n)",
    )
    for column, symbol in (("before", ">="), ("after", "<")):
        named = [{"n": row["n"], "name": row[column]} for row in found]
        check(named, left, lambda row, symbol=symbol: nearest(row, right, symbol), outer=True)
    assert all(row["inner_name"] == row["before"] and row["one"] == 1 for row in found)


def test_texts_that_sort_differently_than_they_compare_are_refused(scripts: Scripts) -> None:
    scripts.fill([Left(1, 1, 5)], [Right(1, 4, "a", {"id": 9, "ts": 9})])
    right = "(SELECT name, id, CAST(ts AS STRING) AS ts FROM r) AS d"
    with pytest.raises(PySparkException, match="line 5 compares a text of its right side"):
        scripts.run(f"SELECT * FROM l ASOF JOIN {right} ON l.id = d.id AND l.ts >= d.ts")
    found = scripts.run(
        f"SELECT name FROM l ASOF JOIN {right} ON l.id = d.id AND CAST(l.ts AS STRING) >= d.ts",
    )
    assert found == [{"name": "a"}]


def test_a_lake_table_and_the_partition(scripts: Scripts) -> None:
    sql = scripts.session.sql
    sql("CREATE NAMESPACE IF NOT EXISTS main.asof")
    for table in ("orders", "dims"):
        sql(f"DROP TABLE IF EXISTS main.asof.{table}")
    sql("CREATE TABLE main.asof.orders (n INT, customer INT, at TIMESTAMP) USING iceberg")
    sql(
        "CREATE TABLE main.asof.dims (id INT, valid_from TIMESTAMP, valid_to TIMESTAMP,"
        " name STRING) USING iceberg"
    )
    sql(
        "INSERT INTO main.asof.orders VALUES (1, 1, TIMESTAMP '2026-05-16 10:00:00'),"
        " (2, 1, TIMESTAMP '2026-05-16 12:00:00'), (3, 2, TIMESTAMP '2026-05-16 12:00:00'),"
        " (4, 1, TIMESTAMP '2026-05-17 12:00:00')"
    )
    sql(
        "INSERT INTO main.asof.dims VALUES (1, TIMESTAMP '2026-05-01', TIMESTAMP '2026-05-02',"
        " 'closed'), (1, TIMESTAMP '2026-05-16 11:00:00', NULL, 'open')"
    )
    found = scripts.run(
        "SELECT main.asof.orders.n, main.asof.dims.name FROM main.asof.orders"
        " ASOF LEFT JOIN main.asof.dims"
        " ON main.asof.orders.customer = main.asof.dims.id AND orders.at >= dims.valid_from"
        " WHERE CAST(orders.at AS DATE) = '{partition}' ORDER BY n"
    )
    assert found == [{"n": 1, "name": "closed"}, {"n": 2, "name": "open"}, {"n": 3, "name": None}]
    # The key within an operand and within the right side.
    found = scripts.run(
        "SELECT o.n, d.name FROM main.asof.orders o"
        " ASOF JOIN (SELECT * FROM main.asof.dims WHERE valid_from < DATE '{partition}') AS d"
        " ON o.customer = d.id AND greatest(o.at, TIMESTAMP '{partition}') >= d.valid_from"
        " ORDER BY n"
    )
    assert found == [{"n": n, "name": "closed"} for n in (1, 2, 4)]
