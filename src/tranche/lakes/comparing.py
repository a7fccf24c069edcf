"""Keys that were written again with the rows that they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tranche.lakes.digest import digests_of
from tranche.lakes.table import Table, in_keys
from tranche.model.run import Materialization
from tranche.model.strategy import PARTITION_COLUMN


def unchanged_keys(
    table: Table,
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
    if not table.travels:
        return {}
    then, now = (_slices(table, snapshot, list(digests)) for snapshot in (before, after))
    if _columns(then) != _columns(now):
        return {}
    old, new = (digests_of(frame, _columns(frame), PARTITION_COLUMN) for frame in (then, now))
    return {key: digest for key, digest in digests.items() if old.get(key) == new.get(key)}


def _slices(table: Table, snapshot: str, keys: Sequence[str]) -> DataFrame:
    return table.rows(snapshot).where(in_keys(PARTITION_COLUMN, keys))


def _columns(frame: DataFrame) -> StructType:
    return StructType([field for field in frame.schema if field.name != PARTITION_COLUMN])
