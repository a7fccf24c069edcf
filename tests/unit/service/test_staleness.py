"""Everybody who says what is stale says the same: only columns that are read count."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tranche import service
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.projects.config import parse_settings
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script
from tranche.service import backfilling
from tranche.service.about import about
from tranche.service.overview import overview
from tranche.testing import MemoryEngine, MemoryStore

DAY = "2026-05-15"
NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
HEADER = '-- pipeline\n-- partitioned daily start="2026-05-14"\n-- materialize lake://main/'
TEXTS = {
    "a": f"{HEADER}a\nSELECT 1 AS x, 1 AS y, 1 AS z",
    "b": f"{HEADER}b\nSELECT x FROM a",
    "c": f"{HEADER}c\n-- column y <- lake://main/a.x\nSELECT x + y AS y FROM a",
}


@dataclass
class Shop:
    """A table with three columns, one script that reads one of them, and one that reads two."""

    engine: MemoryEngine = field(default_factory=MemoryEngine)
    store: MemoryStore = field(default_factory=MemoryStore)
    now: datetime = NOON

    @property
    def project(self) -> Project:
        lakes = Lakes(frozenset({"main"}), "main")
        read = [read_sql_script(n, f"pipelines/{n}.sql", t, lakes) for n, t in TEXTS.items()]
        return Project(
            settings=parse_settings("", Path("/project"), None, {}),
            scripts=tuple(each.script for each in read if each.script is not None),
        )

    def clock(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    def run(self, name: str, **row: int) -> None:
        self.engine.answers[name] = lambda _: [row]
        asked = Request(target=name, fire_time=NOON, partition=DAY, only=True)
        plan = service.plan(self.project, asked, self.store, clock=self.clock)
        assert service.run(plan, self.engine, self.store, clock=self.clock).status == "succeeded"

    def stale(self, name: str) -> bool:
        """What all say of a key."""
        project, state = self.project, self.store
        nodes = {node.id: node.standing for node in overview(project, state).nodes}
        found = {"overview": nodes[f"lake://main/{name}"] == "stale"}
        found["about"] = about(project, name, state, clock=self.clock).standing == "stale"
        grid = service.grid(project, name, state, clock=self.clock)
        assert grid is not None
        found["grid"] = any(cell.standing == "stale" for cell in grid.cells)
        request = BackfillRequest(target=name, at=NOON, start=DAY, end=DAY, stale=True)
        planned = backfilling.plan(project, request, state, clock=self.clock)
        found["backfill"] = planned.keys == (DAY,)
        asked = Request(target=name, fire_time=NOON, partition=DAY)
        story = service.explain(project, asked, state, clock=self.clock).story
        assert story is not None
        found["explain"] = story.facts.stale is not None
        (told,) = set(found.values())
        return told


@pytest.mark.parametrize(
    ("row", "stale"),
    [
        ({"x": 1, "y": 1, "z": 1}, []),
        ({"x": 1, "y": 1, "z": 2}, []),
        ({"x": 1, "y": 1, "z": 1, "more": 1}, []),
        ({"x": 1, "y": 2, "z": 1}, ["c"]),
        ({"x": 2, "y": 1, "z": 1}, ["b", "c"]),
        ({"x": 1, "z": 1}, ["c"]),
    ],
)
def test_all_say_the_same(row: dict[str, int], stale: list[str]) -> None:
    shop = Shop()
    shop.run("a", x=1, y=1, z=1)
    shop.run("b", x=1)
    shop.run("c", y=2)
    shop.run("a", **row)
    assert [name for name in ("b", "c") if shop.stale(name)] == stale
