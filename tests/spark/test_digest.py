"""The digest: the same for the same rows in any order, another for any other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tranche.model.digest import is_of_rows
from tranche.testing import MemoryStore

if TYPE_CHECKING:
    from .conftest import Bench


def digest(bench: Bench, select: str) -> str:
    written = bench.run(f"-- pipeline\n-- materialize lake://main/@t\n{select}")
    assert written.digest is not None
    return written.digest


SAME = {
    "order of rows": (
        "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(x, y)",
        "SELECT * FROM VALUES (2, 'b'), (1, 'a') AS v(x, y)",
    ),
    "order of columns": (
        "SELECT 1 AS x, 'a' AS y",
        "SELECT 'a' AS y, 1 AS x",
    ),
    "whether a column could be null": (
        "SELECT 1 AS x, 2 AS y",
        "SELECT 1 AS x, if(rand() < 2, 2, NULL) AS y",
    ),
    "where nulls could be, of many columns": (
        "SELECT " + ", ".join(f"{n} AS c{n:03}" for n in range(130)),
        "SELECT " + ", ".join(f"nullif({n}, -1) AS c{n:03}" for n in range(130)),
    ),
    "how wide a number is": (
        "SELECT 1Y AS x, float(0.5) AS y",
        "SELECT 1L AS x, double(0.5) AS y",
    ),
    "order of a map": (
        "SELECT map('a', 1, 'b', 2) AS m",
        "SELECT map('b', 2, 'a', 1) AS m",
    ),
    "order of a map inside": (
        "SELECT array(struct(map('a', map('x', 1, 'y', 2)) AS m)) AS a",
        "SELECT array(struct(map('a', map('y', 2, 'x', 1)) AS m)) AS a",
    ),
}
OTHER = {
    "a value": ("SELECT 1 AS x", "SELECT 2 AS x"),
    "a name": ("SELECT 1 AS x", "SELECT 1 AS y"),
    "a number and a truth": ("SELECT 0 AS x", "SELECT false AS x"),
    "a number and a date": ("SELECT 0 AS x", "SELECT DATE'1970-01-01' AS x"),
    "a number and a time": ("SELECT 0L AS x", "SELECT TIMESTAMP'1970-01-01 00:00:00Z' AS x"),
    "how often": (
        "SELECT * FROM VALUES (1), (1), (2) AS v(x)",
        "SELECT * FROM VALUES (1), (2), (2) AS v(x)",
    ),
    "where the null is": (
        "SELECT CAST(NULL AS INT) AS x, 1 AS y",
        "SELECT 1 AS x, CAST(NULL AS INT) AS y",
    ),
    "where the null is inside": (
        "SELECT struct(CAST(NULL AS INT) AS x, 1 AS y) AS s",
        "SELECT struct(1 AS x, CAST(NULL AS INT) AS y) AS s",
    ),
    "where the null is among many": (
        "SELECT " + ", ".join(f"nullif(1, {int(n != 70)}) AS c{n:03}" for n in range(130)),
        "SELECT " + ", ".join(f"nullif(1, {int(n != 71)}) AS c{n:03}" for n in range(130)),
    ),
    "a null and a zero": ("SELECT CAST(NULL AS BIGINT) AS x", "SELECT 0L AS x"),
    "a null and an empty text": ("SELECT CAST(NULL AS STRING) AS x", "SELECT '' AS x"),
    **{
        f"a null and a {type_}": (
            f"SELECT CAST(NULL AS {type_}) AS x, {value} AS y",
            f"SELECT {value} AS x, CAST(NULL AS {type_}) AS y",
        )
        for type_, value in {
            "boolean": "false",
            "date": "DATE'1970-01-01'",
            "double": "0D",
            "timestamp": "TIMESTAMP'1970-01-01 00:00:00Z'",
            "timestamp_ntz": "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
            "decimal(9, 2)": "0.00BD",
            "binary": "X''",
            "array<int>": "array(0)",
        }.items()
    },
    "order of an array": ("SELECT array(1, 2) AS x", "SELECT array(2, 1) AS x"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", SAME)
def test_the_same_rows(bench: Bench, case: str) -> None:
    left, right = SAME[case]
    assert digest(bench, left) == digest(bench, right)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", OTHER)
def test_other_rows(bench: Bench, case: str) -> None:
    left, right = OTHER[case]
    assert digest(bench, left) != digest(bench, right)


def test_many_rows_do_not_overflow(bench: Bench) -> None:
    rows = digest(bench, "SELECT id FROM range(200000)")
    assert rows == digest(bench, "SELECT 199999 - id AS id FROM range(200000)")
    assert rows.startswith("30d40-")


ROWS = "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, name)"
OTHERS = "SELECT * FROM VALUES (1, 'a'), (2, 'c') AS t(id, name)"
SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
"""


class Runs:
    """Runs scripts for one key, with a ledger."""

    def __init__(self, bench: Bench, words: str = "") -> None:
        self.bench = bench
        self.header = SCRIPT.replace("@t", f"@t{words}")
        self.store = MemoryStore()

    def __call__(self, query: str, *, is_read: bool = True) -> str | None:
        self.bench.is_read = is_read
        step, _ = self.bench.ran(f"{self.header}{query}", self.store, partition="2026-05-16")
        assert step.record.status == "succeeded", step.record.error
        asset = f"lake://main/{self.bench.schema}.t"
        state = self.store.partition(asset, "2026-05-16")
        assert state is not None
        return state.digest


def test_a_first_write_has_nothing_to_be_compared_with(bench: Bench) -> None:
    digest = Runs(bench)(ROWS)
    assert digest is not None and not is_of_rows(digest)


def test_the_same_rows_by_another_query_have_the_digest_of_the_first(bench: Bench) -> None:
    run = Runs(bench)
    assert run(ROWS) == run(f"{ROWS} ORDER BY id DESC")


def test_other_rows_have_another_digest_and_keep_it(bench: Bench) -> None:
    run = Runs(bench)
    first, other = run(ROWS), run(OTHERS)
    assert first != other is not None and is_of_rows(other)
    assert run(f"{OTHERS} ORDER BY id") == other


def test_what_is_made_of_the_same_again_has_the_digest_it_had(bench: Bench) -> None:
    run = Runs(bench)
    first, other = run(ROWS), run(OTHERS)
    assert run(ROWS) == first != other


def test_what_may_differ_is_looked_at_though_it_is_made_of_the_same(bench: Bench) -> None:
    run = Runs(bench)
    first = run("SELECT uuid() AS id")
    second = run("SELECT uuid() AS id")
    assert first != second is not None and is_of_rows(second)


def test_rows_that_cannot_be_read_any_more_count_as_others(bench: Bench) -> None:
    run = Runs(bench)
    first = run(ROWS)
    bench.sql("DROP TABLE @t")
    again = run(f"{ROWS} ORDER BY id")
    assert first != again is not None and is_of_rows(again)


def test_what_is_appended_again_makes_the_slice_another(bench: Bench) -> None:
    run = Runs(bench, " append")
    assert run(ROWS) != run(ROWS)


def test_a_merge_after_others_makes_the_slice_another(bench: Bench) -> None:
    run = Runs(bench, " key=id")
    first, second = run(ROWS), run("SELECT 3 AS id, 'c' AS name")
    assert run(ROWS) == second != first


def test_what_nobody_reads_is_not_looked_at(bench: Bench) -> None:
    run = Runs(bench)
    run(ROWS)
    alone = run(OTHERS, is_read=False)
    assert alone is not None and not is_of_rows(alone)
    # Until somebody does.
    assert run(f"{OTHERS} ORDER BY id") == alone
