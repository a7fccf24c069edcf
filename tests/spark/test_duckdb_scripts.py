"""Scripts in DuckDB's SQL, run: one key, many keys, arguments, files, data tests, lineage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from tranche.errors import TrancheError
from tranche.lakes.engine import SparkEngine
from tranche.model.plan import Request
from tranche.planning.plan import build_plan
from tranche.projects.load import load_project
from tranche.run.runner import run_plan
from tranche.testing import MemoryStore

from .conftest import CONF, NOON, Bench
from .duckdb_corpus import CASES
from .test_range_runs import ran

DAYS = ("2026-05-15", "2026-05-16", "2026-05-17")
LAKES = """\
[project]
dialect = "duckdb"
[lakes.main]
[lakes.analytics]
[lakes.warehouse]
"""
ORDERS = """
SELECT * FROM VALUES
    (1, 'paid', 10.50BD, TIMESTAMP_NTZ '2026-05-15 08:00:00'),
    (2, 'pending', 20.00BD, TIMESTAMP_NTZ '2026-05-16 00:00:00'),
    (3, 'refunded', 5.25BD, TIMESTAMP_NTZ '2026-05-16 23:59:59'),
    (4, 'paid', NULL, TIMESTAMP_NTZ '2026-05-17 12:00:00'),
    (5, 'paid', 7.75BD, NULL)
