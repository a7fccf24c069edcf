"""The engine on Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tranche.errors import SourceMissing
from tranche.lake.commit import Commit
from tranche.lake.execution import Execution
from tranche.lake.failures import comes_from_spark, explained
from tranche.lake.iceberg import existing_columns
from tranche.lake.layout import set_layout
from tranche.lake.recovery import recovered
from tranche.lake.restoring import Restoration
from tranche.lake.rows import fetch
from tranche.lake.session import Spark
from tranche.model.asset import LakeTable
from tranche.model.layout import SetLayout
from tranche.model.partitioning import TimePartitioning
from tranche.model.project import Settings
from tranche.model.rows import Rows
from tranche.model.run import Attempt
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Trial, Work, Written
from tranche.script.binding import quoted

_TRIES = 5


class SparkEngine:
    """Runs steps on Spark, each attempt in a session of its own."""

    # Spark's own process ends when it notices that ours is gone.
    linger = 2.0

    def __init__(self, settings: Settings, *, debug: bool = False) -> None:
        self._settings = settings
        self._spark = Spark(settings, debug=debug)
        self._running: dict[str, SparkSession] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        self._spark.open()

    def session(self) -> SparkSession:
        """A session for a program that reads by itself."""
        return self._spark.open()

    @contextmanager
    def attempt(self, work: Work) -> Iterator[Trial]:
        partitioning = work.step.script.partitioning
        zone = partitioning.tz if isinstance(partitioning, TimePartitioning) else "UTC"
        with self._session(zone, work.attempt.id) as session:
            trial = _trial(session, self._settings, work)
            try:
                yield trial
            finally:
                trial.close()

    def recover(self, table: LakeTable, partition: str | None, attempt: Attempt) -> Written | None:
        with self._session("UTC", f"recover {attempt.id}") as session:
            return recovered(session, table, partition, Commit(attempt))

    def query(self, statement: str | SetLayout, *, limit: int) -> Rows:
        with self._session("UTC", "query") as session:
            if isinstance(statement, SetLayout):
                set_layout(session, statement)
                return Rows((), ())
            return fetch(session.sql(statement), limit)

    def preview(self, table: LakeTable, partition: str | None, *, limit: int) -> Rows:
        with self._session("UTC", "preview") as session:
            if existing_columns(session, table) is None:
                raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")
            frame = session.table(quoted(table))
            if partition is not None:
                frame = frame.where(F.col(PARTITION_COLUMN) == F.lit(partition))
            return fetch(frame, limit)

    def cancel(self, attempt: str | None = None) -> None:
        with self._lock:
            stopped = [s for name, s in self._running.items() if attempt in (None, name)]
        for session in stopped:
            _interrupt(session)

    def close(self) -> None:
        self._spark.close()

    @contextmanager
    def _session(self, zone: str, name: str) -> Iterator[SparkSession]:
        """A session for one piece of work; what Spark refuses becomes an error of ours."""
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
        except Exception as error:
            if not comes_from_spark(error):
                raise
            raise explained(error, secrets=self._settings.secrets) from error


def _trial(session: SparkSession, settings: Settings, work: Work) -> Execution | Restoration:
    if work.step.restores is None:
        return Execution(session, settings, work)
    table = work.step.script.asset
    assert isinstance(table, LakeTable)
    commit = Commit(work.attempt, work.step.script.fingerprint)
    return Restoration(session, table, work.step.restores, commit)


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
