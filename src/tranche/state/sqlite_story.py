"""What is known of a key, read from SQLite by Python's own driver, like where keys stand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from tranche.model.backfill import UNFINISHED, Backfill
from tranche.model.pending import Pending, Rejected
from tranche.model.run import Claim, Materialization, Run
from tranche.state import checks
from tranche.state.forms import column_digests_of, inputs_of, tests_of
from tranche.state.keys import key_hash
from tranche.state.liveness import FileLives, life_of_server
from tranche.state.sqlite_partitions import AT_ONCE, SqlitePartitions, moment

Value = TypeVar("Value", Backfill, Claim, Materialization, Pending, Rejected, Run)


class SqliteStory(SqlitePartitions):
    """A StoryReader on a database that has the newest tables; it never makes or changes one."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        super().__init__(path, timeout=timeout)
        self._lives = FileLives(path)

    def run(self, run: str) -> Run | None:
        run = checks.checked_id(run, "run")
        found = self._values(Run, "runs", "WHERE id = ?", run)
        return found[0] if found else None

    def entries(self, materializations: Sequence[str]) -> Sequence[Materialization]:
        ids = [checks.checked_id(each, "materialization") for each in materializations]
        found: list[Materialization] = []
        for start in range(0, len(ids), AT_ONCE):
            page = ids[start : start + AT_ONCE]
            condition = f"WHERE id IN ({_marks(page)})"
            found += self._values(Materialization, "materializations", condition, *page)
        return tuple(found)

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        asset, key = checks.checked_asset(asset), checks.checked_key(partition)
        return self._values(
            Materialization,
            "materializations",
            "WHERE asset = ? AND partition_hash = ? ORDER BY finished_at DESC, seq DESC LIMIT ?",
            asset,
            key_hash(key),
            checks.checked_limit(limit),
        )

    def backfill(self, backfill: str) -> Backfill | None:
        backfill = checks.checked_id(backfill, "backfill")
        found = self._values(Backfill, "backfills", "WHERE id = ?", backfill)
        return found[0] if found else None

    def backfills(self, *, limit: int, unfinished: bool = False) -> Sequence[Backfill]:
        statuses = UNFINISHED if unfinished else ()
        condition = f"WHERE status IN ({_marks(statuses)})" if unfinished else ""
        order = "ORDER BY created_at DESC, id DESC LIMIT ?"
        limit = checks.checked_limit(limit)
        # Without their keys, which may be many.
        return self._values(
            Backfill, "backfills", f"{condition} {order}", *statuses, limit, without=("keys",)
        )

    def claims(
        self, asset: str, *, limit: int, keys: Sequence[str | None] | None = None
    ) -> Sequence[Claim]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        condition, hashes = "WHERE asset = ?", []
        if keys is not None:
            hashes = [key_hash(checks.checked_key(key)) for key in keys]
            condition += f" AND partition_hash IN ({_marks(hashes)})"
        condition += " ORDER BY partition LIMIT ?"
        return self._values(Claim, "claims", condition, asset, *hashes, limit)

    def pending(self, places: Sequence[tuple[str, str | None]]) -> Sequence[Pending]:
        condition = "WHERE consumer = ? AND partition_hash = ?"
        return [
            row
            for consumer, key in places
            for row in self._values(Pending, "pending", condition, consumer, key_hash(key))
        ]

    def paused(self) -> Mapping[str, datetime]:
        return {name: moment(at) for name, at in self._rows("SELECT consumer, at FROM pauses")}

    def rejected(self, consumer: str | None = None, *, limit: int) -> Sequence[Rejected]:
        given = () if consumer is None else (consumer,)
        condition = "WHERE consumer = ? " if given else ""
        condition += "ORDER BY at DESC LIMIT ?"
        limit = checks.checked_limit(limit)
        return list(self._values(Rejected, "rejections", condition, *given, limit))

    def is_served(self, server: str) -> bool:
        return not self._lives.dead([life_of_server(server)])

    def abandoned(self) -> Sequence[Run]:
        running = self._running()
        dead = self._lives.dead([run.id for run in running]) if running else set()
        # Asked again: who ends a run records that first, and only then lets go of it.
        return tuple(run for run in self._running() if run.id in dead) if dead else ()

    def _running(self) -> tuple[Run, ...]:
        # Written out as it is in the index, which would not match with a bound value.
        return self._values(Run, "runs", "WHERE status = 'running' ORDER BY started_at, id")

    def _values(
        self,
        kind: type[Value],
        table: str,
        condition: str,
        *values: Any,
        without: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Rows as values; columns are named after the fields that they hold."""
        types = {f.name: str(f.type) for f in fields(kind) if f.name not in without}
        query = f"SELECT {', '.join(types)} FROM {table} {condition}"  # noqa: S608
        return tuple(kind(**_read(types, row)) for row in self._rows(query, *values))


def _read(types: Mapping[str, str], row: Sequence[Any]) -> dict[str, Any]:
    values = {
        name: _value(type_, raw) for (name, type_), raw in zip(types.items(), row, strict=True)
    }
    if "partition" in values:
        # No key is empty, and '' stands for the one of an asset without partitions.
        values["partition"] = values["partition"] or None
    if "inputs" in values:
        values |= {"inputs": inputs_of(values["inputs"]), "tests": tests_of(values["tests"])}
    if "column_digests" in values:
        raw = values["column_digests"]
        values["column_digests"] = column_digests_of(None if raw is None else json.loads(raw))
    return values


def _value(type_: str, raw: Any) -> Any:
    """What a column holds, by the type of the field.

    >>> _value("tuple[str, ...]", '["a"]'), _value("bool", 1), _value("datetime | None", None)
    (('a',), True, None)
    """
    if raw is None:
        return None
    if type_.startswith("datetime"):
        return moment(raw)
    if type_.startswith("tuple"):
        return tuple(json.loads(raw))
    if type_.startswith(("Mapping", "Any")):
        return json.loads(raw)
    return bool(raw) if type_ == "bool" else raw


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
