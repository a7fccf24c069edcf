"""What annotations say: which frame a parameter wants, and which type an argument has."""

from __future__ import annotations

import ast
import datetime
import decimal
import types
import typing
from collections.abc import Sequence
from typing import Any, Final, get_args, get_origin

from tranche.jobs.source import Source
from tranche.model.code import Frame, Injection

INJECTED: Final[tuple[Injection, ...]] = get_args(Injection)

_FRAMES: Final[dict[tuple[str, str], Frame]] = {
    ("pyspark", "DataFrame"): "spark",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy",
    ("pyarrow", "Table"): "arrow",
}
FRAMES: Final = (
    "pyspark.sql.DataFrame, pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table"
)
_ANY: Final = ("typing.Any", "Any", "object", "builtins.object")
_WANTED: Final[dict[Injection, tuple[str, tuple[str, ...]]]] = {
    "spark": ("SparkSession", ("SparkSession",)),
    "partition": ("str", ("str",)),
    "partitions": (
        "list[str]",
        ("list", "List", "Sequence", "Iterable", "Collection"),
    ),
    "window": ("tranche.Window", ("Window",)),
    "logical_date": ("datetime", ("datetime",)),
    "run": ("tranche.CurrentRun", ("CurrentRun",)),
}
_ARGUMENTS: Final[dict[str, str]] = {
    "str": "string",
    "int": "bigint",
    "float": "double",
    "bool": "boolean",
    "date": "date",
    "datetime": "timestamp",
    "Decimal": "decimal(38,18)",
}
TYPES: Final = "str, int, float, bool, date, datetime or Decimal"


def annotation_names(annotation: Any, source: Source | None) -> tuple[str, ...] | None:
    """The whole names of the types that an annotation allows, without None; None if it says nothing.

    Nothing is imported for it: a text that cannot be looked up is read as it stands.

    >>> annotation_names("int | None", None), annotation_names(list[str], None)
    (('int',), ('builtins.list',))
    """
    if annotation is None or annotation is type(None):
        return ()
    if isinstance(annotation, str):
        return _of_text(annotation, source)
    origin = get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        found = [annotation_names(each, source) for each in get_args(annotation)]
        return tuple(name for each in found if each is not None for name in each)
    if origin is typing.Annotated:
        return annotation_names(get_args(annotation)[0], source)
    if isinstance(annotation, typing.ForwardRef):
        return _of_text(annotation.__forward_arg__, source)
    kind = annotation if origin is None else origin
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", None)
    return None if name is None else (f"{kind.__module__}.{name}",)


def _of_text(text: str, source: Source | None) -> tuple[str, ...] | None:
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    return _of_node(node, source if source is not None else Source(""))


def _of_node(node: ast.expr, source: Source) -> tuple[str, ...] | None:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return ()
        return _of_text(node.value, source) if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [_of_node(side, source) for side in (node.left, node.right)]
        return tuple(name for side in sides if side is not None for name in side)
    if isinstance(node, ast.Subscript):
        outer = source.dotted(node.value)
        if outer in ("typing.Optional", "typing.Union", "Optional", "Union"):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found = [_of_node(each, source) for each in inner]
            return tuple(name for each in found if each is not None for name in each)
        return None if outer is None else (outer,)
    name = source.dotted(node)
    return None if name is None else (name,)


def frame_of(names: Sequence[str] | None) -> Frame | None:
    """The frame that an annotation asks for, Spark's if it does not say; None if it is no frame.

    >>> frame_of(("polars.LazyFrame",)), frame_of(("builtins.int",)), frame_of(None)
    ('lazy', None, 'spark')
    """
    if not names or any(name in _ANY for name in names):
        return "spark"
    for name in names:
        parts = name.split(".")
        found = _FRAMES.get((parts[0], parts[-1]))
        if found is not None:
            return found
    return None


def misfit(what: Injection, names: Sequence[str] | None) -> str | None:
    """The type of what is injected, if an annotation says that it is another.

    >>> misfit("partition", ("builtins.int",)), misfit("partitions", ("builtins.list",))
    ('str', None)
    """
    if not names:
        return None
    shown, fit = _WANTED[what]
    good = any(name in _ANY or name.rpartition(".")[2] in fit for name in names)
    return None if good else shown


def argument_type_of(names: Sequence[str] | None) -> str | None:
    """The type of an argument that an annotation says; None if there is no such type."""
    if not names:
        return "string"
    found = [_ARGUMENTS.get(name.rpartition(".")[2]) for name in names]
    return found[0] if len(found) == 1 else None


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


def type_of(value: object) -> str | None:
    """The type of an argument that has a default and no annotation."""
    return _ARGUMENTS.get(type(value).__name__)
