"""The command `serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from tranche import service
from tranche.cli.options import (
    HERE,
    DebugOption,
    JsonOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output

_PORT = 8321


def serve(
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="How many runs there are at once.")
    ] = 2,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Where it listens: this machine alone, or 0.0.0.0 for the network."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="The port it listens at; 0 for any that is free.",
            show_default="8321, or any that is free",
        ),
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run what schedules and events ask for, until it is stopped; several may share a state."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import serving

        loaded = service.open_project(project, target)
        for fault in loaded.faults:
            output.warn(str(fault))
        serving.serve(
            loaded,
            output,
            workers=workers,
            host=host,
            port=_PORT if port is None else port,
            fixed=port is not None,
        )
