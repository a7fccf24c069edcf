"""A measured figure and the limit that it has to keep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def held(self) -> bool:
        return self.limit is None or self.value <= self.limit
