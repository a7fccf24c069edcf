"""Calls of functions: which of DuckDB's are known, and what each becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import rule, say

Build: TypeAlias = Callable[[exp.Expr, Sequence[exp.Expr]], Piece]
"""What makes Spark SQL of a call: the node, and its arguments."""

FUNCTIONS: dict[str, tuple[Build, int, int]] = {}
"""DuckDB's functions that have a translation, with the least and most arguments."""
DECLINED: dict[str, str] = {}
"""Functions that are known and left out, with the reason and what to do."""


def function(least: int, most: int, *names: str) -> Callable[[Build], Build]:
    """Says that a function of ours translates calls of these names."""

    def registered(build: Build) -> Build:
        for called in names:
            FUNCTIONS[called] = (build, least, most)
        return build

    return registered


def templates(type_: str | None, *rows: tuple[str, str]) -> None:
    """Functions that are one of Spark's, or a short text: `{0}` stands for an argument."""
    for names, template in rows:
        count = 1 + max(
            (int(c) for c in template if c.isdigit() and f"{{{c}}}" in template), default=-1
        )
        function(count, count, *names.split())(_filled(template, type_))


def _filled(template: str, type_: str | None) -> Build:
    def build(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
        return Piece(template.format(*(say(argument).text for argument in arguments)), type_)

    return build


def declined(reason: str, names: str) -> None:
    for called in names.split():
        DECLINED[called] = reason


def called(node: exp.Expr) -> str:
    return str(node.this).lower()


@rule(exp.Anonymous)
def call(node: exp.Expr) -> Piece:
    word = called(node)
    found = FUNCTIONS.get(word)
    if found is None:
        raise unknown(node, word)
    build, least, most = found
    arguments = node.expressions
    for argument in arguments:
        if isinstance(argument, exp.Order | exp.Distinct | exp.IgnoreNulls | exp.Star):
            raise refused(node, f"{word} does not take that in its brackets", "leave it out")
    check_count(node, word, len(arguments), least, most)
    return build(node, arguments)


def check_count(node: exp.Expr, word: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        raise refused(
            node, f"{word} with {count} arguments is not translated", f"give it {least} to {most}"
        )


def unknown(node: exp.Expr, word: str) -> Exception:
    """The complaint about a function that has no translation."""
    reason = DECLINED.get(word)
    if reason is not None:
        what, _, remedy = reason.partition("; ")
        return refused(node, f"the function {word} is not translated: {what}", remedy)
    near = get_close_matches(word, sorted(FUNCTIONS), n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else "see docs/duckdb.md for those that are"
    return refused(node, f"the function {word} is not translated", hint)


def constant_text(node: exp.Expr, argument: exp.Expr, what: str) -> str:
    """An argument that has to be a literal."""
    if not isinstance(argument, exp.Literal) or not argument.args.get("is_string"):
        raise refused(node, f"{what} is computed", "write it as a literal")
    return str(argument.this)


def constant_number(argument: exp.Expr) -> int | None:
    """A whole number that stands in the text."""
    if isinstance(argument, exp.Neg):
        inner = constant_number(argument.this)
        return None if inner is None else -inner
    if isinstance(argument, exp.Literal) and str(argument.this).isdigit():
        return None if argument.args.get("is_string") else int(str(argument.this))
    return None


def said(arguments: Sequence[exp.Expr]) -> Iterator[Piece]:
    return (say(argument) for argument in arguments)
