"""What there is: assets, their graph, their partitions, and why a key stands where it does."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from tranche import service
from tranche.model.plan import Request
from tranche.views.assets import partitions_view, status_view
from tranche.views.explanation import explanation_view
from tranche.views.graph import graph_view
from tranche.web.served import PREFIX, Json, Limit, Served, cursor, key_of

Asset = Annotated[str, Query(description="An asset's address, or its table or script.")]


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["assets"], dependencies=[served.needs("read")])

    @router.get("/assets", summary="Each asset, and how many of its keys stand where")
    def assets() -> Json:
        return Json(status_view(service.status(served.project, served.store)))

    @router.get("/graph", summary="What is made from what")
    def graph() -> Json:
        return Json(graph_view(served.project))

    @router.get("/partitions", summary="The keys of an asset as the ledger has them, by pages")
    def partitions(
        asset: Asset,
        start: Annotated[str | None, Query(description="From this key on, or this date.")] = None,
        end: Annotated[str | None, Query(description="Up to this key, or this date.")] = None,
        after: Annotated[str | None, Query(description="'next' of the page before.")] = None,
        limit: Limit = 100,
        stale: Annotated[
            bool, Query(description="Say also where each stands: stale, running, …")
        ] = False,
    ) -> Json:
        bounds = service.key_bounds(served.project, asset, served.store, start=start, end=end)
        last = None if after is None else key_of(after)
        page = service.partition_status(
            served.project,
            served.store,
            asset,
            limit=limit,
            start=bounds[0],
            end=bounds[1],
            after=last,
        )
        ends = cursor(page.partitions[-1].partition) if page.more else None
        view = partitions_view(page, None) | {"next": ends}
        if stale:
            found = service.standings(served.project, served.store, page)
            for each in view["partitions"]:
                each["standing"] = found[each["partition"]]
        return Json(view)

    @router.get("/ranges", summary="Where the keys of time of an asset stand, as stretches")
    def ranges(
        asset: Asset,
        start: Annotated[str | None, Query(description="From this key on, or this date.")] = None,
        end: Annotated[str | None, Query(description="Up to this key, or this date.")] = None,
    ) -> Json:
        clock = served.server.clock
        grid = service.grid(served.project, asset, served.store, start=start, end=end, clock=clock)
        found = [] if grid is None else grid.stretches()
        return Json(
            {
                "asset": str(service.find_made(served.project, asset, served.store)),
                "ranges": [
                    {"start": s.first, "end": s.last, "status": s.standing, "partitions": s.keys}
                    for s in found
                ],
            }
        )

    @router.get("/explain", summary="Why a key stands where it does, and what would change it")
    def explain(
        target: Annotated[str, Query(description="A script, or an asset's address.")],
        partition: Annotated[
            str | None, Query(description="The key; that of now if absent.")
        ] = None,
    ) -> Json:
        clock = served.server.clock
        request = Request(target=target, fire_time=clock(), partition=partition)
        found = service.explain(served.project, request, served.store, clock=clock)
        return Json(explanation_view(found))

    return router
