"""Commands about the project itself: made, checked, drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tranche import service
from tranche.cli import graphs
from tranche.cli.options import (
    HERE,
    DebugOption,
    JsonOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output, harmless
from tranche.model.project import Project
from tranche.views.assets import script_view
from tranche.views.graph import graph_view


class GraphFormat(StrEnum):
    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


def init(
    folder: Annotated[Path, typer.Argument(help="Where the project goes.")] = HERE,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a small project that runs."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.projects.scaffold import scaffold

        made = scaffold(folder)
        if json_:
            output.value({"project": str(made.folder), "files": list(made.files)})
            return
        for file in made.files:
            output.line(f"made {folder / file}")
        where = "" if folder == HERE else f"cd {folder} && "
        output.line(f"\nNow: {where}tranche run ingest_orders --partition 2026-05-16")


def demo(
    folder: Annotated[Path, typer.Argument(help="Where the demo's project goes.")] = Path(
        "tranche-demo"
    ),
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a shop with 60 days of orders, run several days of it, and show what came out."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.demo import run_demo

        if not run_demo(folder, output):
            raise typer.Exit(1)


def check(
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Read all scripts and list everything that is wrong with them."""
    output = Output(json_, debug)
    with explaining(output):
        report = service.check(service.open_project(project, target))
        if json_:
            output.value(
                {
                    "status": "failed" if report.faults else "succeeded",
                    "scripts": [script_view(script) for script in report.scripts],
                    "faults": list(report.faults),
                    "warnings": list(report.warnings),
                }
            )
        else:
            for fault in report.faults:
                output.line(fault, "red")
            for warning in report.warnings:
                output.line(f"warning: {warning}", "yellow")
            count = len(report.scripts)
            good = "1 script is sound" if count == 1 else f"{count} scripts are sound"
            bad = f", faults: {len(report.faults)}" if report.faults else ""
            output.line(f"{good}{bad}")
        if report.faults:
            raise typer.Exit(1)


def graph(
    project: ProjectOption = HERE,
    target: TargetOption = None,
    format_: Annotated[
        GraphFormat, typer.Option("--format", "-f", help="text, mermaid, dot or json.")
    ] = GraphFormat.text,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show which script makes what from what."""
    output = Output(json_, debug)
    with explaining(output):
        loaded = service.open_project(project, target)
        for fault in loaded.faults:
            output.warn(str(fault))
        if json_ or format_ is GraphFormat.json:
            output.value(graph_view(loaded))
            return
        draw: dict[GraphFormat, Callable[[Project], Any]] = {
            GraphFormat.text: graphs.as_text,
            GraphFormat.mermaid: graphs.as_mermaid,
            GraphFormat.dot: graphs.as_dot,
        }
        sys.stdout.write("".join(f"{harmless(line)}\n" for line in draw[format_](loaded)))
