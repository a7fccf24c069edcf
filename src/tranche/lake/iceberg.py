"""Slices into Iceberg tables."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriterV2, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import ColumnsRejected, CommitLost, CommitUnknown, EngineError, TrancheError
from tranche.lake.columns import check_columns, fitted, shape
from tranche.lake.digest import digest_of, observed
from tranche.lake.failures import comes_from_spark, explained
from tranche.model.asset import LakeTable
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Written
from tranche.script.binding import quoted, quoted_name

_PROPERTIES: Mapping[str, str] = {
    "format-version": "2",
    # Many writers of different slices race for one commit; losing a race only means another try.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    # A key can be longer than a folder's name may be, so keys stay out of paths.
    "write.object-storage.enabled": "true",
    "write.object-storage.partitioned-paths": "false",
}
_TRIES = 5
_OF_ATTEMPT = """\
SELECT CAST(snapshot_id AS STRING), CAST(unix_micros(committed_at) AS STRING),
       summary['added-records']
FROM {}.snapshots WHERE summary['tranche.attempt'] = :attempt
ORDER BY committed_at DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says about itself, so that the ledger can be rebuilt from the table."""

    run: str
    attempt: str
    fingerprint: str
    partition: str | None = None

    def options(self) -> dict[str, str]:
        about = {"run": self.run, "attempt": self.attempt, "fingerprint": self.fingerprint}
        if self.partition is not None:
            about["partition"] = self.partition
        return {f"snapshot-property.tranche.{name}": value for name, value in about.items()}


def current_snapshot(session: SparkSession, table: LakeTable) -> str | None:
    """The snapshot that readers see now; None for a table without one, and for a view."""
    found = session.sql(f"SHOW TBLPROPERTIES {quoted(table)} ('current-snapshot-id')").collect()
    value = str(found[0]["value"]) if found else ""
    return value if value.isdigit() else None


def existing_columns(session: SparkSession, table: LakeTable) -> StructType | None:
    """The columns of a table, or None if there is no such table."""
    try:
        return session.table(quoted(table)).schema
    except AnalysisException as error:
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            return None
        raise


def replace_slice(
    session: SparkSession, table: LakeTable, rows: DataFrame, key: str, commit: Commit
) -> Written:
    """Makes one slice exactly these rows, also when there are none; touches nothing else."""
    check_columns(rows)

    def write() -> Observation:
        existing = existing_columns(session, table)
        # The digest is of the rows as the table holds them.
        kept = rows if existing is None else fitted(table, rows, existing)
        watched, metrics = observed(kept)
        sliced = watched.withColumn(PARTITION_COLUMN, F.lit(key))
        # Rows of one slice need no shuffle to be clustered, and no writer for every slice.
        writer = sliced.writeTo(quoted(table)).options(
            **commit.options(), **{"distribution-mode": "none", "fanout-enabled": "false"}
        )
        if existing is None:
            _create(session, table, writer.partitionedBy(F.col(PARTITION_COLUMN)))
        else:
            writer.overwrite(F.col(PARTITION_COLUMN) == F.lit(key))
        return metrics

    return _committed(session, table, commit, write)


def replace_table(
    session: SparkSession, table: LakeTable, rows: DataFrame, commit: Commit
) -> Written:
    """Makes the whole table exactly these rows; its columns may change."""
    check_columns(rows)

    def write() -> Observation:
        existing = existing_columns(session, table)
        if existing is not None and PARTITION_COLUMN in existing.names:
            raise ColumnsRejected(
                f"{table} was written with partitions, and the script has none",
                "keep its partitioned line, drop the table, or write to another one",
            )
        watched, metrics = observed(rows)
        writer = watched.writeTo(quoted(table)).options(**commit.options())
        if existing is None:
            _create(session, table, writer)
        elif shape(existing) == shape(rows.schema):
            # The table keeps its history of snapshots; a replaced one would not.
            writer.overwrite(F.lit(True))
        else:
            _with_properties(writer).createOrReplace()
        return metrics

    return _committed(session, table, commit, write)


def _create(session: SparkSession, table: LakeTable, writer: DataFrameWriterV2) -> None:
    lake, schema, _ = table.parts
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted_name(lake)}.{quoted_name(schema)}")
    _with_properties(writer).create()


def _with_properties(writer: DataFrameWriterV2) -> DataFrameWriterV2:
    writer = writer.using("iceberg")
    for name, value in _PROPERTIES.items():
        writer = writer.tableProperty(name, value)
    return writer


def _committed(
    session: SparkSession, table: LakeTable, commit: Commit, write: Callable[[], Observation]
) -> Written:
    """Writes until the table has the commit: another writer may win a race, or make the table."""
    for attempt in range(1, _TRIES + 1):
        try:
            metrics: Mapping[str, Any] = write().get
            return _written(session, table, commit, metrics)
        except TrancheError:
            raise
        except Exception as error:
            if not comes_from_spark(error):
                raise
            failure = explained(error)
            raced = isinstance(failure, CommitLost) or "AlreadyExists" in str(error)
            if not raced and not isinstance(failure, CommitUnknown):
                raise
            # An answer that got lost does not mean that the commit did.
            found = _written(session, table, commit, None, must=False)
            if found.snapshot is not None:
                return found
            if attempt == _TRIES:
                raise
            time.sleep(0.1 * 2**attempt * random.uniform(0.5, 1.5))
    raise AssertionError("unreachable")


def _written(
    session: SparkSession,
    table: LakeTable,
    commit: Commit,
    metrics: Mapping[str, Any] | None,
    *,
    must: bool = True,
) -> Written:
    """What the table itself says about the commit of this attempt."""
    if not must and existing_columns(session, table) is None:
        return Written()
    statement = _OF_ATTEMPT.format(quoted(table))
    found = session.sql(statement, args={"attempt": commit.attempt}).collect()
    if not found:
        if must:
            raise EngineError(
                f"{table} has no snapshot of the attempt {commit.attempt}, which wrote it",
                "another process may have rolled it back; run it again",
            )
        return Written()
    snapshot, micros, added = found[0]
    rows = int(added or 0)
    # A task that ran twice was counted twice; the table counts what it holds.
    sound = metrics is not None and metrics["rows"] == rows
    return Written(
        rows=rows,
        snapshot=snapshot,
        committed_at=datetime.fromtimestamp(int(micros) / 1_000_000, UTC),
        digest=digest_of(metrics) if metrics is not None and sound else None,
    )
