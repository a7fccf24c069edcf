"""The metadata of a table of an embedded catalog, in files that this process can see.

A query of the table's snapshots tells the same, and starts a job of Spark for it. To read the file
takes a millisecond or two.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tranche.lakes.commit import Commit
from tranche.model.asset import LakeTable

_ENDING = ".metadata.json"
_LARGEST = 4 * 2**20
"""A file of more bytes has thousands of snapshots; Spark reads these as fast."""
_PATIENCE = 0.2
_LOCATION = (
    "SELECT metadata_location FROM iceberg_tables"
    " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)


def logged(database: Path | None, table: LakeTable, commit: Commit) -> dict[str, Any] | None:
    """The latest snapshot of an attempt, as the table's metadata has it.

    None if the table has none, or if this process does not see what the catalog in the database
    names. The snapshot has the attempt's id, so that the files of another machine that have the
    same names are not taken for it.
    """
    if database is None:
        return None
    try:
        file = _current(database, table)
        if file is None or file.stat().st_size > _LARGEST:
            return None
        snapshots = json.loads(file.read_bytes()).get("snapshots", ())
    except (OSError, ValueError, sqlite3.Error):
        # A file may go, or the catalog be locked, while it is read.
        return None
    for snapshot in reversed(snapshots):
        if snapshot.get("summary", {}).get("tranche.attempt") == commit.attempt.id:
            return dict(snapshot)
    return None


def _current(database: Path, table: LakeTable) -> Path | None:
    """The file that says what the table is now."""
    with closing(
        sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)
    ) as catalog:
        found = catalog.execute(_LOCATION, table.parts).fetchone()
    location = "" if found is None else str(found[0] or "")
    if location.startswith("file:"):
        location = unquote(urlsplit(location).path)
    if "://" in location or not location.endswith(_ENDING) or location.endswith(f".gz{_ENDING}"):
        return None
    return Path(location)
