"""Tables as their readers saw them at another time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tranche.errors import NotPartitioned, SourceMissing, UnknownSnapshot
from tranche.model.asset import LakeTable
from tranche.model.snapshot import SeenSnapshot

from .conftest import NOON, Bench

DAILY = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
SELECT * FROM read_json('data/{schema}/' || '{{partition}}' || '.json')
"""
HISTORY = """\
-- pipeline
-- materialize lake://main/@h key=id history
-- $name (string)
SELECT 1 AS id, $name AS name
"""


def table(bench: Bench, name: str = "t") -> LakeTable:
    return LakeTable("main", name, bench.schema)


def seen(bench: Bench, name: str = "t", limit: int = 100) -> tuple[SeenSnapshot, ...]:
    return bench.engine.snapshots(table(bench, name), limit=limit).snapshots


def rows(bench: Bench, partition: str | None = None, name: str = "t", **when: Any) -> list[Any]:
    found = bench.engine.preview(table(bench, name), partition, limit=100, **when)
    return sorted(found.rows.records(), key=str)


def write(bench: Bench, day: str, *lines: str) -> str:
    """Runs a day; returns the snapshot."""
    bench.write(f"data/{bench.schema}/{day}.json", "\n".join(lines))
    script = DAILY.format(schema=bench.schema)
    written = bench.run(script, run=f"run of {lines[0]}", partition=day)
    assert written.snapshot is not None
    return written.snapshot


def test_slices_and_columns_as_they_were(bench: Bench) -> None:
    first = write(bench, "2026-05-15", '{"a": 1}')
    second = write(bench, "2026-05-16", '{"a": 2}')
    bench.sql("ALTER TABLE @t ADD COLUMN b STRING")
    third = write(bench, "2026-05-16", '{"a": 3, "b": "x"}', '{"a": 4, "b": "y"}')

    found = seen(bench)
    assert [(s.id, s.run, s.partition, s.added, s.removed) for s in found] == [
        (third, 'run of {"a": 3, "b": "x"}', "2026-05-16", 2, 1),
        (second, 'run of {"a": 2}', "2026-05-16", 1, 0),
        (first, 'run of {"a": 1}', "2026-05-15", 1, 0),
    ]
    assert {s.operation for s in found} <= {"append", "overwrite"}
    assert [s.at for s in found] == sorted((s.at for s in found), reverse=True)
    page = bench.engine.snapshots(table(bench), limit=2)
    assert page.more and page.snapshots == found[:2]

    assert rows(bench, snapshot=first) == [{"a": 1, "_tranche_partition": "2026-05-15"}]
    assert rows(bench, "2026-05-16", snapshot=first) == []
    assert rows(bench, "2026-05-16", snapshot=second) == [
        {"a": 2, "_tranche_partition": "2026-05-16"}
    ]
    assert [row["b"] for row in rows(bench, "2026-05-16", snapshot=third)] == ["x", "y"]

    between = found[0].at - timedelta(milliseconds=1)
    assert rows(bench, "2026-05-16", at=between) == rows(bench, "2026-05-16", snapshot=second)
    assert rows(bench, at=found[0].at) == rows(bench) == rows(bench, at=datetime.now(UTC))
    preview = bench.engine.preview(table(bench), None, limit=1, at=between)
    assert preview.snapshot == found[1]


def test_what_a_table_went_back_to_is_there_twice(bench: Bench) -> None:
    first = write(bench, "2026-05-15", '{"a": 1}')
    second = write(bench, "2026-05-15", '{"a": 2}')
    bench.sql(f"CALL main.system.rollback_to_snapshot('{bench.schema}.t', {first})")
    found = seen(bench)
    assert [s.id for s in found] == [first, second, first]
    assert [row["a"] for row in rows(bench, at=found[1].at)] == [2]
    assert [row["a"] for row in rows(bench, snapshot=second)] == [2]
    assert [row["a"] for row in rows(bench, at=found[0].at)] == [1]


@pytest.mark.slow
def test_a_commit_that_was_staged_says_whose_it_is_and_is_not_there_before(bench: Bench) -> None:
    script = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/@t
-- data_test not_null a
SELECT 1 AS a
"""
    bench.run(script, partition="2026-05-14")
    late = bench.work(script, run="late", partition="2026-05-15")
    with bench.engine.attempt(late) as trial:
        trial.stage()
        [(staged,)] = [
            row.values()
            for row in bench.sql(
                "SELECT CAST(snapshot_id AS STRING) FROM @t.snapshots"
                " WHERE summary['tranche.run'] = 'late'"
            )
        ]
        with pytest.raises(UnknownSnapshot):
            rows(bench, snapshot=str(staged))
        # The table moves, so that the commit becomes another one when it is picked.
        bench.run(script, run="early", partition="2026-05-16")
        written = trial.publish()
    assert written.snapshot != staged
    last, before, _ = seen(bench)
    assert (last.id, last.run, last.partition) == (written.snapshot, "late", "2026-05-15")
    assert before.run == "early"


@pytest.mark.slow
def test_the_current_rows_of_a_history_are_those_of_the_snapshot(bench: Bench) -> None:
    bench.run(HISTORY, arguments={"name": "ada"})
    bench.run(HISTORY, arguments={"name": "eve"}, fire_time=NOON + timedelta(days=1))
    second, first = seen(bench, "h_current")
    assert (second, first) == seen(bench, "h")
    assert [row["name"] for row in rows(bench, name="h_current")] == ["eve"]
    [then] = rows(bench, name="h_current", snapshot=first.id)
    assert (then["name"], then["valid_to"], then["is_current"]) == ("ada", None, True)
    assert len(rows(bench, name="h", snapshot=second.id)) == 2
    assert [r["name"] for r in rows(bench, name="h_current", at=first.at)] == ["ada"]


def test_what_is_not_there_is_said(bench: Bench) -> None:
    with pytest.raises(SourceMissing, match="does not exist yet"):
        rows(bench, snapshot="1")
    with pytest.raises(SourceMissing, match="does not exist yet"):
        seen(bench)
    bench.sql("CREATE TABLE @t (a INT)")
    assert seen(bench) == ()
    with pytest.raises(UnknownSnapshot, match="has no snapshot yet"):
        rows(bench, snapshot="1")
    bench.sql("INSERT INTO @t VALUES (1)")
    [only] = seen(bench)
    assert (only.run, only.partition, only.added) == (None, None, 1)
    with pytest.raises(UnknownSnapshot, match=r"no snapshot 1 that readers saw; .* --snapshots"):
        rows(bench, snapshot="1")
    earliest = only.at.isoformat()
    with pytest.raises(UnknownSnapshot) as error:
        rows(bench, at=NOON - timedelta(days=10_000))
    assert earliest in str(error.value)
    with pytest.raises(NotPartitioned, match="not of partitions"):
        rows(bench, "2026-05-15", snapshot=only.id)
