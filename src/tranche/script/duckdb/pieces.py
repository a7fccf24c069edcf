"""Pieces of Spark SQL, with what is known of their types, and what cannot be said in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import exp

from tranche.model.asset import SLICE_TOKEN
from tranche.script.binding import SLICE_VIEW

MARK = "\x01"
"""Stands before and behind the position that a piece has in the script, until lines are made."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPARK_WORDS = frozenset(
    {
        *("anti", "cross", "except", "full", "inner", "intersect"),
        *("join", "lateral", "left", "minus", "natural", "on"),
        *("right", "semi", "setminus", "union", "using", "from"),
        *("where", "group", "having", "order", "limit", "offset"),
        *("window", "select", "with"),
    }
)


class Refused(Exception):
    """What Tranche does not translate: where it stands, what it is, and what to write instead."""

    def __init__(self, position: int, what: str, remedy: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression of Spark SQL. Its type is Spark's name of it, or a family, or not known."""

    text: str
    type: str | None = None
    loose: bool = False
    """Whether it needs brackets inside another operator."""
    element: str | None = None
    """What is known of the elements of a list."""
    bare: str | None = None
    """The same without what breaks off, for where only its type is asked for."""

    @property
    def tight(self) -> str:
        return f"({self.text})" if self.loose else self.text

    @property
    def kind(self) -> str:
        """The type, as Spark tells it when it plans."""
        return f"typeof({self.bare or self.text})"

    @property
    def bare_tight(self) -> str:
        bare = self.bare or self.text
        return f"({bare})" if self.loose else bare

    def as_(self, type_: str | None) -> Piece:
        return replace(self, type=type_)


def position_of(node: exp.Expr) -> int:
    """Where a node stands in the script: its first word that is known, or that of what is around."""
    found = [int(inner.meta["start"]) for inner in node.walk() if "start" in inner.meta]
    if found:
        return min(found)
    return position_of(node.parent) if node.parent is not None else 0


def marked(node: exp.Expr, text: str) -> str:
    """A word that knows where it stood."""
    start = node.meta.get("start")
    return text if start is None else f"{MARK}{start}{MARK}{text}"


def name(node: exp.Expr) -> str:
    """An identifier, in quotes if Spark could take it for something else."""
    text = node.name
    if any(ord(character) < 32 for character in text):
        raise Refused(position_of(node), f"the name {text!r} has a control character", "rename it")
    if text == SLICE_VIEW:
        return marked(node, SLICE_TOKEN)
    quoted = bool(node.args.get("quoted"))
    if quoted or not _PLAIN_NAME.fullmatch(text) or text.lower() in _SPARK_WORDS:
        escaped = text.replace("`", "``")
        return marked(node, f"`{escaped}`")
    return marked(node, text)


def literal(text: str) -> str:
    """A text as a literal of Spark, on one line.

    >>> print(literal("it's a \\\\ and\\n"))
    'it\\'s a \\\\ and\\n'
    """
    pieces: list[str] = []
    for character in text:
        if character in "\\'":
            pieces.append(f"\\{character}")
        elif character == "\n":
            pieces.append("\\n")
        elif ord(character) < 32:
            pieces.append(f"\\u{ord(character):04x}")
        else:
            pieces.append(character)
    return f"'{''.join(pieces)}'"


def refused(node: exp.Expr, what: str, remedy: str) -> Refused:
    return Refused(position_of(node), what, remedy)
