"""One asset, its keys and its code as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.partitioning import Composite, Dynamic, Partitioning, Static, TimePartitioning
from tranche.model.run import Materialization, PartitionState
from tranche.service.about import About, Scheduled, TestedKey
from tranche.service.code import Listing
from tranche.views.assets import partition_view, script_view
from tranche.views.backfills import backfill_view
from tranche.views.plain import instant
from tranche.views.runs import test_view


def about_view(about: About) -> dict[str, Any]:
    return {
        "asset": about.asset,
        "standing": about.standing,
        "partitions": dict(about.outcomes),
        "latest": None if about.latest is None else partition_view(about.latest),
        "script": None if about.script is None else script_view(about.script),
        "keys": None if about.script is None else keys_view(about.script.partitioning),
        "current": about.current,
        "reads": list(about.reads),
        "read_by": list(about.read_by),
        "schedules": [scheduled_view(each) for each in about.schedules],
        "paused_since": instant(about.paused_since),
        "backfills": [backfill_view(each, each.status) for each in about.backfills],
    }


def keys_view(rule: Partitioning | None) -> dict[str, Any] | None:
    """What a form needs to know of keys: their kind, and what they look like."""
    match rule:
        case None:
            return None
        case Static(values=values):
            return {"kind": "static", "values": list(values), "example": rule.example()}
        case Composite():
            parts = [
                {"name": name, **(keys_view(each) or {})}
                for name, each in zip(rule.names, rule.rules, strict=True)
            ]
            return {"kind": "composite", "dimensions": parts, "example": rule.example()}
        case Dynamic():
            return {"kind": "dynamic", "example": rule.example()}
        case TimePartitioning():
            return {
                "kind": rule.kind,
                "tz": rule.tz,
                "format": rule.pattern,
                "start": None if rule.start is None else str(rule.start),
                "end": None if rule.end is None else str(rule.end),
                "example": rule.example(),
            }


def scheduled_view(scheduled: Scheduled) -> dict[str, Any]:
    return {
        "script": scheduled.script.name,
        "asset": scheduled.script.label,
        "schedule": scheduled.line,
        "next": instant(scheduled.next),
        "paused_since": instant(scheduled.paused_since),
    }


def key_view(
    asset: str,
    partition: str | None,
    state: PartitionState | None,
    log: tuple[Materialization, ...],
) -> dict[str, Any]:
    return {
        "asset": asset,
        "partition": partition,
        "state": None if state is None else partition_view(state),
        "log": [
            {
                "at": instant(entry.finished_at),
                "run": entry.run,
                "status": entry.status,
                "rows": entry.rows,
                "snapshot": entry.snapshot,
                "seconds": entry.seconds,
                "error": entry.error,
                "tests": [test_view(test) for test in entry.tests],
                "inputs": [
                    {"asset": each.asset, "partition": each.partition, "snapshot": each.snapshot}
                    for each in entry.inputs
                ],
            }
            for entry in log
        ],
    }


def tested_view(asset: str, found: tuple[TestedKey, ...]) -> dict[str, Any]:
    return {
        "asset": asset,
        "keys": [
            {
                "partition": each.partition,
                "at": instant(each.at),
                "run": each.run,
                "tests": [test_view(test) for test in each.tests],
            }
            for each in found
        ],
    }


def listing_view(listing: Listing) -> dict[str, Any]:
    return {
        "path": listing.path,
        "language": listing.language,
        "lines": [[list(piece) for piece in line] for line in listing.lines],
    }
