"""What pages show: the overview, an asset, its keys, its rows and its code."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Response
from fastapi import Request as Called

from tranche import service
from tranche.errors import PartitioningError, ResolutionError, UnknownTarget, UsageError
from tranche.model.plan import Request
from tranche.model.wanted import Wanted, read_filter, read_order
from tranche.service.about import about, key_log, schedules, tested_keys
from tranche.service.code import coloured, listing
from tranche.service.lineage import both_ways, traced_columns
from tranche.service.overview import overview
from tranche.views.about import about_view, key_view, listing_view, scheduled_view, tested_view
from tranche.views.assets import columns_view, preview_view, snapshots_view, violations_view
from tranche.views.explanation import explanation_view
from tranche.views.grid import grid_view
from tranche.views.lineage import map_view
from tranche.views.overview import overview_view
from tranche.views.rows import LONGEST, rows_view
from tranche.web.served import PREFIX, Json, Limit, Served

Asset = Annotated[str, Query(description="An asset's address, or its table or script.")]
Partition = Annotated[str | None, Query(description="A key; none of an asset without any.")]
AT_ONCE = 3
"""How many look at tables at once, in threads beside those of other requests: Spark takes its time,
and who waits for it keeps nobody from what the state knows."""


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["pages"], dependencies=[served.needs("read")])
    tables = CapacityLimiter(AT_ONCE)

    @router.get("/overview", summary="Each asset with how it stands, and where it is drawn")
    async def look(request: Called) -> Response:
        def told() -> dict[str, Any]:
            project = served.project
            faults = [
                {"place": str(fault.place), "message": fault.what, "remedy": fault.remedy}
                for fault in project.faults
            ]
            return overview_view(overview(project, served.store)) | {"faults": faults}

        return await served.shared.answer(request, told)

    @router.get("/asset", summary="One asset: who makes it, and how it stands")
    async def one(request: Called, asset: Asset) -> Response:
        def told() -> dict[str, Any]:
            clock = served.server.clock
            return about_view(about(served.project, asset, served.store, clock=clock))

        return await served.shared.answer(request, told)

    @router.get("/grid", summary="Where all keys of time of an asset stand")
    async def grid(
        request: Called,
        asset: Asset,
        start: Annotated[str | None, Query(description="From this key on, or this date.")] = None,
        end: Annotated[str | None, Query(description="Up to this key, or this date.")] = None,
        stale: Annotated[bool, Query(description="Look also which are stale.")] = False,
    ) -> Response:
        def told() -> dict[str, Any]:
            found = service.grid(
                served.project,
                asset,
                served.store,
                start=start,
                end=end,
                whole=True,
                stale=stale,
                clock=served.server.clock,
            )
            return {"kind": None} if found is None else grid_view(found)

        return await served.shared.answer(request, told)

    @router.get("/key", summary="Where a key stands, and the latest attempts at it")
    def key(asset: Asset, partition: Partition = None) -> Json:
        name, state, log = key_log(served.project, asset, partition, served.store)
        return Json(key_view(name, partition, state, tuple(log)))

    @router.get("/rows", summary="The first rows of a table, or of a slice of it")
    async def rows(
        asset: Asset,
        partition: Partition = None,
        snapshot: Annotated[
            str | None, Query(pattern=r"^\d{1,19}$", description="As it was at this snapshot.")
        ] = None,
        where: Annotated[
            list[str] | None,
            Query(description="Only rows like 'amount > 10'; all of several hold."),
        ] = None,
        order: Annotated[
            list[str] | None, Query(description="Sorted by columns, as 'amount' or 'amount desc'.")
        ] = None,
        limit: Limit = 100,
    ) -> Json:
        wanted = Wanted(
            filters=tuple(map(read_filter, where or ())),
            order=tuple(map(read_order, order or ())),
            longest=LONGEST,
        )

        def look() -> Json:
            table, preview = service.show(
                served.project,
                served.server.engine,
                asset,
                partition,
                limit=limit,
                snapshot=snapshot,
                wanted=wanted,
                state=served.store,
            )
            view = preview_view(table, partition, preview, ())
            return Json(view | rows_view(preview.rows))

        return await run_sync(look, limiter=tables)

    @router.get("/snapshots", summary="What readers of a table saw, the latest first")
    async def snapshots(asset: Asset, limit: Limit = 50) -> Json:
        def look() -> Json:
            found = service.snapshots(served.project, served.server.engine, asset, limit=limit)
            return Json(snapshots_view(*found))

        return await run_sync(look, limiter=tables)

    @router.get("/columns", summary="The versions of an asset's columns")
    def columns(asset: Asset, limit: Limit = 20) -> Json:
        return Json(
            columns_view(service.columns_log(served.project, served.store, asset, limit=limit))
        )

    @router.get("/lineage", summary="Where columns come from, and what is made of them")
    def lineage(
        asset: Asset,
        column: Annotated[
            str | None, Query(description="All that it comes from and goes into; else one step.")
        ] = None,
    ) -> Json:
        return Json(map_view(*both_ways(served.project, served.store, asset, column)))

    @router.get("/traced", summary="How many columns of each asset are known to come from others")
    def traced() -> Json:
        return Json({"columns": traced_columns(served.project, served.store)})

    @router.get("/violations", summary="The rows that violated data tests, as they were kept")
    def violations(asset: Asset, partition: Partition = None) -> Json:
        found = service.violations(served.project, served.store, asset, partition)
        view = violations_view(found)
        for test, shown in zip(found.tests, view["tests"], strict=True):
            shown |= {"rows": []} if test.sample is None else rows_view(test.sample)
        return Json(view)

    @router.get("/tests", summary="What data tests found in the latest keys")
    def tests(asset: Asset, limit: Limit = 60) -> Json:
        return Json(tested_view(*tested_keys(served.project, asset, served.store, limit=limit)))

    @router.get("/code", summary="The script of an asset, and what it sends to Spark for a key")
    def code(asset: Asset, partition: Partition = None) -> Json:
        found = about(served.project, asset, served.store, clock=served.server.clock)
        script = found.script
        if script is None:
            raise UnknownTarget(f"no script makes {found.asset}", "the graph shows what there is")
        view = listing_view(listing(served.project, script))
        clock = served.server.clock
        request = Request(target=script.name, fire_time=clock(), partition=partition)
        try:
            explained = explanation_view(
                service.explain(served.project, request, served.store, clock=clock)
            )
        except (UsageError, ResolutionError, PartitioningError) as error:
            # It may take a key or arguments that nobody has given; the script is the same without.
            explained = {
                "verdict": "fail",
                "reason": str(error),
                "kind": type(error).__name__,
                "statements": [],
            }
        for statement in explained["statements"]:
            statement["lines"] = [
                [list(piece) for piece in line] for line in coloured(statement["text"], "sql")
            ]
        return Json(view | {"explained": explained})

    @router.get("/schedules", summary="All schedules, the next to fire first")
    def clocks() -> Json:
        found = schedules(served.project, served.store, clock=served.server.clock)
        return Json({"schedules": [scheduled_view(each) for each in found]})

    return router
