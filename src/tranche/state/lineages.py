"""Where columns come from: what a store keeps of it, as JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tranche.model.asset import BadAddress, parse_address
from tranche.model.lineage import (
    ColumnLineage,
    Influence,
    Origin,
    ScriptLineage,
    SourceColumn,
    TracedLineage,
    Unknown,
)
from tranche.state import checks


def checked_lineage(traced: TracedLineage | None) -> TracedLineage | None:
    if traced is None:
        return None
    return replace(
        traced,
        asset=checks.checked_asset(traced.asset),
        fingerprint=checks.readable(traced.fingerprint),
        lineage=_plain(traced.lineage),
    )


def _plain(lineage: ScriptLineage) -> ScriptLineage:
    """The same with names and words that every database takes."""

    def source(found: SourceColumn) -> SourceColumn:
        path = tuple(map(checks.readable, found.path))
        return replace(found, column=checks.readable(found.column), path=path)

    def unknown(found: Sequence[Unknown]) -> tuple[Unknown, ...]:
        return tuple(Unknown(checks.readable(each.what)) for each in found)

    def influences(found: Sequence[Influence]) -> tuple[Influence, ...]:
        return tuple(replace(each, source=source(each.source)) for each in found)

    columns = tuple(
        ColumnLineage(
            checks.readable(each.column),
            tuple(replace(one, source=source(one.source)) for one in each.direct),
            influences(each.indirect),
            unknown(each.unknown),
        )
        for each in lineage.columns
    )
    return ScriptLineage(
        columns=columns,
        rows=influences(lineage.rows),
        unknown=unknown(lineage.unknown),
        tables=lineage.tables,
    )


def lineage_json(lineage: ScriptLineage) -> dict[str, Any]:
    """What a plan tells; tables whose columns are not known are never part of that."""
    return {
        "columns": [
            {
                "column": each.column,
                "direct": [[*_source_json(one.source), one.kind] for one in each.direct],
                "indirect": [[*_source_json(one.source), one.why] for one in each.indirect],
                "unknown": [one.what for one in each.unknown],
            }
            for each in lineage.columns
        ],
        "rows": [[*_source_json(one.source), one.why] for one in lineage.rows],
        "unknown": [one.what for one in lineage.unknown],
        "tables": [str(asset) for asset in lineage.tables],
    }


def lineage_of(found: dict[str, Any]) -> ScriptLineage | None:
    """None for what another version has written that knew other addresses."""
    try:
        return ScriptLineage(
            columns=tuple(
                ColumnLineage(
                    each["column"],
                    tuple(Origin(_source(*one[:3]), one[3]) for one in each["direct"]),
                    _influences(each["indirect"]),
                    _unknown(each["unknown"]),
                )
                for each in found["columns"]
            ),
            rows=_influences(found["rows"]),
            unknown=_unknown(found["unknown"]),
            tables=tuple(map(parse_address, found["tables"])),
        )
    except BadAddress:
        return None


def _source_json(source: SourceColumn) -> list[Any]:
    return [str(source.asset), source.column, list(source.path)]


def _source(address: str, column: str, path: list[str]) -> SourceColumn:
    return SourceColumn(parse_address(address), column, tuple(path))


def _influences(found: list[Any]) -> tuple[Influence, ...]:
    return tuple(Influence(_source(*one[:3]), one[3]) for one in found)


def _unknown(found: list[str]) -> tuple[Unknown, ...]:
    return tuple(Unknown(what) for what in found)
