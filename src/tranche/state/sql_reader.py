"""What is asked of a store in SQLite or PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from tranche.model.backfill import Backfill, BackfillStatus
from tranche.model.columns import SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.event import Event
from tranche.model.lineage import ScriptLineage
from tranche.model.pending import Pending, PendingStatus, Ready, Rejected
from tranche.model.run import (
    Attempt,
    Claim,
    KeyTally,
    Materialization,
    Outcome,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.model.token import Token
from tranche.state import checks, heard, pending_keys, queries, tokens
from tranche.state.address import read_address
from tranche.state.connections import connect, recorded_version
from tranche.state.failures import explained
from tranche.state.forms import entry_of, sample_of, tests_of, violated
from tranche.state.keys import key_hash
from tranche.state.lineages import lineage_of
from tranche.state.liveness import FileLives, Lives, life_of_server
from tranche.state.rows import backfill_of, materialization_of, schema_of
from tranche.state.schema import HEAD
from tranche.state.sqlite_file import DEFAULT_TIMEOUT

# Databases limit how many values one question may have.
_AT_ONCE = 500


class SqlReader:
    """A StateReader on a database, which is made or upgraded when it is first used.

    `timeout` is how many seconds to wait for a connection or for another process's lock. A
    relative SQLite file lies in `root`, else in the working folder.
    """

    def __init__(
        self, url: str, *, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self._address = read_address(url, root)
        self._timeout = timeout
        self._engine = connect(self._address, timeout)
        self._lives = self._lives_there()
        self._opening = threading.Lock()
        self._opened = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.shown!r})"

    def exists(self) -> bool:
        """Whether there is anything to read; looking makes nothing."""
        with explained(self._address):
            path = self._address.path
            if path is not None and not path.exists():
                return False
            with self._engine.connect() as connection:
                return recorded_version(connection) is not None

    def open(self) -> None:
        """Makes or upgrades the database if it needs that."""
        with self._opening:
            if self._opened:
                return
            with explained(self._address):
                if self._address.path is not None:
                    self._address.path.parent.mkdir(parents=True, exist_ok=True)
                with self._engine.connect() as connection:
                    version = recorded_version(connection)
                if version != HEAD:
                    # Imports Alembic, which takes a third of a second.
                    from tranche.state.upgrade import upgrade

                    upgrade(self._engine, self._address, self._timeout)
            self._opened = True

    def close(self) -> None:
        """Closes all connections. Runs that were begun here and have not ended are abandoned."""
        self._lives.close()
        self._engine.dispose()

    def run(self, run: str) -> Run | None:
        run = checks.checked_id(run, "run")
        with self._reading() as connection:
            return _run(connection, run)

    def runs(
        self, *, limit: int, before: str | None = None, status: RunStatus | None = None
    ) -> Sequence[Run]:
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            last = None
            if before is not None:
                last = _run(connection, checks.checked_id(before, "run"))
                if last is None:
                    return ()
            found = connection.execute(queries.latest_runs(limit, last, status))
            return tuple(Run(**row._asdict()) for row in found)

    def runs_of(
        self,
        asset: str,
        *,
        limit: int,
        before: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[Run]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        last = None if before is None else checks.checked_id(before, "run")
        with self._reading() as connection:
            found = connection.execute(queries.runs_with(asset, limit, last, status))
            return tuple(Run(**row._asdict()) for row in found)

    def steps(self, run: str) -> Sequence[StepRecord]:
        run = checks.checked_id(run, "run")
        with self._reading() as connection:
            found = connection.execute(queries.steps_of(run))
            return tuple(StepRecord(**row._asdict()) for row in found)

    def attempts(self, run: str) -> Sequence[Attempt]:
        run = checks.checked_id(run, "run")
        with self._reading() as connection:
            found = connection.execute(queries.attempts_of(run))
            return tuple(Attempt(**row._asdict()) for row in found)

    def partition(self, asset: str, partition: str | None) -> PartitionState | None:
        asset, key = checks.checked_asset(asset), checks.checked_key(partition)
        with self._reading() as connection:
            row = connection.execute(queries.partition_of(asset, key)).one_or_none()
        return None if row is None else PartitionState(**row._asdict())

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
        bounded = start is not None or end is not None
        found: list[PartitionState] = []
        with self._reading() as connection:
            if after is None or after.ordinal is not None:
                page = queries.dated_partitions(asset, start, end, after, limit)
                found += (PartitionState(**row._asdict()) for row in connection.execute(page))
            if not bounded and len(found) < limit:
                page = queries.undated_partitions(asset, after, limit - len(found))
                found += (PartitionState(**row._asdict()) for row in connection.execute(page))
        return tuple(found)

    def newest(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._reading() as connection:
            found = connection.execute(queries.newest_partitions(asset, limit)).all()
            if not found:
                found = connection.execute(queries.undated_partitions(asset, None, limit)).all()
            return tuple(PartitionState(**row._asdict()) for row in found)

    def standing(
        self, asset: str, keys: Sequence[str | None]
    ) -> Mapping[str | None, PartitionState]:
        asset = checks.checked_asset(asset)
        hashes = [key_hash(checks.checked_key(key)) for key in keys]
        found: dict[str | None, PartitionState] = {}
        with self._reading() as connection:
            for start in range(0, len(hashes), _AT_ONCE):
                page = queries.partitions_of(asset, hashes[start : start + _AT_ONCE])
                states = (PartitionState(**row._asdict()) for row in connection.execute(page))
                found.update({state.partition: state for state in states})
        return found

    def parts(self, asset: str, keys: Sequence[str | None]) -> Mapping[str | None, tuple[str, ...]]:
        asset = checks.checked_asset(asset)
        hashes = sorted({key_hash(checks.checked_key(key)) for key in keys})
        found: dict[str | None, list[str]] = {}
        with self._reading() as connection:
            for start in range(0, len(hashes), _AT_ONCE):
                question = queries.parts_of(asset, hashes[start : start + _AT_ONCE])
                for row in connection.execute(question):
                    found.setdefault(row.partition, []).append(row.part)
        return {key: tuple(sorted(parts)) for key, parts in found.items()}

    def sole_parts(self, asset: str, keys: Sequence[str | None]) -> frozenset[str]:
        found = {key_hash(part): part for own in self.parts(asset, keys).values() for part in own}
        asset = checks.checked_asset(asset)
        hashes, own_keys = sorted(found), set(map(key_hash, keys))
        with self._reading() as connection:
            for start in range(0, len(hashes), _AT_ONCE):
                question = queries.holders_of(asset, hashes[start : start + _AT_ONCE])
                for part, key in connection.execute(question):
                    if key not in own_keys:
                        found.pop(part, None)
        return frozenset(found.values())

    def provisional(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._reading() as connection:
            rows = connection.execute(queries.provisional_of(asset, limit))
            return tuple(PartitionState(**row._asdict()) for row in rows)

    def statuses(
        self, asset: str, *, start: datetime, end: datetime, but: Outcome | None = None
    ) -> Mapping[str, Outcome]:
        asset = checks.checked_asset(asset)
        question = queries.statuses_of(asset, checks.as_utc(start), checks.as_utc(end), but)
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(question)}

    def tallies(self, asset: str, *, start: datetime, end: datetime) -> Sequence[KeyTally]:
        asset = checks.checked_asset(asset)
        question = queries.tallies_of(asset, checks.as_utc(start), checks.as_utc(end))
        with self._reading() as connection:
            found = [row._asdict() for row in connection.execute(question)]
        return tuple(
            KeyTally(month=(int(row.pop("year")), int(row.pop("month"))), **row) for row in found
        )

    def backfill(self, backfill: str) -> Backfill | None:
        id = checks.checked_id(backfill, "backfill")
        with self._reading() as connection:
            row = connection.execute(queries.backfill_by_id(id)).one_or_none()
        return None if row is None else backfill_of(row)

    def backfill_status(self, backfill: str) -> BackfillStatus | None:
        with self._reading() as connection:
            query = queries.backfill_status_of(checks.checked_id(backfill, "backfill"))
            status: BackfillStatus | None = connection.scalar(query)
            return status

    def backfills(self, *, limit: int, unfinished: bool = False) -> Sequence[Backfill]:
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            found = connection.execute(queries.latest_backfills(limit, unfinished=unfinished))
            return tuple(backfill_of(row) for row in found)

    def claims(
        self, asset: str, *, limit: int, keys: Sequence[str | None] | None = None
    ) -> Sequence[Claim]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        hashes = None if keys is None else [key_hash(checks.checked_key(key)) for key in keys]
        with self._reading() as connection:
            found = connection.execute(queries.claims_on(asset, limit, hashes))
            return tuple(Claim(**row._asdict()) for row in found)

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {checks.checked_asset(asset): {} for asset in assets}
        with self._reading() as connection:
            for asset, status, count in connection.execute(queries.outcomes_of(tuple(found))):
                found[asset][status] = count
        return found

    def materialization(self, materialization: str) -> Materialization | None:
        id = checks.checked_id(materialization, "materialization")
        with self._reading() as connection:
            row = connection.execute(queries.materialization_by_id(id)).one_or_none()
        return None if row is None else materialization_of(row)

    def entries(self, materializations: Sequence[str]) -> Sequence[Materialization]:
        ids = [checks.checked_id(each, "materialization") for each in materializations]
        found: list[Materialization] = []
        with self._reading() as connection:
            for start in range(0, len(ids), _AT_ONCE):
                page = queries.materializations_by_id(ids[start : start + _AT_ONCE])
                found += (materialization_of(row) for row in connection.execute(page))
        return tuple(found)

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        asset, key = checks.checked_asset(asset), checks.checked_key(partition)
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            found = connection.execute(queries.log_of(asset, key, limit))
            return tuple(materialization_of(row) for row in found)

    def violations(self, materialization: str) -> Sequence[DataTestResult]:
        id = checks.checked_id(materialization, "materialization")
        with self._reading() as connection:
            tests = connection.scalars(queries.tests_of_entry(id)).one_or_none()
            if not tests:
                return ()
            samples = {
                position: sample_of(sample)
                for position, sample in connection.execute(queries.samples_of_entry(id))
            }
        return violated(tests_of(tests), samples)

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        asset, limit = checks.checked_asset(asset), checks.checked_limit(limit)
        with self._reading() as connection:
            found = connection.execute(queries.schemas_of(asset, limit))
            return tuple(schema_of(row) for row in found)

    def traced(self, asset: str, fingerprint: str) -> ScriptLineage | None:
        asset = checks.checked_asset(asset)
        with self._reading() as connection:
            found = connection.scalars(queries.lineage_of(asset, fingerprint)).one_or_none()
        return None if found is None else lineage_of(found)

    def used(self, asset: str, *, since: datetime) -> Sequence[str]:
        asset, since = checks.checked_asset(asset), checks.as_utc(since)
        with self._reading() as connection:
            return tuple(connection.scalars(queries.snapshots_used(asset, since)))

    def staged(self, attempt: str) -> Sequence[Materialization]:
        attempt = checks.checked_id(attempt, "attempt")
        with self._reading() as connection:
            found = connection.scalars(queries.staged_by(attempt)).one_or_none()
        return tuple(entry_of(entry) for entry in found or ())

    def abandoned(self) -> Sequence[Run]:
        running = self.running()
        if not running:
            return ()
        with explained(self._address):
            dead = self._lives.dead([run.id for run in running])
        if not dead:
            return ()
        # Asked again: who ends a run records that first, and only then lets go of it.
        return tuple(run for run in self.running() if run.id in dead)

    def running(self) -> Sequence[Run]:
        with self._reading() as connection:
            return tuple(Run(**row._asdict()) for row in connection.execute(queries.running_runs()))

    def events(
        self, asset: str | None = None, *, limit: int, before: str | None = None
    ) -> Sequence[Event]:
        asset = None if asset is None else checks.checked_asset(asset)
        before = None if before is None else checks.checked_id(before, "event")
        with self._reading() as connection:
            limit = checks.checked_limit(limit)
            return heard.latest_said(connection, asset, limit, before)

    def event(self, event: str) -> Event | None:
        with self._reading() as connection:
            return heard.said_by_id(connection, checks.checked_id(event, "event"))

    def pending_counts(self) -> Mapping[PendingStatus, int]:
        with self._reading() as connection:
            return pending_keys.pending_counts(connection)

    def is_served(self, server: str) -> bool:
        with explained(self._address):
            return not self._lives.dead([life_of_server(server)])

    def tokens(self) -> Sequence[Token]:
        with self._reading() as connection:
            return tokens.every(connection)

    def all_pending(
        self,
        consumer: str | None = None,
        *,
        limit: int,
        after: tuple[str, str | None] | None = None,
    ) -> Sequence[Pending]:
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            return pending_keys.all_pending(connection, consumer, limit, after)

    def pending(self, places: Sequence[tuple[str, str | None]]) -> Sequence[Pending]:
        with self._reading() as connection:
            return list(pending_keys.pending_at(connection, places))

    def paused(self) -> Mapping[str, datetime]:
        with self._reading() as connection:
            return pending_keys.paused(connection)

    def rejected(self, consumer: str | None = None, *, limit: int) -> Sequence[Rejected]:
        with self._reading() as connection:
            return heard.latest_rejected(connection, consumer, checks.checked_limit(limit))

    def ready(self, *, limit: int) -> Sequence[Ready]:
        with self._reading() as connection:
            return pending_keys.ready(connection, checks.checked_limit(limit))

    def _lives_there(self) -> Lives:
        if self._address.path is not None:
            return FileLives(self._address.path)
        from tranche.state.liveness_sessions import SessionLives

        return SessionLives(self._engine)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self.open()
        with explained(self._address), self._engine.connect() as connection:
            yield connection


def _run(connection: Connection, run: str) -> Run | None:
    row = connection.execute(queries.run_by_id(run)).one_or_none()
    return None if row is None else Run(**row._asdict())
