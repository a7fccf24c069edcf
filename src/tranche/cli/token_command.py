"""The command `token`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

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

token = typer.Typer(name="token", no_args_is_help=True, help="Say who may ask a server for what.")
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")]


class Roles(StrEnum):
    """What a caller may do; each may do what those before it may."""

    read = "read"
    run = "run"
    admin = "admin"


@token.command()
def create(
    name: NameArgument,
    role: Annotated[
        Roles,
        typer.Option(
            "--role", help="read looks; run starts runs and events; admin also pauses and retracts."
        ),
    ] = Roles.read,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a token, and print it once: only a hash of it is kept."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.service.tokens import create_token

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=True) as store:
            made = create_token(store, name, role.value)
        if output.json:
            output.value({"name": name, "role": role.value, "token": made.secret})
        else:
            output.line(made.secret)
            output.note(f"the token {name!r} may {role.value}; it is not shown again")


@token.command("list")
def list_tokens(
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List all tokens, also those that hold no more."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.service.tokens import tokens
        from tranche.views.plain import instant

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=False) as store:
            found = tokens(store)
        if output.json:
            rows = [
                {
                    "name": each.name,
                    "role": each.role,
                    "created_at": instant(each.created_at),
                    "revoked_at": instant(each.revoked_at),
                }
                for each in found
            ]
            output.value({"tokens": rows})
        elif not found:
            output.line("there is no token; a server on this machine asks for none")
        else:
            output.table(
                ("token", "role", "made", "ended"),
                (
                    (t.name, t.role, instant(t.created_at), instant(t.revoked_at) or "")
                    for t in found
                ),
            )


@token.command()
def revoke(
    name: NameArgument,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json_: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """End a token; servers refuse it within a second."""
    output = Output(json_, debug)
    with explaining(output):
        from tranche.service.tokens import revoke_token

        loaded = service.open_project(project, target)
        with service.open_state(loaded, create=False) as store:
            left = revoke_token(store, name)
        if output.json:
            output.value({"name": name, "status": "revoked", "left": left})
            return
        output.line(f"the token {name!r} holds no more")
        if not left:
            output.warn("no token is left, and servers answer nobody until there is one again")
