"""Whether a slice is still what a write was made of."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.errors import CommitLost
from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.metadata import Version
from tranche.lakes.ducklake.staging import Entry


def check_unchanged(catalog: Catalog, version: Version, entry: Entry, column: str) -> None:
    """Nobody may have changed the slice since, unless rows just come to it."""
    base = entry.based_on
    if base is None or entry.kind == "append":
        return
    if version.begin > base:
        raise _changed(entry)
    since = "(begin_snapshot > ? OR end_snapshot > ?)"
    if _inlined(catalog, version, entry, column, since):
        raise _changed(entry)
    touched = {
        int(number)
        for table in ("ducklake_data_file", "ducklake_delete_file")
        for (number,) in catalog.asked(
            f"SELECT data_file_id FROM {META}.{table} WHERE table_id = ?"
            f" AND ({since} OR partial_max > ?)",
            (version.id, base, base, base),
        )
    }
    gone = catalog.missing(
        f"SELECT file_id FROM {META}.ducklake_inlined_delete_{version.id} WHERE begin_snapshot > ?",
        (base,),
    )
    touched |= {int(number) for (number,) in gone or ()}
    if not touched:
        return
    if entry.keys is None:
        raise _changed(entry)
    keys = _keys(catalog, version, column)
    if any(number not in keys or keys[number] in entry.keys for number in touched):
        raise _changed(entry)


def _inlined(catalog: Catalog, version: Version, entry: Entry, column: str, since: str) -> bool:
    """Whether rows that the catalog itself has came to the slice, or went from it."""
    base = entry.based_on
    tables = catalog.asked(
        f"SELECT table_name FROM {META}.ducklake_inlined_data_tables WHERE table_id = ?",
        (version.id,),
    )
    for (name,) in tables:
        table = f'{META}."{name}"'
        if not catalog.missing(f"SELECT 1 FROM {table} WHERE {since} LIMIT 1", (base, base)):
            continue
        named = {str(row[0]).lower() for row in catalog.asked(f"DESCRIBE {table}")}
        if entry.keys is None or column.lower() not in named:
            return True
        keys = catalog.asked(
            f"SELECT DISTINCT {identifier(column)} FROM {table} WHERE {since}", (base, base)
        )
        # PostgreSQL keeps texts as bytes.
        told = {key.decode() if isinstance(key, bytes) else str(key) for (key,) in keys}
        if told & set(entry.keys):
            return True
    return False


def check_positions(catalog: Catalog, files: Sequence[str]) -> int:
    """How many rows a MERGE takes away."""
    return int(catalog.asked("SELECT count(*) FROM read_parquet(?)", (list(files),))[0][0])


def _keys(catalog: Catalog, version: Version, column: str) -> dict[int, str]:
    held = version.column(column)
    if held is None:
        return {}
    rows = catalog.asked(
        f"SELECT data_file_id, min_value FROM {META}.ducklake_file_column_stats"
        " WHERE table_id = ? AND column_id = ? AND min_value = max_value AND null_count = 0",
        (version.id, held.id),
    )
    return {int(number): str(key) for number, key in rows}


def _changed(entry: Entry) -> CommitLost:
    return CommitLost(f"another writer changed the same slice of {entry.table}", "run it again")
