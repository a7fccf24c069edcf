"""`read_json('data/' || '{partition}' || '.json', multiLine => true)` as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.statement import ArgumentHole, FileHole, KeyHole, PathPart, Text
from tranche.script.tokens import STRINGS

FILE_FUNCTIONS: Final[dict[str, Literal["json", "csv", "parquet"]]] = {
    "read_json": "json",
    "read_csv": "csv",
    "read_parquet": "parquet",
}
_FORM = "write it as {name}('folder/' || '{{partition}}' || '.{format}', option => 'value')"


class BadFileRead(Exception):
    """A file function that does not parse, with its place."""

    def __init__(self, position: int, what: str, remedy: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what
        self.remedy = remedy


def read_file_call(
    tokens: list[Token], at: int, key_hole: Callable[[Token], KeyHole | None]
) -> tuple[FileHole, int]:
    """The call whose name is the token `at`, and the position of its closing bracket."""
    name = tokens[at].text.lower()
    format_ = FILE_FUNCTIONS[name]
    form = _FORM.format(name=name, format=format_)

    def bad(position: int, what: str) -> BadFileRead:
        token = tokens[min(position, len(tokens) - 1)]
        return BadFileRead(token.start, f"{name}: {what}", form)

    path: list[PathPart] = []
    position = at + 2
    while True:
        part, position = _path_part(tokens, position, key_hole)
        if part is None:
            raise bad(position, "the path is made of literals, '{partition}' and $arguments")
        path.append(part)
        following = _type(tokens, position)
        if following is not TokenType.DPIPE:
            break
        position += 1
    options: list[tuple[str, str]] = []
    while _type(tokens, position) is TokenType.COMMA:
        option, position = _option(tokens, position + 1)
        if option is None:
            raise bad(position, "an option does not parse")
        options.append(option)
    if _type(tokens, position) is not TokenType.R_PAREN:
        raise bad(position, "the path is made of literals joined by ||, then options")
    return FileHole(format_, tuple(path), tuple(options), tokens[at].line), position


def _type(tokens: list[Token], position: int) -> TokenType | None:
    return tokens[position].token_type if position < len(tokens) else None


def _path_part(
    tokens: list[Token], position: int, key_hole: Callable[[Token], KeyHole | None]
) -> tuple[PathPart | None, int]:
    kind = _type(tokens, position)
    if kind in STRINGS:
        token = tokens[position]
        if "{partition" in token.text:
            hole = key_hole(token)
            # A fault about the token is already noted; the text stands in for it.
            return hole or Text(token.text), position + 1
        return Text(token.text), position + 1
    if kind is TokenType.PARAMETER and position + 1 < len(tokens):
        name = tokens[position + 1].text
        return (KeyHole() if name == "partition" else ArgumentHole(name)), position + 2
    return None, position


def _option(tokens: list[Token], position: int) -> tuple[tuple[str, str] | None, int]:
    arrow = _type(tokens, position + 1)
    if arrow not in (TokenType.FARROW, TokenType.COLON_EQ, TokenType.EQ):
        return None, position
    value = tokens[position + 2] if position + 2 < len(tokens) else None
    plain = (*STRINGS, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)
    if value is None or value.token_type not in plain:
        return None, position + 2
    text = value.text if value.token_type in STRINGS else value.text.lower()
    return (tokens[position].text, text), position + 3