AS t(order_id, status, amount, created_at)
"""


@pytest.fixture(scope="module")
def engine(engines: Callable[[str], SparkEngine]) -> SparkEngine:
    """One whose project is written in DuckDB's SQL, and whose sessions know the shop's API."""
    engine = engines(LAKES + CONF)
    sessions = engine._spark._sessions
    plain = sessions._make

    def make() -> SparkSession:
        session = plain()
        session.sql(
            "CREATE TEMPORARY FUNCTION shop_api_orders() RETURNS TABLE (order_id INT,"
            f" status STRING, amount DECIMAL(4,2), created_at TIMESTAMP_NTZ) RETURN {ORDERS}"
        )
        return session

    sessions.settled()
    sessions._make = make
    return engine


@pytest.fixture(scope="module")
def run(
    engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[dict[str, Any]]]:
    """Runs one of the scripts as they stand, and gives the rows that it made."""
    store = MemoryStore()

    def ran(name: str, made: str | None, *others: str, **request: Any) -> list[dict[str, Any]]:
        root = tmp_path_factory.mktemp("scripts")
        (root / "pipelines").mkdir()
        for each in (name, *others):
            text = (CASES / "scripts" / f"{each}.sql").read_text()
            (root / "pipelines" / f"{each}.sql").write_text(text)
        settings = replace(engine._settings, root=str(root))
        project = load_project(settings)
        assert project.faults == ()
        asked = Request(**{"target": name, "fire_time": NOON, **request})
        plan = build_plan(project, asked, store)
        plan = replace(plan, steps=tuple(s for s in plan.steps if s.script.name == name))
        result = run_plan(plan, engine, store, lambda: datetime.now(UTC))
        [step] = result.steps
        assert step.record.status == "succeeded", step
        return asked_of(engine, f"SELECT * FROM {made}") if made is not None else []

    return ran


def asked_of(engine: SparkEngine, query: str) -> list[dict[str, Any]]:
    session = engine._spark.open()
    try:
        return sorted((row.asDict() for row in session.sql(query).collect()), key=repr)
    finally:
        engine._spark.give_back(session)


@pytest.fixture(scope="module", autouse=True)
def tables(engine: SparkEngine) -> None:
    session = engine._spark.open()
    for lake in ("main", "analytics", "warehouse"):
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake}.default")
    for statement in (
        f"CREATE TABLE main.default.orders USING iceberg AS {ORDERS}",
        "CREATE TABLE main.default.customers USING iceberg AS SELECT * FROM VALUES"
        " (1, 'Ann', 'gold'), (2, 'Bob', 'silver') AS t(customer_id, name, tier)",
        "CREATE TABLE analytics.default.stg_customers USING iceberg AS SELECT * FROM VALUES"
        " (1, 'Ann', 'gold'), (2, 'Bob', 'silver') AS t(id, name, tier)",
        "CREATE TABLE analytics.default.stg_orders USING iceberg AS SELECT * FROM VALUES"
        " (1, 1, 9.99BD, TIMESTAMP '2126-01-01 00:00:00'),"
        " (2, 2, 1.00BD, TIMESTAMP '2001-01-01 00:00:00')"
        " AS t(order_id, customer_id, amount, ordered_at)",
        "CREATE TABLE warehouse.default.orders USING iceberg AS SELECT * FROM VALUES"
        " (1, 10.00BD, 1.90BD), (2, 5.00BD, NULL) AS t(order_id, amount, tax)",
    ):
        session.sql(statement)
    engine._spark.give_back(session)


def rows_of(bench: Bench, query: str) -> list[dict[str, Any]]:
    return asked_of(bench.engine, bench.named(query))


def test_the_documents_scripts_run_as_they_stand(
    run: Callable[..., list[dict[str, Any]]], engine: SparkEngine
) -> None:
    assert len(list((CASES / "scripts").glob("*.sql"))) == 8
    day = "2026-05-16"
    raw = run("ingest_orders", "main.default.raw_orders", partition=day)
    assert [row["order_id"] for row in raw] == [2, 3]
    daily = run("orders_daily", "main.default.orders_daily", partition=day)
    assert [(row["order_id"], str(row["amount"])) for row in daily] == [(2, "20.00"), (3, "5.25")]
    assert len(run("customer_dim", "main.default.customer_dim")) == 2
    versions = run("dim_customer", "analytics.default.dim_customer")
    assert [(row["id"], row["tier"], row["is_current"]) for row in versions] == [
        (1, "gold", True),
        (2, "silver", True),
    ]
    run("dim_customer_current", None, "dim_customer")
    facts = run("fct_orders", "analytics.default.fct_orders", "dim_customer")
    assert [(row["order_id"], row["tier_at_order_time"]) for row in facts] == [(1, "gold")]
    enriched = run("orders_enriched", "warehouse.default.orders_enriched")
    totals = [row["order_total"] for row in enriched]
    assert [None if total is None else str(total) for total in totals] == ["11.90", None]


def test_a_script_with_data_tests_runs_as_it_stands(
    run: Callable[..., list[dict[str, Any]]], engine: SparkEngine
) -> None:
    session = engine._spark.open()
    session.sql("DROP TABLE IF EXISTS main.default.orders_daily")
    engine._spark.give_back(session)
    rows = run("orders_tested", "main.default.orders_daily", partition="2026-05-16")
    assert [(row["order_id"], row["status"]) for row in rows] == [(2, "pending"), (3, "refunded")]


DAILY = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@{table}
ATTACH 'ducklake://main' AS dl;
CREATE TEMP TABLE prices AS
    FROM @sales SELECT *, amount / qty AS price WHERE qty <> 0;
SELECT customer,
       sum(amount) AS total,
       max(price) AS dearest,
       list(qty ORDER BY qty DESC) AS quantities,
       '{{partition}}'::DATE + INTERVAL 1 DAY AS due
FROM prices
WHERE placed::DATE = '{{partition}}'
GROUP BY ALL
"""
SALES = """\
CREATE TABLE @sales USING iceberg AS SELECT * FROM VALUES
    ('ann', 10.0D, 2, TIMESTAMP_NTZ '2026-05-15 08:00:00'),
    ('ann', 7.0D, NULL, TIMESTAMP_NTZ '2026-05-15 09:00:00'),
    ('bob', 9.0D, 4, TIMESTAMP_NTZ '2026-05-16 00:00:00'),
    ('bob', 1.0D, 3, TIMESTAMP_NTZ '2026-05-16 10:00:00'),
    ('cat', 1.0D, 0, TIMESTAMP_NTZ '2026-05-17 10:00:00')
AS t(customer, amount, qty, placed)
"""


