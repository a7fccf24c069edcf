"""What a step would do, and the story of its key, as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.explanation import Explanation, SentStatement
from tranche.model.scan import Portion, Scan
from tranche.views.plain import instant
from tranche.views.story import story_view


def explanation_view(explanation: Explanation) -> dict[str, Any]:
    step = explanation.step
    scans = explanation.scans
    return {
        "script": step.script.name,
        "path": step.script.path,
        "asset": str(step.script.asset) if step.script.asset else None,
        "strategy": step.strategy,
        "partition": step.partition,
        "partition_from": explanation.key_from,
        "fire_time": instant(explanation.request.fire_time),
        "verdict": step.verdict,
        "reason": step.reason,
        "inputs": [{"asset": str(each.asset), "partition": each.partition} for each in step.inputs],
        "statements": [_statement_view(statement) for statement in explanation.statements],
        "scans": None if scans is None else [_scan_view(scan) for scan in scans],
        "warnings": list(explanation.warnings),
        "story": None if explanation.story is None else story_view(explanation.story),
    }


def _statement_view(statement: SentStatement) -> dict[str, Any]:
    return {
        "kind": statement.kind,
        "line": statement.line,
        "text": statement.text,
        "parameters": dict(statement.parameters),
        "files": [
            {
                "view": view.name,
                "format": view.format,
                "path": view.path,
                "options": dict(view.options),
            }
            for view in statement.files
        ],
    }


def _scan_view(scan: Scan) -> dict[str, Any]:
    return {
        "source": scan.source,
        "snapshot": scan.snapshot,
        "files": _portion_view(scan.files),
        "partitions": _portion_view(scan.partitions),
        "rows": scan.rows,
        "bytes": scan.bytes,
        "file_bytes": scan.file_bytes,
        "filters": list(scan.filters),
    }


def _portion_view(portion: Portion | None) -> dict[str, Any] | None:
    if portion is None:
        return None
    return {"read": portion.read, "at_most": portion.most, "of": portion.of}
