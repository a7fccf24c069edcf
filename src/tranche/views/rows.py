"""Rows for people to look at as JSON: values in their order, long ones cut."""

from __future__ import annotations

import math
from typing import Any

from tranche.model.rows import Rows
from tranche.views.plain import as_json

_LONGEST = 2_000


def rows_view(rows: Rows) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "type": type_} for name, type_ in rows.columns],
        "rows": [[shown(value) for value in row] for row in rows.values],
        "more": rows.more,
    }


def shown(value: Any) -> Any:
    """A value as a cell of a table has it: what is nested is told as JSON, bytes as digits.

    >>> shown(b"ab"), shown([1, {"a": None}]), shown(float("nan")), shown(None)
    ('0x6162', '[1, {"a": null}]', 'NaN', None)
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Larger ones lose their last digits where numbers are floats.
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("∞" if value > 0 else "-∞")
    if isinstance(value, bytes | bytearray):
        return _cut(f"0x{bytes(value[: _LONGEST // 2]).hex()}", len(value) * 2 + 2)
    text = as_json(value) if isinstance(value, list | tuple | dict) else str(value)
    return _cut(text, len(text))


def _cut(text: str, length: int) -> str:
    return text if length <= _LONGEST else f"{text[:_LONGEST]}… ({length:,} characters)"
