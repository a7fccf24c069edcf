"""What annotations say: which frame a parameter wants, and which type an argument has."""

from __future__ import annotations

import ast
import datetime
import decimal
import inspect
import types
import typing
from collections.abc import Iterable
from typing import Any, Final, get_args, get_origin

from tranche.jobs.source import Source
from tranche.model.code import Frame, Injection
from tranche.script.python_names import ANYTHING, Annotation, PythonNames
from tranche.script.python_types import KNOWN, TYPES, WRITTEN, argument_types

_ARGUMENTS: Final = {
    "str": "string",
    "int": "bigint",
    "float": "double",
    "bool": "boolean",
    "datetime.date": "date",
    "datetime.datetime": "timestamp",
    "decimal.Decimal": "decimal(38,18)",
}
ARGUMENT_TYPES: Final = "str, int, float, bool, date, datetime or Decimal"
_SHORT: Final = {
    (name.partition(".")[0], name.rpartition(".")[2]): name
    for name in sorted((*KNOWN, *ANYTHING), key=len, reverse=True)
}
"""Types by their package and name: where in its package a class stands is nobody's business."""


def annotation_of(parameter: inspect.Parameter, source: Source | None) -> Annotation | None:
    """What the annotation of a parameter says; None if there is none.

    Nothing is imported for it: a text is read as it stands, by what the file imports.
    """
    given = parameter.annotation
    if given is inspect.Parameter.empty:
        return None
    names = source.names if source is not None else PythonNames()
    return _of_text(given, names) if isinstance(given, str) else _of_object(given, names)


def _of_text(text: str, names: PythonNames) -> Annotation:
    try:
        # With annotations from the future, one that is quoted is quoted twice.
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return Annotation(None, text=text)
    return names.annotation(node) or Annotation(None, text=text)


def _of_object(given: Any, names: PythonNames) -> Annotation:
    text = inspect.formatannotation(given)
    origin = get_origin(given)
    if origin is typing.Annotated:
        return _of_object(get_args(given)[0], names)
    if origin in (typing.Union, types.UnionType):
        some = [each for each in get_args(given) if each is not type(None)]
        return _of_object(some[0], names) if len(some) == 1 else Annotation(None, text=text)
    if isinstance(given, typing.ForwardRef):
        return _of_text(given.__forward_arg__, names)
    inside = get_args(given)
    item = _name(inside[0]) if inside and isinstance(inside[0], type) else None
    return Annotation(_name(given if origin is None else origin), item, text)


def _name(kind: Any) -> str | None:
    """The name of a type by which others know it.

    >>> _name(str), _name(datetime.date), _name(ast.AST)
    ('str', 'datetime.date', 'ast.AST')
    """
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", None)
    if name is None:
        return None
    module = str(kind.__module__)
    if module == "builtins":
        return str(name)
    return _SHORT.get((module.partition(".")[0], name), f"{module}.{name}")


def frame_of(said: Annotation | None) -> Frame | None:
    """The frame that an annotation asks for, Spark's if it does not say; None if it is no frame."""
    if said is None or said.name in ANYTHING:
        return "spark"
    return said.frame


def misfit(what: Injection, said: Annotation | None) -> str | None:
    """The type of what the run gives, if an annotation says that it is another."""
    if said is None:
        return None
    other = said.name in KNOWN and said.name not in TYPES[what]
    wrong_item = what == "partitions" and said.item in KNOWN - {"str"}
    return WRITTEN[what] if other or wrong_item else None


def unlike_argument(type_: str, said: Annotation | None) -> str | None:
    """The type of an argument's values, if an annotation says that it is another."""
    accepted = argument_types(type_)
    other = said is not None and said.name in KNOWN and said.name not in accepted
    return accepted[0].rpartition(".")[2] if other else None


def argument_type_of(said: Annotation) -> str | None:
    """The type of an argument that an annotation says; None if there is no such type."""
    return "string" if said.name in ANYTHING else _ARGUMENTS.get(said.name or "")


def type_of(value: object) -> str | None:
    """The type of an argument that has a default and no annotation."""
    return _ARGUMENTS.get(_name(type(value)) or "")


def text_of(value: object) -> str | None:
    """A default as the text that somebody would have given; None if it is of no known type.

    >>> text_of(True), text_of(datetime.date(2026, 5, 16)), text_of(0.5)
    ('true', '2026-05-16', '0.5')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float() | decimal.Decimal():
            return str(value)
        case datetime.date():
            return value.isoformat()
        case _:
            return None


def listed(what: str, names: Iterable[str]) -> str:
    """
    >>> listed("it takes", ["a", "b"]), listed("it takes", [])
    ('it takes a, b', 'it takes none')
    """
    return f"{what} {', '.join(names) or 'none'}"
