"""All commands under one name."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import TyperException

from tranche.cli.backfill_command import backfill, catchup
from tranche.cli.event_commands import event, pause, pending, resume
from tranche.cli.explain_command import explain
from tranche.cli.lineage_command import lineage
from tranche.cli.look_commands import show, sql, status
from tranche.cli.output import Output
from tranche.cli.project_commands import check, demo, graph, init
from tranche.cli.run_command import run
from tranche.cli.serve_command import serve
from tranche.cli.token_command import token
from tranche.cli.version_commands import copy, maintain, rollback

app = typer.Typer(
    name="tranche",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Partitioned lakehouse pipelines on Spark.",
)
for _command in (
    init,
    demo,
    check,
    graph,
    lineage,
    run,
    backfill,
    catchup,
    status,
    show,
    sql,
    explain,
    rollback,
    copy,
    maintain,
    pending,
    pause,
    resume,
    serve,
):
    app.command()(_command)
app.add_typer(event)
app.add_typer(token)


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
