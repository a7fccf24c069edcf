"""Answers that all pages share that ask at about the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tranche.run.serving import Server
from tranche.views.plain import as_json
from tranche.web.kept import Kept

HOLDS_FOR = "holds-for"
"""The header of an answer that is kept: for how many seconds all who ask get the same one."""
AGAIN_IN = "again-in"
"""The header of an answer that is older than what has happened: in how many seconds there is a new
one."""
_HELD = 2.0
"""Seconds for which an answer holds at least while something runs. A run may tell something for each
of its keys, and each time all pages ask what has come of it."""
_READS = ("GET", "HEAD")
Question: TypeAlias = tuple[str, str]
"""A path, and what is asked of it."""


class Shared:
    """Answers as they are sent, with the state of things when they were made."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept = Kept[tuple[object, bytes]]()
        self._making: dict[Question, asyncio.Future[tuple[object, bytes]]] = {}
        """What somebody waits for: others wait with them, and take no thread for it."""

    async def answer(self, request: Request, made: Callable[[], Any]) -> Response:
        """The answer to a request, which depends on nothing but its address."""
        question = request.url.path, request.url.query
        # What is at hand takes no thread: these are for those who make something.
        found = self._kept.at_hand(question)
        if found is None:
            making = self._making.get(question)
            if making is None:
                making = asyncio.ensure_future(run_in_threadpool(self._made, question, made))
                self._making[question] = making
                making.add_done_callback(lambda done: self._over(question, done))
            # One who goes away takes the answer from nobody else.
            found = await asyncio.shield(making)
        then, body = found
        left = self._kept.left(question)
        headers = {HOLDS_FOR: f"{left:.2f}"} if left else {}
        if then != self._now():
            headers[AGAIN_IN] = f"{left:.2f}"
        return Response(body, headers=headers, media_type="application/json")

    def _over(self, question: Question, done: asyncio.Future[tuple[object, bytes]]) -> None:
        if self._making.get(question) is done:
            del self._making[question]
        if not done.cancelled():
            # It may be that nobody waits any more who would hear of an error.
            done.exception()

    def _now(self) -> object:
        """What a pulse tells: pages ask again whenever it differs."""
        return self._server.feed.number, len(self._server.running)

    def _made(self, question: Question, made: Callable[[], Any]) -> tuple[object, bytes]:
        def told() -> tuple[object, bytes]:
            # This comes first: what happens meanwhile may be missing from the answer.
            then = self._now()
            return then, as_json(made()).encode()

        return self._kept.get(question, told, least=_HELD if self._server.running else 0.0)

    def forget(self) -> None:
        self._kept.forget()
        self._making.clear()


class Forgetting:
    """Whoever has changed something sees it in whatever they ask for next."""

    def __init__(self, app: ASGIApp, shared: Shared) -> None:
        self._app = app
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _READS:
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._shared.forget()
            await send(message)

        await self._app(scope, receive, sent)
