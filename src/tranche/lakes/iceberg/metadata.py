"""What Iceberg tables say about themselves, and how they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from re import compile as compiled
from urllib.parse import unquote_plus

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriterV2, Row, SparkSession
from pyspark.sql.types import StructType

from tranche.lakes.commit import Commit
from tranche.lakes.failures import comes_from_spark
from tranche.lakes.iceberg.metadata_files import logged
from tranche.lakes.meanwhile import Meanwhile
from tranche.lakes.parameters import asked
from tranche.lakes.table import ADDED, Snapshot, TableFacts
from tranche.lakes.tuning import in_few_words
from tranche.model.asset import LakeTable
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted, quoted_name, text_literal

PROPERTIES: Mapping[str, str] = {
    "format-version": "2",
    # Many writers of different slices race for one commit; losing a race only means another try.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    # A key can be longer than a folder's name may be, so keys stay out of paths.
    "write.object-storage.enabled": "true",
    "write.object-storage.partitioned-paths": "false",
    # Lets a write be staged, so that it can be tested before anybody sees it.
    "write.wap.enabled": "true",
    # A commit says how many rows it brought to each of a few keys, which is learnt at no cost then.
    "write.summary.partition-limit": "32",
}
KEY_PATHS: Mapping[str, str] = {"write.object-storage.enabled": "false"}
"""Files in a folder for each key: quicker where folders are real ones, if names are short."""
_MERGED = "spark.merge-into.num-target-rows-"
MADE_BY = "tranche.made-by"
"""The attempt that made a table which nothing has been published to yet."""

_OF_ATTEMPT = """\
SELECT CAST(snapshot_id AS STRING) AS id, CAST(parent_id AS STRING) AS parent, summary,
       CAST(unix_micros(committed_at) AS STRING) AS at
FROM {}.snapshots WHERE summary['tranche.attempt'] = :attempt
"""
_SEEN = """\
SELECT CAST(s.snapshot_id AS STRING) AS id, CAST(s.parent_id AS STRING) AS parent, s.summary,
       CAST(unix_micros(h.made_current_at) AS STRING) AS at
FROM {0}.snapshots AS s
JOIN {0}.history AS h ON h.snapshot_id = s.snapshot_id AND h.is_current_ancestor
WHERE s.summary['tranche.attempt'] = :attempt OR s.summary['wap.id'] = :publication
   OR s.summary['published-wap-id'] = :publication
"""
_FILES = """\
SELECT record_count, content FROM {}.files VERSION AS OF {} WHERE partition.{} = :key
"""
_KEY_FILES = """\
SELECT partition.{0} AS key, record_count, content FROM {1}.files {2} WHERE partition.{0} IN ({3})
"""
_KEY_SUMMED_UP = compiled(rf"partitions\.{PARTITION_COLUMN}=([^/]*)")
_TOTALS = "SELECT summary FROM {}.snapshots WHERE snapshot_id = :snapshot"


def sums_up(facts: TableFacts, keys: int) -> bool:
    """Whether a commit to so many keys says what it brought to each."""
    most = facts.properties.get("write.summary.partition-limit", "")
    return most.isdigit() and keys <= int(most)


def rows_by_key(summary: Mapping[str, str]) -> dict[str, int] | None:
    """How many rows a commit brought to each key; None if it does not say so.

    >>> said = {
    ...     "partition-summaries-included": "true",
    ...     "partitions._tranche_partition=a%2Fb": "added-data-files=1,added-records=7",
    ... }
    >>> rows_by_key(said)
    {'a/b': 7}
    """
    if summary.get("partition-summaries-included") != "true":
        return None
    found: dict[str, int] = {}
    for name, value in summary.items():
        if not name.startswith("partitions."):
            continue
        key = _KEY_SUMMED_UP.fullmatch(name)
        if key is None:
            # Files of another layout than by key alone.
            return None
        counts = dict(count.partition("=")[::2] for count in value.split(","))
        found[unquote_plus(key[1])] = int(counts.get(ADDED, "0"))
    return found


def existing_columns(session: SparkSession, table: LakeTable) -> StructType | None:
    """The columns of a table, or None if there is no such table."""
    try:
        return session.table(quoted(table)).schema
    except AnalysisException as error:
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            return None
        raise


def table_facts(session: SparkSession, table: LakeTable) -> TableFacts | None:
    """None if there is no such table."""
    properties = Meanwhile(lambda: _properties(session, table))
    columns = existing_columns(session, table)
    if columns is None:
        return None
    fields = layout_names(session, table)
    stated = properties.answer()
    return TableFacts(columns, _current(stated), stated, fields)


def readable(session: SparkSession, table: LakeTable) -> tuple[StructType, str | None] | None:
    """The columns and the snapshot that readers see; None if there is no such table."""
    # Asked at the same time: both are short, and what comes next waits for both.
    properties = Meanwhile(lambda: _properties(session, table))
    columns = existing_columns(session, table)
    return None if columns is None else (columns, _current(properties.answer()))


def layout_names(session: SparkSession, table: LakeTable) -> frozenset[str]:
    """The names of all fields that the table's layout ever had."""
    # A schema is the quickest way to learn of it, and this one is small.
    try:
        columns = session.table(f"{quoted(table)}.`partitions`").schema
    except AnalysisException as error:
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            # It is a view.
            return frozenset()
        raise
    if "partition" not in columns.names:
        return frozenset()
    fields = columns["partition"].dataType
    assert isinstance(fields, StructType)
    return frozenset(fields.names)


