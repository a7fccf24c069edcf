"""Commits of a DuckLake: what makes them, and what the catalog says of them."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from tranche.errors import CatalogLost, CommitLost
from tranche.lakes.ducklake.catalog import LAKE, META, Catalog
from tranche.lakes.ducklake.metadata import latest_snapshot
from tranche.lakes.table import ADDED, ADDED_SIZE, Snapshot
from tranche.model.snapshot import SeenSnapshot

PUBLICATION, TABLE = "tranche.publication", "tranche.table"
_TRIES = 40
_ROWS = (
    "inserted_into_table|deleted_from_table|altered_table|inlined_insert|inlined_delete"
    # The same rows in other files, which whoever says where rows are has to know.
    "|rewrite_delete"
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Told:
    """What the catalog says of a snapshot of a table."""

    id: int
    at: datetime
    changes: str
    about: dict[str, Any]


def committed(
    catalog: Catalog,
    note: dict[str, Any] | None,
    look: Callable[[int], _T],
    act: Callable[[_T], None],
) -> int | None:
    """Makes a commit, and returns its snapshot; None if nothing came of it.

    `look` says what is to be done on top of a snapshot, and `act` does it. Should another commit
    come in between, all of it is done again: what `look` saw is what the commit is made on. What
    `look` rejects, and what `act` rejects as `Refused`, is not tried again.
    """
    for number in range(1, _TRIES + 1):
        try:
            with catalog.using():
                return _try_to(catalog, note, look, act)
        except _Moved:
            pass
        except Refused as refused:
            raise refused.reason from None
        except (CommitLost, CatalogLost):
            # One that has arrived all the same is found by who looks first.
            if number == _TRIES:
                raise
        time.sleep(min(2.0, 0.05 * 1.5**number) * random.uniform(0.5, 1.5))
    raise CommitLost(f"others commit to {catalog.lake.name!r} all the time", "run it again later")


class _Moved(Exception):
    """Another commit came before the transaction."""


class Refused(Exception):
    """What is there does not allow the commit, however often it is tried."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _try_to(
    catalog: Catalog,
    note: dict[str, Any] | None,
    look: Callable[[int], _T],
    act: Callable[[_T], None],
) -> int | None:
    base = latest_snapshot(catalog)
    try:
        seen = look(base)
    except CatalogLost:
        raise
    except Exception as error:
        raise Refused(error) from error
    with catalog.transaction():
        if int(catalog.asked(f"FROM ducklake_current_snapshot('{LAKE}')")[0][0]) != base:
            raise _Moved
        act(seen)
        if note is not None:
            sign(catalog, note)
    (made,) = catalog.asked(f"FROM ducklake_last_committed_snapshot('{LAKE}')")[0]
    # A transaction that changes nothing makes no snapshot.
    return int(made) if made is not None and int(made) > base else None


def sign(catalog: Catalog, note: dict[str, Any]) -> None:
    """Says in the commit at hand whose it is."""
    catalog.asked(
        f"CALL {LAKE}.set_commit_message('tranche', ?, extra_info => ?)",
        (str(note[TABLE]), json.dumps(note)),
    )


def find(catalog: Catalog, publication: str, table: str) -> Told | None:
    """The commit of a step to a table."""
    return _found(catalog, publication, lambda a: a.get(PUBLICATION) == publication, table)


def find_attempt(catalog: Catalog, attempt: str, table: str) -> Told | None:
    """The commit of an attempt to a table."""
    return _found(catalog, attempt, lambda a: a.get("tranche.attempt") == attempt, table)


def _found(
    catalog: Catalog, word: str, wanted: Callable[[dict[str, Any]], bool], table: str
) -> Told | None:
    rows = catalog.rows(
        f"{_SELECT} WHERE contains(c.commit_extra_info, ?) ORDER BY 1 DESC",
        (json.dumps(word)[1:-1],),
    )
    told = (_told(row) for row in rows)
    return next((t for t in told if wanted(t.about) and t.about.get(TABLE) == table), None)


def told_of(catalog: Catalog, lives: Sequence[tuple[int, int, int | None]]) -> list[Told]:
    """The snapshots that changed rows or columns of a table, the latest first.

    A table that was made anew has had several lives: the number, the first snapshot and the last.
    """
    found: list[Told] = []
    for number, begin, end in lives:
        rows = catalog.rows(
            f"{_SELECT} WHERE (s.snapshot_id = ? OR regexp_matches(c.changes_made, ?))"
            " AND s.snapshot_id >= ? AND (CAST(? AS BIGINT) IS NULL OR s.snapshot_id < ?)",
            (begin, rf"(^|,)({_ROWS}):{number}(,|$)", begin, end, end),
        )
        found += (_told(row) for row in rows)
    return sorted({told.id: told for told in found}.values(), key=lambda t: -t.id)


def lives_of(catalog: Catalog, schema: str, table: str) -> list[tuple[int, int, int | None]]:
    """The tables that ever had the name, each with the snapshots between which it had it."""
    rows = catalog.rows(
        f"SELECT t.table_id, t.begin_snapshot, t.end_snapshot FROM {META}.ducklake_table t"
        f" JOIN {META}.ducklake_schema s USING (schema_id) WHERE lower(s.schema_name) = lower(?)"
        " AND lower(t.table_name) = lower(?)",
        (schema, table),
    )
    return [(int(n), int(begin), None if end is None else int(end)) for n, begin, end in rows]


_SELECT = (
    "SELECT s.snapshot_id, epoch_us(CAST(s.snapshot_time AS TIMESTAMPTZ)), c.changes_made,"
    f" c.commit_extra_info FROM {META}.ducklake_snapshot s"
    f" JOIN {META}.ducklake_snapshot_changes c USING (snapshot_id)"
)


def _told(row: tuple[Any, ...]) -> Told:
    number, micros, changes, about = row
    seconds, rest = divmod(int(micros), 1_000_000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
    return Told(int(number), at, str(changes or ""), _about(about))


def _about(text: object) -> dict[str, Any]:
    try:
        found = json.loads(str(text)) if text is not None else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def snapshot_of(told: Told, attempt: str) -> Snapshot:
    """A commit as a snapshot, which is an attempt's own or another's."""
    about = told.about
    return Snapshot(
        str(told.id),
        str(about["tranche.parent"]) if "tranche.parent" in about else None,
        {
            ADDED: str(about.get("tranche.rows", 0)),
            ADDED_SIZE: str(about.get("tranche.size", 0)),
        },
        told.at,
        changed=about.get("tranche.changed"),
        inserted=about.get("tranche.inserted"),
        own=about.get("tranche.attempt") == attempt,
    )


def seen_of(told: Told) -> SeenSnapshot:
    made = re.findall(
        r"(inserted_into|deleted_from|altered|created|inlined_\w+|rewrite_delete)", told.changes
    )
    operation = {
        ("inserted_into",): "append",
        ("deleted_from",): "delete",
        ("altered",): "alter",
        ("rewrite_delete",): "rewrite",
    }.get(tuple(sorted(set(made))), "overwrite")
    rows = told.about.get("tranche.rows")
    return SeenSnapshot(
        id=str(told.id),
        at=told.at,
        operation=operation,
        run=told.about.get("tranche.run"),
        partition=told.about.get("tranche.partition"),
        added=None if rows is None else int(rows),
        removed=None,
    )
