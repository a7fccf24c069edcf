"""The snapshots of an Iceberg table that its readers saw."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import Row, SparkSession

from tranche.lakes.parameters import asked
from tranche.lakes.table import ADDED
from tranche.model.asset import LakeTable
from tranche.model.snapshot import SeenSnapshot
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


def seen_snapshots(
    session: SparkSession,
    table: LakeTable,
    *,
    limit: int,
    snapshot: str | None,
    until: int | None,
    first: bool,
) -> tuple[SeenSnapshot, ...]:
    where, arguments = "true", {}
    if snapshot is not None:
        where, arguments = "h.snapshot_id = :given", {"given": int(snapshot)}
    elif until is not None:
        where, arguments = "unix_micros(h.made_current_at) <= :given", {"given": until}
    statement = _SEEN.format(quoted(table), where, "ASC" if first else "DESC", limit)
    return tuple(_snapshot(row) for row in asked(session, statement, arguments).collect())


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
