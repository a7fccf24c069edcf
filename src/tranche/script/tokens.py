"""A script's text as tokens: where statements and comments begin and end."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.dialects import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tranche.errors import Fault, Place
from tranche.script.annotations import CommentLine

# A statement that sqlglot only half knows is kept as it is; its warning would be noise.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

SPARK = Spark()
STRINGS = (TokenType.STRING, TokenType.RAW_STRING)
_WHERE = re.compile(r" from (\d+):\d+")


def normalized(text: str) -> str:
    """The text without a byte order mark and with plain line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def tokenize(path: str, text: str) -> tuple[list[Token], Fault | None]:
    try:
        return SPARK.tokenize(text), None
    except TokenError as error:
        where = _WHERE.search(str(error))
        what = "a quote or comment is not closed" if where else "the text is no SQL"
        return [], Fault(
            Place(path, int(where[1]) if where else 1),
            what,
            "close it, or remove what stands there",
        )


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


@dataclass(frozen=True, slots=True)
class Comments:
    """The comment lines of a script: those above its first statement, and the others."""

    top: tuple[CommentLine, ...]
    below: tuple[CommentLine, ...]


def comments(text: str, tokens: Sequence[Token]) -> Comments:
    """Comments stand in the gaps between tokens, so a `--` inside a string is none."""
    top: list[CommentLine] = []
    below: list[CommentLine] = []
    end = 0
    for start, stop in [*((t.start, t.end + 1) for t in tokens), (len(text), len(text))]:
        found = below if end else top
        found.extend(_gap(text, end, start))
        end = stop
    return Comments(tuple(top), tuple(below))


def _gap(text: str, start: int, end: int) -> Iterator[CommentLine]:
    position = start
    while position < end:
        if text.startswith("/*", position):
            close = text.find("*/", position + 2)
            position = end if close < 0 else close + 2
        elif text.startswith("--", position):
            stop = text.find("\n", position)
            stop = end if stop < 0 else min(stop, end)
            yield CommentLine(text.count("\n", 0, position) + 1, text[position + 2 : stop])
            position = stop
        else:
            position += 1


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
