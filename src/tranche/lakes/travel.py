"""A table as its readers saw it at another time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tranche.errors import NotPartitioned, SourceMissing, UnknownSnapshot
from tranche.lakes.iceberg import ADDED, at_snapshot, existing_columns, history_behind
from tranche.lakes.versions import CURRENT
from tranche.model.asset import LakeTable
from tranche.model.snapshot import SeenSnapshot, Snapshots
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEEN = """\
SELECT CAST(h.snapshot_id AS STRING) AS id, unix_micros(h.made_current_at) AS at,
       s.operation, s.summary, picked.summary AS picked
FROM {0}.history AS h
LEFT JOIN {0}.snapshots AS s ON s.snapshot_id = h.snapshot_id
LEFT JOIN {0}.snapshots AS picked
ON picked.snapshot_id = CAST(s.summary['source-snapshot-id'] AS BIGINT)
WHERE {1}
ORDER BY at {2} LIMIT {3}
"""


def check_there(session: SparkSession, table: LakeTable) -> None:
    if existing_columns(session, table) is None:
        raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")


def seen_snapshots(session: SparkSession, table: LakeTable, *, limit: int) -> Snapshots:
    """What readers saw, latest first; a snapshot to which the table went back is there twice."""
    check_there(session, table)
    found = _seen(session, history_behind(session, table) or table, limit=limit + 1)
    return Snapshots(found[:limit], more=len(found) > limit)


def past_rows(
    session: SparkSession, table: LakeTable, *, snapshot: str | None, at: datetime | None
) -> tuple[DataFrame, SeenSnapshot]:
    """A table with the columns and rows of a snapshot, or of what readers saw at a time."""
    check_there(session, table)
    history = history_behind(session, table)
    seen = _found(session, history or table, table, snapshot, at)
    rows = session.sql(f"SELECT * FROM {at_snapshot(history or table, seen.id)}")  # noqa: S608
    if history is not None:
        rows = rows.where(F.col(CURRENT)).drop(PARTITION_COLUMN)
    return rows, seen


def only_slice(rows: DataFrame, table: LakeTable, partition: str) -> DataFrame:
    if PARTITION_COLUMN not in rows.columns:
        raise NotPartitioned(
            f"these rows of {table} are not of partitions", "leave --partition out"
        )
    return rows.where(F.col(PARTITION_COLUMN) == F.lit(partition))


def _found(
    session: SparkSession,
    table: LakeTable,
    asked: LakeTable,
    snapshot: str | None,
    at: datetime | None,
) -> SeenSnapshot:
    if snapshot is not None:
        found = _seen(session, table, where="h.snapshot_id = :given", given=int(snapshot), limit=1)
        what = f"{asked} has no snapshot {snapshot} that readers saw"
    else:
        assert at is not None
        micros = (at - _EPOCH) // timedelta(microseconds=1)
        where = "unix_micros(h.made_current_at) <= :given"
        found = _seen(session, table, where=where, given=micros, limit=1)
        what = f"nothing is kept of {asked} as it was at {at.isoformat()}"
    if found:
        return found[0]
    first = _seen(session, table, order="ASC", limit=1)
    if not first:
        raise UnknownSnapshot(f"{asked} has no snapshot yet", "run the script that makes it")
    earliest = f"the earliest snapshot is of {first[0].at.isoformat()}"
    raise UnknownSnapshot(what, f"{earliest}; tranche show {asked} --snapshots lists them")


def _seen(
    session: SparkSession,
    table: LakeTable,
    *,
    where: str = "true",
    given: int = 0,
    order: str = "DESC",
    limit: int,
) -> tuple[SeenSnapshot, ...]:
    statement = _SEEN.format(quoted(table), where, order, limit)
    arguments = {"given": given} if ":given" in where else {}
    return tuple(_snapshot(row) for row in session.sql(statement, args=arguments).collect())


def _snapshot(row: Row) -> SeenSnapshot:
    summary: dict[str, str] = row["summary"] or {}
    # A commit that was staged and then picked onto a table that had moved is another one there.
    about = {**(row["picked"] or {}), **summary}
    return SeenSnapshot(
        id=row["id"],
        at=_EPOCH + timedelta(microseconds=row["at"]),
        operation=row["operation"],
        run=about.get("tranche.run"),
        partition=about.get("tranche.partition"),
        added=int(summary.get(ADDED, "0")) if summary else None,
        removed=int(summary.get("deleted-records", "0")) if summary else None,
    )
