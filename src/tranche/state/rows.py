"""Values as rows, and rows as values. Columns are named after the fields they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Table

from tranche.model.backfill import Backfill
from tranche.model.columns import SchemaVersion
from tranche.model.lineage import TracedLineage
from tranche.model.pending import Pending, Rejected
from tranche.model.run import Attempt, Claim, Materialization, PartitionState, Run, StepRecord
from tranche.model.token import Token
from tranche.state.forms import (
    column_digests_json,
    column_digests_of,
    columns_of,
    inputs_json,
    inputs_of,
    sample_json,
    tests_json,
    tests_of,
)
from tranche.state.keys import key_hash, key_head, once_hash

ATTEMPT_COLUMNS = ("ordinal", "status", "run", "at", "error")
"""What a row of `partitions` says of the latest attempt."""

SUCCESS_COLUMNS = (
    "succeeded_at",
    "materialization",
    "rows",
    "snapshot",
    "digest",
    "fingerprint",
    "provisional",
)
"""What a row of `partitions` says of the latest success."""

Value = (
    Run
    | StepRecord
    | Attempt
    | Claim
    | Materialization
    | PartitionState
    | SchemaVersion
    | TracedLineage
    | Backfill
    | Pending
    | Rejected
    | Token
)


def columns(table: Table, value: type[Value]) -> list[ColumnElement[Any]]:
    return [table.c[field.name] for field in fields(value)]


def row_of(value: Value) -> dict[str, Any]:
    # Not `asdict`, which copies payloads and inputs all the way down.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def materialization_row(entry: Materialization) -> dict[str, Any]:
    return row_of(entry) | {
        "column_digests": column_digests_json(entry.column_digests),
        "inputs": inputs_json(entry.inputs),
        "tests": tests_json(entry.tests),
        "partition_hash": key_hash(entry.partition),
        "once": once_hash(entry.attempt, entry.asset, entry.partition),
    }


def sample_rows(entry: Materialization) -> list[dict[str, Any]]:
    return [
        {"materialization": entry.id, "position": n, "sample": sample_json(result.sample)}
        for n, result in enumerate(entry.tests)
        if result.sample is not None
    ]


def use_rows(entries: Sequence[Materialization]) -> list[dict[str, Any]]:
    """The snapshots that entries name, each once, in one order."""
    latest: dict[tuple[str, str], datetime] = {}
    for entry in entries:
        named = [(entry.asset, entry.snapshot), *((i.asset, i.snapshot) for i in entry.inputs)]
        for asset, snapshot in named:
            if snapshot is not None:
                known = latest.get((asset, snapshot), entry.finished_at)
                latest[asset, snapshot] = max(known, entry.finished_at)
    return [
        {"asset": asset, "snapshot": snapshot, "at": at}
        for (asset, snapshot), at in sorted(latest.items())
    ]


def claim_row(claim: Claim) -> dict[str, Any]:
    return row_of(claim) | {"partition_hash": key_hash(claim.partition)}


def partition_row(entry: Materialization) -> dict[str, Any]:
    """The row that the entry's key would have if the entry were its only one."""
    row: dict[str, Any] = {
        "asset": entry.asset,
        "partition": entry.partition,
        "partition_hash": key_hash(entry.partition),
        "partition_head": key_head(entry.partition),
        "ordinal": entry.ordinal,
        "status": entry.status,
        "run": entry.run,
        "at": entry.finished_at,
        "error": entry.error,
    }
    if entry.status != "succeeded":
        return row | dict.fromkeys(SUCCESS_COLUMNS) | {"provisional": False}
    return row | {
        "succeeded_at": entry.finished_at,
        "materialization": entry.id,
        "rows": entry.rows,
        "snapshot": entry.snapshot,
        "digest": entry.digest,
        "fingerprint": entry.fingerprint,
        "provisional": entry.provisional,
    }


def materialization_of(row: Row[Any]) -> Materialization:
    values: Mapping[str, Any] = row._asdict()
    read = {
        "column_digests": column_digests_of(values["column_digests"]),
        "inputs": inputs_of(values["inputs"]),
        "tests": tests_of(values["tests"]),
    }
    return Materialization(**{**values, **read})


def backfill_of(row: Row[Any]) -> Backfill:
    values: Mapping[str, Any] = row._asdict()
    return Backfill(**{**values, "keys": tuple(values.get("keys", ()))})


def schema_of(row: Row[Any]) -> SchemaVersion:
    values: Mapping[str, Any] = row._asdict()
    return SchemaVersion(**{**values, "columns": columns_of(values["columns"])})
