"""The command `backfill`."""

from __future__ import annotations

from typing import Annotated

import typer

from tranche import service
from tranche.cli import given
from tranche.cli.options import (
    HERE,
    ArgumentsOption,
    DebugOption,
    DryRunOption,
    JsonOption,
    ProjectOption,
    TargetOption,
    WaitOption,
    explaining,
)
from tranche.cli.output import Output
from tranche.errors import UsageError
from tranche.model.backfill import MOST_KEYS, BackfillRequest

_WORDS = ("list", "show", "resume")


def backfill(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ASSET",
            help="An asset or a script; or: list, show ID, resume ID.",
        ),
    ],
    backfill_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The backfill to show or to go on with.")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="The first key, or a date.")] = None,
    end: Annotated[
        str | None,
        typer.Option("--end", help="The last key, or a date; the last complete period if absent."),
    ] = None,
    keys: Annotated[
        str | None, typer.Option("--keys", help="These keys, with commas between them.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also keys that have succeeded already.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Just these keys, without lookback.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="The latest keys first.")] = False,
    only: Annotated[bool, typer.Option("--only", help="Run nothing downstream.")] = False,
    max_keys: Annotated[
        int, typer.Option("--max-keys-per-job", min=1, help="How many keys one job has at most.")
    ] = MOST_KEYS,
    per_key: Annotated[bool, typer.Option("--per-key", help="One job for each key.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Also if these are more than a million keys.")
    ] = False,
    arg: ArgumentsOption = None,
    wait: WaitOption = 600,
    dry_run: DryRunOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Fill a range of partitions in as few jobs as can be, each with an outcome of its own."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import backfilling

        loaded = service.open_project(project, target)
        if what in _WORDS:
            if what == "list":
                backfilling.list_backfills(loaded, output)
                return
            if backfill_id is None:
                raise UsageError(f"backfill {what} needs an id", "tranche backfill list names them")
            if what == "show":
                backfilling.show_backfill(loaded, backfill_id, output)
                return
            went_well = backfilling.resume(loaded, backfill_id, output, wait=wait)
        else:
            if backfill_id is not None:
                raise UsageError(
                    f"unexpected {backfill_id!r}", "give keys with --keys, or --start and --end"
                )
            request = BackfillRequest(
                target=what,
                at=service.now(),
                start=start,
                end=end,
                keys=tuple(key for key in (keys or "").split(",") if key),
                every=every,
                exact=exact,
                reverse=reverse,
                only=only,
                one_by_one=per_key,
                most_keys=max_keys,
                arguments=given.arguments(arg or []),
            )
            went_well = backfilling.run_backfill(
                loaded, request, output, dry_run=dry_run, wait=wait, agreed=yes
            )
        if not went_well:
            raise typer.Exit(1)
