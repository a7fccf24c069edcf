"""Values into a statement: the text with parameter markers, and the values beside it.

A key or an argument never becomes part of the text. Spark binds it, so whatever it holds stays
data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from tranche.errors import KeyRejected
from tranche.model.asset import FileSet, LakeTable
from tranche.model.partitioning import Composite, Partitioning
from tranche.model.partitioning_text import shown, split_segments
from tranche.model.plan import Step
from tranche.model.statement import (
    ArgumentHole,
    FileHole,
    ImpliedHole,
    KeyHole,
    SliceHole,
    Statement,
    TableHole,
    Text,
)
from tranche.model.storage import Storage, key_path, segment_path
from tranche.model.strategy import HISTORY_COLUMNS

SLICE_VIEW = "_tranche_slice"
"""What the rows under test are called in the session of their tests."""
_KEY = "_tranche_key"
STORED = "s3:///"
"""How addresses of the project's storage begin."""
_FILES_VIEW = "_tranche_files_"
_ARGUMENT = "_tranche_argument_"
_ROOT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,3}|/")
_PLAIN = re.compile(r"[A-Za-z0-9 :.+/_-]*")
_PATTERN = re.compile(r"[*?\[\]{}\\^]")


@dataclass(frozen=True, slots=True)
class Values:
    """What goes into the holes of a step's statements."""

    key: str | None
    arguments: Mapping[str, str | None]
    types: Mapping[str, str]

    def key_of(self, hole: KeyHole) -> str | None:
        """The key, or the segment of it that a hole asks for."""
        if hole.dimension is None or self.key is None:
            return self.key
        return split_segments(self.key)[hole.position]


def values_of(step: Step) -> Values:
    types = {argument.name: argument.type for argument in step.script.annotations.arguments}
    return Values(step.partition, dict(step.arguments), types)


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement for Spark: its text, and the values of the markers in it."""

    text: str
    parameters: Mapping[str, Any]


def bind(
    statement: Statement,
    values: Values,
    *,
    table: Callable[[TableHole], str],
    files: Callable[[FileHole], str],
    implied: Callable[[ImpliedHole], Bound] | None = None,
    literals: bool = False,
) -> Bound:
    """Fills the holes; `table` and `files` give the text that stands for a table or for files, and
    `implied` what is known of all keys together. With `literals`, values stand in the text as
    complete literals, for statements that take no parameters."""
    pieces: list[str] = []
    parameters: dict[str, Any] = {}
    for part in statement.parts:
        match part:
            case Text(text):
                pieces.append(text)
            case KeyHole(dimension):
                name = _KEY if dimension is None else f"{_KEY}_{part.position}"
                value = values.key_of(part)
                if literals:
                    pieces.append(_literal(value, "STRING"))
                else:
                    pieces.append(_marker(name, value, "STRING", parameters))
            case ArgumentHole(name):
                marker = f"{_ARGUMENT}{name}"
                type_ = values.types[name].upper()
                value = values.arguments[name]
                if literals:
                    pieces.append(_literal(value, type_))
                else:
                    pieces.append(_marker(marker, value, type_, parameters))
            case TableHole():
                pieces.append(table(part))
            case FileHole():
                pieces.append(files(part))
            case SliceHole():
                pieces.append(quoted_name(SLICE_VIEW))
            case ImpliedHole():
                known = implied(part) if implied is not None else Bound("true", {})
                pieces.append(known.text)
                parameters.update(known.parameters)
            case _:
                assert_never(part)
    return Bound("".join(pieces), parameters)


def file_path(
    hole: FileHole, values: Values, keyed: Callable[[KeyHole], str | None] | None = None
) -> str:
    """The path that a file function reads; values cannot leave their place in it.

    `keyed` says how a key stands in the path, if it does not stand there as it is.
    """
    pieces: list[str] = []
    for part in hole.path:
        match part:
            case Text(text):
                pieces.append(text)
            case KeyHole():
                key = values.key_of(part) if keyed is None else keyed(part)
                pieces.append(_path_piece(key, "key", root=""))
            case ArgumentHole(name):
                value = values.arguments[name]
                # Whoever runs a script may point it at another place, a key may not.
                start = _ROOT.match(value or "") if not pieces else None
                pieces.append(
                    _path_piece(value, f"argument ${name}", root=start[0] if start else "")
                )
            case _:
                assert_never(part)
    return "".join(pieces)


def is_stored(hole: FileHole, values: Values) -> bool:
    """Whether the files lie in the project's storage."""
    match hole.path[0]:
        case Text(text):
            return text.startswith(STORED)
        case ArgumentHole(name):
            return (values.arguments[name] or "").startswith(STORED)
        case _:
            return False


