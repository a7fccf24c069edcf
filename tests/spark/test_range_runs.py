"""Slices of several keys, written: the tables are those of the keys one by one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tranche.model.partitioning import Hourly
from tranche.model.plan import SliceKey, Step
from tranche.run.attempts import StepResult
from tranche.run.runner import run_plan
from tranche.testing import MemoryStore

if TYPE_CHECKING:
    from .conftest import Bench

DAYS = ("2026-05-01", "2026-05-02", "2026-05-03", "2026-05-04")
SOURCE = """\
CREATE TABLE @source USING iceberg AS SELECT * FROM VALUES
('2026-05-01', 1, 'a', '1'), ('2026-05-01', 2, 'b', '2'),
('2026-05-02', 1, 'a', '3'), ('2026-05-02', 3, NULL, '4'),
('2026-05-04', 2, 'c', '5') AS t(day, id, name, amount)
"""
SELECT = "SELECT id, name, CAST(amount AS INT) AS amount FROM @source WHERE day = '{partition}'"
STRATEGIES = {
    "replace": "",
    "merge": " key=id",
    "append": " append",
    "history": " key=id history at=partition",
    "history that closes": " key=id history at=partition deletes=close",
}


def script(query: str = SELECT, words: str = "", *tests: str, table: str = "t") -> str:
    lines = "".join(f"-- data_test {test}\n" for test in tests)
    header = f"-- pipeline\n-- partitioned daily\n-- materialize lake://main/@{table}{words}\n"
    return f"{header}{lines}{query}"


def ran(
    bench: Bench, text: str, keys: tuple[str, ...] = DAYS, store: MemoryStore | None = None
) -> tuple[StepResult, MemoryStore]:
    """Runs a step that has all these keys."""
    plan = bench.plan(text, partition=keys[0])
    (step,) = plan.steps
    state = store or MemoryStore()
    whole = replace(plan, steps=(for_keys(step, keys),))
    result = run_plan(whole, bench.engine, state, lambda: datetime.now(UTC), sleep=lambda _: None)
    return result.steps[0], state


def for_keys(step: Step, keys: tuple[str, ...]) -> Step:
    rule = step.script.partitioning
    assert rule is not None
    slice_ = (
        SliceKey(partition=key, ordinal=rule.ordinal(key), inputs=step.inputs) for key in keys
    )
    return replace(step, slice=tuple(slice_))


def table(bench: Bench, name: str = "t") -> list[dict[str, Any]]:
    return sorted(bench.sql(f"SELECT * FROM @{name}"), key=repr)


def statuses(result: StepResult) -> dict[str | None, str]:
    return {outcome.partition: outcome.status for outcome in result.keys}


@pytest.fixture
def shop(bench: Bench) -> Bench:
    bench.sql(SOURCE)
    return bench


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param(name, marks=pytest.mark.slow if "history" in name else ())
        for name in STRATEGIES
    ],
)
def test_a_range_gives_the_table_of_its_keys(shop: Bench, strategy: str) -> None:
    words = STRATEGIES[strategy]
    for day in DAYS:
        step, _ = shop.ran(script(words=words), partition=day)
        assert step.record.status == "succeeded", step.record.error
    result, store = ran(shop, script(words=words, table="r"))
    assert set(statuses(result).values()) == {"succeeded"}
    assert table(shop, "r") == table(shop)
    again, _ = ran(shop, script(words=words, table="r"), store=store)
    assert set(statuses(again).values()) == {"succeeded"}
    if strategy != "append":
        assert table(shop, "r") == table(shop)


def test_each_key_has_its_rows_and_an_entry(shop: Bench) -> None:
    result, store = ran(shop, script())
    assert {key.partition: key.rows for key in result.keys} == dict(
        zip(DAYS, (2, 2, 0, 1), strict=True)
    )
    assert len({key.snapshot for key in result.keys}) == 1
    asset = f"lake://main/{shop.schema}.t"
    entries = [store.materializations(asset, day, limit=9) for day in DAYS]
    assert [[entry.rows for entry in log] for log in entries] == [[2], [2], [0], [1]]


def test_nothing_else_changes(shop: Bench) -> None:
    shop.run(script(), partition=DAYS[0])
    before = table(shop)
    ran(shop, script(SELECT.replace("amount AS INT", "amount AS INT) + (1")), DAYS[1:])
    assert [row for row in table(shop) if row["_tranche_partition"] == DAYS[0]] == before


def test_a_slice_that_becomes_empty_is_emptied(shop: Bench) -> None:
    ran(shop, script())
    result, _ = ran(shop, script(f"{SELECT} AND day <> '2026-05-01'"))
    assert result.keys[0].rows == 0
    assert {row["_tranche_partition"] for row in table(shop)} == {DAYS[1], DAYS[3]}


class TestDataTests:
    def test_keys_that_fail_are_left_out(self, shop: Bench) -> None:
        result, store = ran(shop, script(SELECT, "", "not_null name"))
        assert statuses(result) == {
            DAYS[0]: "succeeded",
            DAYS[1]: "failed",
            DAYS[2]: "succeeded",
            DAYS[3]: "succeeded",
        }
        assert result.record.status == "failed"
        assert {row["_tranche_partition"] for row in table(shop)} == {DAYS[0], DAYS[3]}
        asset = f"lake://main/{shop.schema}.t"
        (entry,) = store.materializations(asset, DAYS[1], limit=9)
        assert "not_null name (1 row)" in (entry.error or "")
        (violated,) = store.violations(entry.id)
        assert violated.sample is not None
        assert violated.sample.records() == [{"id": 3, "name": None, "amount": 4}]

    @pytest.mark.slow
    def test_they_stay_what_they_were(self, shop: Bench) -> None:
        ran(shop, script(f"{SELECT} AND name IS NOT NULL", "", "not_null name"))
        before = table(shop)
        ran(shop, script(SELECT, "", "not_null name"))
        assert table(shop) == before

    def test_unique_is_within_a_key(self, shop: Bench) -> None:
        result, _ = ran(shop, script(SELECT, "", "unique id", "unique name"))
        assert set(statuses(result).values()) == {"succeeded"}
        twice = SELECT.replace("id,", "if(day = '2026-05-01', 7, id) AS id,")
        result, _ = ran(shop, script(twice, "", "unique id", table="u"))
        assert statuses(result)[DAYS[0]] == "failed"
        assert result.keys[0].tests[0].violations == 2

    def test_none_is_published_if_all_fail(self, shop: Bench) -> None:
        result, _ = ran(
            shop,
            script(SELECT.replace("name,", "NULL::string AS name,"), "", "not_null name"),
            DAYS[:2],
        )
        assert set(statuses(result).values()) == {"failed"}
        assert shop.tables() == ["source"]


class TestBadKeys:
    def test_a_bad_cast_fails_its_own_key(self, shop: Bench) -> None:
        shop.sql("INSERT INTO @source VALUES ('2026-05-03', 9, 'x', 'many')")
        result, _ = ran(shop, script())
        assert statuses(result) == {
            DAYS[0]: "succeeded",
            DAYS[1]: "succeeded",
            DAYS[2]: "failed",
            DAYS[3]: "succeeded",
        }
        failed = next(key for key in result.keys if key.status == "failed")
        assert "many" in (failed.error or "")
        assert {row["_tranche_partition"] for row in table(shop)} == {DAYS[0], DAYS[1], DAYS[3]}

    def test_keys_that_are_there_twice_fail_their_own_slice(self, shop: Bench) -> None:
        shop.sql("INSERT INTO @source VALUES ('2026-05-04', 2, 'x', '6')")
        result, _ = ran(shop, script(words=" key=id"))
        assert statuses(result)[DAYS[3]] == "failed"
        assert "several rows have the same key id: 2 (2 rows)" in (result.keys[3].error or "")
        assert sorted(set(statuses(result).values())) == ["failed", "succeeded"]

    def test_a_file_that_is_missing_fails_its_own_key(self, shop: Bench) -> None:
        for day in (DAYS[0], DAYS[2]):
            shop.write(f"{shop.schema}/{day}.json", '{"id": 1, "day": "' + day + '"}')
        path = f"'{shop.schema}/' || '{{partition}}' || '.json'"
        result, _ = ran(shop, script(f"SELECT id, day FROM read_json({path})"), DAYS[:3])
        assert statuses(result) == {
            DAYS[0]: "succeeded",
            DAYS[1]: "failed",
            DAYS[2]: "succeeded",
        }
        assert {row["day"] for row in table(shop)} == {DAYS[0], DAYS[2]}

    def test_a_mistake_in_the_statement_fails_all_at_once(self, shop: Bench) -> None:
        result, store = ran(shop, script("SELECT nothing FROM @source WHERE day = '{partition}'"))
        assert set(statuses(result).values()) == {"failed"}
        assert len(store.attempts(result.record.run)) == 1
        assert "nothing" in (result.keys[0].error or "")


class TestOneByOne:
    def test_what_is_random_goes_key_by_key(self, shop: Bench) -> None:
        result, _ = ran(shop, script(SELECT.replace("id,", "id, rand() AS r,")))
        assert set(statuses(result).values()) == {"succeeded"}
        assert len({key.snapshot for key in result.keys}) == len(DAYS)

    def test_a_setup_statement_that_takes_the_key(self, shop: Bench) -> None:
        setup = "CREATE TEMP VIEW v AS SELECT * FROM @source WHERE day = '{partition}';\n"
        result, _ = ran(shop, script(f"{setup}SELECT id, name FROM v"))
        assert set(statuses(result).values()) == {"succeeded"}
        assert len(table(shop)) == 5


class TestDigests:
    def test_the_same_rows_again_keep_their_digest(self, shop: Bench) -> None:
        _, store = ran(shop, script())
        asset = f"lake://main/{shop.schema}.t"
        before = store.standing(asset, DAYS)
        ran(shop, script(f"{SELECT} ORDER BY id"), store=store)
        after = store.standing(asset, DAYS)
        assert [after[day].digest for day in DAYS] == [before[day].digest for day in DAYS]

    def test_only_keys_with_other_rows_get_another(self, shop: Bench) -> None:
        _, store = ran(shop, script())
        asset = f"lake://main/{shop.schema}.t"
        before = store.standing(asset, DAYS)
        shop.sql("UPDATE @source SET amount = '8' WHERE day = '2026-05-02' AND id = 1")
        ran(shop, script(), store=store)
        after = store.standing(asset, DAYS)
        changed = [day for day in DAYS if after[day].digest != before[day].digest]
        assert changed == [DAYS[1]]


def test_more_than_a_job_should_read_is_split(shop: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    days = tuple(str(date(2026, 3, 1) + timedelta(number)) for number in range(120))
    small = replace(shop.engine._settings, most_bytes=300)
    monkeypatch.setattr(shop.engine, "_settings", small)
    result, store = ran(shop, script(), days)
    assert set(statuses(result).values()) == {"succeeded"}
    assert sum(key.rows or 0 for key in result.keys) == 5
    # Fewer keys are not looked at, however much they read.
    snapshots = {key.snapshot for key in result.keys}
    assert 2 <= len(snapshots) <= 4
    tries = store.attempts(result.record.run)
    assert "would read about" in str(tries[0].error)


HOURS = """\
-- pipeline
-- partitioned hourly tz="America/New_York"{}
-- materialize lake://main/@hours
SELECT at, n FROM @ticks WHERE date_format(at, "{}") = '{{partition}}'
"""


@pytest.mark.parametrize(
    ("day", "format", "pattern", "number"),
    [
        ("2026-03-08", "", "yyyy-MM-dd'T'HH", 23),
        ("2026-11-01", "", "yyyy-MM-dd'T'HH", 24),
        ("2026-11-01", ' format="%Y-%m-%dT%H%z"', "yyyy-MM-dd'T'HHxx", 25),
    ],
)
def test_hours_where_the_clock_is_moved(
    bench: Bench, day: str, format: str, pattern: str, number: int
) -> None:
    """Each row is in one of the day's hours, and no hour is missing or there twice."""
    bench.sql(
        "CREATE TABLE @ticks USING iceberg AS SELECT id AS n, timestamp_seconds(unix_seconds("
        f"timestamp '{day} 00:00:00 America/New_York') + id * 600) AS at FROM range(150)"
    )
    text = HOURS.format(format, pattern)
    rule = bench.plan(text, partition=f"{day}T00" + ("-0400" if format else "")).steps[0]
    hours = rule.script.partitioning
    assert isinstance(hours, Hourly)
    keys = tuple(hours.keys(start=day, end=day))
    assert len(keys) == number
    result, _ = ran(bench, text, keys)
    assert set(statuses(result).values()) == {"succeeded"}
    found = bench.sql(
        "SELECT count(*) AS n, count(DISTINCT n) AS several,"
        " count(DISTINCT _tranche_partition) AS hours FROM @hours"
    )
    ticks = {23: 138, 24: 150, 25: 150}[number]
    assert [tuple(row.values()) for row in found] == [(ticks, ticks, number)]
    # The hour that comes twice has the rows of both, unless the key tells them apart.
    rows = {key.partition: key.rows for key in result.keys}
    assert set(rows.values()) == ({6, 12} if number == 24 else {6})


