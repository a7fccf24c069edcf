"""Going back to a snapshot, and repeating a run against what it read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tranche.model.asset import LakeTable
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.run import Materialization
from tranche.planning.given import rollback_plan
from tranche.planning.plan import build_plan
from tranche.planning.repeat import repeat_plan
from tranche.run.runner import RunResult, run_plan
from tranche.testing import MemoryStore

from .conftest import NOON, Bench

SLICED = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t{words}\n"
WHOLE = "-- pipeline\n-- materialize lake://main/@t{words}\n"
DAYS = ("2026-05-14", "2026-05-15", "2026-05-16")


def clock() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """Runs one script after the other on a table, with a ledger."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.store = MemoryStore()
        self.table = LakeTable("main", "t", bench.schema)

    def write(self, text: str, key: str | None = None) -> str:
        step, _ = self.bench.ran(text, self.store, partition=key, fire_time=clock())
        assert step.record.status == "succeeded", step.record.error
        assert step.record.snapshot is not None
        return step.record.snapshot

    def back(self, text: str, snapshot: str) -> RunResult:
        script = (
            self.bench.plan(text, partition=DAYS[0] if "daily" in text else None).steps[0].script
        )
        project = Project(settings=self.bench.engine._settings, scripts=(script,))
        plan = rollback_plan(project, self.table, snapshot, NOON)
        return run_plan(plan, self.bench.engine, self.store, clock)

    def rows(self) -> list[dict[str, object]]:
        return sorted(self.bench.sql("SELECT * FROM @t"), key=str)

    def latest(self, key: str | None) -> Materialization:
        return self.store.materializations(str(self.table), key, limit=1)[0]


def test_only_the_slices_that_changed_are_restored(bench: Bench) -> None:
    ledger = Ledger(bench)
    text = SLICED.format(words="") + "SELECT '{partition}' AS day, %d AS x"
    first = {day: ledger.write(text % 1, day) for day in DAYS[:2]}
    before, rows = {day: ledger.latest(day) for day in DAYS[:2]}, ledger.rows()
    ledger.write(text % 2, DAYS[1])
    ledger.write(text % 2, DAYS[2])
    result = ledger.back(text % 2, first[DAYS[1]])
    assert result.status == "succeeded", result.steps[0].record.error
    assert ledger.rows() == rows
    assert result.steps[0].record.strategy == "rollback"
    # The ledger: untouched, restored, gone again.
    assert ledger.latest(DAYS[0]) == before[DAYS[0]]
    restored = ledger.latest(DAYS[1])
    assert restored.run == result.id
    assert restored.snapshot == result.steps[0].record.snapshot != first[DAYS[1]]
    assert (restored.digest, restored.rows) == (before[DAYS[1]].digest, 1)
    assert restored.fingerprint == before[DAYS[1]].fingerprint
    gone = ledger.latest(DAYS[2])
    assert (gone.rows, gone.fingerprint, gone.status) == (0, "", "succeeded")
    # It is a new commit: one can go forward again, and write on.
    ledger.write(text % 3, DAYS[1])
    assert {row["x"] for row in ledger.rows()} == {1, 3}


def test_back_to_where_it_is_does_nothing(bench: Bench) -> None:
    ledger = Ledger(bench)
    snapshot = ledger.write(WHOLE.format(words="") + "SELECT 1 AS x")
    log = ledger.store.materializations(str(ledger.table), None, limit=9)
    result = ledger.back(WHOLE.format(words="") + "SELECT 1 AS x", snapshot)
    assert result.status == "succeeded"
    assert result.steps[0].record.snapshot == snapshot
    assert ledger.store.materializations(str(ledger.table), None, limit=9) == log
    assert len(bench.sql("SELECT * FROM @t.history")) == 1


def test_over_a_change_of_columns_and_back(bench: Bench) -> None:
    ledger = Ledger(bench)
    one = WHOLE.format(words="") + "SELECT 1 AS x, 'a' AS gone"
    two = WHOLE.format(words="") + "SELECT 2L AS x, date '2026-05-16' AS came"
    first = ledger.write(one)
    second = ledger.write(two)
    assert ledger.back(two, first).status == "succeeded"
    assert ledger.rows() == [{"x": 1, "gone": "a"}]
    columns = ledger.store.schemas(str(ledger.table), limit=1)[0].columns
    assert [name for name, _ in columns] == ["x", "gone"]
    assert ledger.back(two, second).status == "succeeded"
    assert ledger.rows() == [{"x": 2, "came": "2026-05-16"}]


@pytest.mark.slow
def test_over_a_column_that_came_to_a_sliced_table(bench: Bench) -> None:
    ledger = Ledger(bench)
    head = SLICED.format(words=" on_schema_change=sync") + "-- layout bucket(2, x)\n"
    first = ledger.write(head + "SELECT 1 AS x", DAYS[0])
    ledger.write(head + "SELECT 2 AS x, 'n' AS new", DAYS[1])
    assert ledger.back(head + "SELECT 2 AS x, 'n' AS new", first).status == "succeeded"
    assert ledger.rows() == [{"x": 1, "_tranche_partition": DAYS[0]}]
    # The slices and the layout are still there.
    ledger.write(head + "SELECT 3 AS x, 'n' AS new", DAYS[1])
    assert [row["x"] for row in ledger.rows()] == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("at", ["", " at=seen"])
