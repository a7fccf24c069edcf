"""Catch-up: what is missing, and filling it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tranche.model.backfill import BackfillRequest, CatchupPlan
from tranche.model.project import Project
from tranche.planning.catchup import plan_catchup as planned_catchup
from tranche.ports import Clock, Engine, StateReader, StateStore
from tranche.run.news import Tell, nobody
from tranche.run.runner import PATIENCE, RunResult, run_plan
from tranche.service.opening import now


@dataclass(frozen=True, slots=True)
class CatchupResult:
    """How a catch-up ended."""

    plan: CatchupPlan
    run: RunResult | None
    """None if there was nothing to do."""


def plan_catchup(
    project: Project,
    request: BackfillRequest,
    state: StateReader,
    *,
    agreed: bool = False,
    clock: Clock = now,
) -> CatchupPlan:
    """What a catch-up would do."""
    made_at = clock()
    from tranche.script.ranges.ranged import only_key_by_key
    from tranche.script.schedules import moved

    planned = planned_catchup(project, request, state, only_key_by_key, moved, agreed=agreed)
    return replace(planned, plan=replace(planned.plan, made_at=made_at))


def catch_up(
    planned: CatchupPlan,
    engine: Engine,
    store: StateStore,
    *,
    clock: Clock = now,
    tell: Tell = nobody,
    patience: float = PATIENCE,
) -> CatchupResult:
    """Fills what is missing."""
    if not planned.plan.steps:
        return CatchupResult(planned, None)
    run = run_plan(planned.plan, engine, store, clock, tell=tell, patience=patience)
    return CatchupResult(planned, run)