def made(bench: Bench, header: str, query: str, keys: tuple[str, ...]) -> list[tuple[str, int]]:
    """The keys and rows of a table that a range has made, which are those of the keys one by one."""
    found = []
    for name in ("one", "all"):
        text = f"-- pipeline\n-- partitioned {header}\n-- materialize lake://main/@{name}\n{query}"
        if name == "one":
            for key in keys:
                step, _ = bench.ran(text, partition=key)
                assert step.record.status == "succeeded", step.record.error
        else:
            result, _ = ran(bench, text, keys)
            assert set(statuses(result).values()) == {"succeeded"}
        found.append(
            [
                (row["k"], row["n"])
                for row in bench.sql(
                    f"SELECT _tranche_partition AS k, n FROM @{name} ORDER BY k, n"
                )
            ]
        )
    assert found[0] == found[1]
    return found[1]


@pytest.mark.slow
def test_keys_that_are_numbers(bench: Bench) -> None:
    bench.sql(
        "CREATE TABLE @t USING iceberg AS SELECT CAST(2020 + id % 5 AS INT) AS y FROM range(9)"
    )
    query = "SELECT count(*) AS n FROM @t WHERE y = '{partition}' GROUP BY y"
    rows = made(bench, "yearly", query, ("2021", "2023", "2024", "2030"))
    assert rows == [("2021", 2), ("2023", 2), ("2024", 1)]


