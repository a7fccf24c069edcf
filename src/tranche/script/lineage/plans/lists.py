"""Lists of expressions in a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tranche.script.lineage.plans.expressions import value_of
from tranche.script.lineage.plans.scopes import Attribute, Scope
from tranche.script.lineage.plans.text import Unreadable, arguments, attribute, cut
from tranche.script.lineage.values import Value

_LISTS = "], ["


def in_list(text: str) -> str:
    """What stands in the brackets around a list."""
    if not text.startswith("[") or not text.endswith("]"):
        raise Unreadable("there is no list")
    return text[1:-1]


def named_columns(
    text: str, scope: Scope, read: Callable[[str, Scope], Value] = value_of
) -> tuple[Attribute, ...]:
    """The columns of a list of expressions, each of which has a name and a number."""
    found: dict[str, Attribute | None] = {}

    def known(piece: str) -> Attribute | None:
        if piece not in found:
            found[piece] = _attribute(piece, scope, read)
        return found[piece]

    pieces = cut(text, lambda piece: known(piece) is not None)
    return tuple(each for piece in pieces if (each := known(piece)) is not None)


def _attribute(piece: str, scope: Scope, read: Callable[[str, Scope], Value]) -> Attribute | None:
    told = attribute(piece)
    if told is None:
        return None
    name, number = told
    same = scope.column(name, number)
    if same is not None:
        return Attribute(number, name, same)
    at = piece.find(" AS ")
    while at >= 0:
        alias = attribute(piece[at + 4 :])
        # A name may hold anything, also what looks like the end of an expression.
        if alias is not None and not scope.uses(piece[at + 4 :]):
            return Attribute(alias[1], alias[0], read(piece[:at], scope))
        at = piece.find(" AS ", at + 1)
    if any(given.closed for given in scope.given) and re.fullmatch(r"\w+#\d+L?", piece):
        return Attribute(number, name, read(piece, scope))
    return None


def in_lists(text: str) -> Iterator[tuple[str, str]]:
    """The ways in which a text may be two lists or more: the first, and what follows it."""
    at = text.find(_LISTS)
    while at >= 0:
        yield text[: at + 1], text[at + 3 :]
        at = text.find(_LISTS, at + 1)


def pieces_of(text: str) -> list[str]:
    """The expressions of a list; all of it as one where it is not known where each ends."""
    try:
        return [text[start:end] for start, end in arguments(text, 0)]
    except Unreadable:
        return [text[1:-1]]
