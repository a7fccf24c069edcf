"""The application: routes behind a guard, errors in one form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Response

from tranche.web import assets, backfills, events, following, looking, pages, runs, session
from tranche.web.failures import answer_failures
from tranche.web.guard import Guard, Names
from tranche.web.metrics import CONTENT_TYPE, Measured, Metrics
from tranche.web.served import PREFIX, Json, Served
from tranche.web.shared import Forgetting

_THREADS = 6
"""How many requests are worked on at once: the state takes a few more, which are for runs."""


@asynccontextmanager
async def _few_threads(_: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = _THREADS
    yield


def application(served: Served, names: Names, metrics: Metrics) -> FastAPI:
    app = FastAPI(
        title="Tranche",
        version=version("tranche"),
        description="Runs, backfills, events and what became of them.",
        openapi_url=PREFIX,
        # These pages fetch scripts from elsewhere; the description itself is all here.
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
        # An address has one form; where a redirect leads to, the caller's Host would say.
        redirect_slashes=False,
        lifespan=_few_threads,
    )
    answer_failures(app)
    for part in (session, assets, looking, runs, backfills, events, following):
        app.include_router(part.routes(served))

    app.include_router(pages.routes())
    app.mount("/static", pages.static())

    @app.get("/healthz", include_in_schema=False)
    async def health() -> Json:
        # It waits for no thread: others may have them all for a while.
        stopping = served.server.stopping
        view = {"status": "stopping" if stopping else "serving", "server": served.server.id}
        return Json(view, 503 if stopping else 200)

    @app.get("/metrics", include_in_schema=False, dependencies=[served.needs("read")])
    def look() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    app.add_middleware(Forgetting, shared=served.shared)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(Guard, names=names)
    return app
