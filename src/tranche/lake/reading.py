"""Rows of a table as a frame: all of them, some slices, or as they were."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tranche.errors import NotPartitioned, SourceMissing, UnknownSnapshot
from tranche.lake.iceberg import at_snapshot, existing_columns, has_snapshot
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
    if existing_columns(session, table) is None:
        raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")
    rows = session.table(quoted(table))
    if snapshot is not None:
        if not has_snapshot(session, table, snapshot):
            raise UnknownSnapshot(
                f"{table} has no snapshot {snapshot}",
                f"tranche show {table} --snapshots lists them",
            )
        rows = session.sql(f"SELECT * FROM {at_snapshot(table, snapshot)}")  # noqa: S608
    if partitions is None:
        return rows
    if PARTITION_COLUMN not in rows.columns:
        raise NotPartitioned(f"{table} has no partitions", "ask for all of its rows")
    return rows.where(F.col(PARTITION_COLUMN).isin(list(partitions)))
