"""The commands `backfill` and `catchup`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tranche import service
from tranche.cli import given
from tranche.cli.options import (
    HERE,
    ArgumentsOption,
    DebugOption,
    DryRunOption,
    FiredOption,
    JsonOption,
    LocalOption,
    PatienceOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output
from tranche.errors import UsageError
from tranche.model.backfill import MOST_KEYS, BackfillRequest


class Overlaps(StrEnum):
    """What to do about keys that another backfill is at."""

    fail = "fail"
    wait = "wait"
    exclude = "exclude"


def backfill(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ASSET",
            help="An asset or a script; or: list, show ID, resume ID, cancel ID.",
        ),
    ],
    backfill_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="The backfill that show, resume or cancel is for."),
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="The first key, or a date.")] = None,
    end: Annotated[
        str | None,
        typer.Option("--end", help="The last key, or a date; the last complete period if absent."),
    ] = None,
    keys: Annotated[
        str | None, typer.Option("--keys", help="These keys, with commas between them.")
    ] = None,
    dimensions: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            metavar="NAME=KEY,…",
            help="Of several dimensions, these keys of one; may be given for each.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also keys that have succeeded already.")
    ] = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Also keys whose script or inputs have changed since."),
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
    overlap: Annotated[
        Overlaps,
        typer.Option("--overlap", help="What to do about keys that another backfill is at."),
    ] = Overlaps.fail,
    detach: Annotated[
        bool,
        typer.Option(
            "--detach/--wait", help="Let a process of its own do it, or stay until it is done."
        ),
    ] = False,
    arg: ArgumentsOption = None,
    patience: PatienceOption = 600,
    dry_run: DryRunOption = False,
    local: LocalOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Fill a range of partitions in as few jobs as can be, each with an outcome of its own."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.backfill_ways import WORDS, Ways, begin, known

        ways = Ways(
            project=project,
            target=target,
            patience=patience,
            dry_run=dry_run,
            local=local,
            detach=detach,
            agreed=yes,
        )
        if what in WORDS:
            chosen = any(
                (start, end, keys, dimensions, every, stale, exact, reverse, only, per_key, arg)
            )
            if chosen or (dry_run and what != "resume"):
                raise UsageError(
                    f"backfill {what} takes no options that choose keys or say how to run them",
                    "they belong to tranche backfill ASSET; resume goes on as it was begun",
                )
            went_well = known(what, backfill_id, ways, output)
        else:
            if backfill_id is not None:
                raise UsageError(
                    f"unexpected {backfill_id!r}", "give keys with --keys, or --start and --end"
                )
            if every and stale:
                raise UsageError("--all takes stale keys too", "leave --stale out")
            request = BackfillRequest(
                target=what,
                at=service.now(),
                start=start,
                end=end,
                keys=tuple(key for key in (keys or "").split(",") if key),
                dimensions=given.dimensions(dimensions or []),
                every=every,
                stale=stale,
                overlap=overlap.value,
                exact=exact,
                reverse=reverse,
                only=only,
                one_by_one=per_key,
                most_keys=max_keys,
                arguments=given.arguments(arg or []),
            )
            went_well = begin(request, ways, output)
        if not went_well:
            raise typer.Exit(1)


def catchup(
    what: Annotated[
        str | None, typer.Argument(metavar="[ASSET]", help="An asset or a script; all if absent.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Just the keys that are missing, without lookback.")
    ] = False,
    only: Annotated[bool, typer.Option("--only", help="Run nothing downstream of ASSET.")] = False,
    max_keys: Annotated[
        int, typer.Option("--max-keys-per-job", min=1, help="How many keys one job has at most.")
    ] = MOST_KEYS,
    per_key: Annotated[bool, typer.Option("--per-key", help="One job for each key.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Also if an asset lacks more than a million keys.")
    ] = False,
    arg: ArgumentsOption = None,
    at: FiredOption = None,
    patience: PatienceOption = 600,
    dry_run: DryRunOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Fill every partition that should be there by now, has not succeeded, and nobody is at."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli import catching_up

        loaded = service.open_project(project, target)
        request = BackfillRequest(
            target=what or "",
            at=service.now() if at is None else given.moment(at),
            exact=exact,
            only=only,
            one_by_one=per_key,
            most_keys=max_keys,
            arguments=given.arguments(arg or []),
        )
        went_well = catching_up.catch_up(
            loaded, request, output, dry_run=dry_run, patience=patience, agreed=yes
        )
        if not went_well:
            raise typer.Exit(1)
