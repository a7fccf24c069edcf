"""Backfills: planned, run, and gone on with."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tranche.errors import TrancheError, UnknownTarget, UsageError
from tranche.model.backfill import (
    UNFINISHED,
    Backfill,
    BackfillPlan,
    BackfillRequest,
    BackfillStatus,
    Job,
)
from tranche.model.project import Project
from tranche.model.run import PartitionState
from tranche.planning.active import alive, is_to_come
from tranche.planning.backfill import plan_backfill
from tranche.ports import Clock, Engine, StateReader, StateStore
from tranche.run.attempts import KeyOutcome
from tranche.run.ids import new_id
from tranche.run.news import Tell, nobody
from tranche.run.recording import insist
from tranche.run.runner import PATIENCE, RunResult, run_plan
from tranche.script.lineages import lineage_of
from tranche.service.opening import now

_OPTIONS = ("every", "stale", "exact", "reverse", "only", "one_by_one", "most_keys")


@dataclass(frozen=True, slots=True)
class BackfillResult:
    """How a backfill ended."""

    id: str
    status: BackfillStatus
    plan: BackfillPlan
    run: RunResult | None
    """None if there was nothing to do."""

    @property
    def keys(self) -> tuple[KeyOutcome, ...]:
        """How each key of the asset that was asked for ended."""
        return tuple(outcome for asset, outcome in self.outcomes() if asset == self.plan.asset)

    def outcomes(self) -> list[tuple[str, KeyOutcome]]:
        return key_outcomes(self.run)

    @property
    def jobs(self) -> tuple[Job, ...]:
        return jobs_done(self.plan.jobs, self.run)


def plan(
    project: Project,
    request: BackfillRequest,
    state: StateReader,
    *,
    agreed: bool = False,
    clock: Clock = now,
) -> BackfillPlan:
    """What a backfill would do."""
    made_at = clock()
    # It reads SQL, which commands that do not need it should not wait for.
    from tranche.script.ranges.ranged import only_key_by_key

    planned = plan_backfill(
        project, request, state, only_key_by_key, agreed=agreed, read=lineage_of
    )
    return replace(planned, plan=replace(planned.plan, made_at=made_at))


def begin(
    planned: BackfillPlan,
    store: StateStore,
    *,
    status: BackfillStatus = "running",
    clock: Clock = now,
) -> Backfill:
    """Records a backfill, so that it can be gone on with whatever happens to this process."""
    request = planned.request
    backfill = Backfill(
        id=new_id(clock()),
        target=request.target,
        asset=planned.asset,
        status=status,
        created_at=clock(),
        keys=planned.keys,
        options={
            **{name: getattr(request, name) for name in _OPTIONS},
            "arguments": dict(request.arguments),
            "at": request.at.isoformat(),
        },
    )
    try:
        store.begin_backfill(backfill)
    except ValueError as error:
        raise UsageError(f"the backfill cannot be recorded: {error}") from None
    return backfill


def run(
    backfill: Backfill,
    planned: BackfillPlan,
    engine: Engine,
    store: StateStore,
    *,
    clock: Clock = now,
    tell: Tell = nobody,
    patience: float = PATIENCE,
) -> BackfillResult:
    """Works a backfill off."""
    if not planned.plan.steps:
        store.change_backfill(backfill.id, status="succeeded", at=clock())
        return BackfillResult(backfill.id, "succeeded", planned, None)
    # Known before it begins, so that whoever finds the backfill finds its run.
    id = new_id(clock())
    store.change_backfill(backfill.id, status="running", run=id)
    result = run_plan(
        planned.plan,
        engine,
        store,
        clock,
        tell=tell,
        patience=patience,
        id=id,
        stop=lambda: _is_cancelled(backfill.id, store),
    )
    store.change_backfill(backfill.id, status=_ended(result), run=result.id, at=clock())
    return BackfillResult(backfill.id, _ended(result), planned, result)


@dataclass(frozen=True, slots=True)
class Serves:
    """Works backfills off that a server has taken."""

    engine: Engine
    store: StateStore
    clock: Clock = now

    def __call__(
        self, project: Project, backfill: str, run: str, *, tell: Tell, stop: Callable[[], bool]
    ) -> tuple[RunResult | TrancheError, object]:
        found = find(self.store, backfill)
        try:
            planned = plan_rest(project, found, self.store, clock=self.clock)
        except TrancheError as error:
            self.store.change_backfill(backfill, status="failed", at=self.clock())
            return error, None
        cancelled = False

        def stops() -> bool:
            nonlocal cancelled
            cancelled = cancelled or _is_cancelled(backfill, self.store)
            return cancelled or stop()

        try:
            result = run_plan(
                planned.plan, self.engine, self.store, self.clock, tell=tell, id=run, stop=stops
            )
        except Exception:
            self._end(backfill, run, "failed")
            raise
        ended = BackfillResult(backfill, _ended(result), planned, result)
        if result.status != "cancelled" or cancelled:
            self._end(backfill, run, ended.status)
        # Otherwise it is the server that stops: another one goes on with it.
        return result, ended

    def _end(self, backfill: str, run: str, status: BackfillStatus) -> None:
        at = self.clock()
        insist(
            lambda: self.store.change_backfill(backfill, status=status, run=run, at=at), time.sleep
        )


def _ended(result: RunResult) -> BackfillStatus:
    return result.status if result.status != "running" else "failed"


def find(state: StateReader, backfill: str) -> Backfill:
    found = state.backfill(backfill)
    if found is None:
        raise UnknownTarget(
            f"there is no backfill {backfill!r}", "tranche backfill list names them"
        )
    return found


def check_resumable(backfill: Backfill, state: StateReader) -> None:
    how = how_it_stands(backfill, state)
    if how in ("running", "cancelling"):
        raise UsageError(
            f"the backfill {backfill.id} is being worked on",
            f"tranche backfill show {backfill.id} says how far it is",
        )


def rest(
    project: Project, backfill: Backfill, state: StateReader, *, clock: Clock = now
) -> BackfillPlan:
    """What is left of a backfill, of its asset and of what is downstream; there must be something."""
    planned = plan_rest(project, backfill, state, clock=clock)
    if not planned.plan.steps:
        raise UsageError(
            f"all keys of the backfill {backfill.id} have succeeded",
            "there is nothing to go on with",
        )
    return planned


def plan_rest(
    project: Project, backfill: Backfill, state: StateReader, *, clock: Clock = now
) -> BackfillPlan:
    """What is left of a backfill, of its asset and of what is downstream."""
    options = dict(backfill.options)
    arguments = options.get("arguments")
    assert isinstance(arguments, Mapping)
    request = BackfillRequest(
        target=backfill.target,
        at=clock(),
        keys=backfill.keys,
        exact=True,
        only=bool(options.get("only")),
        one_by_one=bool(options.get("one_by_one")),
        most_keys=int(str(options.get("most_keys"))),
        arguments=dict(arguments),
        resumes=True,
        resumed=backfill.id,
        # Each of its keys was to be done, whatever it was before.
        since=backfill.created_at,
    )
    return plan(project, request, state, clock=clock)


def progress_of(backfill: Backfill, state: StateReader) -> dict[str, str]:
    """Where each key of a backfill stands."""
    states = state.standing(backfill.asset, backfill.keys)
    return {key: _standing(states.get(key), backfill) for key in backfill.keys}


def _standing(state: PartitionState | None, backfill: Backfill) -> str:
    return "waiting" if state is None or is_to_come(state, backfill) else state.status


def latest(state: StateReader, *, limit: int) -> Sequence[tuple[Backfill, str]]:
    """The latest backfills, each with how it stands."""
    return tuple((each, how_it_stands(each, state)) for each in state.backfills(limit=limit))


def how_it_stands(backfill: Backfill, state: StateReader) -> str:
    """Its status; one that says it is running and is not was interrupted."""
    if backfill.status in UNFINISHED and not alive(backfill, state):
        return "interrupted"
    return backfill.status


def cancel(backfill: Backfill, store: StateStore, *, clock: Clock = now) -> BackfillStatus:
    """Ends a backfill; one that is being worked on ends after the commit at hand."""
    how = how_it_stands(backfill, store)
    if how in ("succeeded", "cancelled"):
        raise UsageError(f"the backfill {backfill.id} has {how} already")
    if how == "running":
        store.change_backfill(backfill.id, status="cancelling")
        return "cancelling"
    if how != "cancelling":
        store.change_backfill(backfill.id, status="cancelled", at=clock())
        return "cancelled"
    return "cancelling"


def _is_cancelled(backfill: str, state: StateReader) -> bool:
    return state.backfill_status(backfill) in ("cancelling", "cancelled", None)


def detach(
    backfill: Backfill,
    project: Project,
    target: str | None = None,
    *,
    patience: float = PATIENCE,
) -> Path:
    """Lets a process of its own work a backfill off; returns where it writes what it says."""
    settings = project.settings
    log = Path(settings.home) / "logs" / f"backfill-{backfill.id}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tranche", "backfill", "resume", backfill.id]
    command += ["--project", str(settings.root), "--patience", str(patience)]
    command += ["--target", target] if target else []
    with log.open("ab") as written:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return log


def key_outcomes(run: RunResult | None) -> list[tuple[str, KeyOutcome]]:
    """How each key of each asset ended."""
    found: list[tuple[str, KeyOutcome]] = []
    for step in run.steps if run is not None else ():
        record = step.record
        name = record.asset or record.script
        if step.keys:
            found += ((name, outcome) for outcome in step.keys)
            continue
        outcome = KeyOutcome(
            partition=record.partition,
            status=record.status,
            rows=record.rows,
            snapshot=record.snapshot,
            error=record.error,
            tests=step.tests,
            provisional=step.provisional,
        )
        found.append((name, outcome))
    return found


def jobs_done(planned: Sequence[Job], run: RunResult | None) -> tuple[Job, ...]:
    """The jobs as they were run: some that were meant to be one went key by key."""
    separate = {
        step.record.asset or step.record.script: step.separate
        for step in (run.steps if run is not None else ())
        if step.separate is not None
    }
    return tuple(
        replace(job, mode="per-key", reason=separate[job.asset])
        if job.mode == "range" and job.asset in separate
        else job
        for job in planned
    )
