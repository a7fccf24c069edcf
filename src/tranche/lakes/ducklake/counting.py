"""How many rows slices have, as far as the catalog tells it."""

from __future__ import annotations

from collections import defaultdict

from tranche.lakes.ducklake.catalog import META, Catalog
from tranche.lakes.ducklake.duck import identifier
from tranche.lakes.ducklake.metadata import Contents, DataFile, check_located
from tranche.lakes.ducklake.reading import table_of


def total(catalog: Catalog, found: Contents) -> int | None:
    """All rows; None if only a scan could tell."""
    if not _counts(found):
        return None
    gone = _gone(found)
    in_files = sum(file.rows - file.deleted - gone.get(file.id, 0) for file in found.files)
    return in_files + sum(_inlined(catalog, found, None).values())


def by_key(catalog: Catalog, found: Contents, column: str) -> dict[str | None, int] | None:
    """The rows of each key; None if only a scan could tell."""
    if not _counts(found):
        return None
    keys = keys_of(catalog, found, column)
    gone = _gone(found)
    counted: dict[str | None, int] = defaultdict(int)
    for file in found.files:
        if file.id not in keys:
            return None
        counted[keys[file.id]] += file.rows - file.deleted - gone.get(file.id, 0)
    for key, rows in _inlined(catalog, found, column).items():
        counted[key] += rows
    return {key: rows for key, rows in counted.items() if rows}


def _counts(found: Contents) -> bool:
    """Whether the numbers of the catalog are those of the snapshot."""
    return not any(file.partial or file.seen_at is not None for file in found.files)


def keys_of(catalog: Catalog, found: Contents, column: str) -> dict[int, str]:
    """The key of each file that has rows of one only, as its statistics tell."""
    held = found.version.column(column)
    if held is None:
        return {}
    rows = catalog.rows(
        f"SELECT data_file_id, min_value FROM {META}.ducklake_file_column_stats"
        " WHERE table_id = ? AND column_id = ? AND min_value = max_value AND null_count = 0",
        (found.version.id, held.id),
    )
    return {int(number): str(key) for number, key in rows}


def inlined_keys(catalog: Catalog, found: Contents, column: str) -> set[str | None]:
    return set(_inlined(catalog, found, column))


def state_of(found: Contents) -> dict[int, tuple[DataFile, tuple[int, ...]]]:
    """Each file with the rows of it that are gone: what tells two snapshots apart."""
    gone: dict[int, list[int]] = defaultdict(list)
    for file, row in found.gone:
        gone[file].append(row)
    return {file.id: (file, tuple(sorted(gone[file.id]))) for file in found.files}


def _gone(found: Contents) -> dict[int, int]:
    counted: dict[int, int] = defaultdict(int)
    for file, _ in found.gone:
        counted[file] += 1
    return counted


def _inlined(catalog: Catalog, found: Contents, column: str | None) -> dict[str | None, int]:
    """The rows that the catalog itself has."""
    if not found.inlined:
        return {}
    where = table_of(catalog, found.version)
    check_located(found.version, where)
    listed = ", ".join("?" for _ in found.inlined)
    key = "NULL" if column is None else f"CAST({identifier(column)} AS VARCHAR)"
    rows = catalog.rows(
        f"SELECT {key}, count(*) FROM {where}"
        f" AT (VERSION => {found.version.snapshot}) WHERE filename IN ({listed}) GROUP BY 1",
        found.inlined,
    )
    return {None if key is None else str(key): int(count) for key, count in rows}
