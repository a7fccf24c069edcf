"""Whether a Python file defines jobs, by its syntax alone."""

from __future__ import annotations

import ast

from tranche.jobs.source import Source

_JOB = ("tranche.job", "tranche.jobs.decorators.job")


def defines_jobs(source: Source) -> bool:
    """Whether a file uses `job` of Tranche, however it has imported it.

    >>> defines_jobs(Source("from tranche import job as j\\n@j\\ndef sales(): ..."))
    True
    >>> defines_jobs(Source("import tranche as t\\n@t.job()\\ndef sales(): ..."))
    True
    >>> defines_jobs(Source("from tranche import job"))
    False
    """
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and source.dotted(node) in _JOB
        for node in source.nodes
    )


def declared_names(source: Source) -> tuple[str, ...]:
    """The names of jobs and tasks that a file would have, as far as its syntax tells."""
    found: dict[str, None] = {}
    for node in source.nodes:
        if not isinstance(node, ast.FunctionDef) or not _is(source, node, _JOB):
            continue
        job = _name(source, node)
        found[job] = None
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef) and inner is not node and inner.decorator_list:
                found[f"{job}.{_name(source, inner)}"] = None
    return tuple(found)


def _is(source: Source, node: ast.FunctionDef, names: tuple[str, ...]) -> bool:
    return any(source.dotted(_called(each)) in names for each in node.decorator_list)


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _name(source: Source, node: ast.FunctionDef) -> str:
    for decorator in node.decorator_list:
        for given in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if given.arg == "name" and isinstance(given.value, ast.Constant):
                return str(given.value.value)
    return node.name
