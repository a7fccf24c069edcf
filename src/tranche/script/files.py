"""`read_json('data/' || '{partition}' || '.json', multiLine => true)` as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.asset import PARTITION_TOKEN
from tranche.model.statement import ArgumentHole, FileHole, KeyHole, PathPart, Text
from tranche.script.tokens import STRINGS

FILE_FUNCTIONS: Final[dict[str, Literal["json", "csv", "parquet"]]] = {
    "read_json": "json",
    "read_csv": "csv",
    "read_parquet": "parquet",
}
_ARROWS = (TokenType.FARROW, TokenType.COLON_EQ, TokenType.EQ)
_PLAIN = (*STRINGS, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)

ValueReader: TypeAlias = Callable[[list[Token], int], KeyHole | ArgumentHole | None]
"""Reads the key or an argument at a position, and notes the fault if there is one."""


class BadFileRead(Exception):
    """A file function that does not parse; `what` is None if the fault is noted already."""

    def __init__(self, position: int, what: str | None, remedy: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what
        self.remedy = remedy


def read_file_call(
    tokens: list[Token], at: int, literal: ValueReader, parameter: ValueReader
) -> tuple[FileHole, int]:
    """The call whose name is the token `at`, and the position of its closing bracket."""
    return _Call(tokens, at, literal, parameter).read()


class _Call:
    def __init__(
        self, tokens: list[Token], at: int, literal: ValueReader, parameter: ValueReader
    ) -> None:
        self.tokens = tokens
        self.name = tokens[at]
        self.literal = literal
        self.parameter = parameter
        self.position = at + 2

    def read(self) -> tuple[FileHole, int]:
        path = [self.path_part()]
        while self.type() is TokenType.DPIPE:
            self.position += 1
            path.append(self.path_part())
        options: list[tuple[str, str]] = []
        while self.type() is TokenType.COMMA:
            self.position += 1
            options.append(self.option())
        if self.type() is not TokenType.R_PAREN:
            raise self.bad("the path is made of literals joined by ||, then options")
        format_ = FILE_FUNCTIONS[self.name.text.lower()]
        return FileHole(format_, tuple(path), tuple(options), self.name.line), self.position

    def path_part(self) -> PathPart:
        kind = self.type()
        part: PathPart | None = None
        if kind in STRINGS:
            part = self.literal(self.tokens, self.position)
            token = self.tokens[self.position]
            if part is None and PARTITION_TOKEN not in token.text:
                part = Text(token.text)
            self.position += 1
        elif kind is TokenType.PARAMETER:
            part = self.parameter(self.tokens, self.position)
            self.position += 2
        else:
            raise self.bad("the path is made of literals, '{partition}' and $arguments")
        if part is None:
            raise self.bad(None)
        return part

    def option(self) -> tuple[str, str]:
        name, arrow, value = (self.token(self.position + offset) for offset in range(3))
        if name is None or arrow is None or arrow.token_type not in _ARROWS:
            raise self.bad("an option does not parse")
        if value is None or value.token_type not in _PLAIN:
            self.position += 2
            raise self.bad(f"the option {name.text} takes a text, a number, true or false")
        self.position += 3
        return name.text, value.text if value.token_type in STRINGS else value.text.lower()

    def token(self, position: int) -> Token | None:
        return self.tokens[position] if position < len(self.tokens) else None

    def type(self) -> TokenType | None:
        token = self.token(self.position)
        return token.token_type if token is not None else None

    def bad(self, what: str | None) -> BadFileRead:
        name = self.name.text.lower()
        token = self.token(self.position) or self.tokens[-1]
        form = f"'folder/' || '{PARTITION_TOKEN}' || '.{FILE_FUNCTIONS[name]}', option => 'value'"
        message = None if what is None else f"{name}: {what}"
        return BadFileRead(token.start, message, f"write it as {name}({form})")
