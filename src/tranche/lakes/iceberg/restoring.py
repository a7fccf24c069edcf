"""An Iceberg table that goes back to what it was, by a new commit."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tranche.lakes.commit import Commit
from tranche.lakes.iceberg.layout import LAYOUT, evolve, partition_columns, recreation
from tranche.lakes.iceberg.metadata import at_snapshot, with_properties
from tranche.lakes.table import Returning, Shown, TableFacts
from tranche.model.asset import LakeTable
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Restored
from tranche.script.binding import quoted

_SEEN = """\
SELECT CAST(snapshot_id AS STRING) AS id, CAST(parent_id AS STRING) AS parent,
       CAST(unix_micros(made_current_at) AS STRING) AS at
FROM {}.history ORDER BY made_current_at DESC
"""
_FILES = "SELECT file_path, content, record_count, {} AS key FROM {}.files VERSION AS OF {}"


def shown_snapshots(session: SparkSession, table: LakeTable) -> Sequence[Shown]:
    found = session.sql(_SEEN.format(quoted(table))).collect()
    return [Shown(row["id"], row["parent"], int(row["at"])) for row in found]


def returning(
    session: SparkSession, table: LakeTable, snapshot: str, facts: TableFacts
) -> Returning:
    then = _rows(session, table, snapshot).schema
    sliced = facts.sliced and PARTITION_COLUMN in then.names
    return Returning(
        snapshot, facts, then, _changed(session, table, snapshot, facts, sliced=sliced)
    )


def restore(session: SparkSession, table: LakeTable, to: Returning, commit: Commit) -> None:
    if to.then == to.facts.columns:
        _overwrite(session, table, to, commit)
    else:
        _remake(session, table, to, commit)


def _overwrite(session: SparkSession, table: LakeTable, to: Returning, commit: Commit) -> None:
    changed = F.lit(True)
    if to.facts.sliced:
        changed = F.col(PARTITION_COLUMN).isin([key.partition for key in to.keys])
    checks = {"fanout-enabled": "false", "isolation-level": "serializable"}
    if to.facts.snapshot is not None:
        checks["validate-from-snapshot-id"] = to.facts.snapshot
    writer = _rows(session, table, to.snapshot).where(changed).writeTo(quoted(table))
    writer.options(**commit.options(), **checks).overwrite(changed)


def _remake(session: SparkSession, table: LakeTable, to: Returning, commit: Commit) -> None:
    """Columns have changed since: Iceberg would fill those that are new again with NULL."""
    made = recreation(session, table, None, to.facts, to.then)
    stated = to.facts.properties.get(LAYOUT)
    properties = {} if stated is None else {LAYOUT: stated}
    writer = _rows(session, table, to.snapshot).writeTo(quoted(table)).options(**commit.options())
    writer = with_properties(writer, **properties)
    if made.stated:
        writer = writer.partitionedBy(*partition_columns(made.stated))
    writer.createOrReplace()
    if made.later:
        evolve(session, table, (*made.stated, *made.later))


def _rows(session: SparkSession, table: LakeTable, snapshot: str) -> DataFrame:
    return session.sql(f"SELECT * FROM {at_snapshot(table, snapshot)}")  # noqa: S608


def _changed(
    session: SparkSession, table: LakeTable, snapshot: str, facts: TableFacts, *, sliced: bool
) -> tuple[Restored, ...]:
    """The slices whose files are not those of the snapshot, with the rows that they had."""
    if facts.snapshot in (None, snapshot):
        return ()
    key = f"partition.{PARTITION_COLUMN}" if sliced else "CAST(NULL AS STRING)"
    then = session.sql(_FILES.format(key, quoted(table), int(snapshot)))
    now = session.sql(_FILES.format(key, quoted(table), int(facts.snapshot or 0)))
    rows = F.sum(F.when(F.col("content") == 0, F.col("record_count")).otherwise(0))
    counted = then.groupBy("key").agg(rows.alias("rows"))
    gone = then.join(now, "file_path", "left_anti").select("key")
    new = now.join(then, "file_path", "left_anti").select("key")
    changed = gone.union(new).distinct()
    found = changed.join(counted, changed["key"].eqNullSafe(counted["key"]), "left").select(
        changed["key"], F.coalesce("rows", F.lit(0)).alias("rows")
    )
    return tuple(
        Restored(row["key"], int(row["rows"]))
        for row in sorted(found.collect(), key=lambda row: row["key"] or "")
    )
