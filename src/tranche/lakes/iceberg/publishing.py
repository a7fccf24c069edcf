"""A write that nobody sees until it is published.

Iceberg keeps a commit that is made under `spark.wap.id` beside the table's history. Readers of the
table do not see it; it can be read by its number, and picked onto the table when it is sound.
Iceberg itself refuses to pick a second commit with the same id, so however often a step is tried,
and whatever a dead attempt still sends, its rows become visible once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tranche.errors import CommitLost
from tranche.lakes.commit import Commit
from tranche.lakes.failures import comes_from_spark
from tranche.lakes.iceberg.metadata import call
from tranche.lakes.table import TableFacts
from tranche.lakes.tuning import set_meanwhile
from tranche.model.asset import LakeTable
from tranche.script.binding import quoted

_PICKABLE = {"replace-partitions": "true"}
"""Says that the commit replaces whole partitions, as it does: others may then have changed other
partitions of the table in the meantime. Iceberg checks that nobody changed the same ones, but looks
only at those to which the commit adds rows. Where a layout splits a slice, that is not all of it."""

_CONFLICT = (
    "Cannot cherry-pick replace partitions with changed partition",
    "Cannot cherry-pick overwrite not based on an ancestor",
    "Missing required files to delete",
)
_REFUSED = (
    "Duplicate request to cherry pick wap id",
    "already an ancestor",
    "not append, dynamic overwrite, or fast-forward",
)
_PROPERTY = "spark.sql.iceberg.snapshot-property."


def allow_staging(session: SparkSession, table: LakeTable, facts: TableFacts) -> None:
    """For tables that others made."""
    if facts.properties.get("write.wap.enabled") != "true":
        session.sql(f"ALTER TABLE {quoted(table)} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")


@contextmanager
def staging(session: SparkSession, commit: Commit, *, split: bool = False) -> Iterator[None]:
    """Whatever is written to a table in here is staged and not seen by its readers.

    A slice that is split over several partitions can be picked only while the table does not move.
    """
    properties = {**commit.properties(), **({} if split else _PICKABLE)}
    with set_meanwhile(session, {"spark.wap.id": commit.publication, **_as_settings(properties)}):
        yield


@contextmanager
def committing(session: SparkSession, commit: Commit) -> Iterator[None]:
    """Whatever is written to a table in here is seen at once, and says whose commit it is.

    It has the publication's id, so that nothing that was staged under it comes after.
    """
    properties = {**commit.properties(), "wap.id": commit.publication}
    with set_meanwhile(session, _as_settings(properties)):
        yield


def _as_settings(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"{_PROPERTY}{name}": value for name, value in properties.items()}


def pick(session: SparkSession, table: LakeTable, snapshot: str) -> str | None:
    """Makes a staged commit visible, and returns the snapshot that readers see since.

    None if that is not done by picking: another attempt of the step was published before, or the
    table has moved and the commit only removes rows, or is of a slice that a layout splits.
    """
    try:
        found = call(session, table, "cherrypick_snapshot", f"snapshot_id => {int(snapshot)}")
    except Exception as error:
        if not comes_from_spark(error):
            raise
        text = str(error)
        if any(words in text for words in _REFUSED):
            return None
        if any(words in text for words in _CONFLICT):
            raise CommitLost(
                f"another writer changed the same slice of {table}", "run it again"
            ) from error
        raise
    return str(found[0]["current_snapshot_id"])


def expire(session: SparkSession, table: LakeTable, snapshots: Iterable[int]) -> None:
    """Removes snapshots and the files that only they have, so that nothing can show them again."""
    ids = ", ".join(f"{int(number)}L" for number in snapshots)
    # Without a time, snapshots of any age beyond the table's default would go too.
    older = "TIMESTAMP '1970-01-01 00:00:00Z'"
    call(session, table, "expire_snapshots", f"snapshot_ids => array({ids}), older_than => {older}")
