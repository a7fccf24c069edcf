"""The command `explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from tranche import service
from tranche.cli import given
from tranche.cli.options import (
    HERE,
    ArgumentsOption,
    DebugOption,
    FiredOption,
    JsonOption,
    KeyOption,
    PayloadOption,
    ProjectOption,
    TargetOption,
    explaining,
)
from tranche.cli.output import Output
from tranche.errors import UsageError
from tranche.model.plan import Request


def explain(
    what: Annotated[str, typer.Argument(metavar="TARGET", help="A script, or an asset's address.")],
    key: Annotated[
        str | None,
        typer.Argument(metavar="KEY", help="The key, as with --partition.", show_default=False),
    ] = None,
    partition: KeyOption = None,
    payload: PayloadOption = None,
    arg: ArgumentsOption = None,
    at: FiredOption = None,
    scan: Annotated[
        bool,
        typer.Option("--scan", help="Run the SELECT, write nothing, and show what was read."),
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Tell the story of a key: why it runs or does not, its inputs, and the SQL for Spark."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.explanations import show_explanation
        from tranche.cli.running import starting

        if key is not None and partition not in (None, key):
            raise UsageError(
                f"the key {key!r} was given, and --partition {partition!r}", "give one of them"
            )
        request = Request(
            target=what,
            fire_time=service.now() if at is None else given.moment(at),
            partition=partition if key is None else key,
            payload=given.payload(payload),
            arguments=given.arguments(arg or []),
        )
        loaded = service.open_project(project, target)
        with service.open_story(loaded) as state:
            explanation = service.explain(loaded, request, state)
        if scan and explanation.step.verdict == "run":
            service.check_scan(explanation)
            with starting(loaded, output, noting=True) as engine:
                explanation = service.scan(explanation, engine)
        show_explanation(explanation, output)
        if explanation.step.verdict == "fail":
            raise typer.Exit(1)
