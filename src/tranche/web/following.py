"""What runs tell while they work, as server-sent events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from tranche.errors import StateError, TrancheError
from tranche.run.feed import Feed
from tranche.service import backfilling
from tranche.views.backfills import backfill_keys_view
from tranche.views.news import told_view
from tranche.views.plain import as_json, error_view
from tranche.web.runs import find_run, run_with_steps
from tranche.web.served import PREFIX, Id, Json, Served

_LOOK = 1.0
"""Seconds between looks at what a run of another process has come to."""


def routes(served: Served) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["progress"], dependencies=[served.needs("read")])

    def there(id: Id) -> None:
        find_run(served, id)

    def backfill_there(id: Id) -> None:
        backfilling.find(served.store, id)

    @router.get(
        "/runs/{id}/progress",
        response_class=EventSourceResponse,
        dependencies=[Depends(there)],
        summary="What a run does, from its beginning to its end",
    )
    async def run(id: Id) -> AsyncIterator[ServerSentEvent]:
        def ended() -> dict[str, Any] | None:
            found = find_run(served, id)
            return run_with_steps(served, found) if found.status != "running" else None

        async for event in follow(served, id, ended):
            yield event

    @router.get(
        "/backfills/{id}/progress",
        response_class=EventSourceResponse,
        dependencies=[Depends(backfill_there)],
        summary="What a backfill does, from its beginning to its end",
    )
    async def backfill(id: Id) -> AsyncIterator[ServerSentEvent]:
        def ended() -> dict[str, Any] | None:
            found = backfilling.find(served.store, id)
            how = backfilling.how_it_stands(found, served.store)
            going = how in ("queued", "waiting", "running", "cancelling")
            if going:
                return None
            keys = backfilling.progress_of(found, served.store)
            return backfill_keys_view(found, how, keys)

        async for event in follow(served, id, ended):
            yield event

    @router.get("/told", summary="What a run or a backfill of this server has told, by pages")
    def told(
        of: Annotated[Id, Query(description="The run or the backfill.")],
        after: Annotated[int, Query(ge=0, description="After so many pieces.")] = 0,
    ) -> Json:
        found, over = served.server.feed.of(of, after)
        pieces = [{"event": name} | view for name, view in map(told_view, found)]
        known = served.server.feed.knows(of)
        return Json(
            {"of": of, "known": known, "told": pieces, "next": after + len(found), "over": over}
        )

    @router.get(
        "/progress",
        response_class=EventSourceResponse,
        summary="What all runs of this server do from now on",
    )
    async def progress(
        last_event_id: str | None = Header(None),
    ) -> AsyncIterator[ServerSentEvent]:
        server, feed = served.server, served.server.feed
        position = feed.number if last_event_id is None else _number(server.id, last_event_id)
        with listening(feed) as changed:
            while not server.stopping:
                for number, run, told in feed.latest(position):
                    name, view = told_view(told)
                    position = number
                    yield _event(name, {"of": run, **view}, f"{server.id}.{number}")
                await _either(changed)

    return router


async def follow(
    served: Served, topic: str, ended: Callable[[], dict[str, Any] | None]
) -> AsyncIterator[ServerSentEvent]:
    """What a run of this server tells; of one elsewhere, that it has ended."""
    server, feed, position, seen = served.server, served.server.feed, 0, False
    time = asyncio.get_running_loop().time
    if feed.knows(topic) and feed.of(topic, 0)[1] and await _looked(ended) is None:
        # It has ended here, and was taken up again since.
        feed.forget(topic)
    look_at = time() + 2 * _LOOK if feed.knows(topic) else time()
    with listening(feed) as changed:
        while True:
            told, over = feed.of(topic, position)
            for each in told:
                name, view = told_view(each)
                position += 1
                yield _event(name, view, str(position))
            if over and feed.knows(topic):
                return
            if told:
                look_at = time() + 2 * _LOOK
            elif time() >= look_at:
                found = await _looked(ended)
                # One of ours has ended a moment before it tells so, and what it tells says more.
                if found is not None and (seen or not feed.knows(topic)):
                    yield _event("ended", found, None)
                    return
                if server.stopping and not server.is_at(topic):
                    return
                look_at, seen = time() + _LOOK, found is not None
            await _either(changed)


async def _looked(ended: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    """What became of something, if it has ended and that can be found out now."""
    try:
        return await run_in_threadpool(ended)
    except StateError:
        # The state may be away for a while, and is asked again.
        return None
    except TrancheError as error:
        return error_view(error)


@contextmanager
def listening(feed: Feed) -> Iterator[asyncio.Event]:
    """Something that is set whenever there are news, for the loop that waits for them."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        # A loop that has ended waits for nothing any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(changed.set)

    leave = feed.listen(wake)
    try:
        yield changed
    finally:
        leave()


async def _either(changed: asyncio.Event) -> None:
    """Waits for news, or for so long as one may wait."""
    with suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), _LOOK)
    changed.clear()


def _number(server: str, last: str) -> int:
    """After which number somebody goes on who has heard something last.

    Numbers are those of one server: who has heard another one has heard nothing of this one.

    >>> _number("s", "s.12"), _number("s", "other.12"), _number("s", "s.²")
    (12, 0, 0)
    """
    found = re.fullmatch(r"(.*)\.([0-9]{1,18})", last)
    return int(found[2]) if found is not None and found[1] == server else 0


def _event(name: str, view: dict[str, Any], id: str | None) -> ServerSentEvent:
    return ServerSentEvent(event=name, raw_data=as_json(view), id=id)
