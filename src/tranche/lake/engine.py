"""The engine on Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tranche.errors import SourceMissing
from tranche.lake.execution import Execution
from tranche.lake.failures import comes_from_spark, explained
from tranche.lake.iceberg import Commit, existing_columns
from tranche.lake.rows import fetch
from tranche.lake.session import Spark
from tranche.model.asset import LakeTable
from tranche.model.partitioning import TimePartitioning
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.rows import Rows
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Written
from tranche.script.binding import quoted


class SparkEngine:
    """Runs steps on Spark, each attempt in a session of its own."""

    def __init__(self, settings: Settings, *, debug: bool = False) -> None:
        self._settings = settings
        self._spark = Spark(settings, debug=debug)
        self._running: dict[str, SparkSession] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        self._spark.open()

    def execute(self, step: Step, *, run: str, attempt: str) -> Written:
        partitioning = step.script.partitioning
        zone = partitioning.tz if isinstance(partitioning, TimePartitioning) else "UTC"
        commit = Commit(run, attempt, step.script.fingerprint, step.partition)
        with self._session(zone, attempt) as session:
            return Execution(session, self._settings, step).run(commit)

    def query(self, text: str, *, limit: int) -> Rows:
        with self._session("UTC", "query") as session:
            return fetch(session.sql(text), limit)

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
            session.interruptAll()

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
                session.interruptAll()
                raise
            finally:
                with self._lock:
                    self._running.pop(name, None)
        except Exception as error:
            if not comes_from_spark(error):
                raise
            raise explained(error, secrets=self._settings.secrets) from error
