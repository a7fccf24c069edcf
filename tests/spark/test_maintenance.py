"""Upkeep: what goes, and what stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tranche.model.asset import LakeTable
from tranche.model.project import Project
from tranche.model.run import Run
from tranche.ports import Maintained, Upkeep
from tranche.service import maintain
from tranche.testing import MemoryStore

from .conftest import NOON, Bench

DAY = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@t{words}\nSELECT {x} AS x"
LATER = timedelta(days=10)


def looked_after(
    bench: Bench,
    *,
    needed: frozenset[str] = frozenset(),
    running: frozenset[str] = frozenset(),
    ago: timedelta = timedelta(),
    left: timedelta = timedelta(days=3),
) -> tuple[Maintained, ...]:
    now = datetime.now(UTC)
    upkeep = Upkeep(before=now - ago, needed=needed, running=running, left_before=now - left)
    return tuple(bench.engine.maintain(LakeTable("main", "t", bench.schema), upkeep))


def snapshots(bench: Bench) -> set[str]:
    return {str(row["snapshot_id"]) for row in bench.sql("SELECT snapshot_id FROM @t.snapshots")}


@pytest.mark.slow
def test_what_readers_saw_lately_and_what_the_ledger_names_stays(bench: Bench) -> None:
    made = [
        str(bench.run(DAY.format(words="", x=n), partition="2026-05-16").snapshot) for n in range(4)
    ]
    assert looked_after(bench, ago=timedelta(hours=1))[0].snapshots == 0
    (found,) = looked_after(bench, needed=frozenset(made[1:2]))
    assert found.snapshots == 2
    assert snapshots(bench) == {made[1], made[3]}
    assert bench.sql(f"SELECT x FROM @t VERSION AS OF {made[1]}") == [{"x": 1}]
    assert bench.sql("SELECT x FROM @t") == [{"x": 3}]
    assert found.files == (4, 2)
    assert 0 < found.bytes[1] < found.bytes[0]
    assert looked_after(bench, needed=frozenset(made))[0].snapshots == 0


def test_small_files_become_few(bench: Bench) -> None:
    for n in range(6):
        for day in ("2026-05-15", "2026-05-16"):
            bench.run(DAY.format(words=" append", x=n), partition=day)
    before = sorted(map(str, bench.sql("SELECT * FROM @t")))
    (found,) = looked_after(bench, ago=timedelta(hours=1))
    assert (found.compacted, found.compacted_into) == (12, 2)
    (found,) = looked_after(bench)
    assert found.files[1] == 2
    assert sorted(map(str, bench.sql("SELECT * FROM @t"))) == before
    # Runs go on from there.
    assert bench.run(DAY.format(words=" append", x=9), partition="2026-05-16").rows == 7


@pytest.mark.slow
def test_what_was_staged_goes_when_its_run_has_ended(bench: Bench) -> None:
    bench.run(DAY.format(words=" append", x=1), partition="2026-05-16")
    with bench.engine.attempt(
        bench.work(DAY.format(words=" append", x=2), "left", run="r", partition="2026-05-16")
    ) as trial:
        trial.stage()
    assert len(snapshots(bench)) == 2
    soon = -timedelta(seconds=5)
    assert looked_after(bench, running=frozenset({"r"}), left=soon)[0].snapshots == 0
    assert looked_after(bench)[0].snapshots == 0  # not left for long enough
    assert looked_after(bench, left=soon)[0].snapshots == 1
    assert len(snapshots(bench)) == 1


@pytest.mark.slow
def test_branches_and_tags_of_others_stay(bench: Bench) -> None:
    first = bench.run(DAY.format(words="", x=1), partition="2026-05-16").snapshot
    bench.run(DAY.format(words="", x=2), partition="2026-05-16")
    bench.sql(f"ALTER TABLE @t CREATE TAG kept AS OF VERSION {first}")
    bench.run(DAY.format(words="", x=3), partition="2026-05-16")
    assert looked_after(bench)[0].snapshots == 1
    assert bench.sql("SELECT x FROM @t VERSION AS OF 'kept'") == [{"x": 1}]


@pytest.mark.slow
def test_observations_are_looked_after_too(bench: Bench) -> None:
    text = DAY.format(words=" key=x history at=partition", x=1)
    for day in ("2026-05-15", "2026-05-16"):
        bench.run(text, partition=day)
    found = looked_after(bench)
    assert [item.table.table for item in found] == ["t", "t__observed"]
    assert found[1].snapshots == 1
    assert bench.run(text, partition="2026-05-17").changed is False


@pytest.mark.slow
def test_the_ledger_says_what_it_needs(bench: Bench) -> None:
    store = MemoryStore()
    step, _ = bench.ran(DAY.format(words="", x=1), store, partition="2026-05-16")
    bench.ran(DAY.format(words="", x=2), store, partition="2026-05-16")
    table = LakeTable("main", "t", bench.schema)
    project = Project(settings=bench.engine._settings, scripts=())
    store.begin_run(Run(id="r", target="t", status="running", fire_time=NOON, started_at=NOON), [])
    at = datetime.now(UTC)

    def done(retention: timedelta, now: datetime) -> int:
        kept = maintain(
            project, bench.engine, store, [table], retention=retention, clock=lambda: now
        )
        return sum(item.snapshots for item in kept)

    assert done(timedelta(days=30), at + LATER) == 0
    assert done(timedelta(days=1), at + LATER) == 1
    assert step.record.snapshot not in snapshots(bench)


def test_a_table_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(Exception, match="does not exist yet"):
        looked_after(bench)
