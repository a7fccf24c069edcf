"""What became of an attempt whose process is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.iceberg import (
    attempted,
    existing_columns,
    key_rows,
    published,
    slice_rows,
    table_facts,
)
from tranche.lakes.observed import observed_name
from tranche.lakes.publishing import expire
from tranche.lakes.writer import side_table
from tranche.model.asset import LakeTable
from tranche.ports import Written, WrittenKey
from tranche.script.binding import quoted


def recovered(
    session: SparkSession, table: LakeTable, keys: Sequence[str | None], commit: Commit
) -> Written | None:
    """What readers see of it; None if nothing, and then nothing is left to be published either."""
    for name in (table, observed_name(table)):
        session.sql(f"DROP TABLE IF EXISTS {quoted(side_table(name, commit))} PURGE")
    facts = table_facts(session, table)
    found = published(session, table, commit) if facts is not None else None
    if facts is None or found is None:
        for name in (table, observed_name(table)):
            _forget(session, name, commit)
        return None
    written = Written(snapshot=found.id, committed_at=found.at, columns=captured(facts.columns))
    names = [key for key in keys if key is not None]
    if len(names) > 1:
        rows = key_rows(session, table, names, found.id) if facts.sliced else None
        each = {key: WrittenKey(None if rows is None else rows.get(key, 0)) for key in names}
        total = None if rows is None else sum(rows.values())
        return replace(written, rows=total, keys=each)
    key = names[0] if names and facts.sliced else None
    return replace(written, rows=slice_rows(session, table, key, found.id))


def _forget(session: SparkSession, table: LakeTable, commit: Commit) -> None:
    """Removes what was staged and is not seen by readers.

    On a cluster, a call of the dead process may still be on its way to publish it.
    """
    if existing_columns(session, table) is None or published(session, table, commit) is not None:
        return
    staged = attempted(session, table, commit)
    if staged is not None:
        expire(session, table, [int(staged.id)])
