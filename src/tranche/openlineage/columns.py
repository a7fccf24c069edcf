"""What the columns of a slice are made of, as events tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model import lineage
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


_SUBTYPES: Mapping[lineage.Kind | lineage.Why, Subtype] = {
    "identity": "IDENTITY",
    "expression": "TRANSFORMATION",
    "aggregation": "AGGREGATION",
    "filter": "FILTER",
    "join": "JOIN",
    "group": "GROUP_BY",
    "order": "SORT",
    "window": "WINDOW",
    "conditional": "CONDITIONAL",
}


def origins_of(found: lineage.ScriptLineage) -> ColumnOrigins | None:
    """What lineage knows of the columns of a script, as events tell it."""
    told: dict[str | None, tuple[Origin, ...]] = {
        each.column: (
            *(
                # Of what a line says, nobody knows how it is made.
                _origin(one.source, "DIRECT", None if one.declared else _SUBTYPES.get(one.kind))
                for one in each.direct
            ),
            *(_origin(one.source, "INDIRECT", _SUBTYPES.get(one.why)) for one in each.indirect),
        )
        for each in found.columns
    }
    told[None] = tuple(
        _origin(one.source, "INDIRECT", _SUBTYPES.get(one.why)) for one in found.rows
    )
    return {name: origins for name, origins in told.items() if origins} or None


def _origin(source: lineage.SourceColumn, kind: Kind, subtype: Subtype | None) -> Origin:
    return Origin(source.asset, ".".join((source.column, *source.path)), kind, subtype)


def declared(script: Script) -> ColumnOrigins | None:
    """What the `column` lines of a script say."""
    return {
        line.column: tuple(Origin(source.asset, source.column) for source in line.sources)
        for line in script.annotations.lineage
    } or None
