"""Keys of several dimensions, one by one and many at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tranche.model.partitioning_text import join_segments

from .test_range_runs import made, ran

if TYPE_CHECKING:
    from .conftest import Bench

DAY_REGION = 'day: daily | region: static keys="us,eu,jp"'
DAYS = ("2026-05-01", "2026-05-02", "2026-05-03")
KEYS = tuple(f"{day}|{region}" for day, region in product(DAYS, ("us", "eu", "jp")))
WHERE = "WHERE day = '{partition.day}' AND region = '{partition.region}'"


@pytest.fixture
def sales(bench: Bench) -> Bench:
    bench.sql(
        "CREATE TABLE @t USING iceberg AS SELECT * FROM VALUES"
        " (DATE'2026-05-01', 'us', 1), (DATE'2026-05-01', 'us', 2), (DATE'2026-05-01', 'eu', 3),"
        " (DATE'2026-05-02', 'jp', 4), (DATE'2026-05-03', 'eu', 5), (DATE'2026-05-03', NULL, 6),"
        " (DATE'2026-05-04', 'us', 7) AS t(day, region, n)"
    )
    return bench


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            f"SELECT n FROM @t {WHERE}",
            [
                ("2026-05-01|eu", 3),
                ("2026-05-01|us", 1),
                ("2026-05-01|us", 2),
                ("2026-05-02|jp", 4),
                ("2026-05-03|eu", 5),
            ],
        ),
        pytest.param(f"SELECT count(*) AS n FROM @t {WHERE}", None, marks=pytest.mark.slow),
        pytest.param(
            f"SELECT sum(n) AS n FROM @t {WHERE} GROUP BY region", None, marks=pytest.mark.slow
        ),
        (
            "SELECT a.n + coalesce(b.n, 0) AS n FROM @t a LEFT JOIN @t b ON b.region ="
            " '{partition.region}' AND b.day = date_sub('{partition.day}', 1)"
            " WHERE a.day = '{partition.day}'",
            None,
        ),
        pytest.param(
            "SELECT n FROM @t WHERE day IN (SELECT max(day) FROM @t WHERE region ="
            " '{partition.region}' AND day <= '{partition.day}')",
            None,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "SELECT row_number() OVER (ORDER BY n) AS n FROM @t WHERE region ="
            " '{partition.region}' OR day = '{partition.day}'",
            None,
            marks=pytest.mark.slow,
        ),
        ("SELECT n FROM @t WHERE concat(day, '|', region) = '{partition}'", None),
        # The whole key and one of its segments beside each other.
        (
            "SELECT n FROM @t WHERE region = '{partition.region}' AND"
            " '{partition}' = concat(day, '|', '{partition.region}')",
            None,
        ),
    ],
)
def test_a_range_gives_the_rows_of_its_keys(
    sales: Bench, query: str, rows: list[tuple[str, int]] | None
) -> None:
    found = made(sales, DAY_REGION, query, KEYS)
    assert found
    assert rows is None or found == rows


@pytest.mark.slow
def test_segments_with_all_that_they_may_hold(bench: Bench) -> None:
    names = ["a|b", "a\\", "\\|", "a'b", 'x" --', "é\n|", "$1", "(.*)", "\\1"]
    keys = tuple(join_segments([one, other]) for one, other in zip(names, names[::-1], strict=True))
    for number, (one, other) in enumerate(zip(names, names[::-1], strict=True)):
        header = '-- pipeline\n-- partitioned dynamic key="$.k"\n-- $o (string)\n'
        bench.run(
            f"{header}-- materialize lake://main/@t append\n"
            f"SELECT '{{partition}}' AS one, $o AS other, {number} AS n",
            partition=one,
            arguments={"o": other},
        )
    rule = 'one: dynamic key="$.a" | other: dynamic key="$.b"'
    query = "SELECT n FROM @t WHERE one = '{partition.one}' AND other = '{partition.other}'"
    found = made(bench, rule, query, keys)
    assert sorted(found, key=lambda row: row[1]) == list(zip(keys, range(len(keys)), strict=True))


def test_files_in_folders_of_segments(bench: Bench) -> None:
    for number, key in enumerate(KEYS):
        day, region = key.split("|")
        bench.write(f"in_dimensions/{day}/{region}.json", json.dumps({"n": number}))
    query = (
        "SELECT n FROM read_json('in_dimensions/' || '{partition.day}' || '/' ||"
        " '{partition.region}' || '.json')"
    )
    found = made(bench, DAY_REGION, query, KEYS)
    assert sorted(found, key=lambda row: row[1]) == list(zip(KEYS, range(len(KEYS)), strict=True))


def test_the_zone_is_that_of_the_dimension_of_time(bench: Bench) -> None:
    bench.sql("CREATE TABLE @t (at TIMESTAMP, n INT) USING iceberg")
    bench.sql(
        "INSERT INTO @t VALUES (timestamp_seconds(1777685400), 1), (timestamp_seconds(1777600800), 2)"
    )
    # 2026-05-02T01:30Z is the evening of the first in New York.
    rule = 'region: static keys="us" | day: daily tz="America/New_York"'
    query = "SELECT n FROM @t WHERE at::date = '{partition.day}'"
    found = made(bench, rule, query, ("us|2026-05-01", "us|2026-05-02"))
    assert [(key, n) for key, n in found if n == 1] == [("us|2026-05-01", 1)]


def test_keys_are_ordered_by_time_in_the_ledger(sales: Bench) -> None:
    header = '-- pipeline\n-- partitioned region: static keys="us,eu,jp" | day: daily\n'
    text = f"{header}-- materialize lake://main/@o\nSELECT n FROM @t {WHERE}"
    keys = ("us|2026-05-02", "eu|2026-05-01", "jp|2026-05-03")
    _, store = ran(sales, text, keys)
    found = store.partitions(f"lake://main/{sales.schema}.o", limit=9)
    assert [state.partition for state in found] == [keys[1], keys[0], keys[2]]
    assert found[0].ordinal == datetime(2026, 5, 1, tzinfo=UTC)


def test_a_run_covers_all_keys_of_a_static_dimension(sales: Bench) -> None:
    text = f"-- pipeline\n-- partitioned {DAY_REGION}\n-- materialize lake://main/@s\n"
    step, _ = sales.ran(
        f"{text}SELECT n FROM @t {WHERE}", fire_time=datetime(2026, 5, 1, 9, tzinfo=UTC)
    )
    assert {key.partition: key.rows for key in step.keys} == {
        "2026-05-01|us": 2,
        "2026-05-01|eu": 1,
        "2026-05-01|jp": 0,
    }
