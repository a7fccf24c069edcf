"""What became of an attempt whose process is gone."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tranche.lake.columns import captured
from tranche.lake.commit import Commit
from tranche.lake.iceberg import attempted, published, slice_rows, table_facts
from tranche.lake.observed import observed_name
from tranche.lake.publishing import expire
from tranche.lake.writer import side_table
from tranche.model.asset import LakeTable
from tranche.ports import Written
from tranche.script.binding import quoted


def recovered(
    session: SparkSession, table: LakeTable, partition: str | None, commit: Commit
) -> Written | None:
    """What readers see of it; None if nothing, and then nothing is left to be published either."""
    for name in (table, observed_name(table)):
        session.sql(f"DROP TABLE IF EXISTS {quoted(side_table(name, commit))} PURGE")
    facts = table_facts(session, table)
    if facts is None:
        return None
    found = published(session, table, commit)
    if found is None:
        staged = attempted(session, table, commit)
        if staged is not None:
            # On a cluster, a call of the dead process may still be on its way to publish it.
            expire(session, table, staged.id)
        return None
    return Written(
        rows=slice_rows(session, table, partition if facts.sliced else None, found.id),
        snapshot=found.id,
        committed_at=found.at,
        columns=captured(facts.columns),
    )