def read_off(database: Path | None, table: LakeTable, commit: Commit) -> Snapshot | None:
    """What the attempt has written, where files tell that which this process sees."""
    found = logged(database, table, commit)
    if found is None:
        return None
    parent = found.get("parent-snapshot-id")
    at = datetime.fromtimestamp(found["timestamp-ms"] / 1_000, UTC)
    return _told(
        str(found["snapshot-id"]), None if parent is None else str(parent), found["summary"], at
    )


def attempted(session: SparkSession, table: LakeTable, commit: Commit) -> Snapshot | None:
    """What the attempt has written, whether it is staged or seen by readers."""
    statement = _OF_ATTEMPT.format(quoted(table))
    return _snapshot(asked(session, statement, {"attempt": commit.attempt.id}).collect())


def published(session: SparkSession, table: LakeTable, commit: Commit) -> Snapshot | None:
    """What readers see, or saw before later commits, of the attempt or of another of its step."""
    arguments = {"attempt": commit.attempt.id, "publication": commit.publication}
    return _snapshot(asked(session, _SEEN.format(quoted(table)), arguments).collect())


def only_commit_since(
    session: SparkSession, table: LakeTable, before: str
) -> tuple[str, datetime] | None:
    """The snapshot that readers see, and since when, if it is the only one after another.

    It asks the catalog alone. A query of the table's snapshots is a job, which takes longer.
    """
    found = call(session, table, "ancestors_of")
    if len(found) < 2 or str(found[1]["snapshot_id"]) != before:
        return None
    at = datetime.fromtimestamp(found[0]["timestamp"] / 1_000, UTC)
    return str(found[0]["snapshot_id"]), at


def call(session: SparkSession, table: LakeTable, procedure: str, arguments: str = "") -> list[Row]:
    """What a procedure of Iceberg says of a table."""
    lake, schema, name = table.parts
    more = f", {arguments}" if arguments else ""
    # Not bound: where parameters are bound late, a CALL has none. Addresses have no quotes.
    named = f"{quoted_name(schema)}.{quoted_name(name)}"
    assert not set(named) & {"'", "\\"}, f"{table} is no address"
    return session.sql(
        f"CALL {quoted_name(lake)}.system.{procedure}(table => '{named}'{more})"
    ).collect()


