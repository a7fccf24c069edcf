"""Strategies × formats: each cell works for its whole life, or is refused with its sentence.

What `docs/formats.md` says is what is found here: `TRANCHE_WRITE=1` writes it anew.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tranche.errors import UnknownSnapshot
from tranche.model.asset import LakeTable
from tranche.model.plan import SliceKey
from tranche.model.project import Project
from tranche.planning.given import copy_plan, rollback_plan
from tranche.ports import Upkeep
from tranche.run.attempts import StepResult
from tranche.run.runner import RunResult, run_plan
from tranche.testing import MemoryStore

from .shop import Shop

if TYPE_CHECKING:
    from .conftest import Bench

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
FORMATS = {"iceberg": "main", "delta": "delta", "parquet": "parquet", "ducklake": "ducklake"}
LAKES = tuple(FORMATS.values())
STRATEGIES = {
    "replace": "",
    "merge": " key=id",
    "append": " append",
    "history": " key=id history",
}
UNITS = ("partition", "whole table")
FIRST = datetime(2026, 5, 1, tzinfo=UTC)
Rows = Mapping[int, str | None]
OUTCOMES: dict[tuple[str, str, str], str] = {}


@dataclass
class Life:
    """A table that is written again and again."""

    bench: Bench
    strategy: str
    unit: str

    @property
    def sliced(self) -> bool:
        return self.unit == "partition"

    @property
    def is_history(self) -> bool:
        return "history" in self.strategy

    def text(self, rows: Rows, test: str = "") -> str:
        how = self.strategy + (" at=partition" if self.is_history and self.sliced else "")
        values = ", ".join(
            f"({n}, {'CAST(NULL AS STRING)' if v is None else repr(v)})" for n, v in rows.items()
        )
        given = values or "(1, 'x')"
        where = "" if values else " WHERE false"
        return (
            "-- pipeline\n"
            + ("-- partitioned daily\n" if self.sliced else "")
            + f"-- materialize lake://main/@t{how}\n{test}"
            + f"SELECT * FROM VALUES {given} AS v(id, name){where}"
        )

    def put(self, rows: Rows, day: int = 1, test: str = "") -> StepResult:
        at = FIRST + timedelta(days=day)
        how: dict[str, Any] = {"fire_time": at}
        if self.sliced:
            how["partition"] = self.key(day)
        return self.bench.ran(self.text(rows, test), **how)[0]

    def put_range(self, rows: Rows, days: tuple[int, ...], test: str = "") -> StepResult:
        plan = self.bench.plan(self.text(rows, test), partition=self.key(days[0]))
        (step,) = plan.steps
        rule = step.script.partitioning
        assert rule is not None
        keys = [self.key(day) for day in days]
        whole = replace(
            step, slice=tuple(SliceKey(partition=key, ordinal=rule.ordinal(key)) for key in keys)
        )
        result = run_plan(
            replace(plan, steps=(whole,)),
            self.bench.engine,
            MemoryStore(),
            lambda: datetime.now(UTC),
        )
        return result.steps[0]

    def key(self, day: int) -> str:
        return (FIRST + timedelta(days=day)).date().isoformat()

    def rows(self, day: int = 1) -> list[tuple[int, str | None]]:
        """The rows of a slice; of a history those that are current."""
        what = "@t_current" if self.is_history else "@t"
        where = ""
        if self.sliced and not self.is_history:
            where = f" WHERE _tranche_partition = '{self.key(day)}'"
        found = self.bench.sql(f"SELECT id, name FROM {what}{where}")
        return sorted(((row["id"], row["name"]) for row in found), key=repr)


def lived(life: Life) -> None:
    """A first write, a second one, an empty one, one that fails its test, and a range."""
    first = life.put({1: "a", 2: None})
    assert first.record.status == "succeeded", first.record.error
    assert life.rows() == [(1, "a"), (2, None)]
    again = life.put({2: "b", 3: "c"}, 2)
    assert again.record.status == "succeeded", again.record.error
    if life.is_history:
        assert life.rows() == [(1, "a"), (2, "b"), (3, "c")]
        versions = life.bench.sql("SELECT id, name, is_current FROM @t WHERE id = 2")
        assert {(row["name"], row["is_current"]) for row in versions} == {
            (None, False),
            ("b", True),
        }
    elif life.sliced:
        assert (life.rows(1), life.rows(2)) == ([(1, "a"), (2, None)], [(2, "b"), (3, "c")])
    after(life)
    failing = life.put({7: "bad"}, 3, "-- data_test accepted_values id = 1,2,3,8\n")
    before = life.rows(2)
    assert failing.record.status == "failed" and "accepted_values" in str(failing.record.error)
    assert life.rows(2) == before and (7, "bad") not in life.rows(3)
    sound = life.put({8: "good"}, 3, "-- data_test accepted_values id = 1,2,3,8\n")
    assert sound.record.status == "succeeded" and sound.tests, sound.record.error
    assert (8, "good") in life.rows(3)
    if life.sliced:
        several = life.put_range({5: "e"}, (4, 5, 6))
        assert several.record.status == "succeeded", several.record.error
        assert [key.rows for key in several.keys] == [1, 1, 1]
        assert all((5, "e") in life.rows(day) for day in (4, 5, 6))
        tested = life.put_range({6: "f"}, (5, 6), "-- data_test not_null name\n")
        assert tested.record.status == "succeeded", tested.record.error
        assert (6, "f") in life.rows(5) and (5, "e") in life.rows(4)


def after(life: Life) -> None:
    """What the strategies do in their own ways with a slice that was there."""
    before = life.rows(2)
    done = life.put({3: "C"}, 2)
    assert done.record.status == "succeeded", done.record.error
    match life.strategy.split():
        case []:
            assert life.rows(2) == [(3, "C")]
            assert life.put({}, 2).record.rows == 0
            assert life.rows(2) == []
        case ["append"]:
            assert life.rows(2) == sorted([*before, (3, "C")], key=repr)
        case ["key=id"]:
            changed = [(n, "C" if n == 3 else v) for n, v in before]
            assert life.rows(2) == sorted(changed, key=repr)


CELLS = [(f, s, u) for f in FORMATS for s in STRATEGIES for u in UNITS]
QUICK = {
    ("delta", "replace"),
    ("parquet", "replace"),
    ("parquet", "history"),
    ("ducklake", "replace"),
    ("ducklake", "merge"),
}
"""What is run each time, for a partition; `make slow` runs the whole matrix."""


@pytest.mark.parametrize(
    ("format_", "strategy", "unit"),
    [
        pytest.param(
            *cell, marks=() if cell[:2] in QUICK and cell[2] == "partition" else pytest.mark.slow
        )
        for cell in CELLS
    ],
)
def test_cell(bench: Bench, format_: str, strategy: str, unit: str) -> None:
    bench.lake = FORMATS[format_]
    life = Life(bench, STRATEGIES[strategy], unit)
    refused = REFUSED.get((format_, strategy))
    if refused is None:
        lived(life)
        OUTCOMES[format_, strategy, unit] = "yes"
        return
    found = life.put({1: "a"})
    assert found.record.status == "failed" and refused in str(found.record.error)
    assert bench.tables() == []
    OUTCOMES[format_, strategy, unit] = "no"


REFUSED = {
    ("parquet", "history"): "is to keep a history, and a Parquet table has no rows that change",
}


@pytest.mark.slow
def test_the_page_says_what_was_found() -> None:
    if set(CELLS) != set(OUTCOMES):
        pytest.skip("not all cells were run")
    table = matrix()
    text = PAGE.read_text()
    start, end = "<!-- matrix -->\n", "<!-- end of matrix -->"
    written = text[: text.index(start) + len(start)] + table + text[text.index(end) :]
    if os.environ.get("TRANCHE_WRITE"):
        PAGE.write_text(written)
    assert text == written, "run with TRANCHE_WRITE=1"


def matrix() -> str:
    lines = ["| strategy | unit | " + " | ".join(FORMATS) + " |", "|---|---|---|---|---|---|"]
    for strategy in STRATEGIES:
        for unit in UNITS:
            cells = (OUTCOMES[format_, strategy, unit] for format_ in FORMATS)
            lines.append(f"| {strategy} | {unit} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


OTHER = """\
-- pipeline
-- materialize lake://{}/copied
SELECT id, upper(name) AS name FROM @t
"""


def test_a_step_may_read_one_format_and_write_another(bench: Bench) -> None:
    Life(bench, "", "whole table").put({1: "a"})
    for lake in ("delta", "parquet", "ducklake"):
        address = f"{lake}.{bench.schema}.copied"
        text = OTHER.replace("/copied", f"/{bench.schema}.copied").format(lake)
        step, _ = bench.ran(text)
        assert step.record.status == "succeeded", step.record.error
        assert bench.sql(f"SELECT * FROM {address}") == [{"id": 1, "name": "A"}]


@pytest.mark.slow
def test_a_copy_keeps_partitions_and_ledger(bench: Bench) -> None:
    """From Iceberg to Delta to Parquet to DuckLake and back."""
    store = MemoryStore()
    life = Life(bench, "", "partition")
    for day, rows in ((1, {1: "a"}), (2, {2: "it's", 3: None}), (3, {})):
        at = FIRST + timedelta(days=day)
        bench.ran(life.text(rows), store, fire_time=at, partition=life.key(day))
    source = LakeTable("main", "t", bench.schema)
    for lake, name in (("delta", "t"), ("parquet", "t"), ("ducklake", "t"), ("main", "again")):
        table = LakeTable(lake, name, bench.schema)
        (step,) = copied(bench, store, source, table).steps
        assert step.record.status == "succeeded", step.record.error
        assert (step.record.strategy, step.record.rows) == ("copy", 3)
        address = f"{lake}.`{bench.schema}`.`{name}`"
        found = bench.sql(f"SELECT _tranche_partition AS day, id, name FROM {address} ORDER BY id")
        assert [tuple(row.values()) for row in found] == [
            (life.key(1), 1, "a"),
            (life.key(2), 2, "it's"),
            (life.key(2), 3, None),
        ]
        for day in (1, 2):
            then, now = (store.partition(str(t), life.key(day)) for t in (source, table))
            assert then is not None and now is not None
            assert (now.rows, now.digest, now.ordinal) == (then.rows, then.digest, then.ordinal)
            assert now.fingerprint == then.fingerprint and now.snapshot == step.record.snapshot
        again = copied(bench, store, source, table).steps[0]
        assert "is there already, and a copy would take its place" in str(again.record.error)
        source = table


@pytest.mark.slow
def test_a_copy_of_a_history_goes_on(bench: Bench) -> None:
    store = MemoryStore()
    life = Life(bench, " key=id history", "partition")
    for day, rows in ((1, {1: "a"}), (3, {1: "c"})):
        assert life.put(rows, day).record.status == "succeeded"
    table = LakeTable("delta", "t", bench.schema)
    step = copied(bench, store, LakeTable("main", "t", bench.schema), table).steps[0]
    assert step.record.status == "succeeded", step.record.error
    there = Life(replace(bench, lake="delta"), " key=id history", "partition")
    done = there.put({1: "b"}, 2)
    assert done.record.status == "succeeded", done.record.error
    found = there.bench.sql("SELECT name, is_current FROM @t ORDER BY valid_from")
    assert [tuple(row.values()) for row in found] == [("a", False), ("b", False), ("c", True)]


def copied(bench: Bench, store: MemoryStore, source: LakeTable, table: LakeTable) -> RunResult:
    project = Project(settings=bench.engine._settings, scripts=())
    plan = copy_plan(project, source, table, datetime.now(UTC))
    return run_plan(plan, bench.engine, store, lambda: datetime.now(UTC))


PAIRS = "SELECT * FROM VALUES (1, 'a', '{}'), (2, 'b', 'y') AS v(id, name, note)"
READERS = {"names": "SELECT name FROM @up", "notes": "SELECT note FROM @up"}


@pytest.mark.parametrize(
    ("lake", "unit"),
    [
        ("parquet", "partition"),
        pytest.param("delta", "partition", marks=pytest.mark.slow),
        pytest.param("delta", "whole table", marks=pytest.mark.slow),
        pytest.param("parquet", "whole table", marks=pytest.mark.slow),
        pytest.param("ducklake", "partition", marks=pytest.mark.slow),
        pytest.param("ducklake", "whole table", marks=pytest.mark.slow),
    ],
)
def test_readers_of_other_columns_are_not_stale(bench: Bench, lake: str, unit: str) -> None:
    bench.lake = lake
    shop = Shop(bench, up=PAIRS.format("x"), **READERS)
    if unit == "whole table":
        shop.header = "-- pipeline\n"
    for name in shop.queries:
        shop.run(name)
    shop.run("up", PAIRS.format("z"))
    # What a Parquet table was like before cannot be read any more, so that all counts as new.
    expected = list(READERS) if lake == "parquet" else ["notes"]
    assert shop.stale(*READERS) == expected
    for name in READERS:
        shop.run(name)
    shop.words["up"] = " on_schema_change=sync"
    shop.run("up", f"SELECT *, id + 1 AS more FROM ({PAIRS.format('w')})")
    assert shop.stale(*READERS) == ["notes"]
    shop.run("up", f"SELECT id, upper(name) AS name, note, id AS more FROM ({PAIRS.format('w')})")
    assert shop.stale(*READERS) == ["names", "notes"]


@pytest.mark.slow
def test_a_table_that_was_made_anew_has_other_rows(bench: Bench) -> None:
    bench.lake = "delta"
    shop = Shop(bench, up=PAIRS.format("x"), **READERS)
    for name in shop.queries:
        shop.run(name)
    # Its snapshots are counted from the first one on again.
    shutil.rmtree(Path(bench.engine._settings.lakes["delta"].warehouse) / bench.schema / "up")
    shop.run("up", PAIRS.format("z"))
    assert shop.stale(*READERS) == list(READERS)


VIEWED = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@viewed
-- $word (string) = it's
CREATE TEMPORARY VIEW picked AS SELECT '{partition}' AS day, $word AS word;
SELECT * FROM picked
"""


