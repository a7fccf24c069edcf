"""Rows that were read for a person to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a result; `more` says whether there were others."""

    columns: tuple[tuple[str, str], ...]
    """Names and types."""
    values: tuple[tuple[Any, ...], ...]
    more: bool = False

    def records(self) -> list[dict[str, Any]]:
        names = [name for name, _ in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.values]
