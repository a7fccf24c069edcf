"""Backfills: started, looked at, cancelled, gone on with."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tranche.service import backfilling
from tranche.service.backfilling import BackfillResult
from tranche.views.backfills import (
    backfill_keys_view,
    backfill_plan_view,
    backfill_result_view,
    backfill_view,
)
from tranche.web.asking import BackfillBody
from tranche.web.served import PREFIX, Id, Json, Limit, Served


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["backfills"])
    read, run = [served.needs("read")], [served.needs("run")]

    @router.get("/backfills", dependencies=read, summary="The latest backfills first")
    async def backfills(request: Request, limit: Limit = 50) -> Response:
        def told() -> dict[str, Any]:
            found = backfilling.latest(served.store, limit=limit)
            return {"backfills": [backfill_view(each, how) for each, how in found]}

        return await served.shared.answer(request, told)

    @router.post("/backfills", status_code=202, dependencies=run, summary="Start a backfill")
    def start(body: BackfillBody) -> Json:
        served.server.look_at_scripts()
        clock = served.server.clock
        planned = backfilling.plan(
            served.project, body.request(clock), served.store, agreed=body.yes, clock=clock
        )
        if body.dry_run:
            return Json(backfill_plan_view(planned), 200)
        begun = backfilling.begin(planned, served.store, status="queued", clock=clock)
        if not planned.plan.steps:
            served.store.change_backfill(begun.id, status="succeeded", at=clock())
            done = BackfillResult(begun.id, "succeeded", planned, None)
            return Json(backfill_result_view(done), 200)
        served.server.wake()
        view = {"backfill": begun.id, "status": "queued", "partitions": len(planned.keys)}
        return Json(view | {"plan": backfill_plan_view(planned)}, 202)

    @router.get("/backfills/{id}", dependencies=read, summary="A backfill, and its keys")
    async def one(request: Request, id: Id) -> Response:
        def told() -> dict[str, Any]:
            found = backfilling.find(served.store, id)
            how = backfilling.how_it_stands(found, served.store)
            keys = backfilling.progress_of(found, served.store)
            return backfill_keys_view(found, how, keys)

        # Many pages follow one, and it may have a hundred thousand keys.
        return await served.shared.answer(request, told)

    @router.post("/backfills/{id}/cancel", status_code=202, dependencies=run, summary="End it")
    def cancel(id: Id) -> Json:
        found = backfilling.find(served.store, id)
        how = backfilling.cancel(found, served.store, clock=served.server.clock)
        return Json({"backfill": id, "status": how}, 202)

    @router.post("/backfills/{id}/resume", status_code=202, dependencies=run, summary="Go on")
    def resume(id: Id) -> Json:
        served.server.look_at_scripts()
        found = backfilling.find(served.store, id)
        backfilling.check_resumable(found, served.store)
        clock = served.server.clock
        planned = backfilling.rest(served.project, found, served.store, clock=clock)
        served.store.change_backfill(id, status="queued")
        served.server.wake()
        return Json({"backfill": id, "status": "queued", "partitions": len(planned.keys)}, 202)

    return router
