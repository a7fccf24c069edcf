"""Rows of a table as a frame for a program: all of them, some slices, or as they were."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tranche.errors import NotPartitioned
from tranche.lakes.travel import check_there, past_rows
from tranche.model.asset import LakeTable
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted


def rows_of(
    session: SparkSession,
    table: LakeTable,
    *,
    partitions: Sequence[str] | None = None,
    snapshot: str | None = None,
) -> DataFrame:
    """The rows that readers see, or saw at a snapshot."""
    check_there(session, table)
    if snapshot is None:
        rows = session.table(quoted(table))
    else:
        rows, _ = past_rows(session, table, snapshot=snapshot, at=None)
    if partitions is None:
        return rows
    if PARTITION_COLUMN not in rows.columns:
        raise NotPartitioned(f"{table} has no partitions", "ask for all of its rows")
    return rows.where(F.col(PARTITION_COLUMN).isin(list(partitions)))