def test_of_a_history(bench: Bench, at: str) -> None:
    ledger = Ledger(bench)
    text = WHOLE.format(words=f" key=id history{at}") + (
        "SELECT * FROM VALUES (1, '{v}', timestamp '2026-05-{d} 00:00:00') AS t(id, name, seen)"
    )
    first = ledger.write(text.format(v="a", d="14"))
    rows = ledger.rows()
    ledger.write(text.format(v="b", d="15"))
    assert len(ledger.rows()) == 2
    assert ledger.back(text.format(v="b", d="15"), first).status == "succeeded"
    assert ledger.rows() == rows
    assert len(bench.sql("SELECT * FROM @t_current")) == 1
    # What comes next goes on from there.
    ledger.write(text.format(v="c", d="16"))
    assert sorted(row["name"] for row in ledger.rows()) == ["a", "c"]


@pytest.mark.slow
def test_of_a_history_by_partition(bench: Bench) -> None:
    ledger = Ledger(bench)
    text = SLICED.format(words=" key=id history at=partition") + "SELECT 1 AS id, '%s' AS name"
    ledger.write(text % "a", DAYS[0])
    first = ledger.write(text % "b", DAYS[1])
    rows = ledger.rows()
    ledger.write(text % "c", DAYS[2])
    result = ledger.back(text % "c", first)
    assert result.status == "succeeded", result.steps[0].record.error
    assert ledger.rows() == rows
    assert ledger.latest(DAYS[2]).run == result.id
    assert ledger.latest(DAYS[0]).run != result.id
    # A day that is run again is derived from the observations that came back.
    ledger.write(text % "d", DAYS[0])
    assert sorted(row["name"] for row in ledger.rows()) == ["b", "d"]


@pytest.mark.slow
def test_a_snapshot_that_nobody_could_see(bench: Bench) -> None:
    ledger = Ledger(bench)
    text = WHOLE.format(words="") + "-- data_test unique x\nSELECT explode(array(%s)) AS x"
    ledger.write(text % "1")
    bench.ran(text % "1, 1", ledger.store)
    seen = {row["snapshot_id"] for row in bench.sql("SELECT snapshot_id FROM @t.history")}
    staged = [
        row["snapshot_id"]
        for row in bench.sql("SELECT snapshot_id FROM @t.snapshots")
        if row["snapshot_id"] not in seen
    ]
    assert staged
    for snapshot in (*map(str, staged), "123"):
        result = ledger.back(text % "1", snapshot)
        assert result.status == "failed"
        assert f"no snapshot {snapshot}" in (result.steps[0].record.error or "")


class Pair:
    """A source and the table that a script makes of it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.store = MemoryStore()
        bench.sql("CREATE TABLE @source (x INT) USING iceberg")
        bench.sql("INSERT INTO @source VALUES (1)")
        self.use("SELECT x FROM @source")

    def use(self, query: str) -> None:
        script = self.bench.plan(WHOLE.format(words="") + query).steps[0].script
        self.project = Project(settings=self.bench.engine._settings, scripts=(script,))

    def run(self, plan: Plan | None = None) -> RunResult:
        asked = plan or build_plan(
            self.project, Request(target="script", fire_time=NOON), self.store
        )
        return run_plan(asked, self.bench.engine, self.store, clock)

    def rows(self) -> list[object]:
        return sorted(row["x"] for row in self.bench.sql("SELECT x FROM @t"))


def test_a_run_is_repeated_against_what_it_read(bench: Bench) -> None:
    pair = Pair(bench)
    first = pair.run()
    bench.sql("INSERT INTO @source VALUES (2)")
    second = pair.run()
    assert pair.rows() == [1, 2]
    again = pair.run(repeat_plan(pair.project, first.id, pair.store))
    assert (again.status, again.warnings) == ("succeeded", ())
    assert pair.rows() == [1]
    entries = pair.store.materializations(f"lake://main/{bench.schema}.t", None, limit=9)
    assert [entry.run for entry in entries] == [again.id, second.id, first.id]
    assert entries[0].inputs == entries[2].inputs != entries[1].inputs
    assert entries[0].digest == entries[2].digest
    # What was repeated can be repeated.
    pair.run()
    pair.run(repeat_plan(pair.project, again.id, pair.store))
    assert pair.rows() == [1]


def test_a_script_that_changed_says_so(bench: Bench) -> None:
    pair = Pair(bench)
    first = pair.run()
    pair.use("SELECT x * 10 AS x FROM @source")
    plan = repeat_plan(pair.project, first.id, pair.store)
    assert any("has changed since" in warning for warning in plan.warnings)
    assert pair.run(plan).status == "succeeded"
    assert pair.rows() == [10]


def test_a_snapshot_that_has_expired(bench: Bench) -> None:
    pair = Pair(bench)
    first = pair.run()
    (entry,) = pair.store.materializations(f"lake://main/{bench.schema}.t", None, limit=9)
    plan = repeat_plan(pair.project, first.id, pair.store)
    lost = tuple(replace(given, snapshot="77") for given in entry.inputs)
    plan = replace(plan, steps=(replace(plan.steps[0], pinned=lost),))
    result = pair.run(plan)
    assert "no snapshot 77 any more" in (result.steps[0].record.error or "")
