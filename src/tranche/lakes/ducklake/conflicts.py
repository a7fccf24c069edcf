"""Whether a slice is still what a write was made of."""

from __future__ import annotations

from tranche.errors import CommitLost
from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.metadata import Version
from tranche.lakes.ducklake.staging import Entry


def check_unchanged(catalog: Catalog, version: Version, entry: Entry, column: str) -> None:
    """Nobody may have changed the slice since, unless rows just come to it.

    Rows that the catalog itself has may be of any slice.
    """
    base = entry.based_on
    if base is None or entry.kind == "append":
        return
    if version.begin > base:
        raise _changed(entry)
    since = "(begin_snapshot > ? OR end_snapshot > ?)"
    for (name,) in catalog.asked(
        f"SELECT table_name FROM {META}.ducklake_inlined_data_tables WHERE table_id = ?",
        (version.id,),
    ):
        if catalog.missing(f'SELECT 1 FROM {META}."{name}" WHERE {since} LIMIT 1', (base, base)):
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


def check_positions(catalog: Catalog, files: str) -> int:
    """How many rows a MERGE takes away."""
    return int(catalog.asked("SELECT count(*) FROM read_parquet(?)", (files,))[0][0])


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
