"""The columns of a table, as they were captured, and how they changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names and types in order, without the columns that Tranche manages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """The columns that an asset had from one run on."""

    asset: str
    version: int
    columns: Columns
    run: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """How columns differ from those before.

    >>> str(column_change((("a", "int"), ("b", "int")), (("b", "bigint"), ("c", "string"))))
    'adds c, drops a, changes b from int to bigint'
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()
    """Names with the old and the new type."""
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.retyped or self.reordered)

    def __str__(self) -> str:
        pieces = []
        if self.added:
            pieces.append(f"adds {', '.join(self.added)}")
        if self.dropped:
            pieces.append(f"drops {', '.join(self.dropped)}")
        pieces += [f"changes {name} from {old} to {new}" for name, old, new in self.retyped]
        if self.reordered:
            pieces.append("orders the columns anew")
        return ", ".join(pieces)


def column_change(before: Columns, after: Columns) -> ColumnChange:
    """Names are compared without their case, as Spark does."""
    old = {name.lower(): (name, type_) for name, type_ in before}
    new = {name.lower(): (name, type_) for name, type_ in after}
    kept = [key for key in old if key in new]
    return ColumnChange(
        added=tuple(name for key, (name, _) in new.items() if key not in old),
        dropped=tuple(name for key, (name, _) in old.items() if key not in new),
        retyped=tuple(
            (new[key][0], old[key][1], new[key][1]) for key in kept if old[key][1] != new[key][1]
        ),
        reordered=kept != [key for key in new if key in old],
    )