def test_keys_with_quotes_in_them(bench: Bench) -> None:
    keys = ("o'neill", "x' OR '1'='1", 'a"b', "a\\b", " a ", "A", "a")
    bench.sql("CREATE TABLE @t (name STRING, n INT) USING iceberg")
    bench.sql(
        "INSERT INTO @t VALUES ('o\\'neill', 1), ('x\\' OR \\'1\\'=\\'1', 2), ('a\"b', 3),"
        " ('a\\\\b', 4), (' a ', 5), ('A', 6), ('a', 7), (NULL, 8), ('other', 9)"
    )
    query = "SELECT n FROM @t WHERE name = '{partition}'"
    rows = made(bench, 'dynamic key="$.k"', query, keys)
    assert sorted(rows, key=lambda row: row[1]) == list(zip(keys, range(1, 8), strict=True))


@pytest.mark.slow
def test_keys_that_a_value_is_written_otherwise_than(bench: Bench) -> None:
    bench.sql(
        "CREATE TABLE @t USING iceberg AS SELECT DATE'2026-05-01' + CAST(id AS INT) AS d,"
        " id AS n FROM range(4)"
    )
    rows = made(
        bench,
        'daily format="%Y%m%d"',
        "SELECT n FROM @t WHERE d = to_date('{partition}', 'yyyyMMdd')",
        ("20260501", "20260503"),
    )
    assert rows == [("20260501", 0), ("20260503", 2)]


