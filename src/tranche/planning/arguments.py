"""Arguments that were given, and the scripts that take them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tranche.errors import ArgumentRejected, Place
from tranche.model.argument import accepts, looks_like
from tranche.model.code import JsonType, Passed
from tranche.model.partitioning import Dynamic
from tranche.model.partitioning_text import shown
from tranche.model.plan import Step
from tranche.model.script import Script

Given: TypeAlias = tuple[tuple[str, str | None], ...]
"""The values of a step's arguments by name."""
Fields: TypeAlias = tuple[tuple[str, Any], ...]
"""What payloads have for parameters of a step's function."""
_LOOKS_LIKE: Final[Mapping[JsonType, str]] = {
    "str": "a text",
    "int": "a whole number, as 5",
    "float": "a number, as 1.5",
    "bool": "true or false",
    "dict": "an object of JSON",
    "list": "a list of JSON",
}


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
                values.append((name, _field(field, found[name], script)))
            elif name in self.given:
                values.append((name, _field(field, _read(field, self.given[name]), script)))
            elif isinstance(rule, Dynamic) and rule.path == (name,) and key is not None:
                values.append((name, _field(field, _read(field, key), script)))
            elif field.required:
                raise ArgumentRejected(
                    f"{script.path} takes {name!r} from the payload, and the run has no such field",
                    f"give it with --payload '{{\"{name}\": …}}' or --arg {name}=<value>, or give"
                    " the parameter a default",
                    place=Place(script.path, script.code.line if script.code else None),
                )
        return tuple(values)


def _field(field: Passed, value: Any, script: Script) -> Any:
    """What a parameter gets of a field, whose value is of the type that the parameter has."""
    wanted = field.type
    if wanted is None or (value is None and field.nullable):
        return value
    if wanted == "float" and type(value) is int:
        return float(value)
    # A truth is a number to Python.
    if type(value).__name__ == wanted:
        return value
    raise ArgumentRejected(
        f"{script.path} takes {field.argument!r} as {wanted}, and the run has {shown(value)}",
        f"give {_LOOKS_LIKE[wanted]}",
        place=Place(script.path, script.code.line if script.code else None),
    )


def _read(field: Passed, text: str) -> Any:
    """A text as the value that it stands for; itself if it stands for none."""
    if field.type in (None, "str"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


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
