"""The store in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, insert, literal, update
from sqlalchemy.exc import IntegrityError

from tranche.errors import StateError
from tranche.model.backfill import Backfill, BackfillStatus
from tranche.model.columns import Columns
from tranche.model.event import Event
from tranche.model.lineage import TracedLineage
from tranche.model.pending import Pending, Reserved
from tranche.model.run import Attempt, Claim, KeyParts, Materialization, Run, RunStatus, StepRecord
from tranche.model.token import Token
from tranche.ports import Unwatched, Watcher
from tranche.state import checks, heard, pending_keys, queries, queued, tables, tokens
from tranche.state.advisory import lock_in_transaction, share_in_transaction
from tranche.state.changes import (
    append_to_log,
    move_partitions,
    note_columns,
    note_lineage,
    note_parts,
    note_staged,
    note_uses,
)
from tranche.state.claims import add_claims, conflicts, end_claims
from tranche.state.connections import writing
from tranche.state.failures import explained
from tranche.state.lineages import checked_lineage
from tranche.state.liveness import life_of_server
from tranche.state.rows import row_of
from tranche.state.sql_reader import SqlReader
from tranche.state.sql_turn import SqlTurn
from tranche.state.sqlite_file import DEFAULT_TIMEOUT


class SqlStore(SqlReader):
    """A StateStore in a database."""

    watcher: Watcher = Unwatched()

    def __init__(
        self, url: str, *, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        super().__init__(url, root=root, timeout=timeout)
        self._writer = writing(self._engine)

    def begin_run(
        self, run: Run, steps: Sequence[StepRecord], reserved: Sequence[Reserved] = ()
    ) -> Mapping[Reserved, str]:
        given: Mapping[Reserved, str] = {}
        run, kept = checks.checked_run(run), checks.checked_steps(run, steps)
        with self._living(run), self._writing() as connection:
            if reserved:
                # Not while a turn decides over keys of which it has seen no row.
                share_in_transaction(connection, "turn", "")
                given = pending_keys.reserve(connection, run.id, run.started_at, reserved)
            _insert_new(connection, tables.runs, row_of(run), f"run {run.id!r}")
            if kept:
                connection.execute(insert(tables.steps), [row_of(step) for step in kept])
        return given

    def adopt(self, run: str) -> bool:
        run = checks.checked_id(run, "run")
        if not self._is_running(run):
            return False
        with explained(self._address):
            if not self._lives.take(run):
                return False
        try:
            # Asked again: it may have ended while its lock was free to take.
            running = self._is_running(run)
        except BaseException:
            self._lives.leave(run)
            raise
        if not running:
            self._lives.end(run)
        return running

    def finish_run(
        self,
        run: str,
        status: RunStatus,
        *,
        at: datetime,
        error: str | None = None,
        hand_over: bool = False,
    ) -> None:
        run = checks.checked_id(run, "run")
        outcome = {
            "status": status,
            "finished_at": checks.as_utc(at),
            "error": checks.optional_readable(error),
        }
        with self._writing() as connection:
            _update(connection, tables.runs, {"id": run}, outcome, f"run {run!r}")
            if status != "running":
                pending_keys.unreserve(connection, run, checks.as_utc(at), tried=not hand_over)
            if hand_over:
                pending_keys.give_back(connection, tables.pending.c.run == run)
            elif status != "running":
                pending_keys.settle(connection, run, checks.as_utc(at))
        if status != "running":
            self._lives.end(run)

    def begin_backfill(self, backfill: Backfill) -> None:
        kept = checks.checked_backfill(backfill)
        with self._writing() as connection:
            row = row_of(kept) | {"keys": list(kept.keys)}
            _insert_new(connection, tables.backfills, row, f"backfill {kept.id!r}")

    def change_backfill(
        self,
        backfill: str,
        *,
        status: BackfillStatus,
        run: str | None = None,
        at: datetime | None = None,
    ) -> None:
        backfill = checks.checked_id(backfill, "backfill")
        values: dict[str, Any] = {"status": status, "finished_at": checks.optional_utc(at)}
        if run is not None:
            values["run"] = checks.checked_id(run, "run")
        with self._writing() as connection:
            what = f"backfill {backfill!r}"
            _update(connection, tables.backfills, {"id": backfill}, values, what)

    def begin_attempt(
        self, attempt: Attempt, *, asset: str | None = None, keys: Sequence[str | None] = ()
    ) -> Sequence[Claim]:
        attempt = checks.checked_attempt(attempt)
        claims = checks.checked_claims(attempt, asset, keys)
        with self._writing() as connection:
            if others := conflicts(connection, claims):
                return others
            # A step that runs again has no outcome any more.
            step = {"status": "running", "finished_at": None, "error": None}
            _update_step(connection, attempt.run, attempt.position, step, attempt.started_at)
            what = f"attempt {attempt.id!r}, number {attempt.number} of its step,"
            _insert_new(connection, tables.attempts, row_of(attempt), what)
            add_claims(connection, claims)
        return ()

    def stage(self, attempt: str, materializations: Sequence[Materialization]) -> None:
        attempt = checks.checked_id(attempt, "attempt")
        entries = checks.checked_materializations(materializations)
        with self._writing() as connection:
            try:
                note_staged(connection, attempt, entries)
            except IntegrityError as error:
                raise StateError(f"attempt {attempt!r} is not recorded") from error

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
        columns: Columns = (),
        parts: Sequence[KeyParts] = (),
        traced: TracedLineage | None = None,
    ) -> None:
        step = checks.checked_step(step)
        attempt = None if attempt is None else checks.checked_attempt(attempt)
        entries = checks.checked_materializations(materializations)
        captured = checks.checked_capture(step, attempt, columns)
        kept = checks.checked_parts(parts)
        lineage = checked_lineage(traced)
        values = row_of(step)
        started_at = values.pop("started_at")
        with self._writing() as connection:
            share_in_transaction(connection, "log", "")
            _update_step(connection, step.run, step.position, values, started_at)
            if attempt is not None:
                _finish_attempt(connection, attempt)
            if captured is not None:
                note_columns(connection, captured)
            # An entry that the log has already has moved its key already.
            new = append_to_log(connection, entries)
            move_partitions(connection, new)
            note_uses(connection, new)
            note_parts(connection, kept)
            if lineage is not None:
                note_lineage(connection, lineage)
            # What failed may be tried again, by the run itself or by who takes it over.
            at = checks.as_utc(_end(step, attempt))
            made = [(e.asset, e.partition) for e in new if e.status == "succeeded"]
            pending_keys.settle(connection, step.run, at, made)

    def emit(self, event: Event) -> None:
        kept = checks.checked_event(event)
        with self._writing() as connection:
            share_in_transaction(connection, "log", "")
            try:
                heard.add_event(connection, kept)
            except IntegrityError as error:
                raise StateError(f"event {kept.id!r} is recorded already") from error

    def retract(self, event: str, *, at: datetime) -> bool:
        event = checks.checked_id(event, "event")
        with self._writing() as connection:
            return heard.retract(connection, event, checks.as_utc(at))

    @contextmanager
    def turn(self) -> Iterator[SqlTurn]:
        self.open()
        with explained(self._address), self._engine.begin() as connection:
            # Whoever writes to the log holds this until its rows can be seen, so that none of them
            # turns up later behind those that were looked at.
            lock_in_transaction(connection, "log", "")
            upto = heard.latest_seqs(connection)
        with self._writing() as connection:
            lock_in_transaction(connection, "turn", "")
            yield SqlTurn(self, connection, upto)

    def claim(self, consumer: str, *, server: str, run: str, limit: int) -> Sequence[Pending]:
        with self._writing() as connection:
            return pending_keys.claim(connection, checks.readable(consumer), server, run, limit)

    def pause(self, consumer: str, *, at: datetime) -> bool:
        with self._writing() as connection:
            return pending_keys.pause(connection, checks.readable(consumer), checks.as_utc(at))

    def resume(self, consumer: str) -> bool:
        with self._writing() as connection:
            return pending_keys.resume(connection, checks.readable(consumer))

    def serve(self, server: str) -> None:
        """Keeps a server alive, as long as this process and this store."""
        self.open()
        with explained(self._address):
            if not self._lives.take(life_of_server(server)):
                raise StateError(f"server {server!r} is there already")

    def leave(self, server: str) -> None:
        """Ends a server that has stopped."""
        with explained(self._address):
            self._lives.end(life_of_server(server))

    def give_back(self) -> int:
        """Lets others have the keys and backfills of servers that are gone."""
        with self._reading() as connection:
            servers = {
                *pending_keys.servers_with_keys(connection),
                *queued.servers_with_backfills(connection),
            }
        names = {life_of_server(server): server for server in servers}
        with explained(self._address):
            dead = [names[name] for name in self._lives.dead(list(names))]
        if not dead:
            return 0
        with self._writing() as connection:
            keys = pending_keys.give_back(connection, tables.pending.c.server.in_(dead))
            return keys + queued.put_back(connection, dead)

    def take_backfill(self, backfill: str, *, server: str, run: str) -> bool:
        with self._writing() as connection:
            return queued.take(
                connection,
                checks.checked_id(backfill, "backfill"),
                server,
                checks.checked_id(run, "run"),
            )

    def add_token(self, token: Token) -> bool:
        kept = replace(
            token,
            name=checks.checked_id(token.name, "token"),
            created_at=checks.as_utc(token.created_at),
        )
        with self._writing() as connection:
            return tokens.add(connection, kept)

    def revoke_token(self, name: str, *, at: datetime) -> bool:
        with self._writing() as connection:
            return tokens.revoke(connection, checks.readable(name), checks.as_utc(at))

    def _is_running(self, run: str) -> bool:
        with self._reading() as connection:
            status: str | None = connection.scalar(queries.status_of(run))
        return status == "running"

    @contextmanager
    def _living(self, run: Run) -> Iterator[None]:
        """Keeps a run alive from before it is recorded, so that nobody takes it for abandoned."""
        if run.status != "running":
            yield
            return
        self.open()
        with explained(self._address):
            if not self._lives.take(run.id):
                raise StateError(f"run {run.id!r} is recorded already")
        try:
            yield
        except BaseException:
            self._lives.leave(run.id)
            raise

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self.open()
        self._lives.renew()
        with explained(self._address), self._writer.begin() as connection:
            yield connection


def _end(step: StepRecord, attempt: Attempt | None) -> datetime:
    """When a step ended, as far as is known."""
    ends = [step.finished_at, None if attempt is None else attempt.finished_at, step.started_at]
    return next((end for end in ends if end is not None), datetime.min.replace(tzinfo=UTC))


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
    end_claims(connection, attempt.id)


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
