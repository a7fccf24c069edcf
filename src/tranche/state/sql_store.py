"""The store in SQLite or PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, insert, literal, update
from sqlalchemy.exc import IntegrityError

from tranche.errors import StateError
from tranche.model.run import (
    Attempt,
    Materialization,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.state import checks, queries, tables
from tranche.state.address import read_address
from tranche.state.changes import append_to_log, move_partitions
from tranche.state.connections import connect, recorded_version, writing
from tranche.state.failures import explained
from tranche.state.rows import materialization_of, row_of
from tranche.state.schema import HEAD
from tranche.state.sqlite_file import DEFAULT_TIMEOUT


class SqlStore:
    """A StateStore in a database, which is made or upgraded when it is first used.

    `timeout` is how many seconds to wait for a connection or for another process's lock. A
    relative SQLite file lies in `root`, else in the working folder.
    """

    def __init__(
        self, url: str, *, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self._address = read_address(url, root)
        self._timeout = timeout
        self._engine = connect(self._address, timeout)
        self._writer = writing(self._engine)
        self._opening = threading.Lock()
        self._opened = False

    def __repr__(self) -> str:
        return f"SqlStore({self._address.shown!r})"

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
        self._engine.dispose()

    def run(self, run: str) -> Run | None:
        run = checks.checked_id(run, "run")
        with self._reading() as connection:
            return _run(connection, run)

    def runs(self, *, limit: int, before: str | None = None) -> Sequence[Run]:
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            last = None
            if before is not None:
                last = _run(connection, checks.checked_id(before, "run"))
                if last is None:
                    return ()
            found = connection.execute(queries.latest_runs(limit, last))
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

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        asset, key = checks.checked_asset(asset), checks.checked_key(partition)
        limit = checks.checked_limit(limit)
        with self._reading() as connection:
            found = connection.execute(queries.log_of(asset, key, limit))
            return tuple(materialization_of(row) for row in found)

    def begin_run(self, run: Run, steps: Sequence[StepRecord]) -> None:
        run, kept = checks.checked_run(run), checks.checked_steps(run, steps)
        with self._writing() as connection:
            _insert_new(connection, tables.runs, row_of(run), f"run {run.id!r}")
            if kept:
                connection.execute(insert(tables.steps), [row_of(step) for step in kept])

    def finish_run(
        self, run: str, status: RunStatus, *, at: datetime, error: str | None = None
    ) -> None:
        run = checks.checked_id(run, "run")
        outcome = {
            "status": status,
            "finished_at": checks.as_utc(at),
            "error": checks.optional_readable(error),
        }
        with self._writing() as connection:
            _update(connection, tables.runs, {"id": run}, outcome, f"run {run!r}")

    def begin_attempt(self, attempt: Attempt) -> None:
        attempt = checks.checked_attempt(attempt)
        with self._writing() as connection:
            # A step that runs again has no outcome any more.
            step = {"status": "running", "finished_at": None, "error": None}
            _update_step(connection, attempt.run, attempt.position, step, attempt.started_at)
            what = f"attempt {attempt.id!r}, number {attempt.number} of its step,"
            _insert_new(connection, tables.attempts, row_of(attempt), what)

    def finish_attempt(self, attempt: Attempt) -> None:
        attempt = checks.checked_attempt(attempt)
        with self._writing() as connection:
            _finish_attempt(connection, attempt)

    def finish_step(
        self,
        step: StepRecord,
        materializations: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
    ) -> None:
        step = checks.checked_step(step)
        attempt = None if attempt is None else checks.checked_attempt(attempt)
        entries = checks.checked_materializations(materializations)
        values = row_of(step)
        started_at = values.pop("started_at")
        with self._writing() as connection:
            _update_step(connection, step.run, step.position, values, started_at)
            if attempt is not None:
                _finish_attempt(connection, attempt)
            # An entry that the log has already has moved its key already.
            move_partitions(connection, append_to_log(connection, entries))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self.open()
        with explained(self._address), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self.open()
        with explained(self._address), self._writer.begin() as connection:
            yield connection


def _run(connection: Connection, run: str) -> Run | None:
    row = connection.execute(queries.run_by_id(run)).one_or_none()
    return None if row is None else Run(**row._asdict())


def _insert_new(connection: Connection, table: Table, row: dict[str, Any], what: str) -> None:
    try:
        connection.execute(insert(table), row)
    except IntegrityError as error:
        raise StateError(f"{what} is recorded already") from error


def _update(
    connection: Connection,
    table: Table,
    identity: dict[str, Any],
    values: dict[str, Any],
    what: str,
) -> None:
    statement = update(table).values(values)
    for name, value in identity.items():
        statement = statement.where(table.c[name] == value)
    if connection.execute(statement).rowcount == 0:
        raise StateError(f"{what} is not recorded")


def _finish_attempt(connection: Connection, attempt: Attempt) -> None:
    outcome = {
        "status": attempt.status,
        "finished_at": attempt.finished_at,
        "error": attempt.error,
    }
    what = f"attempt {attempt.id!r}"
    _update(connection, tables.attempts, {"id": attempt.id}, outcome, what)


def _update_step(
    connection: Connection,
    run: str,
    position: int,
    values: dict[str, Any],
    started_at: datetime | None,
) -> None:
    """Changes a step. It keeps the time at which its first attempt started."""
    column = tables.steps.c.started_at
    started = func.coalesce(column, literal(started_at, column.type), type_=column.type)
    identity = {"run": run, "position": position}
    what = f"step {position} of run {run!r}"
    _update(connection, tables.steps, identity, values | {"started_at": started}, what)
