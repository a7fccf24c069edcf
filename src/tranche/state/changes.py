"""The changes to the ledger. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, and_, case, delete, insert, or_

from tranche.model.columns import Columns, SchemaVersion
from tranche.model.lineage import TracedLineage
from tranche.model.run import KeyParts, Materialization
from tranche.state import queries
from tranche.state.advisory import lock_in_transaction
from tranche.state.forms import entry_json
from tranche.state.keys import key_hash
from tranche.state.lineages import lineage_json
from tranche.state.rows import (
    ATTEMPT_COLUMNS,
    SUCCESS_COLUMNS,
    materialization_row,
    partition_row,
    row_of,
    sample_rows,
    schema_of,
    use_rows,
)
from tranche.state.tables import (
    lineages,
    materializations,
    partitions,
    parts,
    schemas,
    staged,
    uses,
    violations,
)

_AT_ONCE = 500
"""How many values one statement has at most."""


def append_to_log(
    connection: Connection, entries: Sequence[Materialization]
) -> list[Materialization]:
    """Writes the entries that the log does not have yet, with their samples, and returns those.

    It has an entry if it has its id, or another id for the same key of the same attempt: whoever
    recovers an attempt may do so while a late recorder still does.
    """
    if not entries:
        return []
    statement = (
        insert_or(connection, materializations)
        .on_conflict_do_nothing()
        .returning(materializations.c.id)
    )
    rows = _in_one_order([materialization_row(entry) for entry in entries])
    written = set(connection.scalars(statement, rows))
    new = [entry for entry in entries if entry.id in written]
    if samples := [row for entry in new for row in sample_rows(entry)]:
        connection.execute(insert(violations), samples)
    return new


def move_partitions(connection: Connection, entries: Sequence[Materialization]) -> None:
    """Moves the latest state of each entry's key forward, never back.

    The latest attempt and the latest success move on their own: a success that is recorded late,
    after a newer failure, still tells what readers see. Of equal times the one written later wins.
    """
    if not entries:
        return
    statement = insert_or(connection, partitions)
    old, new = partitions.c, statement.excluded
    later = new.at >= old.at
    better = and_(
        new.succeeded_at.is_not(None),
        or_(old.succeeded_at.is_(None), new.succeeded_at >= old.succeeded_at),
    )
    changes = {name: case((later, new[name]), else_=old[name]) for name in ATTEMPT_COLUMNS}
    changes |= {name: case((better, new[name]), else_=old[name]) for name in SUCCESS_COLUMNS}
    upsert = statement.on_conflict_do_update(
        index_elements=["asset", "partition_hash"], set_=changes, where=or_(later, better)
    )
    connection.execute(upsert, _in_one_order([partition_row(entry) for entry in entries]))


def note_uses(connection: Connection, entries: Sequence[Materialization]) -> None:
    """Notes that entries rely on snapshots; the latest of them counts."""
    rows = use_rows(entries)
    if not rows:
        return
    statement = insert_or(connection, uses)
    upsert = statement.on_conflict_do_update(
        index_elements=["asset", "snapshot"],
        set_={"at": statement.excluded.at},
        where=statement.excluded.at > uses.c.at,
    )
    connection.execute(upsert, rows)


def note_parts(connection: Connection, written: Sequence[KeyParts]) -> None:
    """Gives parts to the keys that were written to them together; what these keys had before goes,
    and nobody else has these parts any more."""
    for asset in sorted({key.asset for key in written}):
        own = [key for key in written if key.asset == asset]
        taken = sorted({key_hash(part) for key in own for part in key.parts})
        for column, hashes in (
            (parts.c.partition_hash, sorted(key_hash(key.partition) for key in own)),
            (parts.c.part_hash, taken),
        ):
            for start in range(0, len(hashes), _AT_ONCE):
                some = column.in_(hashes[start : start + _AT_ONCE])
                connection.execute(delete(parts).where(parts.c.asset == asset, some))
        rows = [
            {
                "asset": asset,
                "part_hash": key_hash(part),
                "part": part,
                "partition": key.partition,
                "partition_hash": key_hash(key.partition),
            }
            for key in own
            for part in set(key.parts)
        ]
        if rows:
            upsert = insert_or(connection, parts).on_conflict_do_nothing()
            connection.execute(upsert, sorted(rows, key=lambda row: str(row["part_hash"])))


def note_columns(connection: Connection, captured: SchemaVersion) -> None:
    """Makes the captured columns a new version, unless the latest one has the same."""
    if _latest_columns(connection, captured.asset)[1] == captured.columns:
        return
    # Only now, since most of the time nothing has changed; and then once more, since others wait.
    lock_in_transaction(connection, "columns", captured.asset)
    version, known = _latest_columns(connection, captured.asset)
    if known != captured.columns:
        row = row_of(replace(captured, version=version + 1))
        connection.execute(insert(schemas), row)


def note_lineage(connection: Connection, traced: TracedLineage) -> None:
    """Keeps where the columns of an asset come from; the latest word counts."""
    statement = insert_or(connection, lineages)
    upsert = statement.on_conflict_do_update(
        index_elements=["asset", "fingerprint"], set_={"lineage": statement.excluded.lineage}
    )
    row = row_of(traced) | {"lineage": lineage_json(traced.lineage)}
    connection.execute(upsert, row)


def note_staged(connection: Connection, attempt: str, entries: Sequence[Materialization]) -> None:
    statement = insert_or(connection, staged)
    upsert = statement.on_conflict_do_update(
        index_elements=["attempt"],
        set_={"materializations": statement.excluded.materializations},
    )
    row = {"attempt": attempt, "materializations": [entry_json(entry) for entry in entries]}
    connection.execute(upsert, row)


def _latest_columns(connection: Connection, asset: str) -> tuple[int, Columns]:
    row = connection.execute(queries.schemas_of(asset, limit=1)).one_or_none()
    if row is None:
        return 0, ()
    latest = schema_of(row)
    return latest.version, latest.columns


def _in_one_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted by key, so that two transactions never wait for each other's rows.

    The sort is stable: two entries of one key stay as they came.
    """
    return sorted(rows, key=lambda row: (row["asset"], row["partition_hash"]))


def insert_or(connection: Connection, table: Table) -> Any:
    """An INSERT that can say what to do on a conflict, which both databases spell alike."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