@pytest.mark.parametrize(
    "lake", ["main", "delta", pytest.param("ducklake", marks=pytest.mark.slow)]
)
def test_a_view_of_the_key(bench: Bench, lake: str) -> None:
    bench.lake = lake
    step, _ = bench.ran(VIEWED, partition="2026-05-16")
    assert step.record.status == "succeeded", step.record.error
    (row,) = bench.sql("SELECT day, word FROM @viewed")
    assert row == {"day": "2026-05-16", "word": "it's"}


SUMMED = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@summed
-- data_test not_null total
-- $least (int) = 0
SELECT region, sum(n) AS total FROM @events
WHERE day = '{partition}' AND n >= $least GROUP BY region
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lake", ["delta", "parquet", "ducklake"])
def test_keys_and_arguments_are_bound_in_every_format(bench: Bench, lake: str) -> None:
    """For one key and for a range, which is one query over all of them."""
    bench.lake = lake
    events = Life(bench, "", "whole table")
    text = events.text({1: "x"}).partition("SELECT")[0].replace("@t", "@events")
    rows = "('2026-05-02', 'eu', 1), ('2026-05-03', 'eu', 2), ('2026-05-03', \"it's\", 3)"
    made, _ = bench.ran(f"{text}SELECT * FROM VALUES {rows} AS v(day, region, n)")
    assert made.record.status == "succeeded", made.record.error
    life = Life(bench, "", "partition")
    one, _ = bench.ran(SUMMED, partition=life.key(1))
    assert (one.record.status, one.record.rows) == ("succeeded", 1), one.record.error
    life.text = lambda rows, test="": SUMMED  # type: ignore[method-assign, assignment]
    several = life.put_range({}, (1, 2, 3))
    assert several.record.status == "succeeded", several.record.error
    assert [key.rows for key in several.keys] == [1, 2, 0] and several.separate is None
    found = bench.sql("SELECT region, total, _tranche_partition FROM @summed ORDER BY total")
    assert [tuple(row.values()) for row in found] == [
        ("eu", 1, life.key(1)),
        ("eu", 2, life.key(2)),
        ("it's", 3, life.key(2)),
    ]


