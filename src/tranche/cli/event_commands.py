"""The commands `event` and `pending`."""

from __future__ import annotations

from typing import Annotated

import typer

from tranche import service
from tranche.cli import given
from tranche.cli.options import (
    HERE,
    DebugOption,
    JsonOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output

event = typer.Typer(
    name="event", no_args_is_help=True, help="Say that there is something new in an asset."
)
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many at most.")]


@event.command()
def emit(
    asset: Annotated[str, typer.Argument(help="The asset's address.")],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", help="The key that is new; all if absent.")
    ] = None,
    payload: Annotated[
        str | None, typer.Option("--payload", help="JSON that is kept with the event.")
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Record an event; a server runs what it asks for."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.triggering import show_emitted
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        body = given.payload(payload)
        with service.open_state(loaded, create=True) as store:
            emitted = triggering.emit(loaded, asset, store, partition=partition, payload=body)
        show_emitted(emitted, output)


@event.command("list")
def list_events(
    asset: Annotated[
        str | None, typer.Argument(help="An asset's address; all when left out.")
    ] = None,
    limit: LimitOption = 50,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List the events that came from outside, the latest first."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.triggering import show_events
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=False) as store:
            show_events(triggering.events(loaded, asset, store, limit=limit), output)


@event.command()
def retract(
    event_id: Annotated[str, typer.Argument(metavar="ID", help="The event's id.")],
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Take an event back, with what it has asked for and what does not run yet."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.triggering import show_retracted
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=False) as store:
            show_retracted(triggering.retract(loaded, event_id, store), output)


def pending(
    asset: Annotated[
        str | None, typer.Argument(help="An asset or a script; all when left out.")
    ] = None,
    limit: LimitOption = 100,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List the keys that should run and do not yet, with what each of them waits for."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.triggering import show_pending
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=False) as store:
            show_pending(triggering.pending(loaded, asset, store, limit=limit), output)


def pause(
    asset: Annotated[str, typer.Argument(help="An asset or a script.")],
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Let no server run keys of an asset; they keep waiting until it is resumed."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=True) as store:
            _tell(triggering.pause(loaded, asset, store), "paused", output)


def resume(
    asset: Annotated[str, typer.Argument(help="An asset or a script.")],
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Let servers run keys of an asset again, those that have waited too."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.service import triggering

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=True) as store:
            _tell(triggering.resume(loaded, asset, store), "resumed", output)


def _tell(consumer: str, status: str, output: Output) -> None:
    if output.json:
        output.value({"asset": consumer, "status": status})
    else:
        output.line(f"{consumer} is {status}")
