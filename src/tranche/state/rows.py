"""Values as rows, and rows as values. Columns are named after the fields they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Row, Table

from tranche.model.run import Attempt, Input, Materialization, PartitionState, Run, StepRecord
from tranche.state.keys import key_hash, key_head

ATTEMPT_COLUMNS = ("ordinal", "status", "run", "at", "error")
"""What a row of `partitions` says of the latest attempt."""

SUCCESS_COLUMNS = (
    "succeeded_at",
    "materialization",
    "rows",
    "snapshot",
    "digest",
    "fingerprint",
)
"""What a row of `partitions` says of the latest success."""

Value = Run | StepRecord | Attempt | Materialization | PartitionState


def columns(table: Table, value: type[Value]) -> list[ColumnElement[Any]]:
    return [table.c[field.name] for field in fields(value)]


def row_of(value: Value) -> dict[str, Any]:
    # Not `asdict`, which copies payloads and inputs all the way down.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def materialization_row(entry: Materialization) -> dict[str, Any]:
    inputs = [{f.name: getattr(given, f.name) for f in fields(given)} for given in entry.inputs]
    row = row_of(entry)
    return row | {"inputs": inputs, "partition_hash": key_hash(entry.partition)}


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
        return row | dict.fromkeys(SUCCESS_COLUMNS)
    return row | {
        "succeeded_at": entry.finished_at,
        "materialization": entry.id,
        "rows": entry.rows,
        "snapshot": entry.snapshot,
        "digest": entry.digest,
        "fingerprint": entry.fingerprint,
    }


def materialization_of(row: Row[Any]) -> Materialization:
    values: Mapping[str, Any] = row._asdict()
    inputs = tuple(Input(**given) for given in values["inputs"])
    return Materialization(**{**values, "inputs": inputs})
