"""Variables of lambdas and comprehensions that DuckDB takes for a column of the same name.

It does so where one stands alone in a field of a struct, which is also what a comprehension with IF
is made of, and where a field of one is taken. Spark takes the element there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tranche.script.duckdb.pieces import refused


def check_variables(tree: exp.Expr) -> None:
    """Refuses a variable that may be a column, because something else in the statement has its
    name."""
    for node in tree.find_all(exp.Lambda, exp.Comprehension):
        for variable in _variables(node):
            if _is_weak(node, variable) and _is_named_elsewhere(tree, variable):
                raise refused(
                    node,
                    f"the variable {variable}, which is a column in DuckDB if there is one",
                    "give it a name that nothing else has",
                )


def _variables(node: exp.Expr) -> list[str]:
    names = node.expressions if isinstance(node, exp.Lambda) else [node.expression]
    return [item.name.lower() for item in names]


def _body(node: exp.Expr) -> Iterator[exp.Expr]:
    """Where the variable is known: not in the list that a comprehension goes through."""
    for key in ("this", "condition"):
        part = node.args.get(key)
        if part is not None:
            yield from part.walk()


def _is_weak(node: exp.Expr, variable: str) -> bool:
    if node.args.get("condition") is not None and any(
        _is_called(node.args[key].unnest(), variable) for key in ("this", "condition")
    ):
        return True
    return any(
        _has_fields_taken(inner, variable)
        or (isinstance(inner, exp.PropertyEQ) and _is_called(inner.expression.unnest(), variable))
        for inner in _body(node)
    )


def _is_called(node: exp.Expr, variable: str) -> bool:
    alone = isinstance(node, exp.Identifier) or (isinstance(node, exp.Column) and not node.table)
    return alone and node.name.lower() == variable


def _has_fields_taken(node: exp.Expr, variable: str) -> bool:
    if isinstance(node, exp.Dot):
        return _is_called(node.this, variable)
    parts = node.parts if isinstance(node, exp.Column) else []
    return len(parts) > 1 and parts[0].name.lower() == variable


def _is_named_elsewhere(tree: exp.Expr, variable: str) -> bool:
    inside: set[int] = set()
    for node in tree.find_all(exp.Lambda, exp.Comprehension):
        if variable in _variables(node):
            inside.update(map(id, _body(node)))
            inside.update(id(item) for item in (*node.expressions, node.args.get("expression")))
    return any(
        item.name.lower() == variable and id(item) not in inside
        for item in tree.find_all(exp.Identifier)
    )
