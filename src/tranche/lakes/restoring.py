"""A table that goes back to what it was, by a new commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import SourceMissing, UnknownSnapshot
from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.history import make_current_view
from tranche.lakes.iceberg import (
    TableFacts,
    at_snapshot,
    existing_columns,
    published,
    table_facts,
    with_properties,
)
from tranche.lakes.layout import LAYOUT, evolve, partition_columns, recreation
from tranche.lakes.observed import note_derived, observed_name
from tranche.model.asset import LakeTable
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.ports import Restored, Staged, Written
from tranche.script.binding import quoted

_SEEN = """\
SELECT CAST(snapshot_id AS STRING) AS id, CAST(parent_id AS STRING) AS parent,
       CAST(unix_micros(made_current_at) AS STRING) AS at
FROM {}.history ORDER BY made_current_at DESC
"""
_FILES = "SELECT file_path, content, record_count, {} AS key FROM {}.files VERSION AS OF {}"


@dataclass(frozen=True, slots=True)
class Return:
    """One table on its way back to a snapshot."""

    session: SparkSession
    table: LakeTable
    snapshot: str
    facts: TableFacts
    then: StructType
    keys: tuple[Restored, ...]
    """The slices that change; the whole table is one if it has none."""

    @property
    def same_columns(self) -> bool:
        return self.then == self.facts.columns

    def rows(self) -> DataFrame:
        return self.session.sql(f"SELECT * FROM {at_snapshot(self.table, self.snapshot)}")  # noqa: S608

    def commit(self, commit: Commit) -> None:
        """Makes the table what it was, seen at once and marked as this commit's."""
        if self.same_columns:
            self.overwrite(commit)
        else:
            self.remake(commit)

    def overwrite(self, commit: Commit) -> None:
        changed = F.lit(True)
        if self.facts.sliced:
            changed = F.col(PARTITION_COLUMN).isin([key.partition for key in self.keys])
        checks = {"fanout-enabled": "false", "isolation-level": "serializable"}
        if self.facts.snapshot is not None:
            checks["validate-from-snapshot-id"] = self.facts.snapshot
        writer = self.rows().where(changed).writeTo(quoted(self.table))
        writer.options(**commit.options(), **checks).overwrite(changed)

    def remake(self, commit: Commit) -> None:
        """Columns have changed since: Iceberg would fill those that are new again with NULL."""
        made = recreation(self.session, self.table, None, self.facts, self.then)
        stated = self.facts.properties.get(LAYOUT)
        properties = {} if stated is None else {LAYOUT: stated}
        writer = self.rows().writeTo(quoted(self.table)).options(**commit.options())
        writer = with_properties(writer, **properties)
        if made.stated:
            writer = writer.partitionedBy(*partition_columns(made.stated))
        writer.createOrReplace()
        if made.later:
            evolve(self.session, self.table, (*made.stated, *made.later))


class Restoration:
    """A trial that restores: of a history, what was observed goes back first."""

    def __init__(
        self, session: SparkSession, table: LakeTable, snapshot: str, commit: Commit
    ) -> None:
        self.session = session
        self.table = table
        self.snapshot = snapshot
        self.commit = commit
        self.returns: list[Return] = []

    def stage(self) -> Staged:
        seen = shown_snapshots(self.session, self.table)
        target = next((row for row in seen if row["id"] == self.snapshot), None)
        if target is None:
            raise UnknownSnapshot(
                f"{self.table} has no snapshot {self.snapshot} that readers could see",
                f"tranche show {self.table} --snapshots lists them",
            )
        whole = returning(self.session, self.table, self.snapshot)
        self.returns = [whole]
        keys = whole.keys
        observed = self.observed_then(int(target["at"]))
        if observed is not None:
            self.returns.insert(0, observed)
            if observed.facts.sliced and keys:
                keys = observed.keys
        return Staged(restored=keys, lineage=_lineage(seen, self.snapshot))

    def observed_then(self, at: int) -> Return | None:
        """What the history was derived from at that time, in microseconds since 1970."""
        name = observed_name(self.table)
        if existing_columns(self.session, name) is None:
            return None
        earlier = [s for s in shown_snapshots(self.session, name) if int(s["at"]) <= at]
        return returning(self.session, name, earlier[0]["id"]) if earlier else None

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        whole = self.returns[-1]
        if not whole.keys:
            return Written(snapshot=whole.facts.snapshot, changed=False, rows=0)
        for item in self.returns:
            if item.keys:
                item.commit(self.commit)
        if len(self.returns) > 1:
            observed = table_facts(self.session, observed_name(self.table))
            note_derived(self.session, self.table, observed)
        if set(HISTORY_COLUMNS) <= set(whole.then.names):
            make_current_view(self.session, self.table)
        found = published(self.session, self.table, self.commit)
        assert found is not None, f"{self.table} does not show the commit that restored it"
        return Written(
            rows=sum(key.rows for key in whole.keys),
            snapshot=found.id,
            committed_at=found.at,
            columns=captured(whole.then, (PARTITION_COLUMN, *HISTORY_COLUMNS)),
        )

    def close(self) -> None:
        """Nothing waits beside the table."""


def shown_snapshots(session: SparkSession, table: LakeTable) -> Sequence[Row]:
    """What readers of a table could see at any time, the latest first."""
    return session.sql(_SEEN.format(quoted(table))).collect()


def returning(session: SparkSession, table: LakeTable, snapshot: str) -> Return:
    facts = table_facts(session, table)
    if facts is None:
        raise SourceMissing(f"{table} does not exist", "run the script that makes it")
    then = session.sql(f"SELECT * FROM {at_snapshot(table, snapshot)}").schema  # noqa: S608
    sliced = facts.sliced and PARTITION_COLUMN in then.names
    keys = _changed(session, table, snapshot, facts, sliced=sliced)
    return Return(session, table, snapshot, facts, then, keys)


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


def _lineage(seen: Sequence[Row], snapshot: str) -> frozenset[str]:
    """A snapshot and all that it was built on."""
    parents = {row["id"]: row["parent"] for row in seen}
    found: set[str] = set()
    at: str | None = snapshot
    while at is not None and at not in found:
        found.add(at)
        at = parents.get(at)
    return frozenset(found)
