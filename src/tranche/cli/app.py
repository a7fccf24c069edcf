"""The commands."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from tranche import service
from tranche.cli import graphs, views
from tranche.cli.output import Output, harmless
from tranche.errors import TrancheError, UsageError
from tranche.model.plan import Request
from tranche.model.project import Project

app = typer.Typer(
    name="tranche",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Partitioned lakehouse pipelines on Spark.",
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of words.")]
DebugOption = Annotated[
    bool, typer.Option("--debug", help="Show Spark's own messages, and a traceback on errors.")
]
ProjectOption = Annotated[
    Path,
    typer.Option("--project", help="The project's folder, or one inside it.", show_default="here"),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="Overlay [targets.NAME] of tranche.toml, as in dev or prod."
    ),
]
HERE = Path()


class GraphFormat(StrEnum):
    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


def run_app() -> None:
    """Runs the command that was typed, and exits."""
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        # A command line that does not parse, or no command at all.
        message = str(error).strip()
        if "--json" in sys.argv[1:] and message:
            Output(json=True).value({"error": {"kind": "UsageError", "message": message}})
        show = getattr(error, "show", None)
        if callable(show):
            show()
        else:
            Output().error(message)
        code = getattr(error, "exit_code", 2)
    except (typer.Abort, KeyboardInterrupt):
        Output().error("stopped by the user")
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def explaining(output: Output) -> Iterator[None]:
    """Errors become a sentence and an exit code; a traceback only on request."""
    if not output.debug:
        # Without any handler, what libraries log on the side goes to standard error.
        logging.getLogger().addHandler(logging.NullHandler())
    try:
        yield
    except TrancheError as error:
        if output.debug:
            output.notes.print_exception()
        if output.json:
            output.value({"error": {"kind": type(error).__name__, "message": str(error)}})
        output.error(str(error))
        raise typer.Exit(error.exit_code) from None
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(1) from None
    except Exception as error:
        if output.debug:
            output.notes.print_exception()
        what = f"unexpected {type(error).__name__}: {error}"
        if output.json:
            output.value({"error": {"kind": "Unexpected", "message": what}})
        output.error(f"{what}; this is a fault of Tranche, --debug shows where")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        output.error("stopped by the user")
        raise typer.Exit(1) from None


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"tranche {version('tranche')}\n")
        raise typer.Exit


@app.callback()
def _main(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where the project goes.")] = HERE,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a small project that runs."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.project.scaffold import scaffold

        made = scaffold(folder)
        if json_:
            output.value({"project": str(made.folder), "files": list(made.files)})
            return
        for file in made.files:
            output.line(f"made {folder / file}")
        where = "" if folder == HERE else f"cd {folder} && "
        output.line(f"\nNow: {where}tranche run ingest_orders --partition 2026-05-16")


@app.command()
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


@app.command()
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
                    "scripts": [views.script_view(script) for script in report.scripts],
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


@app.command()
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
            output.value(graphs.as_json(loaded))
            return
        draw: dict[GraphFormat, Callable[[Project], Any]] = {
            GraphFormat.text: graphs.as_text,
            GraphFormat.mermaid: graphs.as_mermaid,
            GraphFormat.dot: graphs.as_dot,
        }
        sys.stdout.write("".join(f"{harmless(line)}\n" for line in draw[format_](loaded)))


@app.command()
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


@app.command()
def status(
    asset: Annotated[
        str | None, typer.Argument(help="An asset; all of them when left out.")
    ] = None,
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
        from tranche.cli.statuses import show_asset, show_assets

        loaded = service.open_project(project, target)
        with service.open_partitions(loaded) as state:
            if asset is None:
                show_assets(service.status(loaded, state), output)
            else:
                show_asset(service.partition_status(loaded, state, asset, limit=limit), output)


@app.command()
def show(
    asset: Annotated[str, typer.Argument(help="An asset's address, or its table or script.")],
    partition: Annotated[
        str | None, typer.Option("--partition", "-p", help="Only this slice.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many rows at most.")] = 20,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the first rows of a table, or of one slice of it."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.cli.running import starting

        loaded = service.open_project(project, target)
        service.show_target(loaded, asset, partition)
        with starting(loaded, output) as engine:
            table, rows = service.show(loaded, engine, asset, partition, limit=limit)
        if json_:
            output.value(
                {
                    "asset": str(table),
                    "partition": partition,
                    "rows": rows.records(),
                    "more": rows.more,
                }
            )
        else:
            output.rows(rows)


@app.command()
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
        text = service.resolve_sql(loaded, sys.stdin.read() if statement == "-" else statement)
        with starting(loaded, output) as engine:
            rows = engine.query(text, limit=limit)
        if json_:
            output.value(rows.records())
            if rows.more:
                output.warn(f"there are more than {limit} rows; raise --limit to get them")
        else:
            output.rows(rows)


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
