"""Arguments that were given, and the scripts that take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tranche.errors import ArgumentRejected, Place
from tranche.model.argument import accepts, looks_like
from tranche.model.code import Passed
from tranche.model.partitioning import Dynamic
from tranche.model.plan import Step
from tranche.model.script import Script

Given: TypeAlias = tuple[tuple[str, str | None], ...]
"""The values of a step's arguments by name."""
Fields: TypeAlias = tuple[tuple[str, Any], ...]
"""What payloads have for parameters of a step's function."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments that were given, for whoever takes them."""

    given: Mapping[str, str]
    payload: Any = None

    def of(self, script: Script, key: str | None) -> Given:
        """The values of a script's arguments."""
        values: list[tuple[str, str | None]] = []
        for argument in script.annotations.arguments:
            value: str | None
            if argument.name == "partition" and script.partitioning is not None:
                value = key if key is not None else argument.default
            elif argument.name in self.given:
                value = self.given[argument.name]
            elif argument.required:
                raise ArgumentRejected(
                    f"{script.path} needs the argument ${argument.name} ({argument.type})",
                    f"give it with --arg {argument.name}=<value>",
                )
            else:
                value = argument.default
            if value is not None and not accepts(argument.type, value):
                raise ArgumentRejected(
                    f"{value!r} is no {argument.type} for ${argument.name} of {script.path}",
                    f"give {looks_like(argument.type)}",
                )
            values.append((argument.name, value))
        return tuple(values)

    def fields(self, script: Script, key: str | None) -> Fields:
        """What the payload has for parameters of a script's function.

        What it lacks may be an argument. The field that a dynamic key is taken from is the key.
        """
        found = inner_payload(self.payload)
        values: list[tuple[str, Any]] = []
        for field in fields_of(script):
            name, rule = field.argument, script.partitioning
            if isinstance(found, Mapping) and name in found:
                values.append((name, found[name]))
            elif name in self.given:
                values.append((name, self.given[name]))
            elif isinstance(rule, Dynamic) and rule.path == (name,) and key is not None:
                values.append((name, key))
            elif field.required:
                raise ArgumentRejected(
                    f"{script.path} takes {name!r} from the payload, and the run has no such field",
                    f"give it with --payload '{{\"{name}\": …}}' or --arg {name}=<value>, or give"
                    " the parameter a default",
                    place=Place(script.path, script.code.line if script.code else None),
                )
        return tuple(values)


def fields_of(script: Script) -> tuple[Passed, ...]:
    """The parameters of a script's function that payloads fill."""
    if script.code is None:
        return ()
    values = (parameter.value for parameter in script.code.parameters)
    return tuple(value for value in values if isinstance(value, Passed) and value.payload)


def inner_payload(payload: Any) -> Any:
    """What was sent, where a payload says that it is about a trigger."""
    if isinstance(payload, dict) and isinstance(payload.get("trigger"), dict):
        return payload["trigger"]
    return payload


def check_arguments(given: Mapping[str, str], steps: Sequence[Step]) -> None:
    """What was given must be of use to some step."""
    taken = _taken(steps)
    for name in given:
        if name in taken:
            continue
        if name == "partition" and any(step.script.partitioning for step in steps):
            raise ArgumentRejected(
                "the key is given as an argument", "give it with --partition <key>"
            )
        known = ", ".join(f"${other}" for other in taken) or "none"
        raise ArgumentRejected(
            f"no step that would run takes the argument {name!r}",
            f"the arguments are {known}; declare one with '-- ${name} (<type>)'",
        )


def _taken(steps: Sequence[Step]) -> dict[str, None]:
    """The arguments that some step makes use of: declared ones, and the root of a payload's path."""
    taken: dict[str, None] = {}
    for step in steps:
        partitioning = step.script.partitioning
        for argument in step.script.annotations.arguments:
            if argument.name != "partition" or partitioning is None:
                taken[argument.name] = None
        if isinstance(partitioning, Dynamic):
            taken[partitioning.path[0]] = None
        taken.update(dict.fromkeys(field.argument for field in fields_of(step.script)))
    return taken
