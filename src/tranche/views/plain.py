"""Plain values: what JSON has no form for, and what people read, as text."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from tranche.errors import TrancheError


def instant(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def as_json(value: Any, *, indent: int | None = None) -> str:
    """
    >>> as_json({"n": Decimal("1.50"), "é": None})
    '{"n": 1.5, "é": null}'
    >>> as_json(chr(0xD800))
    '"\\\\ud800"'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=plain)
    # Half of a surrogate pair has no form in UTF-8, and this one in JSON.
    return text.encode(errors="backslashreplace").decode()


def plain(value: Any) -> Any:
    """A value that JSON does not have."""
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= 15 else str(value)
    return str(value)


def harmless(text: str) -> str:
    """A text whose control characters nobody obeys; its lines stay lines.

    >>> print(harmless("a" + chr(27) + "[31mb"))
    a\\x1b[31mb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def error_view(error: TrancheError) -> dict[str, Any]:
    return {"error": {"kind": type(error).__name__, "message": str(error)}}
