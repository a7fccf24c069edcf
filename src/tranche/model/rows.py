"""Rows that were read for a person to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a value that is too long to be looked at whole."""

    begins: str
    """Of bytes, as base64; of what has parts, as JSON."""
    length: int
    """How many characters or bytes it has."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a result; `more` says whether there were others."""

    columns: tuple[tuple[str, str], ...]
    """Names and types."""
    values: tuple[tuple[Any, ...], ...]
    more: bool = False

    def records(self) -> list[dict[str, Any]]:
        """Each row by name; of columns with the same name, the later ones get a number.

        >>> Rows((("a", "int"), ("a", "int")), ((1, 2),)).records()
        [{'a': 1, 'a (2)': 2}]
        """
        names: list[str] = []
        for name, _ in self.columns:
            times = sum(1 for other, _ in self.columns[: len(names)] if other == name)
            names.append(f"{name} ({times + 1})" if times else name)
        return [dict(zip(names, row, strict=True)) for row in self.values]
