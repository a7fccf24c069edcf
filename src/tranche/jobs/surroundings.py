"""What stands in the body of a job besides its tasks, and what tasks may use therefore."""

from __future__ import annotations

import ast
import inspect

from tranche.jobs.declared import Body
from tranche.jobs.source import Sources, first_line


def surroundings(body: Body, sources: Sources) -> list[str]:
    """The statements of a job's body that neither define nor call tasks, such as constants."""
    known = sources.of(body.job.function)
    if known is None:
        return []
    source, node = known
    file = inspect.unwrap(body.job.function).__code__.co_filename
    lines = {call.line for call in (*body.calls, *body.again) if call.file == file}
    lines |= {inspect.unwrap(task.function).__code__.co_firstlineno for task in body.defined}
    return [
        source.code(statement)
        for statement in node.body
        if not _is_text(statement) and not lines.intersection(_lines(statement))
    ]


def _lines(statement: ast.stmt) -> range:
    return range(first_line(statement), (statement.end_lineno or statement.lineno) + 1)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
