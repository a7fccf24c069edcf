"""Strategies x units: what every format must do alike.

Nothing here looks at a format's own metadata, so that another format joins by being another lake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected, RowsRejected

if TYPE_CHECKING:
    from .conftest import Bench

DAY, OTHER = "2026-05-15", "2026-05-16"
LAKES = (
    "main",
    pytest.param("delta", marks=pytest.mark.slow),
    pytest.param("parquet", marks=pytest.mark.slow),
)
"""`test_formats` has each cell of the others; here are their corners."""
UNITS = ("partition", "table")
STRATEGIES = {"replace": "", "merge": " key=id", "append": " append"}


class Shop:
    """A table of one strategy and unit, written from rows that a test gives."""

    def __init__(self, bench: Bench, strategy: str, unit: str, more: str = "") -> None:
        self.bench = bench
        self.sliced = unit == "partition"
        self.header = "-- pipeline\n" + ("-- partitioned daily\n" if self.sliced else "")
        self.header += f"-- materialize lake://main/@t{strategy}\n{more}"

    def put(self, rows: str, day: str = DAY, *, columns: str = "id, name", **how: Any) -> Any:
        """Runs the script on these rows: `(1, 'a'), …`, or '' for none."""
        return self.bench.run(self.script(rows, columns), **self.key(day), **how)

    def script(self, rows: str, columns: str = "id, name") -> str:
        given = rows or "(CAST(NULL AS INT), CAST(NULL AS STRING))"
        where = "" if rows else " WHERE false"
        names = "id, name" + ", more" * (given.split(")")[0].count(",") - 1)
        return f"{self.header}SELECT {columns} FROM VALUES {given} AS v({names}){where}"

    def key(self, day: str) -> dict[str, str]:
        return {"partition": day} if self.sliced else {}

    def rows(self, day: str | None = None) -> list[tuple[Any, ...]]:
        where = f" WHERE _tranche_partition = '{day}'" if day and self.sliced else ""
        found = self.bench.sql(f"SELECT * FROM @t{where}")
        return sorted(
            (tuple(v for k, v in row.items() if k != "_tranche_partition") for row in found),
            key=repr,
        )

    def commits(self) -> int:
        """How often what readers see has changed."""
        return self.bench.commits("t")


@pytest.fixture(params=LAKES)
def shop(bench: Bench, request: pytest.FixtureRequest) -> Callable[..., Shop]:
    bench.lake = request.param
    return lambda *what, **how: Shop(bench, *what, **how)


@pytest.fixture(params=UNITS)
def unit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> str:
    return STRATEGIES[request.param]


class TestEveryStrategy:
    def test_the_first_run_makes_the_table(
        self, shop: Callable[..., Shop], strategy: str, unit: str
    ) -> None:
        table = shop(strategy, unit)
        written = table.put("(1, 'a'), (2, CAST(NULL AS STRING))")
        assert table.rows() == [(1, "a"), (2, None)]
        assert (written.rows, written.columns) == (2, (("id", "int"), ("name", "string")))
        assert written.snapshot

    @pytest.mark.sampled(3)
    def test_a_first_run_without_rows_makes_the_table(
        self, shop: Callable[..., Shop], strategy: str, unit: str
    ) -> None:
        table = shop(strategy, unit)
        assert table.put("").rows == 0
        assert table.rows() == []
        assert table.put("(1, 'a')").rows == 1
        assert table.rows() == [(1, "a")]

    def test_other_slices_are_not_touched(self, shop: Callable[..., Shop], strategy: str) -> None:
        table = shop(strategy, "partition")
        table.put("(1, 'a')", OTHER)
        table.put("(1, 'b'), (2, 'c')")
        written = table.put("(1, 'd')")
        assert table.rows(OTHER) == [(1, "a")]
        assert written.rows == len(table.rows(DAY))

    def test_columns_are_written_by_name(
        self, shop: Callable[..., Shop], strategy: str, unit: str
    ) -> None:
        table = shop(strategy, unit)
        table.put("(1, 'a')", OTHER)
        if not strategy and unit == "table":
            pytest.skip("a table that is rebuilt has the order of the SELECT")
        table.put("(2, 'b')", columns="name, id")
        assert (2, "b") in table.rows()

    @pytest.mark.sampled(2)
    def test_the_same_step_is_published_once(
        self, shop: Callable[..., Shop], strategy: str, unit: str, bench: Bench
    ) -> None:
        """A second attempt of a step whose first one was published, and only its answer lost."""
        table = shop(strategy, unit)
        table.put("(1, 'a')")
        work = [
            bench.work(table.script("(5, 'e')"), attempt, run="one", **table.key(DAY))
            for attempt in ("lost", "late")
        ]
        with bench.engine.attempt(work[0]) as first, bench.engine.attempt(work[1]) as second:
            first.stage()
            second.stage()
            first.publish()
            once = table.rows()
            written = second.publish()
        assert table.rows() == once
        assert written.rows == len(table.rows())


class TestReplace:
    def test_the_slice_becomes_the_rows(self, shop: Callable[..., Shop], unit: str) -> None:
        table = shop("", unit)
        table.put("(1, 'a'), (2, 'b')")
        assert table.put("(2, 'B'), (3, 'c')").rows == 2
        assert table.rows(DAY) == [(2, "B"), (3, "c")]
        assert table.put("").rows == 0
        assert table.rows(DAY) == []


class TestMerge:
    def test_rows_are_upserted_and_absent_ones_stay(
        self, shop: Callable[..., Shop], unit: str
    ) -> None:
        table = shop(" key=id", unit)
        table.put("(1, 'a'), (2, 'b'), (4, CAST(NULL AS STRING))")
        written = table.put("(2, 'B'), (3, 'c'), (4, 'd')")
        assert table.rows() == [(1, "a"), (2, "B"), (3, "c"), (4, "d")]
        assert written.rows == 4
        assert table.put("(4, CAST(NULL AS STRING))").rows == 4
        assert table.rows()[-1] == (4, None)

    def test_a_merge_that_changes_nothing_leaves_the_table_where_it_is(
        self, shop: Callable[..., Shop], unit: str
    ) -> None:
        table = shop(" key=id", unit)
        first = table.put("(1, 'a'), (2, CAST(NULL AS STRING))")
        before = table.commits()
        again = table.put("(2, CAST(NULL AS STRING))")
        assert (again.changed, again.rows, again.snapshot) == (False, 2, first.snapshot)
        assert not table.put("").changed
        assert table.commits() == before
        assert table.put("(2, 'b')").changed
        assert table.commits() == before + 1

    @pytest.mark.slow
    def test_a_key_of_several_columns(self, shop: Callable[..., Shop], unit: str) -> None:
        table = shop(" key=id,name", unit)
        columns = "id, name, more"
        table.put("(1, 'a', 1), (1, 'b', 2)", columns=columns)
        table.put("(1, 'b', 3), (2, 'a', 4)", columns=columns)
        assert table.rows() == [(1, "a", 1), (1, "b", 3), (2, "a", 4)]

    @pytest.mark.slow
    def test_all_columns_may_be_the_key(self, shop: Callable[..., Shop], unit: str) -> None:
        table = shop(" key=id,name", unit)
        table.put("(1, 'a')")
        table.put("(1, 'a'), (1, 'b')")
        assert table.rows() == [(1, "a"), (1, "b")]

    @pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)])
    @pytest.mark.parametrize(
        ("rows", "complaint"),
        [
            (
                "(1, 'a'), (1, 'b'), (2, 'c'), (2, 'c'), (2, 'd'), (9, 'z')",
                r"several rows have the same key id: 2 \(3 rows\); 1 \(2 rows\);",
            ),
            ("(1, 'a'), (NULL, 'b')", r"some rows have no key id: NULL \(1 row\);"),
        ],
    )
    def test_bad_keys_are_found_before_the_write(
        self, shop: Callable[..., Shop], unit: str, first: bool, rows: str, complaint: str
    ) -> None:
        table = shop(" key=id", unit)
        if not first:
            table.put("(1, 'before')")
            before = table.commits()
        with pytest.raises(RowsRejected, match=complaint):
            table.put(rows)
        if first:
            assert table.bench.tables() == []
            table.put("(1, 'before')")
        else:
            assert table.commits() == before
        assert table.rows() == [(1, "before")]

    def test_at_most_five_bad_keys_are_shown(self, shop: Callable[..., Shop]) -> None:
        table = shop(" key=id", "table")
        rows = ", ".join(f"({n}, 'a'), ({n}, 'b')" for n in range(9))
        with pytest.raises(RowsRejected) as error:
            table.put(rows)
        assert str(error.value).count("2 rows") == 5 and "…" in str(error.value)

    def test_a_key_that_is_no_column(self, shop: Callable[..., Shop], unit: str) -> None:
        with pytest.raises(ColumnsRejected, match="key= names nr, and the SELECT has no such"):
            shop(" key=nr", unit).put("(1, 'a')")


class TestAppend:
    def test_rows_are_inserted_and_nothing_else_is_touched(
        self, shop: Callable[..., Shop], unit: str
    ) -> None:
        table = shop(" append", unit)
        table.put("(1, 'a')")
        assert table.put("(1, 'a'), (2, 'b')").rows == 3
        assert table.rows() == [(1, "a"), (1, "a"), (2, "b")]

    def test_nothing_to_append_leaves_the_table_where_it_is(
        self, shop: Callable[..., Shop], unit: str
    ) -> None:
        table = shop(" append", unit)
        first = table.put("(1, 'a')")
        before = table.commits()
        again = table.put("")
        assert (again.changed, again.rows, again.snapshot) == (False, 1, first.snapshot)
        assert table.commits() == before

    @pytest.mark.slow
    def test_rows_that_others_wrote_meanwhile_are_counted(
        self, shop: Callable[..., Shop], unit: str, bench: Bench
    ) -> None:
        table = shop(" append", unit)
        table.put("(1, 'a')")
        work = bench.work(table.script("(5, 'e')"), **table.key(DAY))
        with bench.engine.attempt(work) as trial:
            trial.stage()
            table.put("(2, 'b'), (3, 'c')")
            assert trial.publish().rows == 4
        assert len(table.rows()) == 4

    def test_there_is_no_digest_of_what_came_to_the_slice(self, shop: Callable[..., Shop]) -> None:
        table = shop(" append", "table")
        first, second = table.put("(1, 'a')"), table.put("(1, 'a')")
        assert first.digest is not None and second.digest is None
