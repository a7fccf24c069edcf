"""What was found of columns, as values of the model."""

from __future__ import annotations

from collections.abc import Iterable

from tranche.model.lineage import ColumnLineage, Influence, Origin, Unknown
from tranche.script.lineage.values import Value


def column_lineage(name: str, value: Value) -> ColumnLineage:
    direct = sorted(_without_parts(value).direct.items(), key=lambda each: str(each[0]))
    return ColumnLineage(
        name,
        tuple(Origin(source, kind) for source, kind in direct),
        in_order(value.indirect),
        told(value.unknown),
    )


def _without_parts(value: Value) -> Value:
    """A field says nothing more where its whole column goes in, too."""
    if not any(source.path for source in value.direct):
        return value
    direct = {
        source: kind
        for source, kind in value.direct.items()
        if not any(
            other.asset == source.asset
            and other.column == source.column
            and len(other.path) < len(source.path)
            and other.path == source.path[: len(other.path)]
            and value.direct[other] == kind
            for other in value.direct
        )
    }
    return Value(direct, value.indirect, value.unknown)


def in_order(found: Iterable[Influence]) -> tuple[Influence, ...]:
    return tuple(sorted(found, key=lambda each: (each.why, str(each.source))))


def told(unknown: Iterable[Unknown]) -> tuple[Unknown, ...]:
    return tuple(sorted(unknown, key=lambda each: (each.line or 0, each.what)))
