"""Runs on doubles, and the events that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from openlineage.client.serde import Serde

from tranche.model.backfill import BackfillRequest
from tranche.model.columns import Columns
from tranche.model.plan import Plan, Step
from tranche.model.project import OpenLineageSettings, Settings
from tranche.model.run import Materialization, Run, StepRecord
from tranche.openlineage.columns import ColumnsOf, declared
from tranche.openlineage.events import Events
from tranche.openlineage.told import RunBegun, RunEnded, StepBegun, StepRecorded, Told
from tranche.planning.backfill import plan_backfill
from tranche.ports import Staged, Trial, Work, Written
from tranche.projects.config import parse_settings
from tranche.run.runner import RunResult, run_plan

from ..run.processes import Processes, ToldEngine, ToldTrial
from ..run.test_runner import CHAIN, DAY, START

__all__ = ["CHAIN", "DAY", "START"]

Event = dict[str, Any]
TOLD = OpenLineageSettings(namespace="shop")


class Kept:
    """A watcher that makes events at once and keeps them, as they would be sent."""

    def __init__(
        self,
        settings: Settings,
        columns_of: ColumnsOf = declared,
        told: OpenLineageSettings = TOLD,
        text: str | None = None,
    ) -> None:
        self.events: list[Event] = []
        self._events = Events(settings, told, columns_of, lambda script: text)

    def run_begun(self, run: Run, steps: Sequence[Step]) -> None:
        self._keep(RunBegun(run, tuple(steps)))

    def step_begun(self, run: str, step: Step, at: datetime) -> None:
        self._keep(StepBegun(run, step, at))

    def step_recorded(
        self, step: StepRecord, entries: Sequence[Materialization] = (), columns: Columns = ()
    ) -> None:
        self._keep(StepRecorded(step, tuple(entries), columns))

    def run_ended(self, run: Run) -> None:
        self._keep(RunEnded(run))

    def _keep(self, told: Told) -> None:
        self.events += (Serde.to_dict(event) for event in self._events.of(told))


class ColumnTrial(ToldTrial):
    """A trial whose rows have columns with types, and whose keys may fail their tests."""

    engine: ColumnEngine

    def stage(self) -> Staged:
        staged = super().stage()
        found = self.engine.key_found.get(self.work.step.script.name, {})
        return replace(staged, key_tests=found if self.work.step.is_range else {})

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        columns = self.engine.columns.get(self.work.step.script.name, ())
        return replace(super().publish(), columns=columns)


class ColumnEngine(ToldEngine):
    def __init__(self) -> None:
        super().__init__()
        self.columns: dict[str, Columns] = {}
        self.key_found: dict[str, Any] = {}

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        self.executed.append(work.step)
        yield ColumnTrial(self, work)
        self.reach(work.step, "closing")


class Scene(Processes):
    """Scripts by their text, whose runs are watched."""

    engine: ColumnEngine

    def __init__(
        self,
        scripts: dict[str, str] | None = None,
        *,
        toml: str = "",
        root: Path = Path("/project"),
        **watched: Any,
    ) -> None:
        super().__init__(CHAIN if scripts is None else scripts)
        self.engine = ColumnEngine()
        self.project = replace(self.project, settings=parse_settings(toml, root, None, {}))
        self.kept = Kept(self.project.settings, **watched)
        self.store.watcher = self.kept

    def backfill(self, target: str, keys: Sequence[str], **request: Any) -> RunResult:
        asked = BackfillRequest(target=target, at=START, keys=tuple(keys), **request)
        return self.run_plan(plan_backfill(self.project, asked, self.store, lambda _: None).plan)

    def run_plan(self, plan: Plan) -> RunResult:
        return run_plan(plan, self.engine, self.store, self.clock, sleep=self.sleep)

    @property
    def told(self) -> list[tuple[str, str]]:
        """What kind of event came of which job, in order."""
        return [(event["eventType"], event["job"]["name"]) for event in self.kept.events]

    def event(self, kind: str, job: str) -> Event:
        [found] = [
            event
            for event in self.kept.events
            if (event["eventType"], event["job"]["name"]) == (kind, job)
        ]
        return found


def run_facets(event: Event) -> dict[str, Any]:
    facets: dict[str, Any] = event["run"]["facets"]
    return facets


def output(event: Event) -> dict[str, Any]:
    [found] = event["outputs"]
    return dict(found)


def plain(facet: dict[str, Any]) -> dict[str, Any]:
    """A facet without what all of them have."""
    return {name: value for name, value in facet.items() if not name.startswith("_")}
