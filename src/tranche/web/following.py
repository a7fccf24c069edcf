"""What runs tell while they work, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from tranche.run.feed import Feed
from tranche.service import backfilling
from tranche.views.backfills import backfill_keys_view
from tranche.views.news import told_view
from tranche.views.plain import as_json
from tranche.web.runs import find_run, run_with_steps
from tranche.web.served import Id, Served

_LOOK = 1.0
"""Seconds between looks at what a run of another process has come to."""


def routes(served: Served) -> APIRouter:
    router = APIRouter(tags=["progress"], dependencies=[served.needs("read")])

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

    @router.get(
        "/progress",
        response_class=EventSourceResponse,
        summary="What all runs of this server do from now on",
    )
    async def progress(
        last_event_id: str | None = Header(None),
    ) -> AsyncIterator[ServerSentEvent]:
        feed = served.server.feed
        known = last_event_id is not None and last_event_id.isdigit()
        position = int(last_event_id or 0) if known else feed.number
        with listening(feed) as changed:
            while not served.server.stopping:
                for number, run, told in feed.latest(position):
                    name, view = told_view(told)
                    position = number
                    yield _event(name, {"of": run, **view}, str(number))
                await _either(changed)

    return router


async def follow(
    served: Served, topic: str, ended: Callable[[], dict[str, Any] | None]
) -> AsyncIterator[ServerSentEvent]:
    """What a run of this server tells; of one elsewhere, that it has ended."""
    feed, position, looks = served.server.feed, 0, 0
    with listening(feed) as changed:
        while True:
            told, over = feed.of(topic, position)
            for each in told:
                name, view = told_view(each)
                position += 1
                yield _event(name, view, str(position))
            if over and feed.knows(topic):
                return
            news = await _either(changed)
            # One of ours has ended a moment before it tells so, and what it tells says more.
            looks = 0 if news or told else looks + 1
            if looks >= 2 or not feed.knows(topic):
                view_ = await asyncio.to_thread(ended)
                if view_ is not None:
                    yield _event("ended", view_, None)
                    return


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


async def _either(changed: asyncio.Event) -> bool:
    """Waits for news, or for so long as one may wait; says which it was."""
    try:
        await asyncio.wait_for(changed.wait(), _LOOK)
    except TimeoutError:
        return False
    changed.clear()
    return True


def _event(name: str, view: dict[str, Any], id: str | None) -> ServerSentEvent:
    return ServerSentEvent(event=name, raw_data=as_json(view), id=id)