def slice_rows(
    session: SparkSession, table: LakeTable, partition: str | None, snapshot: str | None
) -> int | None:
    """How many rows a slice has, from the table's metadata; None if only a scan could tell."""
    if snapshot is None:
        return 0
    if partition is None:
        statement = _TOTALS.format(quoted(table))
        found = asked(session, statement, {"snapshot": int(snapshot)}).collect()
        summary: Mapping[str, str] = found[0]["summary"] if found else {}
        if "total-records" not in summary or summary.get("total-delete-files", "0") != "0":
            return None
        return int(summary["total-records"])
    statement = _FILES.format(quoted(table), int(snapshot), PARTITION_COLUMN)
    # Added up here: a slice has few files, and Spark would shuffle them for it.
    files = asked(session, statement, {"key": partition}).collect()
    if any(file["content"] != 0 for file in files):
        return None
    return sum(int(file["record_count"]) for file in files)


def key_rows(
    session: SparkSession, table: LakeTable, keys: Sequence[str], snapshot: str
) -> dict[str, int] | None:
    """How many rows each key has, as `slice_rows` tells it; keys without rows are missing."""
    return rows_in(session, key_files(session, table, keys, snapshot))


def key_files(
    session: SparkSession, table: LakeTable, keys: Sequence[str], snapshot: str | None = None
) -> DataFrame:
    """What the table says of the files of keys, at a snapshot or as it is at this moment."""
    then = "" if snapshot is None else f"VERSION AS OF {int(snapshot)}"
    listed = ", ".join(map(text_literal, keys))
    return session.sql(_KEY_FILES.format(PARTITION_COLUMN, quoted(table), then, listed))


def rows_in(session: SparkSession, files: DataFrame) -> dict[str, int] | None:
    """How many rows files have for each key; None if only a scan could tell."""
    found: dict[str, int] = {}
    with in_few_words(session):
        # Added up here: Spark would shuffle them for it, which takes longer.
        rows = files.collect()
    for file in rows:
        if file["content"] != 0:
            return None
        found[file["key"]] = found.get(file["key"], 0) + int(file["record_count"])
    return found


def has_snapshot(session: SparkSession, table: LakeTable, snapshot: str) -> bool:
    if existing_columns(session, table) is None:
        return False
    statement = _TOTALS.format(quoted(table))
    return bool(asked(session, statement, {"snapshot": int(snapshot)}).collect())


def make_namespace(session: SparkSession, table: LakeTable) -> None:
    lake, schema, _ = table.parts
    statement = f"CREATE NAMESPACE IF NOT EXISTS {quoted_name(lake)}.{quoted_name(schema)}"
    try:
        session.sql(statement)
    except Exception as error:
        if not comes_from_spark(error):
            raise
        # The catalog looks first and makes it then; somebody may have come in between.
        session.sql(statement)


def with_properties(writer: DataFrameWriterV2, **more: str) -> DataFrameWriterV2:
    writer = writer.using("iceberg")
    for name, value in {**PROPERTIES, **more}.items():
        writer = writer.tableProperty(name, value)
    return writer


def at_snapshot(table: LakeTable, snapshot: str) -> str:
    return f"{quoted(table)} VERSION AS OF {int(snapshot)}"


def _properties(session: SparkSession, table: LakeTable) -> dict[str, str]:
    found = session.sql(f"SHOW TBLPROPERTIES {quoted(table)}").collect()
    return {row["key"]: row["value"] for row in found}


def _current(properties: Mapping[str, str]) -> str | None:
    value = properties.get("current-snapshot-id", "")
    return value if value.isdigit() else None


def _snapshot(found: list[Row]) -> Snapshot | None:
    """The latest of them."""
    if not found:
        return None
    row = max(found, key=lambda row: int(row["at"]))
    at = datetime.fromtimestamp(int(row["at"]) / 1_000_000, UTC)
    return _told(row["id"], row["parent"], row["summary"], at)


def _told(number: str, parent: str | None, summary: Mapping[str, str], at: datetime) -> Snapshot:
    """A snapshot, and what its summary tells."""
    merged = {
        name: int(summary.get(f"{_MERGED}{name}", "0"))
        for name in ("inserted", "updated", "deleted")
        if f"{_MERGED}inserted" in summary
    }
    return Snapshot(
        number,
        parent,
        summary,
        at,
        rows_by_key=rows_by_key(summary),
        changed=sum(merged.values()) if merged else None,
        inserted=merged.get("inserted"),
    )
