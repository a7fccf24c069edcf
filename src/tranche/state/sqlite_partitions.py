"""Where keys stand, read from SQLite by Python's own driver: a reader that starts fast."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from tranche.model.columns import SchemaVersion
from tranche.model.lineage import ScriptLineage
from tranche.model.run import PartitionState
from tranche.state import checks
from tranche.state.forms import columns_of
from tranche.state.keys import key_hash, key_head
from tranche.state.lineages import lineage_of
from tranche.state.schema import HEAD, VERSION_TABLE
from tranche.state.sqlite_file import explain_sqlite

_COLUMNS = tuple(field.name for field in fields(PartitionState))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM partitions WHERE asset = ?"  # noqa: S608
AT_ONCE = 500
"""How many keys one statement asks for."""
_MOMENTS = ("ordinal", "at")


class SqlitePartitions:
    """A PartitionReader on a database that has the newest tables; it never makes or changes one."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def is_current(self) -> bool:
        """Whether the tables are the ones that this code knows."""
        try:
            found = self._connection.execute(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
            return bool(found.fetchone() == (HEAD,))
        except sqlite3.Error:
            return False

    def close(self) -> None:
        self._connection.close()

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        asset, key = checks.checked_asset(asset), checks.checked_key(partition)
        found = self._states(f"{_SELECT} AND partition_hash = ?", asset, key_hash(key))
        return found[0] if found else None

    def partitions(
        self,
        asset: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: PartitionState | None = None,
    ) -> Sequence[PartitionState]:
        """Keys without an ordinal come last, sorted as text; `start` and `end` leave them out."""
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        start, end = checks.optional_utc(start), checks.optional_utc(end)
        found: tuple[PartitionState, ...] = ()
        if after is None or after.ordinal is not None:
            found = self._dated(asset, start, end, after, limit)
        if start is None and end is None and len(found) < limit:
            found += self._undated(asset, after, limit - len(found))
        return found

    def standing(
        self, asset: str, keys: Sequence[str | None]
    ) -> Mapping[str | None, PartitionState]:
        asset = checks.checked_asset(asset)
        hashes = [key_hash(checks.checked_key(key)) for key in keys]
        found: dict[str | None, PartitionState] = {}
        for start in range(0, len(hashes), AT_ONCE):
            page = hashes[start : start + AT_ONCE]
            marks = ", ".join("?" * len(page))
            states = self._states(f"{_SELECT} AND partition_hash IN ({marks})", asset, *page)
            found.update({state.partition: state for state in states})
        return found

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {checks.checked_asset(asset): {} for asset in assets}
        marks = ", ".join("?" * len(found))
        for asset, status, count in self._rows(
            f"SELECT asset, status, count(*) FROM partitions WHERE asset IN ({marks})"  # noqa: S608
            " GROUP BY asset, status",
            *found,
        ):
            found[asset][status] = count
        return found

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        found = self._rows(
            "SELECT asset, version, columns, run, at FROM schemas WHERE asset = ?"
            " ORDER BY version DESC LIMIT ?",
            asset,
            limit,
        )
        return tuple(
            SchemaVersion(
                asset=asset,
                version=version,
                columns=columns_of(json.loads(columns)),
                run=run,
                at=moment(at),
            )
            for asset, version, columns, run, at in found
        )

    def traced(self, asset: str, fingerprint: str) -> ScriptLineage | None:
        found = self._rows(
            "SELECT lineage FROM lineages WHERE asset = ? AND fingerprint = ?",
            checks.checked_asset(asset),
            fingerprint,
        )
        return lineage_of(json.loads(found[0][0])) if found else None

    def _dated(
        self,
        asset: str,
        start: datetime | None,
        end: datetime | None,
        after: PartitionState | None,
        limit: int,
    ) -> tuple[PartitionState, ...]:
        last = None if after is None else checks.optional_utc(after.ordinal)
        values: list[str] = []
        # One lower bound, so that the index is entered there, not at the looser of two.
        if after is not None and last is not None and (start is None or last >= start):
            condition = "(ordinal, partition_head, partition) > (?, ?, ?)"
            values += (_text(last), key_head(after.partition), after.partition or "")
        elif start is not None:
            condition = "ordinal >= ?"
            values.append(_text(start))
        else:
            condition = "ordinal IS NOT NULL"
        if end is not None:
            condition += " AND ordinal < ?"
            values.append(_text(end))
        return self._states(
            f"{_SELECT} AND {condition} ORDER BY ordinal, partition_head, partition LIMIT ?",
            asset,
            *values,
            limit,
        )

    def _undated(
        self, asset: str, after: PartitionState | None, limit: int
    ) -> tuple[PartitionState, ...]:
        condition = "ordinal IS NULL"
        values: list[str] = []
        if after is not None and after.ordinal is None:
            condition += " AND (partition_head, partition) > (?, ?)"
            values += (key_head(after.partition), after.partition or "")
        return self._states(
            f"{_SELECT} AND {condition} ORDER BY partition_head, partition LIMIT ?",
            asset,
            *values,
            limit,
        )

    def _states(self, query: str, *values: Any) -> tuple[PartitionState, ...]:
        return tuple(_state(row) for row in self._rows(query, *values))

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._explained(), self._lock:
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explain_sqlite(error, self._path) from error


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")


def _state(row: tuple[Any, ...]) -> PartitionState:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["partition"] = values["partition"] or None
    values["provisional"] = bool(values["provisional"])
    for name in _MOMENTS:
        if values[name] is not None:
            values[name] = moment(values[name])
    return PartitionState(**values)


def moment(text: str) -> datetime:
    try:
        return checks.as_utc(datetime.fromisoformat(text))
    except (TypeError, ValueError):
        raise checks.spoilt(text, "a time") from None
