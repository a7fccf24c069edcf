"""The text of scripts and statements, in pieces that can be shown in colours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tranche.errors import UnknownTarget
from tranche.model.project import Project
from tranche.model.script import Script

_LARGEST = 1_000_000
_KINDS = (
    ("Comment", "comment"),
    ("Keyword", "keyword"),
    ("Literal.String", "string"),
    ("Literal.Number", "number"),
    ("Name.Function", "name"),
    ("Name.Decorator", "name"),
    ("Name.Builtin", "name"),
    ("Operator.Word", "keyword"),
)

Language = Literal["sql", "python"]


@dataclass(frozen=True, slots=True)
class Listing:
    """A text by its lines; each is made of pieces with what they are."""

    path: str
    language: Language
    lines: tuple[tuple[tuple[str, str], ...], ...]


def listing(project: Project, script: Script) -> Listing:
    """The file of a script."""
    file = Path(project.settings.root) / script.path
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_LARGEST)
    except OSError:
        raise UnknownTarget(f"{script.path} is not there any more") from None
    return Listing(script.path, script.language, coloured(text, script.language))


def coloured(text: str, language: Language) -> tuple[tuple[tuple[str, str], ...], ...]:
    """
    >>> coloured("SELECT 1", "sql")
    ((('keyword', 'SELECT'), ('', ' '), ('number', '1')),)
    """
    from pygments.lexers import PythonLexer, SqlLexer

    lexer = (SqlLexer if language == "sql" else PythonLexer)(stripnl=False, ensurenl=False)
    lines: list[list[tuple[str, str]]] = [[]]
    for token, value in lexer.get_tokens(text):
        name = str(token).removeprefix("Token.")
        kind = next((kind for start, kind in _KINDS if name.startswith(start)), "")
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((kind, piece))
    return tuple(map(tuple, lines))
