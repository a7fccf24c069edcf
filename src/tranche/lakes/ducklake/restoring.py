"""Which slices of a table differ between two snapshots."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tranche.lakes.ducklake.counting import by_key, inlined_keys, keys_of, state_of, total
from tranche.lakes.ducklake.metadata import Contents
from tranche.lakes.ducklake.reading import read
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Restored
from tranche.script.binding import quoted_name

if TYPE_CHECKING:
    from tranche.lakes.ducklake.table import DuckLakeTable


def changed_keys(table: DuckLakeTable, then: Contents, now: Contents) -> tuple[Restored, ...]:
    """The slices whose rows are in other files, with the rows that they had; all of a table that
    was made anew."""
    column = table.key_column
    sliced = all(c.version.column(column) is not None for c in (then, now))
    same_table = then.version.id == now.version.id
    if not sliced:
        differ = not same_table or state_of(then) != state_of(now) or _inlined_differ(then, now)
        counted = total(table.catalog, then)
        rows = table.rows(str(then.version.snapshot)).count() if counted is None else counted
        return (Restored(None, rows),) if differ else ()
    keys: set[str | None] = set()
    for one, other in ((then, now), (now, then)):
        keys |= _keys_of_others(table, one, other if same_table else None)
    counts = by_key(table.catalog, then, column)
    if counts is None:
        rows_then = table.rows(str(then.version.snapshot))
        found = rows_then.groupBy(PARTITION_COLUMN).count().collect()
        counts = {row[0]: int(row[1]) for row in found}
    return tuple(
        Restored(key, counts.get(key, 0)) for key in sorted(keys, key=lambda key: key or "")
    )


def _keys_of_others(table: DuckLakeTable, one: Contents, other: Contents | None) -> set[str | None]:
    """The keys of what only the first one has."""
    known = state_of(other) if other is not None else {}
    mine = [held[0] for number, held in state_of(one).items() if known.get(number) != held]
    keys = keys_of(table.catalog, one, table.key_column)
    found: set[str | None] = {keys[file.id] for file in mine if file.id in keys}
    mixed = tuple(file for file in mine if file.id not in keys)
    if mixed:
        rows = read(table.session, table.catalog, replace(one, files=mixed, inlined=()))
        column = quoted_name(table.key_column)
        found |= {row[0] for row in rows.select(column).distinct().collect()}
    if one.inlined and (other is None or _inlined_differ(one, other)):
        found |= inlined_keys(table.catalog, one, table.key_column)
    return found


def _inlined_differ(one: Contents, other: Contents) -> bool:
    """Rows in the catalog itself are taken for others, if there are any: they are few."""
    return bool(one.inlined or other.inlined) and one.version.snapshot != other.version.snapshot
