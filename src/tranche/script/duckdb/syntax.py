"""DuckDB's SQL as a tree in which nothing has been interpreted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, cast

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from tranche.script.duckdb.pieces import Refused

_READ_BY_WORDS = ("CAST", "TRY_CAST", "EXTRACT")
"""Functions whose arguments are no plain list."""


_PARAMETER = cast(
    "Callable[[Any], exp.Expr | None]", DuckDBParser.PLACEHOLDER_PARSERS[TokenType.PARAMETER]
)


def _placed(node: exp.Expr | None, token: Token) -> exp.Expr | None:
    """An argument knows where it stands, as other words do."""
    if node is not None:
        node.meta.update(line=token.line, start=token.start, end=token.end)
    return node


def _rebound(node: exp.Cast) -> exp.Expr:
    """A literal that has its type first, and then what stands behind it."""
    behind = literal = node.this
    while not isinstance(literal, exp.Literal):
        if not isinstance(literal, exp.Cast | exp.Bracket | exp.Dot):
            return node
        literal = literal.this
    if literal is behind:
        return node
    literal.replace(exp.Cast(this=literal.copy(), to=node.args["to"]))
    return cast("exp.Expr", behind)


class _Parser(DuckDBParser):
    """Every call is a name with arguments: what it means is said in `functions`, nowhere else."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {
        name: parser
        for name, parser in DuckDBParser.FUNCTION_PARSERS.items()
        if name in _READ_BY_WORDS
    }
    PLACEHOLDER_PARSERS: ClassVar = {
        **DuckDBParser.PLACEHOLDER_PARSERS,
        TokenType.PARAMETER: lambda self: _placed(_PARAMETER(self), self._prev),
    }

    def _parse_type(
        self, parse_interval: bool = True, fallback_to_identifier: bool = False
    ) -> exp.Expr | None:
        """`DATE '2024-01-01'::VARCHAR` is a text: the type before the literal binds first."""
        is_typed = self._curr is not None and self._curr.token_type in self.TYPE_TOKENS
        node = super()._parse_type(parse_interval, fallback_to_identifier)
        return _rebound(node) if is_typed and isinstance(node, exp.Cast) else node


class _Syntax(DuckDB):
    INDEX_OFFSET = 0
    """Indexes stay as they are written."""
    Parser = _Parser


_SYNTAX = _Syntax()


def tokens_of(text: str) -> list[Token]:
    return list(_SYNTAX.tokenize(text))


def parse(tokens: list[Token], text: str) -> exp.Expr:
    """The tree of one statement."""
    try:
        trees: list[exp.Expr | None] = list(_SYNTAX.parser().parse(tokens, text))
    except SqlglotError as error:
        raise _explained(error, tokens) from None
    if len(trees) != 1 or trees[0] is None:
        raise Refused(tokens[0].start, "it is no statement of DuckDB's SQL", "correct the SQL")
    return trees[0]


def _explained(error: SqlglotError, tokens: list[Token]) -> Refused:
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    what = str(first.get("description") or "it is no DuckDB SQL")
    what = re.sub(r" but got <Token.*", "", what, flags=re.DOTALL).rstrip(". ")
    near = str(first.get("highlight") or "").strip()
    at = f" at {near!r}" if near else ""
    line = first.get("line")
    start = next((token.start for token in tokens if token.line == line), tokens[0].start)
    return Refused(start, f"the statement does not parse as DuckDB's SQL{at}: {what}", "correct it")
