"""The engine on Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tranche.errors import EngineError, NotBuiltYet, SourceMissing, TrancheError
from tranche.lake.failures import explained
from tranche.lake.iceberg import current_snapshot, existing_columns, replace_slice, replace_table
from tranche.lake.rows import fetch
from tranche.lake.session import Spark
from tranche.model.asset import LakeTable
from tranche.model.partitioning import TimePartitioning
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.rows import Rows
from tranche.model.statement import FileHole, Statement, TableHole
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Written
from tranche.script.binding import Values, bind, file_path, quoted

_T = TypeVar("_T")

RESULT_LIMIT = 1_000
"""How many rows a script that materializes nothing returns at most."""


class SparkEngine:
    """Runs steps on Spark, each in a session of its own."""

    def __init__(self, settings: Settings, *, debug: bool = False) -> None:
        self._settings = settings
        self._spark = Spark(settings, debug=debug)
        self._running: set[SparkSession] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Starts Spark now, so that what follows is only the work itself."""
        self._spark.open()

    def execute(self, step: Step, *, run: str, attempt: str) -> Written:
        partitioning = step.script.partitioning
        zone = partitioning.tz if isinstance(partitioning, TimePartitioning) else "UTC"
        with self._session(zone) as session:
            return _Execution(session, self._settings, step, self._secrets()).run(
                {
                    "tranche.run": run,
                    "tranche.attempt": attempt,
                    "tranche.fingerprint": step.script.fingerprint,
                }
            )

    def query(self, text: str, *, limit: int) -> Rows:
        with self._session("UTC") as session:
            try:
                return fetch(session.sql(text), limit)
            except Exception as error:
                raise explained(error, secrets=self._secrets()) from error

    def preview(self, table: LakeTable, partition: str | None, *, limit: int) -> Rows:
        with self._session("UTC") as session:
            try:
                columns = existing_columns(session, table)
                if columns is None:
                    raise SourceMissing(
                        f"{table} does not exist yet", "run the script that makes it"
                    )
                frame = session.table(quoted(table))
                if partition is not None:
                    frame = frame.where(F.col(PARTITION_COLUMN) == F.lit(partition))
                return fetch(frame, limit)
            except TrancheError:
                raise
            except Exception as error:
                raise explained(error, secrets=self._secrets()) from error

    def cancel(self) -> None:
        with self._lock:
            running = tuple(self._running)
        for session in running:
            session.interruptAll()

    def close(self) -> None:
        self._spark.close()

    @contextmanager
    def _session(self, zone: str) -> Iterator[SparkSession]:
        session = self._spark.open(zone)
        with self._lock:
            self._running.add(session)
        try:
            yield session
        finally:
            with self._lock:
                self._running.discard(session)

    def _secrets(self) -> list[str]:
        """Values that must not show in a message."""
        named = ("password", "secret", "token", "credential", "key")
        tables = [
            self._settings.spark.conf,
            *(lake.catalog or {} for lake in self._settings.lakes.values()),
        ]
        return [
            value
            for table in tables
            for name, value in table.items()
            if any(word in name.lower() for word in named)
        ]


class _Execution:
    """One step in one session."""

    def __init__(
        self, session: SparkSession, settings: Settings, step: Step, secrets: list[str]
    ) -> None:
        self.session = session
        self.settings = settings
        self.step = step
        self.secrets = secrets
        self.pinned: dict[LakeTable, str | None] = {}
        self.views = 0
        self.values = Values(
            step.partition,
            dict(step.arguments),
            {argument.name: argument.type for argument in step.script.annotations.arguments},
        )

    def run(self, commit: Mapping[str, str]) -> Written:
        script = self.step.script
        for statement in script.setup:
            self.sql(statement)
        if script.query is None:
            return self.manual()
        rows = self.sql(script.query)
        made = script.annotations.materialize
        if made is None:
            written = self.located(script.query, lambda: self.result(rows))
        elif not isinstance(made.asset, LakeTable):
            raise NotBuiltYet(f"{made.asset} cannot be written yet", "use a lake's table")
        else:
            table = made.asset
            written = self.located(script.query, lambda: self.write(table, rows, commit))
        sources = {str(t): snapshot for t, snapshot in self.pinned.items() if snapshot is not None}
        return Written(
            rows=written.rows,
            snapshot=written.snapshot,
            digest=written.digest,
            sources=sources,
            result=written.result,
        )

    def write(self, table: LakeTable, rows: DataFrame, commit: Mapping[str, str]) -> Written:
        if self.step.partition is None:
            return replace_table(self.session, table, rows, commit)
        about = {**commit, "tranche.partition": self.step.partition}
        return replace_slice(self.session, table, rows, self.step.partition, about)

    def result(self, rows: DataFrame) -> Written:
        found = fetch(rows, RESULT_LIMIT)
        return Written(rows=len(found.values), result=found)

    def manual(self) -> Written:
        asset = self.step.script.asset
        if isinstance(asset, LakeTable) and existing_columns(self.session, asset) is not None:
            return Written(snapshot=current_snapshot(self.session, asset))
        return Written()

    def sql(self, statement: Statement) -> DataFrame:
        bound = bind(statement, self.values, table=self.table, files=self.files)
        return self.located(
            statement, lambda: self.session.sql(bound.text, args=dict(bound.parameters))
        )

    def located(self, statement: Statement, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except TrancheError:
            raise
        except Exception as error:
            path = self.step.script.path
            raise explained(error, path=path, line=statement.line, secrets=self.secrets) from error

    def table(self, hole: TableHole) -> str:
        """The table's identifier, at the snapshot that it had when this step first looked."""
        name = quoted(hole.table)
        if not hole.pinned:
            return name
        if hole.table not in self.pinned:
            self.pinned[hole.table] = self.look(hole.table)
        snapshot = self.pinned[hole.table]
        return name if snapshot is None else f"{name} VERSION AS OF {int(snapshot)}"

    def look(self, table: LakeTable) -> str | None:
        try:
            return current_snapshot(self.session, table)
        except Exception as error:
            failure: EngineError = explained(error, secrets=self.secrets)
            if isinstance(failure, SourceMissing):
                raise SourceMissing(
                    f"{table} does not exist, and {self.step.script.path} reads it",
                    "run the script that makes it, or correct the name",
                ) from None
            raise failure from error

    def files(self, hole: FileHole) -> str:
        """A temporary view over files."""
        path = file_path(hole, self.values)
        if path.startswith("s3:///"):
            raise NotBuiltYet(f"{path} cannot be read yet", "use s3a://<bucket>/… for now")
        if "://" not in path and not path.startswith("file:/"):
            path = str(Path(self.settings.root) / path)
        reader = self.session.read.format(hole.format)
        for name, value in hole.options:
            reader = (
                reader.schema(value) if name.lower() == "schema" else reader.option(name, value)
            )
        frame = self.located(Statement("select", (), hole.line), lambda: reader.load(path))
        name = f"_tranche_files_{self.views}"
        self.views += 1
        frame.createOrReplaceTempView(name)
        return f"`{name}`"
