"""Rows beside those that they replaced, key by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tranche.lakes.digest import digests_of, sets_in
from tranche.lakes.table import Table, in_keys
from tranche.model.digest import NO_ROWS, Digests, Seen, compared
from tranche.model.run import Materialization
from tranche.model.strategy import PARTITION_COLUMN


def compared_keys(
    table: Table,
    standing: Mapping[str, Materialization],
    rows: Mapping[str, int],
    *,
    before: str,
    after: str,
    read: Sequence[frozenset[str]] = (),
) -> dict[str, Digests]:
    """What stands for the rows of keys at a snapshot, and for the sets of columns that are read of
    them; where nothing has changed since an earlier snapshot, it is what stood for them then.

    Only keys with as many rows as before are looked at, and a key that was not there before has
    nothing to be compared with.
    """
    held = {
        key: state.digests
        for key, state in standing.items()
        if state.digest is not None and state.rows == rows.get(key, 0)
    }
    if not held or before == after:
        return held
    if not table.travels:
        return {}
    then, now = (_slices(table, snapshot, list(held)) for snapshot in (before, after))
    sets = sets_in(_columns(now), read)
    if _columns(then) != _columns(now) and not sets:
        return {}
    old = digests_of(
        then, _columns(then), PARTITION_COLUMN, sets_in(_columns(then), read, proper=False)
    )
    new = digests_of(now, _columns(now), PARTITION_COLUMN, sets)
    none = Seen(0, NO_ROWS, dict.fromkeys(sets, NO_ROWS))
    return {
        key: compared(
            new.get(key, none), known, old.get(key, none).rows, partial(old.get, key, none)
        )
        for key, known in held.items()
    }


def _slices(table: Table, snapshot: str, keys: Sequence[str]) -> DataFrame:
    return table.rows(snapshot).where(in_keys(PARTITION_COLUMN, keys))


def _columns(frame: DataFrame) -> StructType:
    return StructType([field for field in frame.schema if field.name != PARTITION_COLUMN])