def stored_path(hole: FileHole, values: Values, rule: Partitioning | None, storage: Storage) -> str:
    """Where files of the project's storage lie, as Spark takes it; keys stand there as they do for
    `write_file`."""

    def keyed(part: KeyHole) -> str | None:
        if values.key is None or part.dimension is None or not isinstance(rule, Composite):
            return None if values.key is None else key_path(rule, values.key)
        return segment_path(rule.rules[part.position], values.key_of(part) or "")

    path = file_path(hole, values, keyed).removeprefix(STORED)
    place = Storage(escaped_path(storage.root), escaped_path(storage.folder))
    return place.path(FileSet("s3", f"/{path}"))


def files_view(number: int) -> str:
    """The name of the temporary view that stands for the files of a step's n-th file function."""
    return f"{_FILES_VIEW}{number}"


def current_rows(hole: TableHole, history: str) -> str:
    """What stands for the current rows of a history, which is read as such and not as a view."""
    if hole.qualifies:
        return quoted_name(hole.table.table)
    rows = f"(SELECT * FROM {history} WHERE {HISTORY_COLUMNS[2]})"  # noqa: S608
    return rows if hole.alias is None else f"{rows} AS {quoted_name(hole.alias)}"


def quoted(table: LakeTable) -> str:
    """
    >>> quoted(LakeTable("main", "orders"))
    '`main`.`default`.`orders`'
    """
    return ".".join(quoted_name(part) for part in table.parts)


def segment_text(key: str, position: int) -> str:
    """What gives a segment of a key of several dimensions, in SQL; `key` is an expression.

    Segments are cut at every bar that no backslash stands before, as `split_segments` does.
    """
    segment = r"(?:[^|\\]|\\.)*"
    cut = rf"(?s)^(?:{segment}\|){{{position}}}({segment})"
    # Raw literals, which mean the same whatever Spark is told about escapes.
    return rf"regexp_replace(regexp_extract({key}, r'{cut}', 1), r'(?s)\\(.)', '$1')"


def quoted_name(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def text_literal(text: str) -> str:
    """A text as a complete literal, for where many of them would be slow to bind.

    What is not plain is written in hexadecimal, so that nothing in it can end the literal, whatever
    Spark is told about escapes.

    >>> text_literal("2026-05-01")
    "'2026-05-01'"
    >>> text_literal("x' OR '1'='1")
    "CAST(X'7827204F52202731273D2731' AS STRING)"
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def _marker(name: str, value: str | None, type_: str, parameters: dict[str, Any]) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    parameters[name] = value
    return f":{name}" if type_ == "STRING" else f"CAST(:{name} AS {type_})"


def _literal(value: str | None, type_: str) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    text = text_literal(value)
    return text if type_ == "STRING" else f"CAST({text} AS {type_})"


def escaped_path(path: str) -> str:
    """A path that means itself, where Spark would read patterns.

    >>> print(escaped_path("/data/[b]/x"))
    /data/\\[b\\]/x
    """
    return _PATTERN.sub(r"\\\g<0>", path)


def _path_piece(value: str | None, what: str, *, root: str) -> str:
    """A value as part of a path, behind the root that it may begin with."""
    if value is None:
        raise KeyRejected(
            f"the run has no {what}, and a path in the script needs it", "run it with one"
        )
    rest = value.removeprefix(root)
    if any(segment in ("", ".", "..") for segment in rest.split("/")):
        raise KeyRejected(
            f"the {what} {shown(value)} cannot be part of a path",
            "a path takes no empty, '.' or '..' part",
        )
    # Spark reads these characters as patterns; a value means them as they are.
    return root + _PATTERN.sub(r"\\\g<0>", rest)
