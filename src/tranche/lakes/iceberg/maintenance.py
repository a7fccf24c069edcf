"""Upkeep of Iceberg tables: fewer files, and none that nobody needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Row, SparkSession

from tranche.errors import CommitLost
from tranche.lakes.failures import comes_from_spark, explained
from tranche.lakes.iceberg.metadata import call
from tranche.lakes.iceberg.publishing import expire
from tranche.model.asset import LakeTable
from tranche.ports import Maintained, Upkeep
from tranche.script.binding import quoted

_AT_ONCE = 500
"""How many snapshots one call expires."""
_SNAPSHOTS = """\
SELECT s.snapshot_id AS id, s.parent_id AS parent, s.summary['tranche.run'] AS run,
       CAST(unix_micros(s.committed_at) AS STRING) AS at
FROM {}.snapshots AS s
"""
_SEEN = """\
SELECT snapshot_id AS id, CAST(unix_micros(made_current_at) AS STRING) AS at
FROM {}.history ORDER BY made_current_at
"""
_SIZE = """\
SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes
FROM (SELECT DISTINCT file_path, file_size_in_bytes AS size FROM {}.all_data_files)
"""


def maintained(session: SparkSession, table: LakeTable, upkeep: Upkeep) -> Maintained:
    return _Upkeep(session, table, upkeep).done()


@dataclass(frozen=True, slots=True)
class _Upkeep:
    session: SparkSession
    table: LakeTable
    upkeep: Upkeep

    def done(self) -> Maintained:
        before = self.size()
        compacted, into = self.compact()
        expired = self.expire()
        orphans = self.remove_orphans()
        after = self.size()
        return Maintained(
            table=self.table,
            snapshots=expired,
            compacted=compacted,
            compacted_into=into,
            orphans=orphans,
            files=(before[0], after[0]),
            bytes=(before[1], after[1]),
        )

    def size(self) -> tuple[int, int]:
        row = self.session.sql(_SIZE.format(quoted(self.table))).collect()[0]
        return int(row["files"]), int(row["bytes"])

    def compact(self) -> tuple[int, int]:
        try:
            (row,) = call(
                self.session,
                self.table,
                "rewrite_data_files",
                "options => map('partial-progress.enabled', 'true',"
                " 'partial-progress.max-commits', '10')",
            )
        except Exception as error:
            # A run has written the same slices in the meantime; there is another time for this.
            if not comes_from_spark(error) or not isinstance(explained(error), CommitLost):
                raise
            return 0, 0
        return int(row["rewritten_data_files_count"]), int(row["added_data_files_count"])

    def expire(self) -> int:
        going = sorted(self.expirable())
        for start in range(0, len(going), _AT_ONCE):
            expire(self.session, self.table, going[start : start + _AT_ONCE])
        return len(going)

    def expirable(self) -> set[int]:
        name = quoted(self.table)
        snapshots = self.session.sql(_SNAPSHOTS.format(name)).collect()
        seen = self.session.sql(_SEEN.format(name)).collect()
        refs = self.session.sql(f"SELECT name, snapshot_id FROM {name}.refs").collect()  # noqa: S608
        kept = {int(number) for number in self.upkeep.needed if number.isdigit()}
        kept |= _of_refs(snapshots, refs)
        superseded = _superseded(seen)
        return {
            row["id"]
            for row in snapshots
            if row["id"] not in kept and self.is_past(row, superseded)
        }

    def is_past(self, snapshot: Row, superseded: dict[int, datetime | None]) -> bool:
        if snapshot["id"] in superseded:
            until = superseded[snapshot["id"]]
            return until is not None and until < self.upkeep.before
        # Staged and never seen: it waits for nobody once its run has ended.
        return _moment(snapshot) < self.upkeep.left_before and (
            snapshot["run"] not in self.upkeep.running
        )

    def remove_orphans(self) -> int:
        # Iceberg takes nothing younger than a day for an orphan.
        latest = min(self.upkeep.left_before, datetime.now(UTC) - timedelta(hours=25))
        left = latest.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        older = f"older_than => TIMESTAMP '{left}Z'"
        return len(call(self.session, self.table, "remove_orphan_files", older))


def _superseded(seen: Sequence[Row]) -> dict[int, datetime | None]:
    """When readers stopped to see each snapshot; None for the one that they see."""
    found: dict[int, datetime | None] = {}
    for row, after in zip(seen, (*seen[1:], None), strict=True):
        found[row["id"]] = None if after is None else _moment(after)
    return found


def _of_refs(snapshots: Sequence[Row], refs: Sequence[Row]) -> set[int]:
    """What branches and tags hold; of main only what it is now."""
    parents = {row["id"]: row["parent"] for row in snapshots}
    held: set[int] = set()
    for ref in refs:
        held.add(ref["snapshot_id"])
        if ref["name"] != "main":
            held |= set(_ancestors(ref["snapshot_id"], parents))
    return held


def _ancestors(snapshot: int, parents: dict[int, int | None]) -> Iterator[int]:
    at: int | None = snapshot
    while at is not None and at in parents:
        yield at
        at = parents[at]


def _moment(row: Row) -> datetime:
    return datetime.fromtimestamp(int(row["at"]) / 1_000_000, UTC)
