"""What the routes of a server have in common."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import StringConstraints

from tranche.errors import UsageError
from tranche.model.partitioning_text import unstorable
from tranche.model.project import Project
from tranche.model.token import Role
from tranche.ports import StateStore
from tranche.run.serving import Server
from tranche.views.plain import as_json
from tranche.web.callers import Callers
from tranche.web.shared import Shared

PREFIX = "/api"
Id = Annotated[str, StringConstraints(max_length=100, pattern=r"^[\w.:-]+$")]
"""What runs, backfills and events are called."""
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]


class Json(JSONResponse):
    """An answer in the form that commands print."""

    def render(self, content: Any) -> bytes:
        return as_json(content).encode()


@dataclass(frozen=True, slots=True)
class Served:
    """A server, and who may ask it for what."""

    server: Server
    callers: Callers
    checks: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    """Lets one at a time read tokens, for all who wait for them."""
    shared: Shared = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared", Shared(self.server))

    @property
    def project(self) -> Project:
        return self.server.project

    @property
    def store(self) -> StateStore:
        return self.server.store

    def role(self, request: Request) -> Role:
        """What the caller may do."""
        return self.callers.role(shown_token(request))

    def needs(self, role: Role) -> Any:
        """A dependency of routes that takes a role."""

        async def check(request: Request) -> None:
            token = shown_token(request)
            if self.callers.knows_tokens:
                self.callers.check(token, role)
            else:
                # Whoever asks for little does not wait until those who ask for much have got it.
                await run_sync(self.callers.check, token, role, limiter=self.checks)

        return Depends(check)


def shown_token(request: Request) -> str | None:
    """The token that a request shows: programs do so in a header, browsers in a cookie.

    What a browser sends by itself counts for requests of our own pages only, which the guard sees
    to, and which the cookie itself is made for.
    """
    header = request.headers.get("authorization")
    kept = request.cookies.get(cookie_of(request))
    return header if header is not None or kept is None else f"Bearer {kept}"


def cookie_of(request: Request) -> str:
    """What the cookie with the token is called: servers at other ports of a machine get it too, and
    have their own."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"tranche_token_{port}" if port.isdigit() else "tranche_token"


def cursor(*parts: str | None) -> str:
    """Where a page ends, as a text that fits into an address.

    >>> place_of(cursor("lake://main/a", None))
    ('lake://main/a', None)
    """
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


def key_of(text: str) -> str:
    """The key that a page of keys ended with."""
    match _parts(text):
        case [str(key)]:
            return key
    raise _no_end()


def place_of(text: str) -> tuple[str, str | None]:
    """The consumer and the key that a page of pending keys ended with."""
    match _parts(text):
        case [str(consumer), None | str() as key]:
            return consumer, key
    raise _no_end()


def _parts(text: str) -> list[str | None]:
    """What a cursor was made of, as far as a state could have it."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(text.encode()))
    except (ValueError, RecursionError):
        raise _no_end() from None
    if not isinstance(parts, list) or not all(map(_is_key, parts)):
        raise _no_end()
    return parts


def _is_key(part: object) -> bool:
    if part is None:
        return True
    return isinstance(part, str) and part != "" and unstorable(part) is None


def _no_end() -> UsageError:
    return UsageError("after is no end of a page", "take it from 'next' of the page before")
