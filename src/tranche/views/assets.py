"""Assets, their partitions, tables and scripts as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tranche.model.asset import LakeTable
from tranche.model.columns import ColumnChange
from tranche.model.condition import joins
from tranche.model.run import PartitionState
from tranche.model.script import Script
from tranche.model.snapshot import Preview, Snapshots
from tranche.model.trigger import OnSchedule
from tranche.planning.grid import Grid
from tranche.ports import Maintained
from tranche.views.plain import instant
from tranche.views.runs import test_view

if TYPE_CHECKING:
    from tranche.service import AssetStatus, ColumnsLog, PartitionPage, Violations


def partition_view(state: PartitionState) -> dict[str, Any]:
    return {
        "partition": state.partition,
        "status": state.status,
        "rows": state.rows,
        "snapshot": state.snapshot,
        "provisional": state.provisional,
        "run": state.run,
        "at": instant(state.at),
        "error": state.error,
    }


def status_view(assets: Sequence[AssetStatus]) -> dict[str, Any]:
    return {
        "assets": [
            {"asset": each.asset, "partitioning": each.partitioning, "partitions": each.outcomes}
            for each in assets
        ]
    }


def partitions_view(page: PartitionPage, grid: Grid | None) -> dict[str, Any]:
    """Some keys of an asset; of keys of time also the stretches that stand alike."""
    view: dict[str, Any] = {
        "asset": page.asset,
        "partitions": [partition_view(state) for state in page.partitions],
        "more": page.more,
    }
    if grid is not None:
        view["ranges"] = [
            {"start": s.first, "end": s.last, "status": s.standing, "partitions": s.keys}
            for s in grid.stretches()
        ]
    return view


def preview_view(
    table: LakeTable, partition: str | None, preview: Preview, keys: Sequence[str]
) -> dict[str, Any]:
    return {
        "asset": str(table),
        "partition": partition,
        "snapshot": preview.snapshot.id if preview.snapshot else None,
        "at": instant(preview.snapshot.at) if preview.snapshot else None,
        "partitions": list(keys),
        "rows": preview.rows.records(),
        "more": preview.rows.more,
    }


def snapshots_view(table: LakeTable, found: Snapshots) -> dict[str, Any]:
    return {
        "asset": str(table),
        "snapshots": [
            {
                "snapshot": seen.id,
                "at": instant(seen.at),
                "operation": seen.operation,
                "run": seen.run,
                "partition": seen.partition,
                "added": seen.added,
                "removed": seen.removed,
            }
            for seen in found.snapshots
        ],
        "more": found.more,
    }


def violations_view(found: Violations) -> dict[str, Any]:
    entry = found.entry
    return {
        "asset": found.asset,
        "partition": found.partition,
        "run": entry.run if entry else None,
        "status": entry.status if entry else None,
        "at": instant(entry.finished_at) if entry else None,
        "passed_since": instant(found.since.finished_at) if found.since else None,
        "tests": [
            test_view(test) | {"rows": test.sample.records() if test.sample else []}
            for test in found.tests
        ],
    }


def maintained_view(found: Maintained) -> dict[str, Any]:
    return {
        "table": str(found.table),
        "snapshots_removed": found.snapshots,
        "files_compacted": found.compacted,
        "files_compacted_into": found.compacted_into,
        "orphans_removed": found.orphans,
        "files_before": found.files[0],
        "files": found.files[1],
        "bytes_before": found.bytes[0],
        "bytes": found.bytes[1],
    }


def columns_view(log: ColumnsLog) -> dict[str, Any]:
    return {
        "asset": log.asset,
        "versions": [
            {
                "version": found.version.version,
                "at": instant(found.version.at),
                "run": found.version.run,
                "columns": [{"name": name, "type": type_} for name, type_ in found.version.columns],
                "change": change_view(found.change) if found.change is not None else None,
            }
            for found in log.versions
        ],
        "more": log.more,
    }


def change_view(change: ColumnChange) -> dict[str, Any]:
    return {
        "added": list(change.added),
        "dropped": list(change.dropped),
        "retyped": [{"name": name, "from": old, "to": new} for name, old, new in change.retyped],
        "reordered": change.reordered,
    }


def condition_text(script: Script) -> str | None:
    """The condition of a script; None if any of what triggers it is enough."""
    condition = script.annotations.condition
    return str(condition) if joins(condition) else None


def script_view(script: Script) -> dict[str, Any]:
    annotations = script.annotations
    made = annotations.materialize
    return {
        "script": script.name,
        "path": script.path,
        "job": script.job,
        "tags": list(script.tags),
        "asset": str(script.asset) if script.asset else None,
        "partitioning": annotations.partitioning.describe() if annotations.partitioning else None,
        "strategy": made.strategy.name if made else None,
        "on": [str(trigger.asset) for trigger in script.triggers_on()],
        "schedules": [
            trigger.describe()
            for trigger in annotations.triggers
            if isinstance(trigger, OnSchedule)
        ],
        "condition": condition_text(script),
        "reads": [str(asset) for asset in script.reads],
        "writes": [str(asset) for asset in script.writes],
        "layout": [str(transform) for transform in annotations.layout],
        "tests": [str(test) for test in annotations.data_tests],
        "arguments": [
            {"name": a.name, "type": a.type, "default": a.default, "required": a.required}
            for a in annotations.arguments
        ],
    }
