"""Who watches a store hears of every run that is recorded in it, whoever works on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tranche.errors import StatementFailed
from tranche.model.backfill import BackfillRequest
from tranche.model.columns import Columns
from tranche.model.plan import Step
from tranche.model.run import Materialization, Run, StepRecord
from tranche.planning.backfill import plan_backfill
from tranche.planning.tick import Triggers
from tranche.run.reconcile import reconcile
from tranche.run.runner import run_plan

from .processes import Killed, Processes
from .test_ranges import DAYS, Breaking, bad
from .test_runner import CHAIN, START, Bench
from .test_serving import CHAIN as SERVED
from .test_serving import Scene


class Heard:
    """Keeps what it hears, as words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def run_begun(self, run: Run, steps: Sequence[Step]) -> None:
        self.words.append(f"{run.target} {run.status}, {len(steps)} steps")

    def step_begun(self, run: str, step: Step, at: datetime) -> None:
        self.words.append(f"{step.script.name} begun")

    def step_recorded(
        self, step: StepRecord, entries: Sequence[Materialization] = (), columns: Columns = ()
    ) -> None:
        keys = [entry.partition for entry in entries]
        self.words.append(f"{step.script} {step.status}, {len(keys)} keys")

    def run_ended(self, run: Run) -> None:
        assert run.finished_at is not None
        self.words.append(f"{run.target} {run.status}" + (f": {run.error}" if run.error else ""))


def test_a_run() -> None:
    bench = Bench({name: CHAIN[name] for name in ("a", "b", "c")})
    bench.store.watcher = heard = Heard()

    def broken(step: Step) -> Sequence[dict[str, object]]:
        raise StatementFailed("no such column")

    bench.engine.answers["b"] = broken
    bench.run("a", partition="2026-05-16")
    assert heard.words == [
        "a running, 3 steps",
        "a begun",
        "a succeeded, 1 keys",
        "b begun",
        "b failed, 1 keys",
        "c skipped, 0 keys",
        "a failed",
    ]


def test_keys_of_a_range_are_told_of_as_they_end() -> None:
    bench = Bench({"a": CHAIN["a"]})
    bench.store.watcher = heard = Heard()
    asked = BackfillRequest(target="a", at=START, keys=DAYS)
    planned = plan_backfill(bench.project, asked, bench.store, lambda _: None)
    engine = Breaking(bad(DAYS[0]))
    run_plan(planned.plan, engine, bench.store, bench.clock, sleep=bench.slept.append)
    assert heard.words == [
        "a running, 1 steps",
        "a begun",
        "a running, 1 keys",
        "a running, 1 keys",
        "a running, 2 keys",
        "a running, 4 keys",
        "a failed, 0 keys",
        "a failed",
    ]


def test_a_run_of_a_dead_process_is_told_of_by_whoever_ends_it() -> None:
    bench = Processes({name: CHAIN[name] for name in ("a", "b")})
    bench.engine.fails("a", "published", Killed())
    bench.killed("a")
    bench.store.watcher = heard = Heard()
    reconcile(bench.store.abandoned(), bench.engine, bench.store, bench.clock, bench.sleep)
    assert heard.words == [
        "a succeeded, 1 keys",
        "b cancelled, 0 keys",
        "a failed: its process ended before it did",
    ]


def test_a_run_that_a_server_cannot_plan() -> None:
    scene = Scene(SERVED)
    scene.bench.store.watcher = heard = Heard()
    scene.settle()
    scene.heard("2026-05-01")
    scene.server.turn()
    project = replace(scene.bench.project, scripts=())
    scene.server.project, scene.server.triggers = project, Triggers(project, scene.server.moves)
    scene.settle()
    assert heard.words == [
        "lake://main/a running, 0 steps",
        "lake://main/a failed: no script makes lake://main/a any more",
    ]
