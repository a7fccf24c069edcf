"""The pages for people: a few files that ask the API for everything they show."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "static"
_HEADERS = {
    # Nothing from elsewhere, and no code but that of our own files: what users call things stays
    # text whatever it looks like.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
}
PAGES = (
    "/",
    "/assets/{rest:path}",
    "/runs",
    "/runs/{rest:path}",
    "/backfills",
    "/backfills/{rest:path}",
    "/events",
    "/schedules",
    "/pending",
)


def routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def page() -> FileResponse:
        return FileResponse(FOLDER / "index.html", headers=_HEADERS)

    for path in PAGES:
        router.add_api_route(path, page, methods=["GET", "HEAD"])
    return router


class Static(StaticFiles):
    """The files of the pages, which a browser asks for again when they have changed."""

    def file_response(self, *args: object, **options: object) -> FileResponse:
        answer = super().file_response(*args, **options)  # type: ignore[arg-type]
        answer.headers.update(_HEADERS)
        return answer  # type: ignore[return-value]


def static() -> Static:
    return Static(directory=FOLDER)
