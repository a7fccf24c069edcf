"""Keys that were written again with the rows that they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tranche.lakes.digest import digests_of
from tranche.lakes.iceberg import at_snapshot, in_keys
from tranche.model.asset import LakeTable
from tranche.model.run import Materialization
from tranche.model.strategy import PARTITION_COLUMN


def unchanged_keys(
    session: SparkSession,
    table: LakeTable,
    standing: Mapping[str, Materialization],
    rows: Mapping[str, int],
    *,
    before: str,
    after: str,
) -> dict[str, str]:
    """The digest of each key that has the same rows at two snapshots.

    Only keys with as many rows as before are looked at, and a key that was not there before has
    nothing to be compared with.
    """
    digests = {
        key: state.digest
        for key, state in standing.items()
        if state.digest is not None and state.rows == rows.get(key, 0)
    }
    if not digests or before == after:
        return digests
    then, now = (_slices(session, table, snapshot, list(digests)) for snapshot in (before, after))
    if _columns(then) != _columns(now):
        return {}
    old, new = (digests_of(frame, _columns(frame), PARTITION_COLUMN) for frame in (then, now))
    return {key: digest for key, digest in digests.items() if old.get(key) == new.get(key)}


def _slices(
    session: SparkSession, table: LakeTable, snapshot: str, keys: Sequence[str]
) -> DataFrame:
    rows = session.sql(f"SELECT * FROM {at_snapshot(table, snapshot)}")  # noqa: S608
    return rows.where(in_keys(PARTITION_COLUMN, keys))


def _columns(frame: DataFrame) -> StructType:
    return StructType([field for field in frame.schema if field.name != PARTITION_COLUMN])
