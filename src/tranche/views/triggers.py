"""Events and pending keys as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.event import Event
from tranche.model.pending import Pending
from tranche.planning.asking import Asked
from tranche.service.triggering import Emitted, PendingPage, Retracted
from tranche.views.plain import instant


def emitted_view(emitted: Emitted) -> dict[str, Any]:
    return event_view(emitted.event) | {"asked": [_asked_view(a) for a in emitted.asked]}


def retracted_view(retracted: Retracted) -> dict[str, Any]:
    return event_view(retracted.event) | {
        "dropped": [_place_view(place) for place in retracted.dropped],
        "waiting": [_place_view(place) for place in retracted.waiting],
    }


def pending_page_view(page: PendingPage) -> dict[str, Any]:
    return {
        "pending": [pending_view(row) for row in page.rows],
        "more": page.more,
        "paused": {name: instant(at) for name, at in page.paused.items()},
        "rejected": [
            {"asset": r.consumer, "event": r.event, "reason": r.reason, "at": instant(r.at)}
            for r in page.rejected
        ],
    }


def event_view(event: Event) -> dict[str, Any]:
    return {
        "event": event.id,
        "asset": event.asset,
        "partition": event.partition,
        "at": instant(event.at),
        "payload": event.payload,
        "retracted_at": instant(event.retracted_at),
    }


def pending_view(row: Pending) -> dict[str, Any]:
    return {
        "asset": row.consumer,
        "partition": row.partition,
        "status": row.status,
        "since": instant(row.since),
        "asked_by": list(row.asked_by),
        "lacking": list(row.lacking),
        "run": row.run,
    }


def _asked_view(asked: Asked) -> dict[str, Any]:
    return {
        "asset": asked.script.label,
        "partitions": list(asked.keys),
        "releases": asked.released is not None,
        "rejected": asked.rejected,
    }


def _place_view(place: tuple[str, str | None]) -> dict[str, Any]:
    return {"asset": place[0], "partition": place[1]}
