"""A script's text as tokens: where statements and comments begin and end."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.dialects import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.script import Dialect
from tranche.script.annotations import CommentLine, said_dialect
from tranche.script.source import Source

# A statement that sqlglot only half knows is kept as it is; its warning would be noise.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

SPARK = Spark()
STRINGS = (TokenType.STRING, TokenType.RAW_STRING)
_OPENS = re.compile(r"--[^\n]*|/\*|[rR]?['\"]|`")
_HEAD = re.compile(r"\s+|--[^\n]*|/\*")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_QUOTE_ENDS = {
    "'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL),
    "r'": re.compile(r"[^']*'"),
    'r"': re.compile(r'[^"]*"'),
    "`": re.compile(r"[^`]*`"),
}

_DUCKDB_OPENS = re.compile(r"--[^\n]*|/\*|['\"]|\$\$")
_DUCKDB_ENDS = {
    "'": re.compile(r"[^']*'"),
    '"': re.compile(r'[^"]*"'),
    "$$": re.compile(r".*?\$\$", re.DOTALL),
}


def normalized(text: str) -> str:
    """The text without a byte order mark and with plain line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def tokenize(source: Source, dialect: Dialect = "spark") -> tuple[list[Token], bool]:
    """The tokens, and whether they are all: those before a quote that never ends are not."""
    cut = SPARK.tokenize if dialect == "spark" else _duckdb_tokens
    try:
        return list(cut(source.text)), True
    except TokenError:
        position, what = _unclosed(source.text, dialect)
        source.fault(position, what, "close it, or remove what stands there")
    try:
        return list(cut(source.text[:position])), False
    except TokenError:
        return [], False


def _duckdb_tokens(text: str) -> list[Token]:
    from tranche.script.duckdb.syntax import tokens_of

    return tokens_of(text)


def _unclosed(text: str, dialect: Dialect) -> tuple[int, str]:
    """Where the quote or comment begins that has no end."""
    position = 0
    opens, ends = (_OPENS, _QUOTE_ENDS) if dialect == "spark" else (_DUCKDB_OPENS, _DUCKDB_ENDS)
    while (found := opens.search(text, position)) is not None:
        start, mark = found.start(), found[0]
        if mark == "/*":
            end = comment_end(text, start)
            if end is None:
                return start, "a comment is not closed"
        elif mark.startswith("--"):
            end = found.end()
        else:
            close = ends[mark.lower()].match(text, found.end())
            if close is None:
                return start, "a quote is not closed"
            end = close.end()
        position = end
    return 0, "the text is no SQL"


def comment_end(text: str, start: int) -> int | None:
    """Where the comment ends that opens at `start`; comments may hold comments."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, without the semicolons between them."""
    current: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if current:
                yield current
            current = []
        else:
            current.append(token)
    if current:
        yield current


def dialect_of(source: Source, otherwise: Dialect) -> Dialect:
    """The dialect that the comments at the top say. They are comments in every dialect."""
    end = 0
    while (found := _HEAD.match(source.text, end)) is not None and end < len(source.text):
        closed = comment_end(source.text, end) if found[0] == "/*" else found.end()
        end = len(source.text) if closed is None else closed
    return said_dialect(_gap(source, 0, end), otherwise)


@dataclass(frozen=True, slots=True)
class Comments:
    """The lines that are comments only: those above the first statement, and the others."""

    top: tuple[CommentLine, ...]
    below: tuple[CommentLine, ...]


def comments(source: Source, tokens: Sequence[Token]) -> Comments:
    """Comments stand in the gaps between tokens, so a `--` inside a string is none."""
    top: list[CommentLine] = []
    below: list[CommentLine] = []
    end = 0
    size = len(source.text)
    for start, stop in [*((t.start, t.end + 1) for t in tokens), (size, size)]:
        found = below if end else top
        found.extend(_gap(source, end, start))
        end = stop
    return Comments(tuple(top), tuple(below))


def _gap(source: Source, start: int, end: int) -> Iterator[CommentLine]:
    text = source.text
    position = start
    while position < end:
        if text.startswith("/*", position):
            position = comment_end(text, position) or end
        elif text.startswith("--", position):
            stop = text.find("\n", position)
            stop = end if stop < 0 else min(stop, end)
            # A remark behind code is no annotation, whatever it says.
            if not text[text.rfind("\n", 0, position) + 1 : position].strip():
                yield CommentLine(source.line(position), text[position + 2 : stop])
            position = stop
        else:
            position += 1
