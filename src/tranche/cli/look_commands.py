"""Commands that look at what is there: the ledger, rows of tables, any query."""

from __future__ import annotations

import sys
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
from tranche.errors import UsageError

_SHOWN = 20
"""How many rows `show` shows unless told otherwise."""


def status(
    asset: Annotated[
        str | None, typer.Argument(help="An asset or a job; all assets when left out.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="From this key on, or from this date.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--end", help="Up to this key, or to this date.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="A line for each partition, instead of a picture.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="How many partitions at most.")
    ] = 1000,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what the ledger knows: of every asset, or of one asset's partitions."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.statuses import show_asset, show_assets, show_grid

        loaded = service.open_project(project, target)
        job = () if asset is None else service.find_job(loaded, asset)
        if asset is None or job:
            if start is not None or end is not None or list_:
                raise UsageError(
                    "--start, --end and --list are for the keys of one asset", "name an asset"
                )
            with service.open_partitions(loaded) as state:
                show_assets(service.status(loaded, state, job or None), output)
            return
        with service.open_state(loaded, create=False) as store:
            grid = service.grid(loaded, asset, store, start=start, end=end)
            if grid is not None and not (list_ or output.json):
                show_grid(grid, output)
                return
            bounded = grid is not None and (start is not None or end is not None)
            page = service.partition_status(
                loaded,
                store,
                asset,
                limit=limit,
                start=grid.since if bounded and grid is not None else None,
                end=grid.until if bounded and grid is not None else None,
            )
            show_asset(page, grid, output)


def show(
    asset: Annotated[str, typer.Argument(help="An asset's address, or its table or script.")],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", help="Only this slice.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="All slices, as without --partition.")
    ] = False,
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", help="As it was at this snapshot.", metavar="ID")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="As readers saw it then, as in 2026-05-16T06:00:00+02:00."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", help="Only rows like 'amount > 10'; may be given again.", metavar="FILTER"
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            "--order",
            help="Sorted by a column, as 'amount' or 'amount desc'; may be given again.",
            metavar="COLUMN",
        ),
    ] = None,
    snapshots: Annotated[
        bool, typer.Option("--snapshots", help="The snapshots that readers saw, latest first.")
    ] = False,
    violations: Annotated[
        bool,
        typer.Option(
            "--violations", help="The rows in which data tests last found something; no Spark."
        ),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="The columns, and how they changed; no Spark.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            help="How many rows, snapshots or versions at most.",
            show_default="20",
        ),
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show rows of a table or of one slice, also past ones; its snapshots; what its tests found;
    or its columns."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import showing
        from tranche.cli.running import starting
        from tranche.model.wanted import Wanted, read_filter, read_order

        showing.check_together(
            partition=partition,
            whole=whole,
            snapshot=snapshot,
            at=at,
            where=where or (),
            order=order or (),
            snapshots=snapshots,
            violations=violations,
            schema=schema,
            limited=limit is not None,
        )
        most = _SHOWN if limit is None else limit
        then = None if at is None else given.moment(at)
        wanted = Wanted(tuple(map(read_filter, where or ())), tuple(map(read_order, order or ())))
        loaded = service.open_project(project, target)
        if schema:
            with service.open_partitions(loaded) as state:
                showing.show_columns(service.columns_log(loaded, state, asset, limit=most), output)
        elif violations:
            service.show_target(loaded, asset, partition)
            with service.open_state(loaded, create=False) as state:
                showing.show_violations(service.violations(loaded, state, asset, partition), output)
        elif snapshots:
            service.find_asset(loaded, asset)
            with starting(loaded, output) as engine:
                table, found = service.snapshots(loaded, engine, asset, limit=most)
            showing.show_snapshots(table, found, output)
        else:
            service.preview_target(loaded, asset, partition)
            with starting(loaded, output) as engine:
                table, preview = service.show(
                    loaded,
                    engine,
                    asset,
                    partition,
                    limit=most,
                    snapshot=snapshot,
                    at=then,
                    wanted=wanted,
                )
            showing.show_rows(table, partition, preview, output)


def sql(
    statement: Annotated[
        str, typer.Argument(help="Any Spark SQL statement; - reads it from standard input.")
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many rows at most.")] = 1000,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a SQL statement against the project's lakes."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.running import starting

        loaded = service.open_project(project, target)
        asked = service.resolve_sql(loaded, sys.stdin.read() if statement == "-" else statement)
        with starting(loaded, output) as engine:
            rows = engine.query(asked, limit=limit)
        if json_:
            output.value(rows.records())
            if rows.more:
                output.warn(f"there are more than {limit} rows; raise --limit to get them")
        else:
            output.rows(rows)
