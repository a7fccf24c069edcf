"""The rules by which nodes of DuckDB's tree become Spark SQL; what has no rule is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, position_of, refused

Rule: TypeAlias = Callable[[exp.Expr], Piece]

LINE = "\x02"
"""Stands before and behind a position whose line is to be told."""
_RULES: dict[type[exp.Expr], Rule] = {}
_CALLED = {
    "Columns": "COLUMNS(…)",
    "Star": "a star inside an expression",
    "Glob": "GLOB",
    "Placeholder": "a parameter",
    "PositionalColumn": "a column by its number (#1)",
    "TableSample": "SAMPLE",
    "Tuple": "a list of values in brackets",
    "JSONExtract": "the arrow -> of JSON",
    "JSONExtractScalar": "the arrow ->> of JSON",
    "Escape": "LIKE … ESCAPE",
    "ByteString": "a literal with escapes, e'…'",
    "HexString": "a literal of bytes",
    "Any": "ANY (…)",
    "All": "ALL (…)",
    "Pow": "a power (** or ^)",
    "Interval": "an interval as a value",
    "SimilarTo": "SIMILAR TO",
    "List": "a place right behind list(…)",
}
_REMEDIES = {
    "a power (** or ^)": "multiply the value with itself",
    "GLOB": "use LIKE",
    "SIMILAR TO": "use regexp_full_match",
    "LIKE … ESCAPE": "use contains or regexp_matches",
    "an interval as a value": "add it to a time",
    "a place right behind list(…)": "put it in brackets, as in (list(x))[1]",
}


def rule(*kinds: type[exp.Expr]) -> Callable[[Rule], Rule]:
    """Says that a function translates nodes of these kinds."""

    def registered(function: Rule) -> Rule:
        for kind in kinds:
            _RULES[kind] = function
        return function

    return registered


def say(node: exp.Expr) -> Piece:
    """A node of DuckDB's tree as Spark SQL."""
    found = _RULES.get(type(node))
    if found is None:
        what = _CALLED.get(type(node).__name__, type(node).__name__)
        raise refused(
            node, f"{what} is not translated", _REMEDIES.get(what, "write it in another way")
        )
    return found(node)


def only(node: exp.Expr, *known: str) -> None:
    """Refuses a node that has more to it than its rule looks at."""
    for key, value in node.args.items():
        if key not in known and value not in (None, False, [], ()):
            raise refused(
                node, f"{type(node).__name__} with {key} is not translated", "leave it out"
            )


def _first_place(node: exp.Expr) -> int:
    """Where an expression stands first: Spark groups by it only if it is written the same."""
    alike = (other for other in node.root().find_all(type(node)) if other == node)
    return min(map(position_of, alike), default=position_of(node))


def line_of(node: exp.Expr) -> str:
    """The number of its line, once lines are made."""
    return f"{LINE}{_first_place(node)}{LINE}"


def guarded(node: exp.Expr, text: str, bad: list[str], what: str, remedy: str) -> str:
    """An expression that breaks off, when Spark plans the query, for types that mean another thing
    in DuckDB. `bad` are conditions over `typeof(…)`, which cost nothing at run time."""
    if not bad:
        return text
    said = f"line {line_of(node)}: {what}; {remedy}".replace("\\", "\\\\").replace("'", "\\'")
    return f"if({' OR '.join(bad)}, raise_error('{said}'), {text})"
