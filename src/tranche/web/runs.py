"""Runs: started, looked at, cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from tranche import service
from tranche.errors import UnknownTarget, UsageError
from tranche.model.run import Attempt, Run, RunStatus
from tranche.views.runs import plan_view, recorded_run_view, recorded_step_view
from tranche.web.asking import RunBody
from tranche.web.served import PREFIX, Id, Json, Limit, Served

_REASONS = 3
"""Why keys of a step failed: so many reasons are told."""


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["runs"])
    read, run = [served.needs("read")], [served.needs("run")]

    @router.get("/runs", dependencies=read, summary="The latest runs first, by pages")
    async def runs(
        request: Request,
        before: Annotated[Id | None, Query(description="The last run of the page before.")] = None,
        limit: Limit = 50,
        status: Annotated[
            RunStatus | None, Query(description="Only those that ended like this.")
        ] = None,
        asset: Annotated[
            str | None, Query(description="Only those with a step that makes it.")
        ] = None,
    ) -> Response:
        def told() -> dict[str, Any]:
            if asset is None:
                found = served.store.runs(limit=limit + 1, before=before, status=status)
            else:
                name = str(service.find_made(served.project, asset, served.store))
                found = served.store.runs_of(name, limit=limit + 1, before=before, status=status)
            page = found[:limit]
            more = len(found) > limit
            return {
                "runs": [recorded_run_view(each) for each in page],
                "more": more,
                "next": page[-1].id if more else None,
            }

        return await served.shared.answer(request, told)

    @router.post("/runs", status_code=202, dependencies=run, summary="Start a run")
    def start(body: RunBody) -> Json:
        # Scripts may have been deployed a moment ago, and whoever asks means those.
        served.server.look_at_scripts()
        if body.like is not None:
            _check_like(body)
            plan = service.repeat(served.project, body.like, served.store)
        elif body.target:
            clock = served.server.clock
            plan = service.plan(served.project, body.request(clock), served.store, clock=clock)
        else:
            raise UsageError("a run needs a target", "name a script, an asset or a folder")
        if body.dry_run:
            return Json(plan_view(plan), 200)
        id = served.server.order(plan, patience=body.patience)
        return Json({"run": id, "status": "running", "plan": plan_view(plan)}, 202)

    @router.get("/runs/{id}", dependencies=read, summary="A run with its steps")
    def one(id: Id) -> Json:
        return Json(run_with_steps(served, find_run(served, id)))

    @router.post("/runs/{id}/cancel", status_code=202, dependencies=run, summary="End a run")
    def cancel(id: Id) -> Json:
        found = find_run(served, id)
        if found.status != "running":
            raise UsageError(f"the run {id} has {found.status} already")
        if not served.server.feed.knows(id):
            raise UsageError(
                f"the run {id} is not one of this server", "stop the process that runs it"
            )
        backfill = next((r.backfill for r in served.server.running if r.run == id), None)
        if backfill is not None:
            # It would be taken for one that a server has left, and that another goes on with.
            raise UsageError(
                f"the run {id} works the backfill {backfill} off",
                f"cancel that: POST /api/backfills/{backfill}/cancel",
            )
        served.server.cancel(id)
        return Json({"run": id, "status": "cancelling"}, 202)

    return router


def find_run(served: Served, id: str) -> Run:
    found = served.store.run(id)
    if found is None:
        raise UnknownTarget(f"there is no run {id!r}", "/api/runs lists them")
    return found


def run_with_steps(served: Served, run: Run) -> dict[str, Any]:
    steps = [recorded_step_view(step) for step in served.store.steps(run.id)]
    broken = [step for step in steps if step["status"] == "failed" and step["keys"] > 1]
    if broken:
        errors = _errors(served.store.attempts(run.id))
        for step in broken:
            step["errors"] = errors.get(step["position"], [])
    return recorded_run_view(run) | {"steps": steps}


def _errors(attempts: Sequence[Attempt]) -> dict[int, list[str]]:
    """Why attempts at the keys of each step failed, each reason once, and not too many."""
    found: dict[int, list[str]] = {}
    for attempt in attempts:
        reasons = found.setdefault(attempt.position, [])
        if attempt.error and attempt.error not in reasons and len(reasons) < _REASONS:
            reasons.append(attempt.error)
    return found


def _check_like(body: RunBody) -> None:
    if any(
        (body.target, body.partition, body.payload, body.arguments, body.at, body.only, body.exact)
    ):
        raise UsageError(
            "like takes everything from the run that it repeats",
            "leave the target and what chooses a key out",
        )
