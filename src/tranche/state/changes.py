"""The changes to the ledger. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, and_, case, or_

from tranche.model.run import Materialization
from tranche.state.rows import (
    ATTEMPT_COLUMNS,
    SUCCESS_COLUMNS,
    materialization_row,
    partition_row,
)
from tranche.state.tables import materializations, partitions


def append_to_log(
    connection: Connection, entries: Sequence[Materialization]
) -> list[Materialization]:
    """Writes the entries that the log does not have yet, and returns those."""
    if not entries:
        return []
    insert = (
        _insert(connection, materializations)
        .on_conflict_do_nothing(index_elements=["id"])
        .returning(materializations.c.id)
    )
    written = set(connection.scalars(insert, [materialization_row(entry) for entry in entries]))
    return [entry for entry in entries if entry.id in written]


def move_partitions(connection: Connection, entries: Sequence[Materialization]) -> None:
    """Moves the latest state of each entry's key forward, never back.

    The latest attempt and the latest success move on their own: a success that is recorded late,
    after a newer failure, still tells what readers see. Of equal times the one written later wins.
    """
    if not entries:
        return
    insert = _insert(connection, partitions)
    old, new = partitions.c, insert.excluded
    later = new.at >= old.at
    better = and_(
        new.succeeded_at.is_not(None),
        or_(old.succeeded_at.is_(None), new.succeeded_at >= old.succeeded_at),
    )
    changes = {name: case((later, new[name]), else_=old[name]) for name in ATTEMPT_COLUMNS}
    changes |= {name: case((better, new[name]), else_=old[name]) for name in SUCCESS_COLUMNS}
    upsert = insert.on_conflict_do_update(
        index_elements=["asset", "partition_hash"], set_=changes, where=or_(later, better)
    )
    # In one order, so that two transactions never wait for each other's rows. The sort is stable:
    # two entries of one key stay as they came.
    rows = sorted(
        (partition_row(entry) for entry in entries),
        key=lambda row: (row["asset"], row["partition_hash"]),
    )
    connection.execute(upsert, rows)


def _insert(connection: Connection, table: Table) -> Any:
    """An INSERT that can say what to do on a conflict, which both databases spell alike."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
