"""Formats of dates and times: those of strftime, in Spark's words."""

from __future__ import annotations

import re

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, literal, refused

_DIRECTIVE = re.compile(r"%(-?[A-Za-z%])|([^%]+)|%")
_OF_DATES = {
    "%a": "EEE",
    "%A": "EEEE",
    "%b": "MMM",
    "%B": "MMMM",
}
"""What `date_format` writes of a date in English."""
_COMPUTED = {
    "%Y": "lpad(year({0}), greatest(4, length(year({0}))), '0')",
    "%y": "lpad(year({0}) % 100, 2, '0')",
    "%m": "lpad(month({0}), 2, '0')",
    "%-m": "CAST(month({0}) AS STRING)",
    "%d": "lpad(day({0}), 2, '0')",
    "%-d": "CAST(day({0}) AS STRING)",
    "%j": "lpad(dayofyear({0}), 3, '0')",
    "%-j": "CAST(dayofyear({0}) AS STRING)",
    "%H": "lpad(hour({0}), 2, '0')",
    "%-H": "CAST(hour({0}) AS STRING)",
    "%I": "lpad((hour({0}) + 11) % 12 + 1, 2, '0')",
    "%-I": "CAST((hour({0}) + 11) % 12 + 1 AS STRING)",
    "%M": "lpad(minute({0}), 2, '0')",
    "%-M": "CAST(minute({0}) AS STRING)",
    "%S": "lpad(second({0}), 2, '0')",
    "%-S": "CAST(second({0}) AS STRING)",
    "%p": "if(hour({0}) < 12, 'AM', 'PM')",
    "%f": "lpad(CAST(extract(SECOND FROM {0}) * 1000000 AS BIGINT) % 1000000, 6, '0')",
    "%V": "lpad(weekofyear({0}), 2, '0')",
    "%G": "lpad(extract(YEAROFWEEK FROM {0}), 4, '0')",
    "%u": "CAST(weekday({0}) + 1 AS STRING)",
    "%w": "CAST(dayofweek({0}) - 1 AS STRING)",
}
_COMPOUND = {
    "%T": "%H:%M:%S",
    "%X": "%H:%M:%S",
    "%x": "%Y-%m-%d",
    "%c": "%Y-%m-%d %H:%M:%S",
}
_PARSED = {
    "%Y": "yyyy",
    "%m": "MM",
    "%-m": "M",
    "%d": "dd",
    "%-d": "d",
    "%H": "HH",
    "%-H": "H",
    "%M": "mm",
    "%-M": "m",
    "%S": "ss",
    "%-S": "s",
}
KNOWN = tuple(sorted({*_OF_DATES, *_COMPUTED, *_COMPOUND}))
"""The directives that strftime takes."""


def formatted(node: exp.Expr, value: Piece, form: str) -> str:
    """A time as a text, piece by piece: Spark's own formats go through the session's time zone."""
    pieces: list[str] = []
    for directive, text in _directives(node, form):
        if directive in _OF_DATES:
            pieces.append(f"date_format(CAST({value.text} AS DATE), '{_OF_DATES[directive]}')")
        elif directive in _COMPUTED:
            pieces.append(_COMPUTED[directive].format(value.text))
        elif directive:
            raise _unknown(node, directive, KNOWN)
        else:
            pieces.append(literal(text))
    if not pieces or all(piece.startswith("'") for piece in pieces):
        raise refused(node, f"the format {form!r} has no part of a time", "write the text")
    return f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]


def parsing_pattern(node: exp.Expr, form: str) -> str:
    """What `to_timestamp_ntz` takes. Numbers may have fewer digits where a separator ends them."""
    found: list[str] = []
    separated = True
    pieces = list(_directives(node, form))
    for at, (directive, text) in enumerate(pieces):
        if not directive:
            found.append(_quoted(text))
            separated = True
            continue
        known = _PARSED.get(directive)
        if known is None:
            raise _unknown(node, directive, tuple(_PARSED))
        ends = at + 1 == len(pieces) or not pieces[at + 1][0]
        free = separated and ends and directive != "%Y"
        found.append(known[0] if free else known)
        separated = False
    return "".join(found)


def has_year(node: exp.Expr, form: str) -> bool:
    return any(directive == "%Y" for directive, _ in _directives(node, form))


def _directives(node: exp.Expr, form: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for match in _DIRECTIVE.finditer(form):
        if match[1] == "%":
            found.append(("", "%"))
        elif match[1] is not None:
            directive = f"%{match[1]}"
            compound = _COMPOUND.get(directive)
            found += _directives(node, compound) if compound else [(directive, "")]
        elif match[2] is not None:
            found.append(("", match[2]))
        else:
            raise refused(node, f"the format {form!r} ends in a %", "write %% for a percent sign")
    return found


def _quoted(text: str) -> str:
    """Text in a pattern of Spark, where letters and brackets mean something.

    >>> _quoted("-"), _quoted("T")
    ('-', "'T'")
    """
    if re.fullmatch(r"[-/:., _]+", text):
        return text
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _unknown(node: exp.Expr, directive: str, known: tuple[str, ...]) -> Exception:
    return refused(node, f"{directive} in a format is not translated", f"use {' '.join(known)}")
