"""A measured figure and the limit that it has to keep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: str
    limit: float | None = None
    least: bool = False
    """Whether the limit is a lower one."""

    @property
    def held(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.least else self.value <= self.limit
