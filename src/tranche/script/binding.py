"""Values into a statement: the text with parameter markers, and the values beside it.

A key or an argument never becomes part of the text. Spark binds it, so whatever it holds stays
data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from tranche.errors import KeyRejected
from tranche.model.asset import LakeTable
from tranche.model.statement import (
    ArgumentHole,
    FileHole,
    KeyHole,
    Statement,
    TableHole,
    Text,
)

_KEY = "_tranche_key"
_ARGUMENT = "_tranche_argument_"


@dataclass(frozen=True, slots=True)
class Values:
    """What goes into the holes of a step's statements."""

    key: str | None
    arguments: Mapping[str, str | None]
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement for Spark: its text, and the values of the markers in it."""

    text: str
    parameters: Mapping[str, str]


def bind(
    statement: Statement,
    values: Values,
    *,
    table: Callable[[TableHole], str],
    files: Callable[[FileHole], str],
) -> Bound:
    """Fills the holes; `table` and `files` give the text that stands for a table or for files."""
    pieces: list[str] = []
    parameters: dict[str, str] = {}
    for part in statement.parts:
        match part:
            case Text(text):
                pieces.append(text)
            case KeyHole():
                pieces.append(_marker(_KEY, values.key, "STRING", parameters))
            case ArgumentHole(name):
                marker = f"{_ARGUMENT}{name}"
                type_ = values.types[name].upper()
                pieces.append(_marker(marker, values.arguments[name], type_, parameters))
            case TableHole():
                pieces.append(table(part))
            case FileHole():
                pieces.append(files(part))
            case _:
                assert_never(part)
    return Bound("".join(pieces), parameters)


def file_path(hole: FileHole, values: Values) -> str:
    """The path that a file function reads; values cannot leave their place in it."""
    pieces: list[str] = []
    for part in hole.path:
        match part:
            case Text(text):
                pieces.append(text)
            case KeyHole():
                key = values.key or ""
                if not pieces and (key.startswith("/") or "://" in key):
                    raise KeyRejected(
                        f"the key {key!r} is a path of its own", "begin with a folder"
                    )
                pieces.append(_path_piece(key, "the key"))
            case ArgumentHole(name):
                pieces.append(_path_piece(values.arguments[name] or "", f"${name}"))
            case _:
                assert_never(part)
    return "".join(pieces)


def quoted(table: LakeTable) -> str:
    """
    >>> quoted(LakeTable("main", "orders"))
    '`main`.`default`.`orders`'
    """
    return ".".join(quoted_name(part) for part in table.parts)


def quoted_name(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _marker(name: str, value: str | None, type_: str, parameters: dict[str, str]) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    parameters[name] = value
    return f":{name}" if type_ == "STRING" else f"CAST(:{name} AS {type_})"


def _path_piece(value: str, what: str) -> str:
    segments = value.split("/")
    if not value or any(segment in ("..", ".") for segment in segments):
        raise KeyRejected(
            f"{what} {value!r} cannot be part of a path", "a path takes no empty, '.' or '..' part"
        )
    # Spark reads these characters as patterns; a value means them as they are.
    return "".join(
        f"\\{character}" if character in "*?[]{}\\^" else character for character in value
    )
