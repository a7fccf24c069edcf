"""How files are laid out inside a table, besides the slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

TransformName: TypeAlias = Literal["identity", "bucket", "year", "month", "day", "hour"]


@dataclass(frozen=True, slots=True)
class Transform:
    """One field of a layout.

    >>> str(Transform("bucket", "user_id", 8))
    'bucket(8, user_id)'
    """

    name: TransformName
    column: str
    buckets: int | None = None

    def __str__(self) -> str:
        if self.name == "identity":
            return self.column
        if self.buckets is not None:
            return f"bucket({self.buckets}, {self.column})"
        return f"{self.name}({self.column})"
