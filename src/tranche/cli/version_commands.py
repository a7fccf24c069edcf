"""Commands about the versions of tables: going back to one, and doing away with old ones."""

from __future__ import annotations

from typing import Annotated

import typer

from tranche import service
from tranche.cli.options import (
    HERE,
    DebugOption,
    DryRunOption,
    JsonOption,
    PatienceOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output
from tranche.errors import UsageError
from tranche.model.duration import parse_duration


def rollback(
    asset: Annotated[str, typer.Argument(help="An asset's address, or its table or script.")],
    to: Annotated[
        str, typer.Option("--to", metavar="SNAPSHOT", help="A snapshot, as show --snapshots lists.")
    ],
    patience: PatienceOption = 600,
    dry_run: DryRunOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a table what it was at a snapshot, by a new commit that the ledger knows of."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.running import run_planned

        loaded = service.open_project(project, target)
        plan = service.rollback(loaded, asset, to)
        if not run_planned(loaded, lambda _: plan, output, patience=patience, dry_run=dry_run):
            raise typer.Exit(1)


def copy(
    source: Annotated[str, typer.Argument(help="The table to copy, as lake://<lake>/<table>.")],
    table: Annotated[str, typer.Argument(help="The table to make, which must not be there yet.")],
    patience: PatienceOption = 600,
    dry_run: DryRunOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Copy a table with its partitions and its ledger, also from one format to another."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.running import run_planned

        loaded = service.open_project(project, target)
        plan = service.copy(loaded, source, table)
        if not run_planned(loaded, lambda _: plan, output, patience=patience, dry_run=dry_run):
            raise typer.Exit(1)


def maintain(
    asset: Annotated[
        str | None, typer.Argument(help="An asset; all that were ever made when left out.")
    ] = None,
    retention: Annotated[
        str | None,
        typer.Option(
            "--retention",
            help="How long one can look back, as in 7d or 36h.",
            show_default="that of the lake, else 7d",
        ),
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make few files of many small ones, and remove snapshots and files that nobody needs."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.upkeep import maintain_tables

        length = None if retention is None else parse_duration(retention)
        if retention is not None and length is None:
            raise UsageError(
                f"--retention {retention!r} is no length of time", "write it as 7d or 36h"
            )
        loaded = service.open_project(project, target)
        if not maintain_tables(loaded, asset, length, output):
            raise typer.Exit(1)
