"""History: every version of every row, whatever the order in which snapshots arrive."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected, RowsRejected

if TYPE_CHECKING:
    from .conftest import Bench

Row = tuple[str, str]
"""Tier and note of a customer; the tier is tracked, the note is not."""
Snapshot = Mapping[int, Row]
Version = tuple[int, str, str, str, str | None, bool]

FIRST = datetime(2026, 5, 1, tzinfo=UTC)


def day(number: int) -> str:
    return (FIRST + timedelta(days=number)).date().isoformat()


def instant(number: int) -> str:
    return f"{day(number)}T00:00:00Z"


def expected(snapshots: Mapping[int, Snapshot], *, close: bool) -> list[Version]:
    """The versions after all these snapshots, worked out one customer at a time."""
    found: list[Version] = []
    for customer in {c for rows in snapshots.values() for c in rows}:
        open_: list[Any] | None = None
        for number in sorted(snapshots):
            row = snapshots[number].get(customer)
            if row is None:
                if open_ is not None and close:
                    found.append((*open_, instant(number), False))
                    open_ = None
            elif open_ is None or open_[1] != row[0]:
                if open_ is not None:
                    found.append((*open_, instant(number), False))
                open_ = [customer, *row, instant(number)]
        if open_ is not None:
            found.append((*open_, None, True))
    return sorted(found, key=repr)


class Customers:
    """A history of customers, fed with snapshots."""

    def __init__(self, bench: Bench, options: str, more: str = "") -> None:
        self.bench = bench
        sliced = "-- partitioned daily\n" if "at=partition" in options else ""
        self.sliced = bool(sliced)
        self.header = f"-- pipeline\n{sliced}-- materialize lake://main/@t key=id {options}\n{more}"

    def put(self, number: int, rows: Snapshot | str, **how: Any) -> Any:
        """Runs for a day with the customers of that day."""
        if self.sliced:
            how["partition"] = day(number)
        else:
            how["fire_time"] = FIRST + timedelta(days=number)
        return self.bench.run(self.header + self.select(rows), **how)

    def select(self, rows: Snapshot | str) -> str:
        if isinstance(rows, str):
            return rows
        values = ", ".join(f"({c}, '{tier}', '{note}')" for c, (tier, note) in rows.items())
        if not rows:
            return "SELECT 1 AS id, 'a' AS tier, 'b' AS note WHERE false"
        return f"SELECT * FROM VALUES {values} AS v(id, tier, note)"

    def versions(self) -> list[Version]:
        found = self.bench.sql("SELECT * FROM @t")
        return sorted((tuple(row.values()) for row in found), key=repr)

    def current(self) -> list[dict[str, Any]]:
        return self.bench.sql("SELECT * FROM @t_current ORDER BY id")

    def commits(self) -> int:
        return len(self.bench.sql("SELECT 1 FROM @t.history"))


@pytest.fixture
def customers(bench: Bench) -> Callable[..., Customers]:
    return lambda *what: Customers(bench, *what)


DAYS: dict[int, Snapshot] = {
    0: {1: ("gold", "x"), 2: ("free", "x")},
    1: {1: ("gold", "y"), 2: ("plus", "x"), 3: ("free", "x")},
    3: {1: ("gold", "y"), 3: ("free", "z")},
    4: {1: ("free", "y"), 2: ("plus", "x"), 3: ("gold", "z")},
}


class TestNow:
    """Without at=, a snapshot holds from the run's fire time on."""

    @pytest.mark.parametrize("close", [pytest.param(False, marks=pytest.mark.slow), True])
    def test_versions(self, customers: Callable[..., Customers], close: bool) -> None:
        table = customers("history track=tier" + (" deletes=close" if close else ""))
        seen: dict[int, Snapshot] = {}
        for number, rows in DAYS.items():
            table.put(number, rows)
            seen[number] = rows
            assert table.versions() == expected(seen, close=close)
        current = {row["id"]: row["tier"] for row in table.current()}
        assert current == {1: "free", 2: "plus", 3: "gold"}

    def test_the_history_begins_with_its_columns_last(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history")
        written = table.put(0, DAYS[0])
        (first, _) = table.versions()
        assert first == (1, "gold", "x", instant(0), None, True)
        assert written.rows == 2
        assert written.columns == (("id", "int"), ("tier", "string"), ("note", "string"))

    def test_an_unchanged_snapshot_writes_nothing(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history track=tier deletes=close")
        first = table.put(0, DAYS[0])
        before = table.commits()
        again = table.put(1, {1: ("gold", "other note"), 2: ("free", "x")})
        assert (again.rows, again.changed, again.snapshot) == (0, False, first.snapshot)
        assert table.commits() == before
        assert table.versions() == expected({0: DAYS[0]}, close=True)

    def test_every_column_is_tracked_unless_some_are_named(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history")
        table.put(0, {1: ("gold", "x")})
        assert table.put(1, {1: ("gold", "y")}).rows == 2
        assert len(table.versions()) == 2

    def test_nulls_are_values(self, customers: Callable[..., Customers]) -> None:
        table = customers("history")
        null = "SELECT 1 AS id, CAST(NULL AS STRING) AS tier, 'x' AS note"
        table.put(0, null)
        assert not table.put(1, null).changed
        table.put(2, {1: ("gold", "x")})
        table.put(3, null)
        assert [v[1] for v in sorted(table.versions(), key=lambda v: v[3])] == [None, "gold", None]

    def test_a_changed_snapshot_of_the_same_time_amends_it(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history deletes=close")
        table.put(0, {1: ("gold", "x"), 2: ("free", "x")})
        table.put(0, {1: ("plus", "x")})
        assert table.versions() == [(1, "plus", "x", instant(0), None, True)]

    def test_time_does_not_go_backwards(self, customers: Callable[..., Customers]) -> None:
        table = customers("history")
        table.put(5, {1: ("gold", "x")})
        with pytest.raises(RowsRejected, match=r"newer than this run.*at=<column>"):
            table.put(4, {1: ("plus", "x")})
        assert len(table.versions()) == 1

    @pytest.mark.slow
    def test_time_does_not_go_backwards_wherever_the_key_lies(
        self, customers: Callable[..., Customers]
    ) -> None:
        """Whether there are changes shows in the first part of the rows, what is wrong maybe not."""
        table = customers("history")
        table.put(5, dict.fromkeys(range(1, 6), ("gold", "x")))
        several = "SET spark.sql.adaptive.enabled = false;\n"
        for late in range(1, 6):
            rows = {late: ("plus", "x"), **dict.fromkeys(range(100, 140), ("free", "x"))}
            with pytest.raises(RowsRejected, match="newer than this run"):
                table.put(4, several + table.select(rows))
        assert len(table.versions()) == 5

    def test_bad_keys(self, customers: Callable[..., Customers]) -> None:
        table = customers("history")
        twice = "SELECT * FROM VALUES (1, 'a', 'b'), (1, 'b', 'b') AS v(id, tier, note)"
        with pytest.raises(RowsRejected, match=r"same key id: 1 \(2 rows\)"):
            table.put(0, twice)
        table.put(0, DAYS[0])
        with pytest.raises(RowsRejected, match=r"same key id: 1 \(2 rows\)"):
            table.put(1, twice)
        assert table.versions() == expected({0: DAYS[0]}, close=False)

    @pytest.mark.parametrize(
        ("options", "select", "complaint"),
        [
            ("history", "SELECT 1 AS id, true AS is_current", "projects is_current"),
            ("history", "SELECT 1 AS nr, 'a' AS tier", "key= names id"),
            ("history track=teir", "SELECT 1 AS id, 'a' AS tier", "track= names teir"),
            ("history at=seen", "SELECT 1 AS id, 'a' AS tier", "at= names seen"),
        ],
    )
    def test_wrong_columns(
        self, customers: Callable[..., Customers], options: str, select: str, complaint: str
    ) -> None:
        with pytest.raises(ColumnsRejected, match=complaint):
            customers(options).put(0, select)

    def test_a_table_in_the_place_of_the_view(
        self, customers: Callable[..., Customers], bench: Bench
    ) -> None:
        bench.sql("CREATE TABLE @t_current (id INT) USING iceberg")
        with pytest.raises(ColumnsRejected, match="t_current is a table"):
            customers("history").put(0, DAYS[0])

    def test_a_column_may_be_added_and_nothing_else(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history on_schema_change=sync")
        table.put(0, "SELECT 1 AS id, 'gold' AS tier")
        table.put(1, "SELECT 1 AS id, 'gold' AS tier, 7 AS points")
        found = table.bench.sql("SELECT tier, points, is_current FROM @t ORDER BY valid_from")
        assert found == [
            {"tier": "gold", "points": None, "is_current": False},
            {"tier": "gold", "points": 7, "is_current": True},
        ]
        assert [row["points"] for row in table.current()] == [7]
        with pytest.raises(ColumnsRejected, match="tier as int"):
            table.put(2, "SELECT 1 AS id, 5 AS tier, 7 AS points")

    def test_other_columns_are_rejected(self, customers: Callable[..., Customers]) -> None:
        table = customers("history")
        table.put(0, "SELECT 1 AS id, 'gold' AS tier")
        with pytest.raises(ColumnsRejected, match="adds points"):
            table.put(1, "SELECT 1 AS id, 'gold' AS tier, 7 AS points")


class TestAtPartition:
    """With at=partition, each slice holds from the start of its window on."""

    @pytest.mark.parametrize("close", [pytest.param(False, marks=pytest.mark.slow), True])
    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))]
    )
    @pytest.mark.slow
    def test_the_order_of_arrival_does_not_matter(
        self, customers: Callable[..., Customers], close: bool, seed: int
    ) -> None:
        chance = random.Random(seed * 2 + close)
        table = customers("history at=partition track=tier" + (" deletes=close" if close else ""))
        tiers, notes = ("a", "b"), ("x", "y")
        seen: dict[int, Snapshot] = {}
        arrivals = [*range(4), *chance.sample(range(4), 2)]
        chance.shuffle(arrivals)
        for number in arrivals:
            rows = {
                customer: (chance.choice(tiers), chance.choice(notes))
                for customer in range(1, 5)
                if chance.random() < 0.7
            }
            table.put(number, rows)
            seen[number] = rows
            assert table.versions() == expected(seen, close=close), (arrivals, number)

    def test_a_late_slice_splits_the_right_interval(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history at=partition")
        table.put(0, {1: ("gold", "x")})
        table.put(4, {1: ("gold", "x")})
        table.put(2, {1: ("free", "x")})
        assert [(v[1], v[3][:10], v[4] and v[4][:10]) for v in table.versions()] == [
            ("free", day(2), day(4)),
            ("gold", day(0), day(2)),
            ("gold", day(4), None),
        ]

    @pytest.mark.slow
    def test_a_slice_that_repeats_what_is_known_changes_nothing(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history at=partition")
        table.put(0, DAYS[0])
        before = table.commits()
        for number in (0, 2, 1):
            written = table.put(number, DAYS[0])
            assert (written.rows, written.changed) == (0, False)
        assert table.commits() == before

    @pytest.mark.slow
    def test_versions_that_were_not_derived_are_derived_by_the_next_run(
        self, customers: Callable[..., Customers], bench: Bench
    ) -> None:
        """As after a crash between the observations and the versions."""
        from tranche.lakes import observed

        table = customers("history at=partition track=tier")
        table.put(0, DAYS[0])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(observed, "make_current_view", _crash)
            patched.setattr(observed.SlicedHistoryWriter, "renew", _crash)
            with pytest.raises(RuntimeError, match="crash"):
                table.put(1, DAYS[1])
        assert table.versions() == expected({0: DAYS[0]}, close=False)
        table.put(1, DAYS[1])
        assert table.versions() == expected({0: DAYS[0], 1: DAYS[1]}, close=False)

    @pytest.mark.slow
    def test_what_was_observed_is_kept_slice_by_slice(
        self, customers: Callable[..., Customers], bench: Bench
    ) -> None:
        table = customers("history at=partition")
        table.put(0, DAYS[0])
        table.put(1, DAYS[1])
        table.put(1, DAYS[0])
        found = bench.sql(
            "SELECT _tranche_partition AS day, count(*) AS n FROM @t__observed GROUP BY 1"
        )
        assert {row["day"]: row["n"] for row in found} == {day(0): 2, day(1): 2}

    def test_bad_keys(self, customers: Callable[..., Customers]) -> None:
        table = customers("history at=partition")
        twice = "SELECT * FROM VALUES (1, 'a', 'b'), (1, 'b', 'b') AS v(id, tier, note)"
        with pytest.raises(RowsRejected, match=r"same key id: 1 \(2 rows\)"):
            table.put(0, twice)


def _crash(*_: Any) -> None:
    raise RuntimeError("crash")


class TestAtColumn:
    """With at=<column>, each row says from when on it holds."""

    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))]
    )
    @pytest.mark.slow
    def test_rows_may_come_in_any_order_and_twice(
        self, customers: Callable[..., Customers], seed: int
    ) -> None:
        order = [(1, "a", 1), (1, "b", 3), (1, "b", 5), (1, "a", 8), (2, "c", 2)]
        random.Random(seed).shuffle(order)
        table = customers("history at=seen")
        for number, (customer, tier, since) in enumerate([*order, order[0]]):
            table.put(
                20 + number,
                f"SELECT {customer} AS id, '{tier}' AS tier, DATE'{day(since)}' AS seen",
            )
        found = table.bench.sql(
            "SELECT id, tier, date(valid_from) AS since, date(valid_to) AS until FROM @t"
            " ORDER BY id, since"
        )
        assert [tuple(row.values()) for row in found] == [
            (1, "a", day(1), day(3)),
            (1, "b", day(3), day(8)),
            (1, "a", day(8), None),
            (2, "c", day(2), None),
        ]

    @pytest.mark.slow
    def test_several_versions_of_a_key_at_once(self, customers: Callable[..., Customers]) -> None:
        table = customers("history at=seen")
        table.put(
            9,
            "SELECT * FROM VALUES (1, 'a', DATE'2026-05-01'), (1, 'b', DATE'2026-05-02')"
            " AS v(id, tier, seen)",
        )
        assert len(table.versions()) == 2

    @pytest.mark.slow
    def test_a_key_that_is_missing_ends_at_the_fire_time(
        self, customers: Callable[..., Customers]
    ) -> None:
        table = customers("history at=seen deletes=close")
        both = "SELECT * FROM VALUES (1, 'a', DATE'2026-05-01'), (2, 'b', DATE'2026-05-01') AS v(id, tier, seen)"
        table.put(1, both)
        table.put(4, both + " WHERE id = 1")
        found = table.bench.sql("SELECT id, date(valid_to) AS until FROM @t ORDER BY id")
        assert found == [{"id": 1, "until": None}, {"id": 2, "until": day(4)}]
        table.put(
            6,
            "SELECT * FROM VALUES (1, 'a', DATE'2026-05-01'), (2, 'b', DATE'2026-05-06') AS v(id, tier, seen)",
        )
        found = table.bench.sql("SELECT date(valid_from) AS since FROM @t WHERE id = 2 ORDER BY 1")
        assert [row["since"] for row in found] == [day(0), day(5)]

    def test_a_row_without_a_time(self, customers: Callable[..., Customers]) -> None:
        table = customers("history at=seen")
        with pytest.raises(RowsRejected, match="no key id,seen"):
            table.put(1, "SELECT 1 AS id, 'a' AS tier, CAST(NULL AS DATE) AS seen")


class TestCurrentRows:
    """`<table>_current` is read as the history itself, at one snapshot."""

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(
        "select",
        [
            "SELECT id, tier FROM @t_current",
            "SELECT t_current.id, t_current.tier FROM @t_current",
            "SELECT @t_current.id, @t_current.tier FROM @t_current",
            "SELECT c.id, c.tier FROM @t_current AS c JOIN @t_current AS d ON c.id = d.id",
        ],
    )
    def test_it_can_be_read_by_scripts(
        self, customers: Callable[..., Customers], bench: Bench, select: str
    ) -> None:
        table = customers("history")
        table.put(0, DAYS[0])
        snapshot = table.put(1, DAYS[1]).snapshot
        staged, written = bench.tried(f"-- pipeline\n{select}")
        assert written.result is not None
        assert sorted(written.result.values) == [(1, "gold"), (2, "plus"), (3, "free")]
        assert staged.sources == {f"lake://main/{bench.schema}.t": snapshot}
