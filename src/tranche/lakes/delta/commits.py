"""What the log of a Delta table says of its commits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from tranche.lakes.commit import Commit
from tranche.lakes.table import ADDED, ADDED_SIZE, Snapshot
from tranche.model.snapshot import SeenSnapshot

ABOUT = "spark.databricks.delta.commitInfo.userMetadata"
"""The setting whose value becomes part of a commit."""
TRANSACTION = (
    "spark.databricks.delta.write.txnAppId",
    "spark.databricks.delta.write.txnVersion",
)
"""The settings by which Delta knows a write again that it has done already, and leaves it out."""
_PUBLICATION = "tranche.publication"
_AT = "_tranche_at"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_LOOK = 20
_LONGEST_RUN = timedelta(days=3)
"""How long before an attempt another one of its step may have committed."""
_MISSING = ("PATH_NOT_FOUND", "DELTA_TABLE_ONLY_OPERATION", "DELTA_TABLE_NOT_FOUND")
_MERGED = ("Inserted", "Updated", "Deleted")

Told: TypeAlias = Row | Mapping[str, Any]
"""What the log says of a commit, under the names of `DESCRIBE HISTORY`."""


def commit_settings(commit: Commit) -> dict[str, str]:
    """The settings under which a write is this commit's."""
    about = {**commit.properties(), _PUBLICATION: commit.publication}
    return {
        ABOUT: json.dumps(about),
        TRANSACTION[0]: f"tranche.{commit.publication}",
        TRANSACTION[1]: "0",
    }


def is_missing(error: AnalysisException) -> bool:
    """Whether it says that there is no such table."""
    return error.getCondition() in _MISSING or "is not a Delta table" in str(error)


def log_of(session: SparkSession, name: str, limit: int | None = None) -> list[Row]:
    """The commits to a table, the latest first; none if there is no such table."""
    most = "" if limit is None else f" LIMIT {limit}"
    try:
        found = session.sql(f"DESCRIBE HISTORY {name}{most}")
        return found.withColumn(_AT, F.unix_micros("timestamp")).collect()
    except AnalysisException as error:
        if is_missing(error):
            return []
        raise


def commits_of(session: SparkSession, name: str, commit: Commit, *, alone: bool) -> Snapshot | None:
    """The latest commit of an attempt, or if it is not alone, of any attempt of its step."""
    since = commit.attempt.started_at - _LONGEST_RUN
    found = (
        step_snapshot(row, commit, alone=alone) for row in _looked_through(session, name, since)
    )
    return next((snapshot for snapshot in found if snapshot is not None), None)


def step_snapshot(row: Told, commit: Commit, *, alone: bool) -> Snapshot | None:
    """A commit as a snapshot, if it is of an attempt, or where that is not alone, of its step."""
    about = about_of(row)
    own = about.get("tranche.attempt") == commit.attempt.id
    if own or (not alone and about.get(_PUBLICATION) == commit.publication):
        return replace(snapshot_of(row), own=own)
    return None


def row_of(version: int, info: Mapping[str, Any], written: int) -> Told:
    """A commit whose file was written at some millisecond, as `DESCRIBE HISTORY` tells of it."""
    return {
        "version": version,
        "operation": info.get("operation", ""),
        "operationMetrics": info.get("operationMetrics"),
        "userMetadata": info.get("userMetadata"),
        _AT: (info.get("inCommitTimestamp") or written) * 1_000,
    }


def _looked_through(session: SparkSession, name: str, since: datetime) -> Iterator[Row]:
    """The commits since a time, the latest first. Each is a file, so that most are not read."""
    limit, known = _FIRST_LOOK, 0
    while True:
        rows = log_of(session, name, limit)
        yield from rows[known:]
        if len(rows) < limit or time_of(rows[-1]) < since:
            return
        limit, known = limit * 10, len(rows)


def snapshot_of(row: Told) -> Snapshot:
    counts: dict[str, str] = row["operationMetrics"] or {}
    merged = None
    if row["operation"] == "MERGE":
        merged = [int(counts.get(f"numTargetRows{what}", "0")) for what in _MERGED]
    version = int(row["version"])
    return Snapshot(
        str(version),
        str(version - 1) if version else None,
        {
            ADDED: counts.get("numOutputRows", "0"),
            ADDED_SIZE: counts.get("numOutputBytes", "0"),
        },
        time_of(row),
        changed=None if merged is None else sum(merged),
        inserted=None if merged is None else merged[0],
    )


def seen_of(rows: Sequence[Row]) -> tuple[SeenSnapshot, ...]:
    return tuple(_seen(row) for row in rows)


def _seen(row: Row) -> SeenSnapshot:
    counts: dict[str, str] = row["operationMetrics"] or {}
    about = about_of(row)

    def count(*names: str) -> int | None:
        found = [counts[name] for name in names if name in counts]
        return sum(map(int, found)) if found else None

    return SeenSnapshot(
        id=str(row["version"]),
        at=time_of(row),
        operation=row["operation"].lower(),
        run=about.get("tranche.run"),
        partition=about.get("tranche.partition"),
        added=count("numTargetRowsInserted", "numTargetRowsUpdated")
        if row["operation"] == "MERGE"
        else count("numOutputRows"),
        removed=count("numDeletedRows", "numTargetRowsDeleted", "numTargetRowsUpdated"),
    )


def about_of(row: Told) -> dict[str, str]:
    """What Tranche said of a commit; nothing if it was somebody else's."""
    try:
        found = json.loads(row["userMetadata"] or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def time_of(row: Told) -> datetime:
    return _EPOCH + timedelta(microseconds=row[_AT])


def micros_of(row: Row) -> int:
    return int(row[_AT])