class TestPast:
    @pytest.mark.slow
    def test_delta_is_read_as_it_was_and_goes_back(self, bench: Bench) -> None:
        bench.lake = "delta"
        life, table = Life(bench, "", "partition"), LakeTable("delta", "t", bench.schema)
        store = MemoryStore()
        for day, rows in ((1, {1: "a"}), (2, {2: "b"}), (1, {1: "A"})):
            bench.ran(life.text(rows), store, partition=life.key(day))
        seen = bench.engine.snapshots(table, limit=10).snapshots
        assert [each.partition for each in seen] == [life.key(1), life.key(2), life.key(1)]
        then = bench.engine.preview(table, None, limit=9, snapshot=seen[1].id)
        assert sorted(row["name"] for row in then.rows.records()) == ["a", "b"]
        project = Project(settings=bench.engine._settings, scripts=())
        plan = rollback_plan(project, table, seen[1].id, datetime.now(UTC))
        result = run_plan(plan, bench.engine, store, lambda: datetime.now(UTC))
        assert result.status == "succeeded", result.steps[0].record.error
        assert (life.rows(1), life.rows(2)) == ([(1, "a")], [(2, "b")])
        state = store.partition(str(table), life.key(1))
        assert state is not None and (state.rows, state.run) == (1, result.id)

    def test_parquet_has_no_past(self, bench: Bench) -> None:
        bench.lake = "parquet"
        life, table = Life(bench, "", "partition"), LakeTable("parquet", "t", bench.schema)
        for rows in ({1: "a"}, {1: "b"}):
            life.put(rows)
        assert [each.id for each in bench.engine.snapshots(table, limit=9).snapshots] == ["2", "1"]
        with pytest.raises(UnknownSnapshot, match="is a Parquet table and has no past"):
            bench.engine.preview(table, None, limit=9, snapshot="1")
        project = Project(settings=bench.engine._settings, scripts=())
        plan = rollback_plan(project, table, "1", datetime.now(UTC))
        result = run_plan(plan, bench.engine, MemoryStore(), lambda: datetime.now(UTC))
        assert "has no past" in str(result.steps[0].record.error)
        assert life.rows() == [(1, "b")]


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["delta", "parquet"])
def test_upkeep(bench: Bench, lake: str) -> None:
    bench.lake = lake
    life = Life(bench, " append", "partition")
    for number in range(3):
        life.put({number: "a"})
    at = datetime.now(UTC)
    upkeep = Upkeep(before=at, needed=frozenset(), running=frozenset(), left_before=at)
    (done,) = bench.engine.maintain(LakeTable(lake, "t", bench.schema), upkeep)
    assert done.files[0] == 3 and done.files[1] == (1 if lake == "delta" else 3)
    assert len(life.rows()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["delta", "parquet", "ducklake"])
