"""Backfills: planned, run, and gone on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tranche.errors import UnknownTarget, UsageError
from tranche.model.backfill import Backfill, BackfillPlan, BackfillRequest, BackfillStatus
from tranche.model.project import Project
from tranche.model.run import PartitionState
from tranche.planning.backfill import plan_backfill
from tranche.ports import Clock, Engine, StateReader, StateStore
from tranche.run.attempts import KeyOutcome
from tranche.run.ids import new_id
from tranche.run.runner import PATIENCE, Progress, RunResult, run_plan
from tranche.service.opening import now

_OPTIONS = ("every", "exact", "reverse", "only", "one_by_one", "most_keys")


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
        found: list[tuple[str, KeyOutcome]] = []
        for step in self.run.steps if self.run is not None else ():
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
            )
            found.append((name, outcome))
        return found


def plan(
    project: Project, request: BackfillRequest, state: StateReader, *, agreed: bool = False
) -> BackfillPlan:
    """What a backfill would do."""
    # It reads SQL, which commands that do not need it should not wait for.
    from tranche.script.ranges.ranged import only_key_by_key

    return plan_backfill(project, request, state, only_key_by_key, agreed=agreed)


def begin(planned: BackfillPlan, store: StateStore, *, clock: Clock = now) -> Backfill:
    """Records a backfill, so that it can be gone on with whatever happens to this process."""
    request = planned.request
    backfill = Backfill(
        id=new_id(clock()),
        target=request.target,
        asset=planned.asset,
        status="running",
        created_at=clock(),
        keys=planned.keys,
        options={
            **{name: getattr(request, name) for name in _OPTIONS},
            "arguments": dict(request.arguments),
            "at": request.at.isoformat(),
        },
    )
    store.begin_backfill(backfill)
    return backfill


def run(
    backfill: Backfill,
    planned: BackfillPlan,
    engine: Engine,
    store: StateStore,
    *,
    clock: Clock = now,
    progress: Progress | None = None,
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
        planned.plan, engine, store, clock, progress=progress, patience=patience, id=id
    )
    status: BackfillStatus = result.status if result.status != "running" else "failed"
    store.change_backfill(backfill.id, status=status, run=result.id, at=clock())
    return BackfillResult(backfill.id, status, planned, result)


def find(state: StateReader, backfill: str) -> Backfill:
    found = state.backfill(backfill)
    if found is None:
        raise UnknownTarget(
            f"there is no backfill {backfill!r}", "tranche backfill list names them"
        )
    return found


def rest(
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
        # What had succeeded before is done again only if that was asked for.
        since=backfill.created_at if options.get("every") else None,
    )
    planned = plan(project, request, state)
    if not planned.plan.steps:
        raise UsageError(
            f"all keys of the backfill {backfill.id} have succeeded",
            "there is nothing to go on with",
        )
    return planned


def progress_of(backfill: Backfill, state: StateReader) -> dict[str, str]:
    """Where each key of a backfill stands."""
    states = state.standing(backfill.asset, backfill.keys)
    return {key: _standing(states.get(key), backfill) for key in backfill.keys}


def _standing(state: PartitionState | None, backfill: Backfill) -> str:
    if state is None or state.at < backfill.created_at:
        return "waiting"
    return state.status


def latest(state: StateReader, *, limit: int) -> Sequence[tuple[Backfill, str]]:
    """The latest backfills, each with how it stands."""
    return tuple((each, how_it_stands(each, state)) for each in state.backfills(limit=limit))


def how_it_stands(backfill: Backfill, state: StateReader) -> str:
    """Its status; one that says it is running and is not was interrupted."""
    if backfill.status != "running" or backfill.run is None:
        return backfill.status
    run = state.run(backfill.run)
    ended = run is not None and run.status != "running"
    gone = any(left.id == backfill.run for left in state.abandoned())
    return "interrupted" if ended or gone else "running"
