"""The command `run`, and what its options mean."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Annotated, Any

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
from tranche.errors import UsageError
from tranche.model.plan import Request


def run(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A script, an asset's address, or a folder; +TARGET takes its upstreams too.",
        ),
    ],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", help="The key to run, whatever the time.")
    ] = None,
    payload: Annotated[
        str | None, typer.Option("--payload", help="JSON in which a dynamic key is looked up.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", help="name=value for a script's $name; repeatable.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="Run as if it had fired then, as in 2026-05-16T06:00:00+02:00."),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Run nothing downstream.")] = False,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            min=0,
            help="Seconds to wait for another run that writes the same slice; 0 to fail at once.",
        ),
    ] = 600,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and do nothing.")
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a step and everything that its result triggers, for one partition."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.running import run_request

        request = Request(
            target=what,
            fire_time=_fire_time(at),
            partition=partition,
            payload=_payload(payload),
            arguments=_arguments(arg or []),
            only=only,
        )
        loaded = service.open_project(project, target)
        if not run_request(loaded, request, output, dry_run=dry_run, wait=wait):
            raise typer.Exit(1)


def _fire_time(text: str | None) -> datetime:
    if text is None:
        return service.now()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--at {text!r} is no time", "write it as 2026-05-16T06:00:00+02:00"
        ) from None
    if moment.tzinfo is None:
        raise UsageError(
            f"--at {text!r} has no time zone", "end it with Z or an offset like +02:00"
        )
    return moment


def _payload(text: str | None) -> Any:
    if text is None:
        return None
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise UsageError("--payload is nested too deeply", "send what the run needs") from None
    except ValueError as error:
        raise UsageError(
            f"--payload is no JSON: {error}", "write an object, as in '{\"a\": 1}'"
        ) from None
    if not isinstance(value, dict):
        raise UsageError("--payload is no object", "write an object, as in '{\"a\": 1}'")
    return value


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large")
    return value


def _arguments(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--arg {text!r} does not parse", "write --arg name=value")
        if name in found:
            raise UsageError(f"--arg {name} is given twice", "give it once")
        found[name] = value
    return found