@pytest.mark.parametrize("unit", ["partition", pytest.param("whole table", marks=pytest.mark.slow)])
def test_columns_that_come_later(bench: Bench, lake: str, unit: str) -> None:
    """Rows that were there have no value for them; columns that get wider keep theirs."""
    bench.lake = lake
    sliced = "-- partitioned daily\n" if unit == "partition" else ""
    head = f"-- pipeline\n{sliced}-- materialize lake://main/@t key=id on_schema_change=sync\n"
    given = {"partition": "2026-05-16"} if sliced else {}
    for query in (
        "SELECT 1 AS id, 5 AS n",
        "SELECT 2 AS id, CAST(6 AS BIGINT) AS n, 'x' AS more",
    ):
        step, _ = bench.ran(head + query, **given)
        assert step.record.status == "succeeded", step.record.error
    found = bench.sql("SELECT id, n, more FROM @t ORDER BY id")
    assert [tuple(row.values()) for row in found] == [(1, 5, None), (2, 6, "x")]
    unfit, _ = bench.ran(head + "SELECT 3 AS id, 'text' AS n, 'x' AS more", **given)
    assert "n as string, the table has bigint" in str(unfit.record.error)


LAID_OUT = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
-- layout {}
SELECT id, timestamp_seconds(id * 86400 * 20) AS at, CAST(id % 2 AS STRING) AS kind FROM range(6)
"""


@pytest.mark.slow
class TestLayout:
    @pytest.mark.parametrize(
        "layout",
        [
            "kind, hour(at)",
            *(
                pytest.param(layout, marks=pytest.mark.slow)
                for layout in ("kind", "month(at)", "year(at), kind")
            ),
        ],
    )
    def test_delta(self, bench: Bench, layout: str) -> None:
        bench.lake = "delta"
        for day in ("2026-05-15", "2026-05-16", "2026-05-15"):
            step, _ = bench.ran(LAID_OUT.format(layout), partition=day)
            assert step.record.status == "succeeded", step.record.error
            assert step.record.rows == 6
        assert len(bench.sql("SELECT id FROM @t")) == 12
        other, _ = bench.ran(LAID_OUT.format("day(at)"), partition="2026-05-15")
        assert "a Delta table is laid out when it is made" in str(other.record.error)

    def test_parquet(self, bench: Bench) -> None:
        bench.lake = "parquet"
        for day in ("2026-05-15", "2026-05-16", "2026-05-15"):
            step, _ = bench.ran(LAID_OUT.format("kind"), partition=day)
            assert step.record.status == "succeeded", step.record.error
        found = bench.sql("SELECT kind, count(*) AS n FROM @t GROUP BY kind ORDER BY kind")
        assert found == [{"kind": "0", "n": 6}, {"kind": "1", "n": 6}]
        refused, _ = bench.ran(LAID_OUT.format("month(at)"), partition="2026-05-15")
        assert "is laid out by columns as they are, not by month(at)" in str(refused.record.error)
