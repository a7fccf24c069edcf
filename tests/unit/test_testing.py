"""The engine in memory keeps what the real one keeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tranche.errors import SourceMissing, UnknownSnapshot
from tranche.model.asset import LakeTable
from tranche.model.plan import SliceKey, Step
from tranche.model.run import Attempt
from tranche.ports import Engine, Work
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script
from tranche.testing import MemoryEngine

NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
TABLE = LakeTable("main", "a")


def publish(engine: Engine, run: str, at: datetime) -> None:
    text = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/a\nSELECT 1 AS x"
    script = read_sql_script(
        "a", "pipelines/a.sql", text, Lakes(frozenset({"main"}), "main")
    ).script
    assert script is not None
    step = Step(position=0, script=script, slice=(SliceKey(partition="2026-05-16"),))
    attempt = Attempt(id=run, run=run, position=0, number=1, status="running", started_at=at)
    with engine.attempt(Work(step=step, attempt=attempt, fire_time=at)) as trial:
        trial.stage()
        trial.publish()


def test_past_slices() -> None:
    answers = iter(([{"x": 1}], [{"x": 2}, {"x": 3}]))
    engine: Engine = MemoryEngine({"a": lambda _: next(answers)})
    with pytest.raises(SourceMissing):
        engine.snapshots(TABLE, limit=1)
    publish(engine, "first", NOON)
    publish(engine, "second", NOON + timedelta(hours=1))
    second, first = engine.snapshots(TABLE, limit=10).snapshots
    assert [(s.run, s.partition, s.added, s.removed) for s in (second, first)] == [
        ("second", "2026-05-16", 2, 1),
        ("first", "2026-05-16", 1, 0),
    ]
    assert engine.snapshots(TABLE, limit=1).more
    then = engine.preview(TABLE, "2026-05-16", limit=10, snapshot=first.id)
    assert (then.rows.records(), then.snapshot) == ([{"x": 1}], first)
    assert engine.preview(TABLE, None, limit=10, at=NOON).rows.records() == [{"x": 1}]
    now = engine.preview(TABLE, None, limit=10)
    assert ([row["x"] for row in now.rows.records()], now.snapshot) == ([2, 3], None)
    with pytest.raises(UnknownSnapshot):
        engine.preview(TABLE, None, limit=10, at=NOON - timedelta(seconds=1))
