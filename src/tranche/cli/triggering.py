"""Events, pending keys and servers on the command line."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from tranche import service
from tranche.cli.output import Output, counted, instant, shown
from tranche.cli.running import starting
from tranche.errors import StateError, TrancheError
from tranche.model.event import Event
from tranche.model.pending import Pending
from tranche.model.project import Project
from tranche.planning.asking import Asked
from tranche.run.runner import RunResult
from tranche.run.serving import Started
from tranche.service import triggering
from tranche.service.triggering import Emitted, PendingPage, Retracted

_KEYS = 3
"""How many keys a line names."""


def show_emitted(emitted: Emitted, output: Output) -> None:
    if output.json:
        output.value(event_view(emitted.event) | {"asked": [_asked_view(a) for a in emitted.asked]})
        return
    output.line(f"event {shown(emitted.event.id)} is recorded")
    for asked in emitted.asked:
        if asked.rejected is not None:
            output.warn(f"{asked.script.label} cannot take it: {asked.rejected}")
        elif asked.keys:
            output.line(f"asks for {asked.script.label}{_keys(asked.keys)}")
        elif asked.released is not None:
            output.line(f"{asked.script.label} needs it for each key, and runs for none by it")
    if not emitted.asked:
        output.line("no script is triggered by it", "dim")


def show_events(events: Sequence[Event], output: Output) -> None:
    if output.json:
        output.value({"events": [event_view(event) for event in events]})
        return
    if not events:
        output.line("there are no events; tranche event emit records one")
        return
    output.table(
        ("event", "asset", "partition", "at", "retracted"),
        (
            (
                event.id,
                event.asset,
                "" if event.partition is None else event.partition,
                instant(event.at),
                instant(event.retracted_at) or "",
            )
            for event in events
        ),
    )


def show_retracted(retracted: Retracted, output: Output) -> None:
    if output.json:
        output.value(
            event_view(retracted.event)
            | {
                "dropped": [_place_view(place) for place in retracted.dropped],
                "waiting": [_place_view(place) for place in retracted.waiting],
            }
        )
        return
    output.line(f"event {shown(retracted.event.id)} is taken back")
    for places, what in (
        (retracted.dropped, "is pending no more"),
        (retracted.waiting, "waits for it anew"),
    ):
        for consumer, key in places:
            output.line(f"{consumer}{_keys((key,))} {what}")


def show_pending(page: PendingPage, output: Output) -> None:
    if output.json:
        output.value(
            {
                "pending": [pending_view(row) for row in page.rows],
                "more": page.more,
                "paused": {name: instant(at) for name, at in page.paused.items()},
                "rejected": [
                    {"asset": r.consumer, "event": r.event, "reason": r.reason, "at": instant(r.at)}
                    for r in page.rejected
                ],
            }
        )
        return
    if page.rows:
        _table(page, output)
    else:
        output.line("no key is pending")
    if page.more:
        output.line("… and more; raise --limit to see them", "dim")
    for name, at in page.paused.items():
        output.line(f"{name} is paused since {instant(at)}; tranche resume {name} ends that")
    for each in page.rejected:
        output.warn(f"{each.consumer} could not take the event {each.event}: {each.reason}")


def _table(page: PendingPage, output: Output) -> None:
    output.table(
        ("script", "partition", "status", "since", "asked for by", "waits for"),
        (
            (
                row.consumer,
                "" if row.partition is None else row.partition,
                "paused"
                if row.consumer in page.paused and row.run is None
                else row.status
                if row.run is None
                else f"run {row.run}",
                instant(row.since),
                ", ".join(row.asked_by),
                _listed(row.lacking),
            )
            for row in page.rows
        ),
    )


def serve(project: Project, output: Output, *, workers: int) -> None:
    """Runs what is ready until somebody stops it."""
    lock = threading.Lock()

    def tell(what: dict[str, Any], words: str, style: str | None = None) -> None:
        with lock:
            if output.json:
                sys.stdout.write(json.dumps(what) + "\n")
                sys.stdout.flush()
            else:
                output.line(words, style)

    def started(run: Started) -> None:
        about = {"event": "started", "run": run.run, "asset": run.consumer, "keys": list(run.keys)}
        tell(about, f"▶ {run.consumer}{_keys(run.keys)}", "dim")

    def ended(run: Started, result: RunResult | TrancheError) -> None:
        about: dict[str, Any] = {"event": "ended", "run": run.run, "asset": run.consumer}
        if isinstance(result, TrancheError):
            tell(about | {"status": "failed", "error": str(result)}, f"✗ {run.consumer}: {result}")
            return
        sign = "✓" if result.status == "succeeded" else "✗"
        errors = [step.record.error for step in result.steps if step.record.error]
        words = f"{sign} {run.consumer}{_keys(run.keys)} {result.status}"
        words += ", provisional" if any(step.provisional for step in result.steps) else ""
        more = f": {errors[0]}" if errors else ""
        tell(
            about | {"status": result.status, "error": errors[0] if errors else None}, words + more
        )

    def troubled(error: StateError) -> None:
        tell({"event": "troubled", "error": str(error)}, f"the state is away: {error}")

    with service.open_state(project, create=True) as store, starting(project, output) as engine:
        server = triggering.server(
            project,
            engine,
            store,
            workers=workers,
            started=started,
            ended=ended,
            troubled=troubled,
        )

        def stop(number: int, frame: FrameType | None) -> None:
            tell({"event": "stopping"}, "stopping when what runs has ended; again to stop it too")
            server.stop()
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, lambda *_: engine.cancel())

        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, stop)
        tell({"event": "serving", "server": server.id}, f"serving as {server.id}")
        server.run()


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


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _KEYS
    return ", ".join(names[:_KEYS]) + (f" and {more:,} more" if more > 0 else "")


def _keys(keys: Sequence[str | None]) -> str:
    named = [shown(key) for key in keys if key is not None]
    if not named:
        return ""
    if len(named) <= _KEYS:
        return f" {', '.join(named)}"
    return f" {named[0]} … {named[-1]} ({counted(len(named), 'key')})"
