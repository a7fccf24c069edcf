"""One step in one Spark session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from tranche.errors import NotBuiltYet, Place, ResolutionError, SourceMissing
from tranche.lake.failures import comes_from_spark, explained
from tranche.lake.iceberg import (
    Commit,
    current_snapshot,
    existing_columns,
    replace_slice,
    replace_table,
)
from tranche.lake.rows import fetch
from tranche.model.asset import LakeTable
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.statement import FileHole, Statement, TableHole
from tranche.model.strategy import Manual, Materialize, Replace
from tranche.ports import Written
from tranche.script.binding import Values, bind, escaped_path, file_path, quoted

RESULT_LIMIT = 1_000
"""How many rows a script that materializes nothing returns at most."""

_T = TypeVar("_T")


class Execution:
    """Binds a script's statements, runs them, and writes what the last one returns."""

    def __init__(self, session: SparkSession, settings: Settings, step: Step) -> None:
        self.session = session
        self.settings = settings
        self.step = step
        self.pinned: dict[LakeTable, str | None] = {}
        self.sources: dict[str, str] = {}
        self.views = 0
        self.values = Values(
            step.partition,
            dict(step.arguments),
            {argument.name: argument.type for argument in step.script.annotations.arguments},
        )

    def run(self, commit: Commit) -> Written:
        script = self.step.script
        made = script.annotations.materialize
        for statement in script.setup:
            self.sql(statement)
        if script.query is None:
            return self.manual(made)
        line = script.query.line
        rows = self.sql(script.query)
        if made is None:
            written = self.located(line, lambda: self.result(rows))
        else:
            written = self.located(line, lambda: self.write(made, rows, commit))
        return replace(written, sources=self.sources)

    def write(self, made: Materialize, rows: DataFrame, commit: Commit) -> Written:
        match made.strategy, made.asset:
            case Replace(), LakeTable() as table if self.step.script.partitioning is None:
                return replace_table(self.session, table, rows, commit)
            case Replace(), LakeTable() as table:
                if self.step.partition is None:
                    raise ResolutionError(f"{table} has partitions, and the step has no key")
                return replace_slice(self.session, table, rows, self.step.partition, commit)
            case strategy, asset:
                raise NotBuiltYet(f"{strategy.name} into {asset} cannot be run yet")

    def result(self, rows: DataFrame) -> Written:
        found = fetch(rows, RESULT_LIMIT)
        return Written(rows=len(found.values), result=found)

    def manual(self, made: Materialize | None) -> Written:
        """The script has written by itself; what its table shows now is noted."""
        if made is None or not isinstance(made.strategy, Manual):
            raise NotBuiltYet(f"{self.step.script.path} has no SELECT")
        if isinstance(made.asset, LakeTable) and existing_columns(self.session, made.asset):
            return Written(snapshot=current_snapshot(self.session, made.asset))
        return Written()

    def sql(self, statement: Statement) -> DataFrame:
        bound = bind(statement, self.values, table=self.table, files=self.files)
        parameters = dict(bound.parameters)
        return self.located(statement.line, lambda: self.session.sql(bound.text, args=parameters))

    def located(self, line: int, act: Callable[[], _T]) -> _T:
        """Runs something; what Spark says against it gets its place in the script."""
        try:
            return act()
        except Exception as error:
            if not comes_from_spark(error):
                raise
            path = self.step.script.path
            secrets = self.settings.secrets
            raise explained(error, path=path, line=line, secrets=secrets) from error

    def table(self, hole: TableHole) -> str:
        """The table's identifier, at the snapshot that it had when this step first looked."""
        name = quoted(hole.table)
        if not hole.pinned:
            return name
        if hole.table not in self.pinned:
            self.pinned[hole.table] = self.pin(hole.table)
        snapshot = self.pinned[hole.table]
        return name if snapshot is None else _at(hole.table, snapshot)

    def pin(self, table: LakeTable) -> str | None:
        """The snapshot to read at; None to read what is there."""
        now = existing_columns(self.session, table)
        if now is None:
            own = table in self.step.script.writes
            raise SourceMissing(
                f"{table} does not exist, and {self.step.script.path} reads it",
                "it is its own table: make it once, as in tranche sql 'CREATE TABLE …'"
                if own
                else "run the script that makes it, or correct the name",
            )
        snapshot = current_snapshot(self.session, table)
        if snapshot is None:
            return None
        self.sources[str(table)] = snapshot
        # A snapshot has the columns of its time; those that were altered since would be missing.
        then = self.session.sql(f"SELECT * FROM {_at(table, snapshot)}").schema  # noqa: S608
        return snapshot if then == now else None

    def files(self, hole: FileHole) -> str:
        """A temporary view over files."""
        path = file_path(hole, self.values)
        if path.startswith("s3:///"):
            raise NotBuiltYet(f"{path} cannot be read yet", "use s3a://<bucket>/… for now")
        if "://" not in path and not path.startswith("file:/"):
            path = self.local(hole, path)
        name = f"_tranche_files_{self.views}"
        self.views += 1
        self.located(hole.line, lambda: self.load(hole, path).createOrReplaceTempView(name))
        return f"`{name}`"

    def local(self, hole: FileHole, path: str) -> str:
        """A path of the project; its own folder may hold characters that Spark reads as patterns."""
        name = path.rstrip("/").rpartition("/")[2]
        # Spark passes over such files without a word, and the slice would be emptied.
        if name.startswith(("_", ".")) and not (Path(self.settings.root) / path).is_dir():
            raise SourceMissing(
                f"Spark does not read {name!r}: to it, names that begin with _ or . are hidden",
                "give the file another name",
                place=Place(self.step.script.path, hole.line),
            )
        if path.startswith("/"):
            return path
        return f"{escaped_path(self.settings.root)}/{path}"

    def load(self, hole: FileHole, path: str) -> DataFrame:
        reader = self.session.read.format(hole.format)
        for name, value in hole.options:
            known = name.lower() == "schema"
            reader = reader.schema(value) if known else reader.option(name, value)
        return reader.load(path)


def _at(table: LakeTable, snapshot: str) -> str:
    return f"{quoted(table)} VERSION AS OF {int(snapshot)}"
