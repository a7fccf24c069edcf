"""The engine on Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tranche.errors import EngineError
from tranche.lakes.commit import Commit
from tranche.lakes.copying import Copying
from tranche.lakes.events import new_log, server_log
from tranche.lakes.execution import Execution
from tranche.lakes.failures import comes_from_outside, comes_from_spark, explained
from tranche.lakes.filtering import wanted_rows
from tranche.lakes.naming import named
from tranche.lakes.outputs.places import Places
from tranche.lakes.python import CodeExecution
from tranche.lakes.recovery import recovered
from tranche.lakes.restoring import Restoration
from tranche.lakes.rows import fetch
from tranche.lakes.scanning import scanned, unattempted
from tranche.lakes.session import Spark
from tranche.lakes.sessions import leaves_no_trace
from tranche.lakes.table import Table
from tranche.lakes.tables import Tables
from tranche.lakes.tasks import TaskExecution
from tranche.lakes.travel import only_slice, past_rows, rows_now, seen_snapshots
from tranche.lakes.upkeep import maintained
from tranche.model.asset import AssetUri, LakeTable
from tranche.model.explanation import Scanned
from tranche.model.layout import SetLayout
from tranche.model.partitioning import time_of
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.rows import Rows
from tranche.model.run import Attempt
from tranche.model.snapshot import Preview, Snapshots
from tranche.model.statement import Statement
from tranche.model.wanted import EVERYTHING, Wanted
from tranche.ports import Maintained, Trial, Upkeep, Work, Written

_TRIES = 5


@dataclass(slots=True)
class _Use:
    """What users had done in a session."""

    sent: list[str] = field(default_factory=list)
    """Their statements, of which some leave it as no other may have it."""
    handed_out: bool = False
    """Whether code of theirs had it."""


class SparkEngine:
    """Runs steps on Spark, each attempt in a session of its own."""

    # Spark's own process ends when it notices that ours is gone.
    linger = 2.0

    def __init__(
        self,
        settings: Settings,
        *,
        debug: bool = False,
        noting: bool = False,
        archiving: bool = False,
    ) -> None:
        """`noting` lets Spark write down what its queries read, which `scan` needs; `archiving`
        keeps the classes that it loads, so that later starts are faster."""
        self._settings = settings
        self._debug = debug
        # The log of a Spark that runs elsewhere lies there.
        self._log = new_log() if noting and settings.spark.remote is None else None
        more = self._log.settings() if self._log is not None else None
        self._spark = Spark(settings, debug=debug, archiving=archiving, more=more)
        self._running: dict[str, SparkSession] = {}
        self._snapshots: dict[LakeTable, tuple[str, StructType]] = {}
        """Those that were read last, with their columns."""
        self._lock = threading.Lock()
        self._reviving = threading.Lock()

    def start(self) -> None:
        self._spark.give_back(self._spark.open())

    def revive(self) -> None:
        with self._reviving:
            if not self._spark.is_up():
                self._spark.close()
                self.start()

    def session(self) -> SparkSession:
        """A session for a program that reads by itself."""
        return self._spark.open()

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        use = _Use()
        with (
            self._session(_zone(work.step), work.attempt.id, use) as session,
            self._spark.known_as(session, work.attempt.id),
        ):
            trial = self._trial(session, work)
            try:
                yield trial
            except BaseException:
                # What went wrong first is what the caller hears of.
                with suppress(Exception):
                    trial.close()
                raise
            trial.close()
            if isinstance(trial, Execution):
                use.sent += (statement.text for statement in trial.sent)
                use.handed_out = trial.handed_out

    def _trial(self, session: SparkSession, work: Work) -> Execution | Restoration | Copying:
        script = work.step.script
        if work.step.restores is not None:
            assert isinstance(script.asset, LakeTable)
            commit = Commit(work.attempt, script.fingerprint)
            stored = self._tables(session).of(script.asset)
            return Restoration(stored, work.step.restores, commit)
        if work.step.copies is not None:
            assert isinstance(script.asset, LakeTable) and isinstance(work.step.copies, LakeTable)
            tables = self._tables(session)
            layout = script.annotations.layout or None
            commit = Commit(work.attempt, script.fingerprint)
            return Copying(tables.of(work.step.copies), tables.of(script.asset), layout, commit)
        if script.code is not None and work.rows is None:
            kind = CodeExecution if script.job is None else TaskExecution
            return kind(session, self._settings, work, self._snapshots, debug=self._debug)
        return Execution(session, self._settings, work, self._snapshots)

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        with self._session("UTC", f"recover {attempt.id}") as session:
            self._spark.end(session, attempt.id)
            return recovered(Places(session, self._settings), asset, keys, Commit(attempt))

    def maintain(self, table: LakeTable, upkeep: Upkeep) -> Sequence[Maintained]:
        with self._session("UTC", f"maintain {table}") as session:
            return maintained(self._tables(session).of(table), upkeep)

    def query(self, statement: Statement | SetLayout, *, limit: int) -> Rows:
        if isinstance(statement, SetLayout):
            with self._session("UTC", "query") as session:
                self._tables(session).of(statement.table).set_layout(statement.transforms)
            return Rows((), ())
        use = _Use()
        with self._session("UTC", "query", use) as session:
            text = named(statement, self._tables(session))
            use.sent.append(text)
            return fetch(session.sql(text), limit)

    def preview(
        self,
        table: LakeTable,
        partition: str | None,
        *,
        limit: int,
        snapshot: str | None = None,
        at: datetime | None = None,
        wanted: Wanted = EVERYTHING,
    ) -> Preview:
        with self._session("UTC", "preview") as session:
            stored, seen = self._tables(session).of(table), None
            if snapshot is None and at is None:
                rows = rows_now(stored)
            else:
                rows, seen = past_rows(stored, snapshot=snapshot, at=at)
            if partition is not None:
                rows = only_slice(rows, stored, partition)
            return Preview(fetch(wanted_rows(rows, wanted), limit, wanted.longest), seen)

    def snapshots(self, table: LakeTable, *, limit: int) -> Snapshots:
        with self._session("UTC", "snapshots") as session:
            return seen_snapshots(self._tables(session).of(table), limit=limit)

    def cancel(self, attempt: str | None = None) -> None:
        with self._lock:
            stopped = [s for name, s in self._running.items() if attempt in (None, name)]
        for session in stopped:
            _interrupt(session)

    def scan(self, step: Step) -> Scanned:
        if self._log is None and self._settings.spark.remote is None:
            raise EngineError("this engine does not note what it reads", "open one that does")
        use = _Use()
        with self._session(_zone(step), "scan", use) as session:
            log = self._log or server_log(session)
            found = scanned(unattempted(session, self._settings, step), log)
            use.sent += (statement.text for statement in found.statements)
            return found

    def close(self) -> None:
        self._spark.close()
        if self._log is not None:
            self._log.remove()

    def table(self, session: SparkSession, address: LakeTable) -> Table:
        """A table for a program that reads by itself."""
        return self._tables(session).of(address)

    def _tables(self, session: SparkSession) -> Tables:
        return Tables(session, self._settings.lakes)

    @contextmanager
    def _session(self, zone: str, name: str, use: _Use | None = None) -> Iterator[SparkSession]:
        """A session for one piece of work; what Spark refuses becomes an error of ours."""
        use = use or _Use()
        try:
            session = self._spark.open(zone)
            with self._lock:
                self._running[name] = session
            try:
                yield session
            except KeyboardInterrupt:
                # The caller goes away, but Spark would work on and commit.
                _interrupt(session)
                raise
            finally:
                with self._lock:
                    self._running.pop(name, None)
            if leaves_no_trace(use.sent):
                self._spark.give_back(session, handed_out=use.handed_out)
        except Exception as error:
            if not comes_from_outside(error):
                raise
            raise explained(error, secrets=self._settings.secrets) from error


def _zone(step: Step) -> str:
    rule = time_of(step.script.partitioning)
    return "UTC" if rule is None else rule.tz


def _interrupt(session: SparkSession) -> None:
    """Stops a session's jobs. The interruption may have torn a connection that is made anew."""
    for _ in range(_TRIES):
        try:
            session.interruptAll()
        except Exception as error:
            if not comes_from_spark(error):
                raise
            time.sleep(0.2)
        else:
            return
