"""Who looks at pages: a token is shown once, and kept by the browser where no script can read it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tranche.web.served import PREFIX, Json, Served, cookie_of

_YEAR = 365 * 24 * 3600


class TokenBody(BaseModel):
    """A token, as `tranche token create` prints it."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=500)


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["session"])

    @router.get("/session", summary="Who one is, and what one may do")
    def who(request: Request) -> Json:
        role = served.role(request)
        return Json(
            _about(served) | {"role": role, "signed_in": cookie_of(request) in request.cookies}
        )

    @router.post("/session", summary="Sign in with a token")
    def sign_in(body: TokenBody, request: Request, response: Response) -> Json:
        role = served.callers.role(f"Bearer {body.token.strip()}")
        answer = Json(_about(served) | {"role": role, "signed_in": True})
        answer.set_cookie(
            cookie_of(request),
            body.token.strip(),
            max_age=_YEAR,
            httponly=True,
            samesite="strict",
            # Where something before us speaks https, only the browser tells.
            secure="https" in (request.url.scheme, request.headers.get("origin", "").split(":")[0]),
            path="/",
        )
        return answer

    @router.delete("/session", summary="Sign out")
    def sign_out(request: Request) -> Json:
        answer = Json({"signed_in": False})
        answer.delete_cookie(cookie_of(request), httponly=True, samesite="strict", path="/")
        return answer

    @router.get(
        "/pulse", summary="Whether something has happened", dependencies=[served.needs("read")]
    )
    async def pulse() -> Json:
        # Every page asks for it again and again: it waits for no thread and asks no state.
        server = served.server
        return Json(
            {
                "server": server.id,
                "number": server.feed.number,
                "running": [
                    {"run": each.run, "asset": each.consumer, "backfill": each.backfill}
                    for each in server.running
                ],
            }
        )

    return router


def _about(served: Served) -> dict[str, Any]:
    return {
        "project": Path(served.project.settings.root).name,
        "version": version("tranche"),
        "server": served.server.id,
        "tokens": bool(served.callers.known()),
    }
