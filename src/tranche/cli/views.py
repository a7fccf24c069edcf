"""Values as JSON: the shapes that programs may rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tranche.cli.output import instant
from tranche.model.asset import LakeTable
from tranche.model.columns import ColumnChange
from tranche.model.data_test import DataTestResult
from tranche.model.plan import Plan
from tranche.model.run import PartitionState
from tranche.model.script import Script
from tranche.model.snapshot import Preview, Snapshots
from tranche.ports import Maintained
from tranche.run.attempts import KeyOutcome
from tranche.run.runner import RunResult, StepResult

if TYPE_CHECKING:
    from tranche.service import ColumnsLog, Violations


def run_view(result: RunResult) -> dict[str, Any]:
    return {
        "run": result.id,
        "status": result.status,
        "steps": [step_view(step) for step in result.steps],
        "warnings": list(result.warnings),
    }


def step_view(step: StepResult) -> dict[str, Any]:
    record = step.record
    view: dict[str, Any] = {
        "script": record.script,
        "asset": record.asset,
        "partition": record.partition,
        "status": record.status,
        "strategy": record.strategy,
        "rows": record.rows,
        "snapshot": record.snapshot,
        "provisional": step.provisional,
        "tests": [test_view(test) for test in step.tests],
        "error": record.error,
    }
    if step.keys:
        view["partitions"] = [key_view(outcome) for outcome in step.keys]
    if step.result is not None:
        view["result"] = step.result.records()
        view["more"] = step.result.more
    return view


def key_view(outcome: KeyOutcome) -> dict[str, Any]:
    return {
        "partition": outcome.partition,
        "status": outcome.status,
        "rows": outcome.rows,
        "snapshot": outcome.snapshot,
        "provisional": outcome.provisional,
        "tests": [test_view(test) for test in outcome.tests],
        "error": outcome.error,
    }


def test_view(test: DataTestResult) -> dict[str, Any]:
    return {
        "test": test.test,
        "status": test.status,
        "severity": test.severity,
        "violations": test.violations,
    }


def plan_view(plan: Plan) -> dict[str, Any]:
    return {
        "target": plan.request.target,
        "fire_time": instant(plan.request.fire_time),
        "steps": [
            {
                "script": step.script.name,
                "asset": str(step.script.asset) if step.script.asset else None,
                "partition": step.partition,
                **({"partitions": list(step.keys)} if step.is_range else {}),
                "strategy": step.strategy,
                "needs": [plan.steps[position].script.name for position in step.needs],
                "provisional": step.provisional,
                "verdict": step.verdict,
                "reason": step.reason,
            }
            for step in plan.steps
        ],
        "warnings": list(plan.warnings),
    }


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


def script_view(script: Script) -> dict[str, Any]:
    annotations = script.annotations
    made = annotations.materialize
    return {
        "script": script.name,
        "path": script.path,
        "asset": str(script.asset) if script.asset else None,
        "partitioning": annotations.partitioning.describe() if annotations.partitioning else None,
        "strategy": made.strategy.name if made else None,
        "on": [str(trigger.asset) for trigger in script.triggers_on()],
        "reads": [str(asset) for asset in script.reads],
        "writes": [str(asset) for asset in script.writes],
        "layout": [str(transform) for transform in annotations.layout],
        "tests": [str(test) for test in annotations.data_tests],
        "arguments": [
            {"name": a.name, "type": a.type, "default": a.default, "required": a.required}
            for a in annotations.arguments
        ],
    }
