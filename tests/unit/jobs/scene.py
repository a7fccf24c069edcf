"""A server's rounds over a project of jobs, in memory and at any time."""

from __future__ import annotations

from datetime import datetime

from tranche.jobs import registry
from tranche.model.project import Project
from tranche.planning.tick import Triggers, tick
from tranche.planning.triggered import triggered_plan
from tranche.run.runner import RunResult, run_plan
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.schedules import moved
from tranche.testing import MemoryEngine, MemoryStore


class Scene:
    """What a server would do at the times that a test says."""

    def __init__(self, project: Project, since: datetime) -> None:
        self.project = project
        self.triggers = Triggers(project, moved)
        self.store = MemoryStore()
        self.engine = MemoryEngine()
        self.engine.tasks = {
            script.name: registry.task_of(script, project.settings.root)
            for script in project.scripts
        }
        self.turn(since)

    def turn(self, now: datetime) -> None:
        with self.store.turn() as turn:
            turn.apply(tick(now, turn, self.triggers), now)

    def at(self, now: datetime) -> dict[str, list[tuple[str | None, ...]]]:
        """Runs all that is due by then; the keys of each call by task."""
        done: dict[str, list[tuple[str | None, ...]]] = {}
        for _ in range(20):
            self.turn(now)
            ready = self.store.ready(limit=100)
            if not ready:
                return done
            for each in ready:
                for step in self.run(each.consumer, now).steps:
                    assert step.record.status == "succeeded", step.record.error
            for step in self.engine.executed:
                done.setdefault(step.script.name, []).append(step.keys)
            self.engine.executed.clear()
        raise AssertionError("it never comes to rest")

    def run(self, consumer: str, now: datetime) -> RunResult:
        run = f"{consumer} {now} {len(self.store.runs(limit=1000))}"
        rows = self.store.claim(consumer, server="s", run=run, limit=1000)
        script = self.triggers.scripts[consumer]
        plan = triggered_plan(self.project, script, rows, self.store, only_key_by_key)
        return run_plan(plan, self.engine, self.store, lambda: now, id=run)
