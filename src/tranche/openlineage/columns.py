"""What the columns of a slice are made of, as events tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.script import Script

Kind: TypeAlias = Literal["DIRECT", "INDIRECT"]
Subtype: TypeAlias = Literal[
    "IDENTITY",
    "TRANSFORMATION",
    "AGGREGATION",
    "JOIN",
    "GROUP_BY",
    "FILTER",
    "SORT",
    "WINDOW",
    "CONDITIONAL",
]


@dataclass(frozen=True, slots=True)
class Origin:
    """A column that another one is made of, and how."""

    asset: AssetUri
    column: str
    kind: Kind = "DIRECT"
    subtype: Subtype | None = None
    """None if nobody knows."""


ColumnOrigins: TypeAlias = Mapping[str | None, tuple[Origin, ...]]
"""The origins of each column; those of None say which rows there are, and in what order."""
ColumnsOf: TypeAlias = Callable[[Script], ColumnOrigins | None]
"""What the columns of a script's slice are made of; None if that is not known."""


def declared(script: Script) -> ColumnOrigins | None:
    """What the `column` lines of a script say."""
    return {
        line.column: tuple(Origin(source.asset, source.column) for source in line.sources)
        for line in script.annotations.lineage
    } or None
