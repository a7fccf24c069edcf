"""The filters of a scan, read from how Iceberg describes them.

The description is made for people: a quote inside a text is not marked in it. So it is never made
into SQL, and what follows from it is checked against figures or called a bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Comparison: TypeAlias = Literal["=", "<", "<=", ">", ">="]

_LITERAL = r"'[^']*'|-?\d+"
_NAME = r"[^\W\d]\w*"
_COMPARED = re.compile(rf"(?P<column>{_NAME}) (?P<comparison>=|<=|>=|<|>) (?P<value>{_LITERAL})")
_LISTED = re.compile(rf"(?P<column>{_NAME}) IN \((?P<values>(?:{_LITERAL})(?:, (?:{_LITERAL}))*)\)")
_ANY_LITERAL = re.compile(_LITERAL)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A column compared with one value, or with any of several."""

    column: str
    comparison: Comparison
    values: tuple[str, ...]
    """Numbers as digits; times in microseconds and dates in days, from 1970 on."""


def split_filters(text: str) -> tuple[str, ...]:
    """The single filters of a description; all must hold.

    >>> split_filters("a IS NOT NULL, b IN ('x, y', 'z'), (a = 1 OR a = 2)")
    ('a IS NOT NULL', "b IN ('x, y', 'z')", '(a = 1 OR a = 2)')
    """
    pieces: list[str] = []
    start = depth = 0
    within = False
    for position, character in enumerate(text):
        if character == "'":
            within = not within
        elif within:
            continue
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif depth == 0 and text.startswith(", ", position):
            pieces.append(text[start:position])
            start = position + 2
    last = text[start:]
    return (*pieces, last) if last else tuple(pieces)


def read_predicate(text: str) -> Predicate | None:
    """A filter that compares a column with values; None for any other.

    >>> read_predicate("day >= 20000")
    Predicate(column='day', comparison='>=', values=('20000',))
    >>> read_predicate("name IN ('a', 'b')")
    Predicate(column='name', comparison='=', values=('a', 'b'))
    >>> read_predicate("name IS NOT NULL")
    """
    found = _COMPARED.fullmatch(text)
    if found is not None:
        comparison: Comparison = found["comparison"]  # type: ignore[assignment]
        return Predicate(found["column"], comparison, (found["value"].strip("'"),))
    found = _LISTED.fullmatch(text)
    if found is None:
        return None
    values = tuple(value.strip("'") for value in _ANY_LITERAL.findall(found["values"]))
    return Predicate(found["column"], "=", values)
