"""Rows for people to look at as JSON: values in their order, long ones cut."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

from tranche.model.rows import Cut, Rows
from tranche.views.plain import as_json

LONGEST = 100_000
"""The characters of a value that anybody would look at."""
_SHORT = 2_000
_ROOM = 4_000_000
"""Characters that all longer values of an answer have together; what is beyond comes cut."""


def rows_view(rows: Rows) -> dict[str, Any]:
    room = _ROOM
    found = []
    for row in rows.values:
        cells = []
        for value, (_, type_) in zip(row, rows.columns, strict=True):
            cell = shown(value, type_)
            if isinstance(cell, str) and len(cell) > _SHORT:
                if len(cell) > room:
                    cell = {"text": cell[:_SHORT], "length": _length(cell, type_)}
                else:
                    room -= len(cell)
            elif isinstance(cell, dict) and len(cell["text"]) > _SHORT:
                if len(cell["text"]) > room:
                    cell = cell | {"text": cell["text"][:_SHORT]}
                else:
                    room -= len(cell["text"])
            cells.append(cell)
        found.append(cells)
    return {
        "columns": [{"name": name, "type": type_} for name, type_ in rows.columns],
        "rows": found,
        "more": rows.more,
    }


def shown(value: Any, type_: str = "") -> Any:
    """A value as a cell of a table has it: what is nested is told as JSON, bytes as digits.

    Of a value that comes cut, the beginning, and how many characters or bytes it has.

    >>> shown(b"ab"), shown("YWI=", "binary"), shown([1, {"a": None}]), shown(float("nan"))
    ('0x6162', '0x6162', '[1, {"a": null}]', 'NaN')
    >>> shown(None), shown(Cut("abc", 70_000))
    (None, {'text': 'abc', 'length': 70000})
    """
    match value:
        case None | bool():
            return value
        case Cut(begins, length):
            return {"text": shown(begins, type_), "length": length}
        case int():
            # Larger ones lose their last digits where numbers are floats.
            return value if abs(value) < 2**53 else str(value)
        case float():
            if math.isnan(value):
                return "NaN"
            return value if math.isfinite(value) else ("∞" if value > 0 else "-∞")
        case bytes() | bytearray():
            return f"0x{value.hex()}"
        case list() | tuple() | dict():
            return as_json(value)
        case str() if type_ == "binary":
            return f"0x{_bytes(value).hex()}"
    return str(value)


def _bytes(text: str) -> bytes:
    """Bytes as Spark writes them into JSON."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()


def _length(cell: str, type_: str) -> int:
    return (len(cell) - 2) // 2 if type_ in ("binary", "bytes") else len(cell)
