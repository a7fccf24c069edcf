"""Many keys from one query: the rows are those of the keys one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tranche.lakes.engine import SparkEngine
from tranche.lakes.execution import Execution
from tranche.lakes.ranging import range_rows
from tranche.model.plan import SliceKey
from tranche.ports import Work
from tranche.script.ranges.ranged import only_key_by_key

from .corpus import CASES, KEYS, script, statements

if TYPE_CHECKING:
    from .conftest import Bench


@pytest.fixture(scope="module")
def tables(engine: SparkEngine, root: Any) -> Bench:
    from .conftest import Bench

    bench = Bench(engine, root, "corpus")
    for schema in ("corpus", "default"):
        bench.sql(f"CREATE NAMESPACE IF NOT EXISTS main.{schema}")
    for statement in statements():
        bench.sql(statement)
    return bench


def for_keys(work: Work, keys: tuple[str, ...]) -> Work:
    """The same work for several keys."""
    rule = work.step.script.partitioning
    assert rule is not None
    slice_ = tuple(
        SliceKey(partition=key, ordinal=rule.ordinal(key), inputs=work.step.inputs) for key in keys
    )
    return replace(work, step=replace(work.step, slice=slice_), past=())


def collected(execution: Execution, rows: Any, *more: str) -> list[str]:
    return [repr((*row, *more)) for row in rows.collect()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, name in enumerate(CASES)
    ],
)
def test_rows_are_those_of_each_key(tables: Bench, name: str) -> None:
    work = tables.work(script(CASES[name]), partition=KEYS[0])
    query = work.step.script.query
    assert query is not None
    assert only_key_by_key(work.step.script) is None
    with tables.engine.attempt(for_keys(work, KEYS)) as trial:
        assert isinstance(trial, Execution)
        trial.session.udf.register("twice", lambda x: None if x is None else x * 2, "double")
        trial.session.udf.register("next_key", lambda key: f"{key}!", "string")
        one_by_one: list[str] = []
        whole = trial.values
        single = replace(work.step, slice=work.step.slice[:1])
        several, trial.step = trial.step, single
        for key in KEYS:
            trial.values = replace(whole, key=key)
            one_by_one += collected(trial, trial.sql(query), key)
        trial.step, trial.values = several, whole
        together = range_rows(trial, query, KEYS)
        assert sorted(collected(trial, together)) == sorted(one_by_one)


@pytest.fixture(scope="module")
def long_table(tables: Bench) -> Bench:
    """Ten rows for each of fifty days."""
    tables.sql(
        "CREATE TABLE @long USING iceberg PARTITIONED BY (day, days(at)) AS SELECT id,"
        " CAST(CAST(at AS DATE) AS STRING) AS day, at FROM (SELECT id, timestamp_seconds("
        "unix_seconds(timestamp '2026-04-15 00:00:00Z') + id * 8640) AS at FROM range(500))"
    )
    return tables


WEEK = tuple(f"2026-05-{day:02}" for day in range(10, 17))


@pytest.mark.parametrize(
    "condition",
    [
        "at::date = '{partition}'",
        "to_date(at) = DATE '{partition}'",
        "day = '{partition}'",
        "date_format(at, 'yyyy-MM-dd') = '{partition}' AND day = '{partition}'",
        "at >= '{partition}' AND at < date_add('{partition}', 1)",
        "at >= TIMESTAMP '{partition}' AND at < TIMESTAMP '{partition}' + INTERVAL 1 DAY",
        "day BETWEEN '{partition}' AND '{partition}'",
    ],
)
def test_a_week_of_a_long_table_reads_a_week(long_table: Bench, condition: str) -> None:
    text = script(f"SELECT id FROM @long WHERE {condition}")
    # A bound may take in the day after the last.
    assert read_for(long_table, text, WEEK) in ([70.0], [80.0])


@pytest.mark.parametrize("condition", ["at::date = '{partition.day}'", "day = '{partition.day}'"])
def test_so_does_a_week_of_several_dimensions(long_table: Bench, condition: str) -> None:
    text = (
        '-- pipeline\n-- partitioned region: static keys="us,eu" | day: daily\n'
        "-- materialize lake://main/@dimensions\n"
        f"SELECT id FROM @long WHERE {condition} AND '{{partition.region}}' = 'eu'"
    )
    keys = tuple(f"{region}|{day}" for day in WEEK for region in ("us", "eu"))
    assert read_for(long_table, text, keys) in ([70.0], [80.0])


def read_for(bench: Bench, text: str, keys: tuple[str, ...]) -> list[float]:
    """How many rows the files have that Iceberg plans to read for keys, which have 70 together."""
    work = bench.work(text, partition=keys[0])
    query = work.step.script.query
    assert query is not None
    with bench.engine.attempt(for_keys(work, keys)) as trial:
        assert isinstance(trial, Execution)
        rows = range_rows(trial, query, keys)
        assert rows.count() == 70
        sent = trial.sent[-1]
        plan = trial.session.sql(f"EXPLAIN COST {sent.text}", args=dict(sent.parameters))
        optimized = plan.collect()[0][0].partition("== Physical Plan ==")[0]
        return [float(n) for n in re.findall(r"RelationV2.*rowCount=([\d.E+]+)", optimized)]