def test_many_keys_give_the_rows_of_each(bench: Bench) -> None:
    bench.sql(SALES)
    for day in DAYS:
        bench.run(DAILY.format(table="single"), partition=day)
    step, _ = ran(bench, DAILY.format(table="range"), DAYS)
    assert (step.record.status, step.separate) == ("succeeded", None)
    single, together = (rows_of(bench, f"SELECT * FROM @{table}") for table in ("single", "range"))
    assert len(single) == 2
    assert together == single
    assert single[0]["due"] == datetime(2026, 5, 16)


WINDOWED = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@{table}
FROM @sales
SELECT customer, amount, row_number() OVER (ORDER BY amount DESC) AS place
WHERE placed::DATE = '{{partition}}'
QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC) = 1
"""


def test_a_range_of_a_query_with_qualify_is_one_job(bench: Bench) -> None:
    bench.sql(SALES)
    for day in DAYS:
        bench.run(WINDOWED.format(table="single"), partition=day)
    step, _ = ran(bench, WINDOWED.format(table="range"), DAYS)
    assert (step.record.status, step.separate) == ("succeeded", None)
    single, together = (rows_of(bench, f"SELECT * FROM @{table}") for table in ("single", "range"))
    assert len(single) == 3
    assert together == single


def test_keys_and_arguments_stay_data(bench: Bench) -> None:
    text = """\
-- pipeline
-- partitioned static keys="x' OR '1'='1,\\plain"
-- materialize lake://main/@t
-- $word (text)
-- $since (timestamp) = 2026-01-01T00:00:00
SELECT '{partition}' AS k, $word AS w, $since AS s, $word || '!' AS loud, $partition AS again
"""
    key = "x' OR '1'='1"
    bench.run(text, partition=key, arguments={"word": "a'; DROP TABLE t; --"})
    [row] = rows_of(bench, "SELECT k, w, s, loud, again FROM @t")
    assert row == {
        "k": key,
        "w": "a'; DROP TABLE t; --",
        "s": datetime(2026, 1, 1),
        "loud": "a'; DROP TABLE t; --!",
        "again": key,
    }


def test_a_message_of_spark_has_the_line_of_the_script(bench: Bench) -> None:
    text = """\
-- pipeline
-- materialize lake://main/@t
FROM (VALUES (1)) AS t(a)
SELECT
    a,
    nowhere AS b
"""
    with pytest.raises(TrancheError) as caught:
        bench.run(text)
    assert str(caught.value).startswith("pipelines/script.sql:6: ")
    assert "nowhere" in str(caught.value)


@pytest.mark.slow
def test_a_data_test_may_be_in_the_same_dialect(bench: Bench) -> None:
    bench.tests = {"few": "FROM {slice}\nSELECT *\nWHERE a // 2 > 1"}
    text = (
        "-- pipeline\n-- materialize lake://main/@t\n-- data_test few\n"
        "FROM range(3) AS t(a) SELECT a"
    )
    staged, _ = bench.tried(text)
    assert [result.violations for result in staged.tests] == [0]
    staged, _ = bench.tried(text.replace("range(3)", "range(6)"))
    assert [result.violations for result in staged.tests] == [2]


FILES = {
    "csv": (
        "SELECT * FROM read_csv('data/duck/x.csv', header = true,"
        " columns = {'id': 'INTEGER', 'name': 'VARCHAR', 'day': 'DATE', 'n': 'DECIMAL(10,2)'})",
        'id,name,day,n\n1,"a, b",2026-05-16,1.50\n2,,2026-05-17,\n3,"say ""hi""",,2.00\n',
    ),
    "tsv": (
        "SELECT * FROM read_csv('data/duck/x.tsv', delim = '\t', header = false,"
        " nullstr = 'NA', columns = {'id': 'BIGINT', 'x': 'DOUBLE'})",
        "1\t1.5\n2\tNA\n",
    ),
    "json": (
        "SELECT * FROM read_json('data/duck/x.json', columns = {'id': 'BIGINT',"
        " 'tags': 'VARCHAR[]', 'at': 'TIMESTAMP', 'who': 'STRUCT(name VARCHAR, age INTEGER)'})",
        '{"id": 1, "tags": ["a", "b"], "at": "2026-05-16 10:00:00", "who": {"name": "x", "age": 5}}\n'
        '{"id": 2, "more": true}\n',
    ),
    "array.json": (
        "SELECT * FROM read_json('data/duck/x.array.json', format = 'array',"
        " columns = {'id': 'INTEGER', 'ok': 'BOOLEAN'})",
        '[\n {"id": 1, "ok": true},\n {"id": 2}\n]\n',
    ),
}


