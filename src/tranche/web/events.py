"""Events, pending keys and pauses."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from tranche.service import triggering
from tranche.views.triggers import emitted_view, event_view, pending_page_view, retracted_view
from tranche.web.asking import AssetBody, EventBody
from tranche.web.served import PREFIX, Id, Json, Limit, Served, cursor, place_of

Asset = Annotated[str | None, Query(description="Only of this asset or script.")]


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["events"])
    read, run, admin = ([served.needs(role)] for role in ("read", "run", "admin"))

    @router.get("/events", dependencies=read, summary="What came from outside, the latest first")
    def events(
        asset: Asset = None,
        before: Annotated[
            Id | None, Query(description="The last event of the page before.")
        ] = None,
        limit: Limit = 50,
    ) -> Json:
        found = triggering.events(
            served.project, asset, served.store, limit=limit + 1, before=before
        )
        page = found[:limit]
        more = len(found) > limit
        return Json(
            {
                "events": [event_view(event) for event in page],
                "more": more,
                "next": page[-1].id if more else None,
            }
        )

    @router.post("/events", status_code=201, dependencies=run, summary="Record an event")
    def emit(body: EventBody) -> Json:
        emitted = triggering.emit_to(
            served.server.triggers.consumers,
            body.asset,
            served.store,
            partition=body.partition,
            payload=body.payload,
            broken=served.project.broken,
            clock=served.server.clock,
        )
        served.server.wake()
        return Json(emitted_view(emitted), 201)

    @router.post("/events/{id}/retract", dependencies=admin, summary="Take an event back")
    def retract(id: Id) -> Json:
        clock = served.server.clock
        taken = triggering.retract(served.project, id, served.store, clock=clock)
        return Json(retracted_view(taken))

    @router.get("/pending", dependencies=read, summary="Keys that should run and do not yet")
    def pending(
        asset: Asset = None,
        after: Annotated[str | None, Query(description="'next' of the page before.")] = None,
        limit: Limit = 100,
    ) -> Json:
        last = None if after is None else place_of(after)
        page = triggering.pending(
            served.project,
            asset,
            served.store,
            limit=limit,
            after=last,
        )
        ends = cursor(*page.rows[-1].place) if page.more else None
        return Json(pending_page_view(page) | {"next": ends})

    @router.post("/pauses", dependencies=admin, summary="Let nobody run keys of a script")
    def pause(body: AssetBody) -> Json:
        clock = served.server.clock
        consumer = triggering.pause(served.project, body.asset, served.store, clock=clock)
        return Json({"asset": consumer, "status": "paused"})

    @router.delete("/pauses", dependencies=admin, summary="Let keys of a script run again")
    def resume(asset: Annotated[str, Query(description="An asset or a script.")]) -> Json:
        consumer = triggering.resume(served.project, asset, served.store)
        served.server.wake()
        return Json({"asset": consumer, "status": "resumed"})

    return router
