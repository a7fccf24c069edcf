"""The command `run`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

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
    KeyOption,
    LocalOption,
    PatienceOption,
    PayloadOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output
from tranche.errors import UsageError
from tranche.model.plan import Request


def run(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="A script, an asset's address, or a folder; +TARGET takes its upstreams too.",
        ),
    ] = None,
    partition: KeyOption = None,
    payload: PayloadOption = None,
    arg: ArgumentsOption = None,
    at: FiredOption = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like", metavar="RUN", help="Repeat a past run against the snapshots that it read."
        ),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Run nothing downstream.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Just this key, without lookback.")
    ] = False,
    patience: PatienceOption = 600,
    dry_run: DryRunOption = False,
    local: LocalOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a step and everything that its result triggers, for one partition."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.remote import remote_of
        from tranche.cli.running import run_by, run_planned

        if like is not None:
            if any((what, partition, payload, arg, at, only, exact)):
                raise UsageError(
                    "--like takes everything from the run that it repeats",
                    "leave the target and the options that choose a key out",
                )
            body: dict[str, Any] = {"like": like}
        else:
            if what is None:
                raise UsageError("run needs a target", "name a script, an asset or a folder")
            request = Request(
                target=what,
                fire_time=service.now() if at is None else given.moment(at),
                partition=partition,
                payload=given.payload(payload),
                arguments=given.arguments(arg or []),
                only=only,
                exact=exact,
                scheduled=at is not None,
            )
            body = {
                "target": what,
                "partition": partition,
                "payload": request.payload,
                "arguments": dict(request.arguments),
                "at": None if at is None else request.fire_time.isoformat(),
                "only": only,
                "exact": exact,
            }
        remote = None
        if not (dry_run or local):
            remote = remote_of(service.open_settings(project, target))
        if remote is not None:
            went_well = run_by(remote, body | {"patience": patience}, output)
        else:
            loaded = service.open_project(project, target)
            planned = (
                partial(service.repeat, loaded, like)
                if like is not None
                else partial(service.plan, loaded, request)
            )
            went_well = run_planned(loaded, planned, output, patience=patience, dry_run=dry_run)
        if not went_well:
            raise typer.Exit(1)
