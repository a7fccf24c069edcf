"""Slices into Iceberg tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameWriterV2
from pyspark.sql.types import NullType, StructType

from tranche.errors import ColumnsRejected, CommitLost, EngineError
from tranche.lake.digest import digest_of, observed
from tranche.lake.failures import explained
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


def current_snapshot(session: SparkSession, table: LakeTable) -> str | None:
    """The snapshot that readers see now; None for a table without one, and for a view."""
    found = session.sql(f"SHOW TBLPROPERTIES {quoted(table)} ('current-snapshot-id')").collect()
    value = str(found[0]["value"]) if found else ""
    return value if value.isdigit() else None


def replace_slice(
    session: SparkSession,
    table: LakeTable,
    rows: DataFrame,
    key: str,
    commit: Mapping[str, str],
) -> Written:
    """Makes one slice exactly these rows, also when there are none; touches nothing else."""
    check_columns(rows)
    own = F.col(PARTITION_COLUMN) == F.lit(key)

    def write() -> Written:
        watched, metrics = observed(rows)
        sliced = watched.withColumn(PARTITION_COLUMN, F.lit(key))
        # Rows of one slice need no shuffle to be clustered, and no writer for every slice.
        writer = _committing(sliced.writeTo(quoted(table)), commit).options(
            **{"distribution-mode": "none", "fanout-enabled": "false"}
        )
        existing = existing_columns(session, table)
        if existing is None:
            _create(session, table, writer.partitionedBy(F.col(PARTITION_COLUMN)))
        else:
            _check_fit(table, rows.schema, existing)
            writer.overwrite(own)
        return _written(session, table, metrics.get, commit)

    return _retried(write)


def replace_table(
    session: SparkSession, table: LakeTable, rows: DataFrame, commit: Mapping[str, str]
) -> Written:
    """Makes the whole table exactly these rows; its columns may change."""
    check_columns(rows)

    def write() -> Written:
        watched, metrics = observed(rows)
        writer = _committing(watched.writeTo(quoted(table)), commit)
        existing = existing_columns(session, table)
        if existing is None:
            _create(session, table, writer)
        elif _shape(existing) == _shape(rows.schema):
            # The table keeps its history of snapshots; a replaced one would not.
            writer.overwrite(F.lit(True))
        else:
            _with_properties(writer).createOrReplace()
        return _written(session, table, metrics.get, commit)

    return _retried(write)


def existing_columns(session: SparkSession, table: LakeTable) -> StructType | None:
    """The columns of a table, or None if there is no such table."""
    try:
        return session.table(quoted(table)).schema
    except AnalysisException as error:
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            return None
        raise


def check_columns(rows: DataFrame) -> None:
    """Rejects what no table could hold, before anything is written."""
    names = [name.lower() for name in rows.columns]
    if not names:
        raise ColumnsRejected("the SELECT has no columns", "select at least one")
    if PARTITION_COLUMN in names:
        raise ColumnsRejected(
            f"the SELECT projects {PARTITION_COLUMN}, which Tranche manages",
            "leave it out; SELECT * EXCEPT (…) helps when it comes from a star",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnsRejected(
            f"the SELECT has two columns called {', '.join(twice)}", "give one another name"
        )
    untyped = [field.name for field in rows.schema.fields if isinstance(field.dataType, NullType)]
    if untyped:
        raise ColumnsRejected(
            f"the SELECT gives NULL without a type for {', '.join(untyped)}",
            f"cast it, as in CAST(NULL AS STRING) AS {untyped[0]}",
        )


def _check_fit(table: LakeTable, rows: StructType, existing: StructType) -> None:
    """A slice must have the table's columns; rows are written by name."""
    have = {field.name.lower(): field.name for field in existing.fields}
    if PARTITION_COLUMN not in have:
        raise ColumnsRejected(
            f"{table} was written without partitions",
            "drop it and run again, or write to another table",
        )
    del have[PARTITION_COLUMN]
    give = {field.name.lower(): field.name for field in rows.fields}
    added = [name for lower, name in give.items() if lower not in have]
    dropped = [name for lower, name in have.items() if lower not in give]
    if added or dropped:
        changes = [f"adds {', '.join(added)}"] if added else []
        changes += [f"lacks {', '.join(dropped)}"] if dropped else []
        raise ColumnsRejected(
            f"the SELECT {' and '.join(changes)}, compared with {table}",
            "select the table's columns, or drop the table and run its partitions again",
        )


def _shape(columns: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in columns.fields]


def _create(session: SparkSession, table: LakeTable, writer: DataFrameWriterV2) -> None:
    lake, schema, _ = table.parts
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted_name(lake)}.{quoted_name(schema)}")
    _with_properties(writer).create()


def _with_properties(writer: DataFrameWriterV2) -> DataFrameWriterV2:
    writer = writer.using("iceberg")
    for name, value in _PROPERTIES.items():
        writer = writer.tableProperty(name, value)
    return writer


def _committing(writer: DataFrameWriterV2, commit: Mapping[str, str]) -> DataFrameWriterV2:
    """What the commit says about itself, so that the ledger can be rebuilt from the table."""
    return writer.options(**{f"snapshot-property.{name}": value for name, value in commit.items()})


def _written(
    session: SparkSession,
    table: LakeTable,
    metrics: Mapping[str, object],
    commit: Mapping[str, str],
) -> Written:
    found = session.sql(
        f"SELECT snapshot_id FROM {quoted(table)}.snapshots"  # noqa: S608, the name is quoted
        " WHERE summary['tranche.attempt'] = :attempt ORDER BY committed_at DESC LIMIT 1",
        args={"attempt": commit["tranche.attempt"]},
    ).collect()
    snapshot = str(found[0][0]) if found else current_snapshot(session, table)
    return Written(rows=int(str(metrics["rows"])), snapshot=snapshot, digest=digest_of(metrics))


def _retried(write: Callable[[], Written]) -> Written:
    """Another writer may win the race for a commit, or make the table first: then try again."""
    for attempt in range(1, _TRIES + 1):
        try:
            return write()
        except EngineError:
            raise
        except Exception as error:
            made = isinstance(error, AnalysisException) and (
                error.getCondition() == "TABLE_OR_VIEW_ALREADY_EXISTS"
            )
            lost = isinstance(explained(error), CommitLost)
            if attempt == _TRIES or not (made or lost or "AlreadyExists" in str(error)):
                raise
            time.sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")