@pytest.mark.slow
def test_numbers_that_are_written_in_several_ways(bench: Bench) -> None:
    bench.sql("CREATE TABLE @t USING iceberg AS SELECT id AS n FROM range(4)")
    rows = made(
        bench, 'dynamic key="$.k"', "SELECT n FROM @t WHERE n = '{partition}'", ("1", "02", " 3")
    )
    assert rows == [(" 3", 3), ("02", 2), ("1", 1)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "altered",
    [
        "SET TBLPROPERTIES ('write.summary.partition-limit' = '32')",
        "SET TBLPROPERTIES ('write.summary.partition-limit' = '4')",
        "UNSET TBLPROPERTIES ('write.summary.partition-limit')",
        "ADD PARTITION FIELD bucket(2, n)",
    ],
)
def test_rows_of_odd_keys_are_counted_whatever_the_table_says_of_them(
    bench: Bench, altered: str
) -> None:
    keys = ("a/b", "a b+c", "x=y%2F", "é,added-records=9", "gone")
    bench.sql("CREATE TABLE @t (name STRING, n INT) USING iceberg")
    bench.sql(
        "INSERT INTO @t VALUES ('a/b', 1), ('a/b', 2), ('a b+c', 3), ('x=y%2F', 4), ('x=y%2F', 5),"
        " ('x=y%2F', 6), ('é,added-records=9', 7), ('gone', 8)"
    )
    header = '-- pipeline\n-- partitioned dynamic key="$.k"\n-- materialize lake://main/@r\n'
    text = f"{header}SELECT n FROM @t WHERE name = '{{partition}}'"
    ran(bench, text, keys)
    bench.sql(f"ALTER TABLE @r {altered}")
    bench.sql("DELETE FROM @t WHERE n IN (1, 8)")
    result, _ = ran(bench, text, keys)
    assert [(key.status, key.rows) for key in result.keys] == [
        ("succeeded", rows) for rows in (1, 1, 3, 1, 0)
    ]
    assert result.separate is None


@pytest.mark.slow
def test_the_files_of_keys_are_one_each(bench: Bench) -> None:
    """However many tasks there are for them."""
    bench.sql(
        "CREATE TABLE @t USING iceberg AS SELECT date_add(DATE'2026-01-01', CAST(id % 60 AS INT))"
        " AS day, uuid() AS name FROM range(12000)"
    )
    days = tuple(str(date(2026, 1, 1) + timedelta(number)) for number in range(60))
    query = "SELECT name FROM @t WHERE day = '{partition}'"
    result, _ = ran(bench, script(query, table="r"), days)
    result, _ = ran(bench, script(f"{query} AND name > '8'", table="r"), days)
    assert result.separate is None
    files = bench.sql("SELECT record_count FROM @r.files")
    assert len(files) == 60 and all(0 < file["record_count"] < 200 for file in files)
