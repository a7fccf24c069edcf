"""Layouts: how files are split, and that nothing but files changes with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import ColumnsRejected, CommitLost, SourceMissing
from tranche.lakes.iceberg.layout import lay_out

if TYPE_CHECKING:
    from .conftest import Bench

DAY, OTHER = "2026-05-15", "2026-05-16"
STRATEGIES = {"replace": "", "merge": " key=id", "append": " append"}
KINDS = (
    ("replace", "partition", "untested"),
    ("merge", "partition", "tested"),
    *(
        pytest.param(kind, marks=pytest.mark.slow)
        for kind in (
            ("replace", "partition", "tested"),
            ("replace", "table", "tested"),
            ("merge", "table", "untested"),
            ("append", "partition", "untested"),
        )
    ),
)
TEST = "-- data_test not_null id\n"
NAMES = "abcdefgh"


class Events:
    """A table of events with a layout, written from rows that a test gives."""

    def __init__(
        self, bench: Bench, made: str = "", *, sliced: bool = True, more: str = ""
    ) -> None:
        self.bench = bench
        self.sliced = sliced
        self.rebuilt = not made and not sliced
        kind = "-- partitioned daily\n" if sliced else ""
        self.header = f"-- pipeline\n{kind}-- materialize lake://main/@t{made}\n{more}"

    def script(self, ids: Any, layout: str | None, more: str = "") -> str:
        """Events with these numbers: a name and a time come with each."""
        line = f"-- layout {layout}\n" if layout else ""
        values = ", ".join(
            f"({n}, '{NAMES[n % 8]}', TIMESTAMP'2026-05-{10 + n % 5} {n % 24:02}:00:00')"
            for n in ids or (0,)
        )
        where = "" if ids else " WHERE false"
        columns = f"id, name, ts{more}"
        return f"{self.header}{line}SELECT {columns} FROM VALUES {values} AS v(id, name, ts){where}"

    def key(self, day: str) -> dict[str, str]:
        return {"partition": day} if self.sliced else {}

    def put(self, ids: Any, layout: str | None, day: str = DAY, more: str = "") -> Any:
        return self.bench.run(self.script(ids, layout, more), **self.key(day))

    def ids(self, day: str | None = None) -> list[int]:
        where = f" WHERE _tranche_partition = '{day}'" if day and self.sliced else ""
        return sorted(row["id"] for row in self.bench.sql(f"SELECT id FROM @t{where}"))

    def fields(self) -> list[str]:
        """The layout without the slice, which must be there if the table has any."""
        made = self.bench.sql("SHOW CREATE TABLE @t")[0]["createtab_stmt"]
        _, found, rest = made.partition("PARTITIONED BY (")
        fields = rest.split(")\n")[0] if found else ""
        every = [field for field in re.split(r", (?![^(]*\))", fields) if field]
        assert every[: self.sliced] == ["_tranche_partition"] * self.sliced, made
        return every[self.sliced :]

    def property(self) -> str | None:
        found = self.bench.sql("SHOW TBLPROPERTIES @t")
        return {row["key"]: row["value"] for row in found}.get("tranche.layout")

    def files(self, day: str | None = None) -> list[str]:
        where = f" WHERE partition._tranche_partition = '{day}'" if day and self.sliced else ""
        return sorted(
            r["file_path"] for r in self.bench.sql(f"SELECT file_path FROM @t.files{where}")
        )

    def metadata(self) -> int:
        """How often anything at all was committed."""
        return len(self.bench.sql("SELECT file FROM @t.metadata_log_entries"))


@pytest.fixture
def events(bench: Bench) -> Callable[..., Events]:
    return lambda *what, **how: Events(bench, *what, **how)


@pytest.fixture(params=[True, False], ids=["partition", "table"])
def sliced(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=["", TEST], ids=["untested", "tested"])
def tested(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=KINDS, ids=" ".join)
def table(request: pytest.FixtureRequest, bench: Bench) -> Events:
    """Each strategy with each unit, and each way of writing it."""
    strategy, unit, how = request.param
    tested = TEST if how == "tested" else ""
    return Events(bench, STRATEGIES[strategy], sliced=unit == "partition", more=tested)


class TestLine:
    @pytest.mark.sampled(2)
    def test_a_table_is_made_with_it_and_follows_it(self, table: Events) -> None:
        table.put(range(40), "bucket(4, name), day(ts)")
        assert table.ids() == list(range(40))
        assert table.fields() == ["bucket(4, name)", "days(ts)"]
        assert table.property() == "bucket(4, name), day(ts)"
        assert len(table.files()) > 8
        before = table.files()
        table.put(range(40, 44), "name", OTHER)
        rows = range(40, 44) if table.rebuilt else range(44)
        assert table.ids() == list(rows)
        assert (table.fields(), table.property()) == (["name"], "name")
        if not table.rebuilt:
            assert set(before) < set(table.files())
        # A line that goes takes its layout with it, once.
        table.put(range(44, 48), None, OTHER)
        assert (table.fields(), table.property()) == ([], None)
        assert table.ids(OTHER)[-1] == 47
        commits = table.metadata()
        table.put((), None, OTHER)
        assert table.fields() == []
        assert table.metadata() - commits <= 2

    def test_an_order_that_somebody_set_is_kept(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table, ids = events(), range(9, 0, -1)

        def files() -> list[list[int]]:
            rows = bench.sql("SELECT id, _file AS file FROM @t ORDER BY _file, _pos")
            return [[r["id"] for r in of] for _, of in groupby(rows, lambda row: row["file"])]

        table.put(ids, None)
        assert all(file == sorted(file, reverse=True) for file in files())
        bench.sql("ALTER TABLE @t WRITE ORDERED BY id")
        table.put(ids, None)
        assert all(file == sorted(file) for file in files())
        assert len(files()) < 9 and table.ids() == sorted(ids)

    @pytest.mark.slow
    def test_it_may_change_while_a_slice_is_written(
        self, events: Callable[..., Events], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = events()
        table.put(range(20), "name")
        looks = []

        def outdated(*given: Any) -> bool:
            looks.append(given)
            return lay_out(*given) and len(looks) > 1

        monkeypatch.setattr("tranche.lakes.iceberg.table.lay_out", outdated)
        table.put(range(10, 40), "name")
        assert (table.ids(), len(looks)) == (list(range(10, 40)), 2)

    def test_old_files_stay_as_they_are(self, events: Callable[..., Events]) -> None:
        table = events()
        table.put(range(20), None)
        before = table.files()
        assert len(before) <= 2
        table.put(range(20, 40), "bucket(4, name), day(ts)", OTHER)
        assert table.files(DAY) == before
        assert len(table.files(OTHER)) > 8
        table.put(range(20), "bucket(4, name), day(ts)")
        assert len(table.files(DAY)) > 8
        assert table.ids() == list(range(40))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("first", "then", "expected"),
        [
            ("bucket(4, id)", "bucket(8, id)", ["bucket(8, id)"]),
            ("month(ts)", "hour(ts)", ["hours(ts)"]),
            ("bucket(4, id), bucket(8, id)", "bucket(8, id)", ["bucket(8, id)"]),
            ("bucket(4, ID), Year(TS), day(ts)", "day(TS), name", ["days(ts)", "name"]),
            ("name", "bucket(2, name), name", ["name", "bucket(2, name)"]),
        ],
    )
    def test_changes(
        self, events: Callable[..., Events], first: str, then: str, expected: list[str]
    ) -> None:
        table = events()
        table.put(range(10), first)
        table.put(range(10), then)
        assert table.fields() == expected
        assert table.ids() == list(range(10))
        # Back and forth: no two fields of one name, or the files could not be listed any more.
        table.put(range(10), first)
        table.put(range(12), then)
        assert sorted(table.fields()) == sorted(expected)
        assert len(table.files()) >= 1
        assert table.ids() == list(range(12))

    @pytest.mark.parametrize("line", ["bucket(4, name), day(ts)", None])
    def test_what_stays_the_same_costs_no_commit(
        self, events: Callable[..., Events], line: str | None
    ) -> None:
        table = events()
        table.put(range(10), line)
        before = table.metadata()
        table.put(range(10), line)
        table.put(range(10), line and "day(ts), year(TS), bucket(4, name)")
        assert table.metadata() == before + 2

    @pytest.mark.slow
    def test_a_failing_test_leaves_readers_what_they_had(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table = events(more="-- data_test accepted_values name = a,b\n")
        table.put((0, 1, 8), "name")
        before = table.files()
        step, _ = bench.ran(table.script(range(8), "day(ts)"), partition=DAY)
        assert step.record.status == "failed"
        assert (table.files(), table.ids()) == (before, [0, 1, 8])
        step, _ = bench.ran(table.script((0, 1), "day(ts)"), partition=DAY)
        assert step.record.status == "succeeded"
        assert (table.ids(), table.fields()) == ([0, 1], ["days(ts)"])

    @pytest.mark.slow
    def test_writers_of_several_slices_may_change_it_at_once(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table = events()
        table.put(range(4), None, "2026-05-01")

        def put(number: int) -> None:
            table.put(range(number, number + 8), "bucket(2, name), day(ts)", f"2026-05-0{number}")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put, range(2, 6)))
        assert table.fields() == ["bucket(2, name)", "days(ts)"]
        for number in range(2, 6):
            assert table.ids(f"2026-05-0{number}") == list(range(number, number + 8))

    @pytest.mark.slow
    def test_a_column_may_be_called_as_iceberg_would_call_a_field(
        self, events: Callable[..., Events], sliced: bool
    ) -> None:
        table = events(sliced=sliced)
        more = ", 1 AS ts_day, 2 AS id_bucket, 3 AS id_bucket_4"
        table.put(range(10), "day(ts), bucket(4, id), ts_day", more=more)
        assert sorted(table.fields()) == ["bucket(4, id)", "days(ts)", "ts_day"]
        table.put(range(20), "day(ts), bucket(4, id), ts_day", more=more)
        assert table.ids() == list(range(20))
        assert len(table.files()) > 8

    @pytest.mark.slow
    def test_names_of_columns_may_be_odd(self, events: Callable[..., Events]) -> None:
        table = events()
        more = ", name AS `an (odd), one`, name AS `a``b`, name AS `1st`"
        line = 'bucket(2, `an (odd), one`), `a``b`, "1st"'
        table.put(range(10), line, more=more)
        table.put(range(10), line, more=more)
        assert (
            table.bench.sql("SELECT count(*) AS n FROM @t.files WHERE record_count > 0")[0]["n"] > 4
        )
        before = table.metadata()
        table.put(range(10), line, more=more)
        assert table.metadata() == before + 1
        table.put(range(10), None, more=more)
        assert table.fields() == []


@pytest.mark.slow
class TestRebuild:
    """A whole table whose columns change is made anew."""

    @pytest.mark.parametrize(
        ("line", "tested"),
        [("bucket(4, id), day(ts)", TEST), ("bucket(8, id), name", ""), (None, "")],
    )
    def test_the_line_is_restated(
        self, events: Callable[..., Events], line: str | None, tested: str
    ) -> None:
        table = events(sliced=False, more=tested)
        table.put(range(20), "bucket(4, id), day(ts)")
        table.put(range(30), line, more=", 1 AS more")
        expected = (line or "").replace("day(", "days(")
        assert sorted(table.fields()) == [f for f in expected.replace("), ", ")|").split("|") if f]
        assert table.property() == line
        assert table.ids() == list(range(30))
        table.put(range(40), line, more=", 1 AS more")
        assert (len(table.files()) > 4) == bool(line)

    def test_a_layout_that_did_not_change_splits_the_new_files_too(
        self, events: Callable[..., Events]
    ) -> None:
        table = events(sliced=False)
        table.put(range(20), "bucket(4, id), day(ts)")
        for number in range(3):
            table.put(range(20), "bucket(4, id), day(ts)", more=f", 1 AS more{number}")
            assert len(table.files()) > 8
        # Evolved before, and made anew since.
        table.put(range(20), "bucket(2, id), hour(ts)", more=", 1 AS more2")
        table.put(range(20), "bucket(2, id), hour(ts)")
        table.put(range(20), "bucket(2, id), hour(ts)")
        assert table.fields() == ["hours(ts)", "bucket(2, id)"]
        assert len(table.files()) == 20

    def test_what_somebody_set_stays(self, bench: Bench, events: Callable[..., Events]) -> None:
        table = events(sliced=False)
        table.put(range(20), None)
        bench.sql("ALTER TABLE @t SET PARTITIONED BY (bucket(4, id), day(ts))")
        table.put(range(20), None, more=", 1 AS more")
        assert table.fields() == ["bucket(4, id)", "days(ts)"]
        assert table.property() is None
        assert len(table.files()) > 8

    def test_a_column_of_the_layout_may_go_and_come_back(
        self, events: Callable[..., Events]
    ) -> None:
        table = events(sliced=False)
        table.put(range(10), "bucket(2, extra), day(ts)", more=", id AS extra")
        table.put(range(10), "day(ts)")
        assert table.fields() == ["days(ts)"]
        table.put(range(10), "bucket(2, extra)", more=", id AS extra")
        assert table.fields() == ["bucket(2, extra)"]
        assert len(table.files()) == 2
        assert table.ids() == list(range(10))


SCENARIOS = {
    "several partitions": (range(40), "bucket(4, name), day(ts)", range(20, 60)),
    "rows move between buckets": ((0, 1, 2), "bucket(8, name)", (3, 4, 5)),
    "an empty slice": (range(40), "bucket(4, name), day(ts)", ()),
    "one of several buckets is left": (range(40), "name", (0, 8)),
}


class TestReplaced:
    """What replaces a slice leaves nothing of it, and touches nothing else."""

    @pytest.mark.slow
    @pytest.mark.parametrize("scenario", SCENARIOS)
    @pytest.mark.parametrize(
        ("tested", "older", "moved"),
        [("", True, False), (TEST, False, True), (TEST, True, True)],
        ids=["older spec, untested", "moved", "older spec, moved"],
    )
    def test_scenarios(
        self,
        bench: Bench,
        events: Callable[..., Events],
        scenario: str,
        tested: str,
        older: bool,
        moved: bool,
    ) -> None:
        table = events(more=tested)
        first, layout, then = SCENARIOS[scenario]
        table.put(first, "bucket(2, id)" if older else layout)
        table.put(range(100, 110), None if older else layout, OTHER)
        others = table.files(OTHER)
        with bench.engine.attempt(bench.work(table.script(then, layout), partition=DAY)) as trial:
            trial.stage()
            assert table.ids(DAY) == list(first)
            if moved:
                table.put(range(200, 210), layout, "2026-05-17")
            written = trial.publish()
        assert table.ids(DAY) == sorted(then)
        assert table.files(OTHER) == others
        assert table.ids(OTHER) == list(range(100, 110))
        assert table.ids("2026-05-17") == (list(range(200, 210)) if moved else [])
        assert (written.rows, written.digest is not None) == (len(then), True)
        names = {NAMES[n % 8] for n in then}
        assert len(table.files(DAY)) >= (len(names) if layout == "name" else min(1, len(names)))

    @pytest.mark.slow
    @pytest.mark.parametrize("layout", ["bucket(4, name)", "name", None])
    def test_a_slice_that_somebody_else_changed_is_not_mixed_up(
        self, bench: Bench, events: Callable[..., Events], layout: str | None
    ) -> None:
        table = events(more=TEST)
        table.put((0, 1), layout)
        work = bench.work(table.script((2,), layout), partition=DAY)
        with bench.engine.attempt(work) as trial:
            trial.stage()
            # Into partitions to which the staged commit adds nothing.
            bench.sql(f"INSERT INTO @t VALUES (11, 'x', now(), '{DAY}'), (12, 'y', now(), '{DAY}')")
            with pytest.raises(CommitLost):
                trial.publish()
        assert table.ids(DAY) == [0, 1, 11, 12]
        step, _ = bench.ran(table.script((2,), layout), partition=DAY)
        assert (step.record.status, table.ids(DAY)) == ("succeeded", [2])

    @pytest.mark.slow
    def test_a_step_is_published_once(
        self, bench: Bench, events: Callable[..., Events], tested: str
    ) -> None:
        table = events(more=tested)
        table.put(range(8), "name")
        work = [
            bench.work(table.script((2, 3), "name"), attempt, run="one", partition=DAY)
            for attempt in ("lost", "late")
        ]
        with bench.engine.attempt(work[0]) as first, bench.engine.attempt(work[1]) as second:
            first.stage()
            second.stage()
            first.publish()
            written = second.publish()
        assert (table.ids(), written.rows) == ([2, 3], 2)


@pytest.mark.slow
class TestMerged:
    @pytest.mark.parametrize("moved", [True, False], ids=["moved", "still"])
    def test_rows_move_between_partitions(
        self, bench: Bench, events: Callable[..., Events], sliced: bool, moved: bool
    ) -> None:
        table = events(" key=id", sliced=sliced, more=TEST if moved else "")
        table.put(range(10), "bucket(4, name), day(ts)")
        script = table.script((8, 9, 10), "hour(ts), name").replace("'a'", "'z'")
        work = bench.work(script, **table.key(DAY))
        with bench.engine.attempt(work) as trial:
            trial.stage()
            if moved and sliced:
                table.put(range(5), "hour(ts), name", OTHER)
            written = trial.publish()
        assert table.ids(DAY) == list(range(11))
        assert table.ids(OTHER) == (list(range(5)) if moved and sliced else table.ids(OTHER))
        found = bench.sql("SELECT id FROM @t WHERE name = 'z'")
        assert [row["id"] for row in found] == [8]
        assert written.rows == 11

    def test_a_merge_that_somebody_overtook_is_tried_again(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table = events(" key=id")
        table.put(range(4), "name")
        script = table.script((0,), "name").replace("'a'", "'z'")
        with bench.engine.attempt(bench.work(script, partition=DAY)) as trial:
            trial.stage()
            bench.sql(f"INSERT INTO @t VALUES (5, 'f', now(), '{DAY}')")
            with pytest.raises(CommitLost):
                trial.publish()
        assert table.ids() == [0, 1, 2, 3, 5]
        step, _ = bench.ran(script, partition=DAY)
        assert (step.record.status, table.ids()) == ("succeeded", [0, 1, 2, 3, 5])


@pytest.mark.slow
class TestHistory:
    HEADER = "-- pipeline\n{0}-- materialize lake://main/@t key=id history track=name{1}\n{2}{3}"

    @pytest.mark.parametrize(("at", "tested"), [("", TEST), (" at=partition", ""), (" at=ts", "")])
    def test_versions_are_laid_out(self, bench: Bench, at: str, tested: str) -> None:
        sliced = "-- partitioned daily\n" if at == " at=partition" else ""

        def put(day: int, names: str, layout: str | None) -> None:
            line = f"-- layout {layout}\n" if layout else ""
            rows = ", ".join(
                f"({n}, '{c}', TIMESTAMP'2026-05-{day} 00:00:00')" for n, c in enumerate(names)
            )
            script = self.HEADER.format(sliced, at, line, tested)
            script += f"SELECT * FROM VALUES {rows} AS v(id, name, ts)"
            how: dict[str, Any] = {"fire_time": datetime(2026, 5, day, 12, tzinfo=UTC)}
            if sliced:
                how["partition"] = f"2026-05-{day}"
            bench.run(script, **how)

        table = Events(bench, sliced=False)
        put(10, "abc", "bucket(2, id), is_current")
        assert table.fields() == ["bucket(2, id)", "is_current"]
        put(11, "abd", "bucket(2, id), is_current")
        versions = "SELECT id, name, is_current FROM @t ORDER BY id, valid_from"
        rows = [tuple(row.values()) for row in bench.sql(versions)]
        assert rows == [(0, "a", True), (1, "b", True), (2, "c", False), (2, "d", True)]
        put(12, "axd", "month(valid_from)")
        assert table.fields() == ["months(valid_from)"]
        put(13, "ayd", None)
        assert (table.fields(), table.property()) == ([], None)
        rows = [tuple(row.values()) for row in bench.sql(versions)]
        assert rows == [
            (0, "a", True), (1, "b", False), (1, "x", False), (1, "y", True),
            (2, "c", False), (2, "d", True),
        ]  # fmt: skip
        assert len(bench.sql("SELECT * FROM @t_current")) == 3
        if at:
            made = bench.sql("SHOW CREATE TABLE @t__observed")[0]["createtab_stmt"]
            assert "bucket" not in made and "month" not in made


class TestByHand:
    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(("made", "sliced"), [("", True), (" key=id", False)])
    def test_set_and_reset(
        self, bench: Bench, events: Callable[..., Events], made: str, sliced: bool
    ) -> None:
        table = events(made, sliced=sliced)
        table.put(range(8), None)
        bench.sql("ALTER TABLE @t SET PARTITIONED BY (bucket(8, name), year(ts), month(ts))")
        assert table.fields() == ["bucket(8, name)", "months(ts)"]
        before = table.metadata()
        bench.sql("alter table @t set partitioned by (month(ts), bucket(8, name));")
        assert table.metadata() == before
        table.put(range(8, 24), None)
        assert table.fields() == ["bucket(8, name)", "months(ts)"]
        assert len(table.files()) >= 4
        assert table.property() is None
        bench.sql("ALTER TABLE @t RESET PARTITIONED BY")
        assert table.fields() == []
        table.put(range(8, 24), None)
        assert table.ids()[-1] == 23

    @pytest.mark.slow
    def test_a_line_wins_again_with_the_next_run(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table = events()
        table.put(range(8), "name")
        bench.sql("ALTER TABLE @t SET PARTITIONED BY (day(ts))")
        assert (table.fields(), table.property()) == (["days(ts)"], None)
        table.put(range(8), "name")
        assert (table.fields(), table.property()) == (["name"], "name")
        bench.sql("ALTER TABLE @t SET PARTITIONED BY (day(ts))")
        table.put(range(8), None)
        assert table.fields() == ["days(ts)"]

    @pytest.mark.slow
    def test_what_tranche_has_no_word_for_can_be_reset(
        self, bench: Bench, events: Callable[..., Events]
    ) -> None:
        table = events()
        table.put(range(8), None)
        bench.sql("ALTER TABLE @t ADD PARTITION FIELD truncate(1, name)")
        table.put(range(8), None)
        assert table.fields() == ["truncate(1, name)"]
        bench.sql("ALTER TABLE @t RESET PARTITIONED BY")
        assert table.fields() == []

    @pytest.mark.parametrize(
        ("action", "complaint"),
        [
            ("(month(name))", "month(name) cannot be made of name, a column of string;"),
            ("(bucket(8, nr))", "the layout names nr, and the table has no such column;"),
        ],
    )
    def test_what_does_not_fit(
        self, bench: Bench, events: Callable[..., Events], action: str, complaint: str
    ) -> None:
        table = events()
        table.put(range(8), "name")
        with pytest.raises(ColumnsRejected) as error:
            bench.sql(f"ALTER TABLE @t SET PARTITIONED BY {action}")
        assert str(error.value).startswith(complaint)
        assert table.fields() == ["name"]

    def test_a_table_that_is_not_there(self, bench: Bench) -> None:
        with pytest.raises(SourceMissing, match="does not exist; make it first"):
            bench.sql("ALTER TABLE @t RESET PARTITIONED BY")


class TestRejected:
    @pytest.mark.parametrize(
        ("line", "complaint"),
        [
            ("bucket(8, nr)", "the layout names nr, and the table has no such column; the columns are id, name, ts, f, d, l"),
            ("month(name)", "month(name) cannot be made of name, a column of string; use a date or a timestamp"),
            ("hour(d)", "hour(d) cannot be made of d, a column of date; use a timestamp"),
            ("bucket(2, f)", "bucket(2, f) cannot be made of f, a column of double; use a column of whole numbers"),
            ("l", "l cannot be made of l, a column of array<int>; use a column of a simple type"),
        ],
    )  # fmt: skip
    def test_before_anything_is_written(
        self, events: Callable[..., Events], line: str, complaint: str
    ) -> None:
        table = events()
        more = ", 1.5D AS f, DATE'2026-05-01' AS d, array(1) AS l"
        with pytest.raises(ColumnsRejected) as error:
            table.put(range(8), line, more=more)
        assert str(error.value).startswith(f"pipelines/script.sql:4: {complaint}")
        assert table.bench.tables() == []

    @pytest.mark.slow
    @pytest.mark.parametrize("made", STRATEGIES.values(), ids=STRATEGIES)
    def test_before_a_table_is_touched(self, events: Callable[..., Events], made: str) -> None:
        table = events(made)
        table.put(range(4), "day(ts)")
        before = table.metadata()
        with pytest.raises(ColumnsRejected, match=re.escape("script.sql:4: month(name) cannot")):
            table.put(range(8), "month(name)")
        assert (table.ids(), table.metadata()) == (list(range(4)), before)


def test_a_filter_reads_only_what_it_needs(bench: Bench, events: Callable[..., Events]) -> None:
    """The others are taken away, and it does not notice."""
    table = events(sliced=False, made=" append")
    table.put(range(40), None)
    old = table.files()
    assert len(old) <= 2
    table.put(range(40, 80), "bucket(4, name), day(ts)")
    new = sorted(set(table.files()) - set(old))
    assert set(old) < set(table.files()) and len(new) > 8
    where = "WHERE name = 'a' AND ts >= '2026-05-10' AND ts < '2026-05-11'"
    (expected,) = bench.sql(f"SELECT collect_set(id) AS ids FROM @t {where}")
    assert sorted(expected["ids"]) == [0, 40]
    matching = bench.sql(
        "SELECT file_path FROM @t.files WHERE partition.ts_day = DATE'2026-05-10'"
        " AND partition.name_bucket_4 = "
        "(SELECT max(partition.name_bucket_4) FROM @t.files WHERE file_path ="
        " (SELECT max(_file) FROM @t WHERE id = 40))"
    )
    assert len(matching) == 1
    for path in {*new} - {row["file_path"] for row in matching}:
        Path(path.removeprefix("file:")).unlink()
    (found,) = bench.sql(f"SELECT collect_set(id) AS ids FROM @t {where}")
    assert sorted(found["ids"]) == [0, 40]
