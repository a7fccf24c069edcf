"""The text of the functions of a file: where each stands, and what its syntax tells."""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from tranche.script.python_names import PythonNames, names_of

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_IGNORED = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)


@dataclass(eq=False)
class Source:
    """The text of one file, parsed once."""

    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All that stands in the file."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def definitions(self) -> dict[tuple[str, int], Definition]:
        """The functions by name and first line, which is that of the first decorator."""
        return {
            (node.name, first_line(node)): node
            for node in self.nodes
            if isinstance(node, Definition)
        }

    @cached_property
    def names(self) -> PythonNames:
        """What names stand for in the file, also those that are imported within functions."""
        found = names_of(self.tree)
        for node in self.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                inner = names_of(ast.Module([node], []))
                found.imported = inner.imported | found.imported
        if found.imported.pop("*", None) == "tranche.*":
            found.imported |= {name: f"tranche.{name}" for name in ("job", "task", "Merge")}
        return found

    def dotted(self, node: ast.expr) -> str | None:
        """The whole name that an expression is, with what was imported spelled out."""
        return self.names.full(node)

    def code(self, node: ast.stmt | ast.expr) -> str:
        """The words of a piece of code; comments and blank lines are none."""
        segment = self._segment(node)
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(_dedented(segment)).readline))
        except (tokenize.TokenError, IndentationError):
            return segment
        return "\x1e".join(
            tokenize.tok_name[token.type] if not token.string.strip() else token.string
            for token in tokens
            if token.type not in _IGNORED
        )

    @cached_property
    def _lines(self) -> list[bytes]:
        # Positions in a tree count bytes.
        return self.text.encode().splitlines(keepends=True)

    def _segment(self, node: ast.stmt | ast.expr) -> str:
        """The text of a piece of code, with its first line where it stands."""
        end = node.end_lineno or node.lineno
        lines = self._lines[node.lineno - 1 : end]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = b" " * node.col_offset + lines[0][node.col_offset :]
        return b"".join(lines).decode()


@dataclass(eq=False, slots=True)
class Sources:
    """The texts of files, each read once; those that were read already are handed in."""

    known: dict[str, Source] = field(default_factory=dict)

    def of(self, function: Callable[..., Any]) -> tuple[Source, Definition] | None:
        """The text that a function was made of; None if there is none, or if it has changed."""
        code = inspect.unwrap(function).__code__
        source = self._read(code.co_filename)
        if source is None:
            return None
        node = source.definitions.get((code.co_name, code.co_firstlineno))
        return None if node is None else (source, node)

    def _read(self, file: str) -> Source | None:
        if file not in self.known:
            try:
                source = Source(Path(file).read_text(encoding="utf-8"))
                source.tree  # noqa: B018 - it is parsed here, where that may fail
            except (OSError, ValueError, SyntaxError):
                return None
            self.known[file] = source
        return self.known[file]


def first_line(node: ast.stmt) -> int:
    """The line at which a statement begins, with its decorators if it has some."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min((node.lineno, *(each.lineno for each in decorators)))


def returns_nothing(node: Definition) -> bool:
    """Whether a function can only return None, by its syntax or by its annotation."""
    if isinstance(node.returns, ast.Constant) and node.returns.value in (None, "None"):
        return True
    return not any(
        isinstance(each, ast.Return)
        and each.value is not None
        and not (isinstance(each.value, ast.Constant) and each.value.value is None)
        for each in _own(node)
    )


def blind_merges(source: Source, node: Definition) -> Iterator[int]:
    """The lines of a function that make a Merge and do not say which rows are the same."""
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    for call in calls:
        # Of **options, nobody knows what they say.
        told = any(
            word.arg is None or (word.arg == "on" and not _is_empty(word.value))
            for word in call.keywords
        )
        if not told and source.dotted(call.func) == "tranche.Merge":
            yield call.lineno


def _is_empty(node: ast.expr) -> bool:
    """Whether an expression names nothing, as it is written."""
    match node:
        case ast.Constant(value=value):
            return not value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return not elements
        case _:
            return False


def is_ordinary(node: Definition) -> bool:
    """Whether a function does its work when it is called: it is not async, and no generator."""
    return isinstance(node, ast.FunctionDef) and not any(
        isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(node)
    )


def _own(node: Definition) -> Iterator[ast.AST]:
    """What stands in a function itself, not in functions within it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, Definition | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(each)


def _dedented(segment: str) -> str:
    lines = segment.splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)
