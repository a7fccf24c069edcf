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


def serve(
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="How many runs there are at once.")
    ] = 2,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run what schedules and events ask for, until it is stopped; several may share a state."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import triggering

        loaded = service.open_project(project, target)
        for fault in loaded.faults:
            output.warn(str(fault))
        triggering.serve(loaded, output, workers=workers)
