"""What defines the rows that a task makes of a slice."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tranche.jobs.source import Source, Sources
from tranche.model.code import Code
from tranche.model.script import Annotations
from tranche.script import defining

_TASK = ("tranche.task", "tranche.jobs.decorators.task")


def fingerprint(
    function: Callable[..., Any],
    annotations: Annotations,
    code: Code,
    around: Sequence[str],
    sources: Sources,
) -> str:
    """A hash of the function's own text, of what it gets and of how it is kept.

    `around` is what else stands in the body of its job. Bounds, data tests and retries do not
    count, and neither do other functions that it calls.
    """
    pieces = [*map(repr, code.parameters), repr(code.output), *around, *_text(function, sources)]
    return defining.fingerprint(annotations, annotations.reads, pieces)


def _text(function: Callable[..., Any], sources: Sources) -> list[str]:
    known = sources.of(function)
    if known is None:
        compiled = inspect.unwrap(function).__code__
        return [compiled.co_code.hex(), str(compiled.co_names), str(compiled.co_varnames)]
    source, node = known
    decorators = [each for each in node.decorator_list if not _is_task(source, each)]
    # Of the arguments, only defaults count: what each gets stands in the code's parameters.
    defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
    pieces: list[ast.stmt | ast.expr] = [*decorators, *defaults, *_body(node)]
    return [source.code(each) for each in pieces]


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """What a function does; its docstring does nothing."""
    first = node.body[0]
    described = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if described and isinstance(first.value.value, str) else node.body  # type: ignore[attr-defined]


def _is_task(source: Source, decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return source.dotted(called) in _TASK
