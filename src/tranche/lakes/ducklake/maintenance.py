"""Upkeep of a table by DuckLake's own functions."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from tranche.errors import EngineError
from tranche.lakes.ducklake.catalog import LAKE, META
from tranche.lakes.ducklake.commits import told_of
from tranche.lakes.ducklake.metadata import contents
from tranche.ports import Maintained, Upkeep

if TYPE_CHECKING:
    from tranche.lakes.ducklake.table import DuckLakeTable

_OTHER_FOLDERS = "Files have different hive partition path"


def maintained(table: DuckLakeTable, upkeep: Upkeep) -> Maintained:
    """Few files of many small ones, and nothing that nobody needs any more."""
    before = _size(table)
    left = _forget_ended(table, upkeep)
    compacted, into, unfit = _compact(table)
    expired = _expire(table, upkeep)
    # Files that went out of use a while ago; readers may still be at others.
    removed = table.catalog.rows(
        f"CALL ducklake_cleanup_old_files('{LAKE}', older_than => CAST(? AS TIMESTAMPTZ))",
        (upkeep.left_before.astimezone(UTC).isoformat(),),
    )
    if unfit is not None:
        raise unfit
    return Maintained(
        table=table.address,
        compacted=compacted,
        compacted_into=into,
        snapshots=expired,
        orphans=left + len(removed),
        files=(before[0], _size(table)[0]),
        bytes=(before[1], _size(table)[1]),
    )


def _compact(table: DuckLakeTable) -> tuple[int, int, EngineError | None]:
    """How many files were made into how many, and why no more of them were."""
    found: list[tuple[int, int]] = []
    unfit = None
    for function in ("ducklake_rewrite_data_files", "ducklake_merge_adjacent_files"):
        try:
            made = table.catalog.rows(
                f"CALL {function}('{LAKE}', ?, schema => ?)", (table.address.table, table.schema)
            )
        except EngineError as error:
            if _OTHER_FOLDERS not in error.what:
                raise
            unfit = EngineError(
                f"{table.address} has rows of one value in files of several folders, which this"
                " DuckDB does not compact: files were registered that lie elsewhere than it puts"
                " its own",
                f"tranche backfill {table.address} writes slices anew; then maintain it again",
            )
            continue
        found += [(int(row[2]), int(row[3])) for row in made]
    return sum(before for before, _ in found), sum(after for _, after in found), unfit


def _expire(table: DuckLakeTable, upkeep: Upkeep) -> int:
    """Snapshots are the lake's; those go that changed nothing but this table."""
    version = table.version()
    if version is None:
        return 0
    newest = table.catalog.rows(f"SELECT max(snapshot_id) FROM {META}.ducklake_snapshot")[0][0]
    told = told_of(table.catalog, [(version.id, version.begin, None)])
    old = [
        each.id
        for each in told[1:]
        if each.at < upkeep.before
        and str(each.id) not in upkeep.needed
        and each.id != newest
        and each.id != version.begin
        and all(part.endswith(f":{version.id}") for part in each.changes.split(","))
    ]
    if old:
        listed = ", ".join(map(str, old))
        table.catalog.rows(f"CALL ducklake_expire_snapshots('{LAKE}', versions => [{listed}])")
        with table.catalog.using():
            table.catalog.known.clear()
    return len(old)


def _forget_ended(table: DuckLakeTable, upkeep: Upkeep) -> int:
    """Removes what attempts have left that ended."""
    left = 0
    for entry, written in table.staging_place.entries():
        if entry.run not in upkeep.running and written < upkeep.left_before:
            left += len(entry.files)
            table.forget_attempt(entry.attempt)
    for folder in table.staging_place.strays(upkeep.left_before):
        left += len(table.catalog.files.sizes(folder))
        table.catalog.files.remove_folder(folder)
    return left


def _size(table: DuckLakeTable) -> tuple[int, int]:
    version = table.version()
    if version is None:
        return 0, 0
    files = contents(table.catalog, version).files
    return len(files), sum(file.size for file in files)
