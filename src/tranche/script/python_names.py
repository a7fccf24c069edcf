"""What names in a Python file mean: where they are imported from, and which types they are."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tranche.model.code import Frame

FRAMES: Final[Mapping[str, Frame]] = {
    "pyspark.sql.DataFrame": "spark",
    "pyspark.sql.dataframe.DataFrame": "spark",
    "pyspark.sql.classic.dataframe.DataFrame": "spark",
    "pyspark.sql.connect.dataframe.DataFrame": "spark",
    "pandas.DataFrame": "pandas",
    "polars.DataFrame": "polars",
    "polars.LazyFrame": "lazy",
    "pyarrow.Table": "arrow",
}
"""The types of frames by their full names."""
FRAME_NAMES: Final = (
    "pyspark.sql.DataFrame, pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table"
)
ANYTHING: Final = frozenset({"object", "typing.Any"})
_OPTIONAL = frozenset({"typing.Optional", "typing.Union"})
_BUILTINS = frozenset(name for name in vars(builtins) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class Annotation:
    """The type that a parameter is said to have."""

    name: str | None
    """In full, as `pandas.DataFrame`; None if the file does not tell."""
    item: str | None = None
    """The type of what it holds, as `str` of `list[str]`."""
    text: str = ""
    """As it is written."""
    nullable: bool = False
    """Whether it may be None as well."""

    @property
    def frame(self) -> Frame | None:
        return FRAMES.get(self.name or "")


@dataclass(slots=True)
class PythonNames:
    """The names of a file that come from elsewhere, each with its full name."""

    imported: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    """Names that stand for an expression, such as `Frame = pd.DataFrame`."""

    def full(self, node: ast.expr) -> str | None:
        """The full name of what an expression names.

        >>> names = names_of(ast.parse("import pandas as pd"))
        >>> names.full(ast.parse("pd.DataFrame", mode="eval").body)
        'pandas.DataFrame'
        """
        if isinstance(node, ast.Attribute):
            owner = self.full(node.value)
            return None if owner is None else f"{owner}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        if node.id in self.imported:
            return self.imported[node.id]
        alias = self.aliases.get(node.id)
        if isinstance(alias, ast.Attribute | ast.Name) and not _names(alias, node.id):
            return self.full(alias)
        return node.id if alias is None and node.id in _BUILTINS else None

    def annotation(self, node: ast.expr | None) -> Annotation | None:
        """What a parameter's annotation says; None if there is none."""
        if node is None:
            return None
        text = ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            try:
                node = ast.parse(text, mode="eval").body
            except SyntaxError:
                return Annotation(None, text=text)
        name, item = self._type(node)
        return Annotation(name, item, text, nullable=self._takes_none(node))

    def _takes_none(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript) and self.full(node.value) == "typing.Optional":
            return True
        return any(map(_is_none, ast.walk(node)))

    def _type(self, node: ast.expr) -> tuple[str | None, str | None]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._either([node.left, node.right])
        if isinstance(node, ast.Subscript):
            name = self.full(node.value)
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if name in _OPTIONAL:
                return self._either(inside)
            return name, self.full(inside[0]) if inside else None
        return self.full(node), None

    def _either(self, choices: Iterable[ast.expr]) -> tuple[str | None, str | None]:
        """The one type beside None, if there is just one."""
        some = [each for each in choices if not _is_none(each)]
        return self._type(some[0]) if len(some) == 1 else (None, None)


def names_of(tree: ast.Module) -> PythonNames:
    """The names that a file's own statements import, also those in `if` and `try` blocks."""
    found = PythonNames()
    for statement in top_level(tree.body):
        match statement:
            case ast.Import(names=names):
                for name in names:
                    first = name.name.partition(".")[0]
                    found.imported[name.asname or first] = name.name if name.asname else first
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for name in names:
                    found.imported[name.asname or name.name] = f"{module}.{name.name}"
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.aliases[name] = value
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.aliases[name] = ast.Constant(None)
    return found


def top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a file is imported, in their order."""
    for statement in body:
        yield statement
        match statement:
            case ast.If():
                yield from top_level((*statement.body, *statement.orelse))
            case ast.Try():
                handlers = [each for handler in statement.handlers for each in handler.body]
                inside = (*statement.body, *handlers, *statement.orelse, *statement.finalbody)
                yield from top_level(inside)
            case ast.With():
                yield from top_level(statement.body)


def in_scope(node: ast.AST) -> Iterator[ast.AST]:
    """All that is below a node, down to functions but not into them."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from in_scope(child)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))
