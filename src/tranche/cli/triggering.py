"""Events, pending keys and servers on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.cli.output import Output, counted, shown
from tranche.model.event import Event
from tranche.service.triggering import Emitted, PendingPage, Retracted
from tranche.views.plain import instant
from tranche.views.triggers import emitted_view, event_view, pending_page_view, retracted_view

_KEYS = 3
"""How many keys a line names."""


def show_emitted(emitted: Emitted, output: Output) -> None:
    if output.json:
        output.value(emitted_view(emitted))
        return
    output.line(f"event {shown(emitted.event.id)} is recorded")
    for asked in emitted.asked:
        if asked.rejected is not None:
            output.warn(f"{asked.script.label} cannot take it: {asked.rejected}")
        elif asked.keys:
            output.line(f"asks for {asked.script.label}{keys_of(asked.keys)}")
        elif asked.released is not None:
            output.line(f"{asked.script.label} needs it for each key, and runs for none by it")
    if emitted.unheard:
        names = ", ".join(emitted.unheard)
        output.warn(
            f"no script knows {emitted.event.asset}, but some have faults: {names}; see 'tranche"
            " check'. Whichever of them it is for hears of it when it is mended"
        )
    elif not emitted.asked:
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
        output.value(retracted_view(retracted))
        return
    output.line(f"event {shown(retracted.event.id)} is taken back")
    for places, what in (
        (retracted.dropped, "is pending no more"),
        (retracted.waiting, "waits for it anew"),
    ):
        for consumer, key in places:
            output.line(f"{consumer}{keys_of((key,))} {what}")


def show_pending(page: PendingPage, output: Output) -> None:
    if output.json:
        output.value(pending_page_view(page))
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


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _KEYS
    return ", ".join(names[:_KEYS]) + (f" and {more:,} more" if more > 0 else "")


def keys_of(keys: Sequence[str | None]) -> str:
    named = [shown(key) for key in keys if key is not None]
    if not named:
        return ""
    if len(named) <= _KEYS:
        return f" {', '.join(named)}"
    return f" {named[0]} … {named[-1]} ({counted(len(named), 'key')})"
