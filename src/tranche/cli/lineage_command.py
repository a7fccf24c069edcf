"""`tranche lineage`: where columns come from, and what is made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
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
from tranche.cli.output import Output, harmless
from tranche.errors import UsageError
from tranche.model.lineage import Trace

_END = {"up": "is not made by a script", "down": "is read by no other script"}


class LineageFormat(StrEnum):
    text = "text"
    mermaid = "mermaid"
    json = "json"


def lineage(
    asset: Annotated[
        str, typer.Argument(help="An asset, or a column of it: orders.amount.", metavar="ASSET")
    ],
    up: Annotated[
        bool, typer.Option("--up", help="What it comes from, unless told otherwise.")
    ] = False,
    down: Annotated[bool, typer.Option("--down", help="What is made of it.")] = False,
    format_: Annotated[
        LineageFormat, typer.Option("--format", "-f", help="text, mermaid or json.")
    ] = LineageFormat.text,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show which columns a column comes from, or what is made of it."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import lineages
        from tranche.views.lineage import trace_view

        if up and down:
            raise UsageError("--up and --down go different ways", "give one of them")
        loaded = service.open_project(project, target)
        for fault in loaded.faults:
            output.warn(str(fault))
        with service.open_partitions(loaded) as state:
            found = service.column_lineage(loaded, state, asset, "down" if down else "up")
        if json_ or format_ is LineageFormat.json:
            output.value(trace_view(found))
            return
        draw: dict[LineageFormat, Callable[[Trace], Iterable[str]]] = {
            LineageFormat.text: lineages.as_text,
            LineageFormat.mermaid: lineages.as_mermaid,
        }
        sys.stdout.write("".join(f"{harmless(line)}\n" for line in draw[format_](found)))
        for doubt in found.doubts:
            output.warn(str(doubt))
        if not found.links and not found.doubts:
            output.note(f"{found.start.asset} {_END[found.direction]}", "dim")
