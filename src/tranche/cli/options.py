"""What all commands share: their options, and how their errors come out."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tranche.cli.logs import show_warnings
from tranche.cli.output import Output
from tranche.errors import TrancheError

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
        "--target", "-t", help="Overlay the section targets.NAME of tranche.toml, as in dev."
    ),
]
KeyOption = Annotated[
    str | None, typer.Option("--partition", "-p", help="The key, whatever the time.")
]
PayloadOption = Annotated[
    str | None, typer.Option("--payload", help="JSON in which a dynamic key is looked up.")
]
ArgumentsOption = Annotated[
    list[str] | None, typer.Option("--arg", help="name=value for a script's $name; repeatable.")
]
FiredOption = Annotated[
    str | None,
    typer.Option("--at", help="As if it had fired then, as in 2026-05-16T06:00:00+02:00."),
]
PatienceOption = Annotated[
    float,
    typer.Option(
        "--patience",
        min=0,
        help="Seconds to wait for another run that writes the same slices; 0 to fail at once.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and do nothing.")]
LocalOption = Annotated[
    bool,
    typer.Option("--local", help="Start Spark for this alone, also if a server is running."),
]
HERE = Path()


@contextmanager
def explaining(output: Output) -> Iterator[None]:
    """Errors become a sentence and an exit code; a traceback only on request."""
    if not output.debug:
        # Without any handler, what libraries log on the side goes to standard error.
        logging.getLogger().addHandler(logging.NullHandler())
    show_warnings(output)
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
