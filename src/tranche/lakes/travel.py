"""A table as its readers saw it at another time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import NotPartitioned, SourceMissing, UnknownSnapshot
from tranche.lakes.table import Table
from tranche.lakes.versions import CURRENT
from tranche.model.snapshot import SeenSnapshot, Snapshots
from tranche.model.strategy import PARTITION_COLUMN

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_there(table: Table) -> None:
    if table.columns() is None and table.history() is None:
        raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")


def seen_snapshots(table: Table, *, limit: int) -> Snapshots:
    """What readers saw, latest first; a snapshot to which the table went back is there twice."""
    check_there(table)
    found = tuple((table.history() or table).seen(limit=limit + 1))
    return Snapshots(found[:limit], more=len(found) > limit)


def rows_now(table: Table) -> DataFrame:
    """The rows that readers see."""
    check_there(table)
    history = table.history()
    return table.rows() if history is None else _current(history.rows())


def past_rows(
    table: Table, *, snapshot: str | None, at: datetime | None
) -> tuple[DataFrame, SeenSnapshot]:
    """A table with the columns and rows of a snapshot, or of what readers saw at a time."""
    check_there(table)
    history = table.history()
    seen = _found(history or table, table, snapshot, at)
    rows = (history or table).rows(seen.id)
    return (rows if history is None else _current(rows)), seen


def _current(history: DataFrame) -> DataFrame:
    return history.where(F.col(CURRENT)).drop(PARTITION_COLUMN)


def only_slice(rows: DataFrame, table: Table, partition: str) -> DataFrame:
    if PARTITION_COLUMN not in rows.columns:
        raise NotPartitioned(
            f"these rows of {table} are not of partitions", "leave --partition out"
        )
    return rows.where(F.col(PARTITION_COLUMN) == F.lit(partition))


def _found(table: Table, asked: Table, snapshot: str | None, at: datetime | None) -> SeenSnapshot:
    if snapshot is not None:
        found = table.seen(limit=1, snapshot=snapshot)
        what = f"{asked} has no snapshot {snapshot} that readers saw"
    else:
        assert at is not None
        found = table.seen(limit=1, until=(at - _EPOCH) // timedelta(microseconds=1))
        what = f"nothing is kept of {asked} as it was at {at.isoformat()}"
    if found:
        return found[0]
    first = table.seen(limit=1, first=True)
    if not first:
        raise UnknownSnapshot(f"{asked} has no snapshot yet", "run the script that makes it")
    earliest = f"the earliest snapshot is of {first[0].at.isoformat()}"
    raise UnknownSnapshot(what, f"{earliest}; tranche show {asked} --snapshots lists them")