@pytest.mark.parametrize("ending", FILES)
def test_files_are_read_as_duckdb_reads_them(
    bench: Bench, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, text = FILES[ending]
    bench.write(f"data/duck/x.{ending}", text)
    monkeypatch.chdir(bench.root)
    expected = duckdb.connect().execute(query)
    names = [column[0] for column in expected.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in expected.fetchall()]
    bench.run(f"-- pipeline\n-- materialize lake://main/@t\n{query}")
    found = rows_of(bench, "SELECT * FROM @t")
    assert [plain(row) for row in found] == [plain(row) for row in rows]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if hasattr(value, "asDict"):
        return plain(value.asDict())
    return list(value) if isinstance(value, list | tuple) else value


@pytest.mark.slow
def test_parquet_of_duckdb_is_read(bench: Bench) -> None:
    file = Path(bench.root) / "data" / "duck.parquet"
    file.parent.mkdir(exist_ok=True)
    duckdb.connect().execute(
        "COPY (SELECT 1 AS id, TIMESTAMP '2026-05-16 01:02:03' AS at, [1, 2] AS l)"
        f" TO '{file}' (FORMAT parquet)"
    )
    header = "-- pipeline\n-- materialize lake://main/@t\n-- $file (s3object) = data/duck.parquet\n"
    for source in (
        "'data/duck.parquet'",
        "read_parquet('data/duck.parquet')",
        "read_parquet($file)",
    ):
        bench.run(f"{header}FROM {source}")
        [row] = rows_of(bench, "SELECT * FROM @t")
        assert (row["id"], row["at"], list(row["l"])) == (1, datetime(2026, 5, 16, 1, 2, 3), [1, 2])


def test_the_past_of_a_table_is_read(bench: Bench) -> None:
    bench.sql("CREATE TABLE @past USING iceberg AS SELECT 1 AS a")
    first = bench.sql("SELECT snapshot_id FROM @past.snapshots")[0]["snapshot_id"]
    bench.sql("INSERT INTO @past SELECT 2 AS a")
    header = "-- pipeline\n-- materialize lake://main/@t\n"
    bench.run(f"{header}FROM @past AT (VERSION => {first})")
    assert bench.sql("SELECT a FROM @t") == [{"a": 1}]


def test_settings_of_the_project_do_not_change_what_it_means(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "-- pipeline\n-- dialect {}\n-- materialize lake://main/@t\nSELECT i + 1 AS a FROM @most"
    bench.sql("CREATE TABLE @most USING iceberg AS SELECT 2147483647 AS i")
    sessions = bench.engine._spark._sessions
    make = sessions._make

    def lenient() -> SparkSession:
        session = make()
        session.conf.set("spark.sql.ansi.enabled", "false")
        return session

    sessions.settled()
    monkeypatch.setattr(sessions, "_make", lenient)
    monkeypatch.setattr(sessions, "_first", None)
    try:
        bench.run(text.format("spark"))
        assert rows_of(bench, "SELECT a FROM @t") == [{"a": -2147483648}]
        with pytest.raises(TrancheError, match=r"overflow"):
            bench.run(text.format("duckdb"))
    finally:
        sessions.settled()
