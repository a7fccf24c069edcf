"""Rows of a table as a frame for a program: all of them, some slices, or as they were."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import NotPartitioned
from tranche.lakes.table import Table
from tranche.lakes.travel import past_rows, rows_now
from tranche.model.strategy import PARTITION_COLUMN


def rows_of(
    table: Table,
    *,
    partitions: Sequence[str] | None = None,
    snapshot: str | None = None,
) -> DataFrame:
    """The rows that readers see, or saw at a snapshot."""
    if snapshot is None:
        rows = rows_now(table)
    else:
        rows, _ = past_rows(table, snapshot=snapshot, at=None)
    if partitions is None:
        return rows
    if PARTITION_COLUMN not in rows.columns:
        raise NotPartitioned(f"{table} has no partitions", "ask for all of its rows")
    return rows.where(F.col(PARTITION_COLUMN).isin(list(partitions)))
