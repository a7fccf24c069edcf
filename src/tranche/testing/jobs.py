"""A job of a test, run without a project: through the planner and the runner, in memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tranche.errors import ScriptFaults, UsageError
from tranche.jobs.declared import job_of
from tranche.jobs.kinds import text_of
from tranche.jobs.scripts import JobRead, read_job
from tranche.jobs.source import Sources
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Plan, Request
from tranche.model.project import Lake, Project, Settings, SparkSettings
from tranche.model.run import RunStatus, StepStatus
from tranche.planning.backfill import plan_backfill
from tranche.planning.plan import build_plan
from tranche.run.attempts import StepResult
from tranche.run.runner import RunResult, run_plan
from tranche.script.lakes import Lakes
from tranche.script.ranges.ranged import only_key_by_key
from tranche.state.memory import MemoryStore
from tranche.testing.engine import MemoryEngine
from tranche.testing.kept import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """How a task of a job ended."""

    name: str
    status: StepStatus
    asset: str
    keys: Mapping[str | None, StepStatus]
    """How each of its keys ended; None is the key of a job without partitions."""
    errors: Mapping[str | None, str]
    """What went wrong, by key."""
    rows: tuple[Record, ...]
    """The rows of what it makes that are of these keys, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How a job ended."""

    status: RunStatus
    tasks: Mapping[str, TaskResult]
    """Its tasks by name, without that of the job."""
    warnings: tuple[str, ...]
    run: RunResult

    def __getitem__(self, task: str) -> TaskResult:
        return self.tasks[task]


def run_job(
    job: Callable[..., Any],
    *,
    partition: str | None = None,
    partitions: Sequence[str] | None = None,
    arguments: Mapping[str, object] | None = None,
    engine: MemoryEngine | None = None,
    store: MemoryStore | None = None,
    now: datetime | None = None,
    scheduled: bool = False,
    exact: bool = False,
) -> JobResult:
    """Runs a function with @job for a key, for several, or for the one that follows from `now`.

    The tasks are called with what the run would give them. An engine and a store that are used
    again remember what was run before. `exact` leaves lookback out; `scheduled` says that `now` is
    the fire time of a schedule, so that nothing is said about a key that nobody gave.
    """
    if partition is not None and partitions is not None:
        raise UsageError("partition= and partitions= are given", "give one of them")
    project, read = project_of(job)
    engine = engine or MemoryEngine()
    store = store or MemoryStore()
    engine.tasks |= read.functions
    at = now or datetime.now(UTC)
    texts = {name: _text(name, value) for name, value in (arguments or {}).items()}
    plan: Plan
    if partitions is None:
        request = Request(
            target=read.name,
            fire_time=at,
            partition=partition,
            arguments=texts,
            exact=exact,
            scheduled=scheduled,
        )
        plan = build_plan(project, request, store, only_key_by_key)
    else:
        wanted = BackfillRequest(
            target=read.name, at=at, keys=tuple(partitions), arguments=texts, exact=exact
        )
        plan = plan_backfill(project, wanted, store, only_key_by_key).plan
    result = run_plan(plan, engine, store, lambda: datetime.now(UTC), sleep=lambda _: None)
    return JobResult(
        status=result.status,
        tasks={
            script.name.removeprefix(f"{read.name}."): _task(
                script.name.removeprefix(f"{read.name}."),
                str(script.asset),
                [step for step in result.steps if step.record.script == script.name],
                engine,
            )
            for script in read.scripts
        },
        warnings=result.warnings,
        run=result,
    )


def _task(name: str, asset: str, steps: Sequence[StepResult], engine: MemoryEngine) -> TaskResult:
    keys: dict[str | None, StepStatus] = {}
    errors: dict[str | None, str] = {}
    for step in steps:
        record = step.record
        if not step.keys:
            keys[record.partition] = record.status
            errors |= {record.partition: record.error} if record.error else {}
        for each in step.keys:
            keys[each.partition] = each.status
            errors |= {each.partition: each.error} if each.error else {}
    order: tuple[StepStatus, ...] = ("cancelled", "failed", "succeeded", "skipped", "waiting")
    status: StepStatus = next((each for each in order if each in keys.values()), "skipped")
    script = engine.kept.outputs.get(asset)
    output = script.code.output if script is not None and script.code is not None else None
    rows = engine.kept.read(asset, list(keys), output)
    return TaskResult(name=name, status=status, asset=asset, keys=keys, errors=errors, rows=rows)


def _text(name: str, value: object) -> str:
    found = text_of(value)
    if found is None:
        raise UsageError(
            f"the argument {name!r} is a value of the type {type(value).__name__}",
            "give a text, a number, a boolean or a time",
        )
    return found


class _Every(frozenset[str]):
    """In a test, any name is that of a lake."""

    def __contains__(self, name: object) -> bool:
        return True


def project_of(job: Callable[..., Any]) -> tuple[Project, JobRead]:
    """A project of one job; ScriptFaults if it has some."""
    found = job_of(job)
    if found is None:
        raise UsageError(f"{job!r} is no job", "give run_job a function with @job")
    file = Path(inspect.unwrap(found.function).__code__.co_filename)
    root = str(file.parent)
    read = read_job(found, file.name, root, Lakes(_Every(), "main"), Sources())
    if read.faults:
        raise ScriptFaults(read.faults)
    settings = Settings(
        name=read.name,
        root=root,
        state_url="sqlite://",
        spark=SparkSettings(),
        lakes={"main": Lake(name="main", warehouse=root)},
        default_lake="main",
    )
    return Project(settings=settings, scripts=read.scripts), read
