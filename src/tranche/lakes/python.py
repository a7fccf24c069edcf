"""A step that is Python, in one Spark session: its function is called, and what it returns written."""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import (
    CodeFailed,
    KeyRejected,
    Place,
    RangeRefused,
    ResultRejected,
    SourceMissing,
    TrancheError,
)
from tranche.jobs import registry
from tranche.jobs.calling import Call, called_with_files
from tranche.jobs.conversion import converted, returned_kind
from tranche.jobs.importing import function_of, imported
from tranche.lakes.execution import RESULT_LIMIT, Execution
from tranche.lakes.failures import comes_from_spark, explained, scrubbed
from tranche.lakes.given import frame_of
from tranche.lakes.rows import fetch
from tranche.lakes.tracing import Known, traced
from tranche.lakes.writer import SliceWriter
from tranche.model.argument import value_of
from tranche.model.asset import AssetUri, FileSet, JobTask, LakeTable
from tranche.model.code import Code, Loaded
from tranche.model.lineage import ScriptLineage
from tranche.model.output import KEY_COLUMN
from tranche.model.partitioning import time_of
from tranche.model.partitioning_zone import time_zone
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.storage import filled, takes_key
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN, Materialize, Nothing
from tranche.ports import Staged, Work, Written
from tranche.projects.secrets import without_secrets
from tranche.script.binding import escaped_path
from tranche.script.lineage.plans.text import identifier

_SOON = 2.0
"""For how many seconds what is known of a table may be taken to hold, while a function runs."""


class CodeExecution(Execution):
    """A trial on Spark that calls a function.

    A script whose slice Tranche writes is called while it is staged. Any other writes by itself,
    and readers see that at once: it is called when it is published.
    """

    def __init__(
        self,
        session: SparkSession,
        settings: Settings,
        work: Work,
        snapshots: dict[LakeTable, tuple[str, StructType]] | None = None,
        *,
        debug: bool = False,
    ) -> None:
        super().__init__(session, settings, work, snapshots)
        assert work.step.script.code is not None
        self.code: Code = work.step.script.code
        self.debug = debug
        """Whether the traceback of what it raises is shown."""
        self.files_written: Mapping[str, str] = {}
        self.known = Known(settings, work.step)
        self.traced: ScriptLineage | None = None

    def stage(self) -> Staged:
        made = self.step.script.annotations.materialize
        if self.step.is_range:
            self.check_range()
        if made is None or not self.step.script.managed or isinstance(made.strategy, Nothing):
            for table in self.loaded_tables():
                self.located(self.code.line, partial(self.pinned_rows, table))
            return Staged(sources=self.sources)
        returned, writer = self.called_beside(made)
        rows = self.rows_returned(returned)
        if self.step.is_range:
            self.write_side_by_side()
        staged = self.located(self.code.line, lambda: self.stage_rows(writer, rows))
        return replace(staged, traced=self.traced)

    def called_beside(self, made: Materialize) -> tuple[object, SliceWriter]:
        """What the function returns, and a writer that has looked at its table meanwhile."""
        began = time.monotonic()
        writer = self.writer_for(made)
        returned = self.call()
        if time.monotonic() - began > _SOON:
            # Others may have given the table other columns since.
            writer = self.writer_for(made)
        return returned, writer

    def check_range(self) -> None:
        if not self.code.takes_ranges:
            raise RangeRefused(f"{self.code.function} takes one key")
        super().check_range()

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        if self.writer is not None:
            writer = self.writer
            return self.located(self.code.line, lambda: writer.publish(leave_out))
        returned = self.call()
        if returned is not None and self.is_frame(returned):
            rows = frame_of(self.session, returned)
            self.result = self.located(self.code.line, lambda: fetch(rows, RESULT_LIMIT))
        made = self.step.script.annotations.materialize
        if made is None:
            number = len(self.result.values) if self.result is not None else None
            return Written(rows=number, result=self.result)
        if isinstance(made.strategy, Nothing):
            return Written(result=self.result)
        written = self.manual(made)
        if written.snapshot is not None:
            return written
        return Written(digest=self.files_digest(), result=self.result)

    def is_frame(self, returned: object) -> bool:
        try:
            return returned_kind(returned, self.code.function) is not None
        except ResultRejected:
            # Nobody writes it, so it may be anything.
            return False

    def files_digest(self) -> str:
        """What tells the files of this attempt from those of others.

        Where the code wrote something by other means than ours, nobody knows what: it counts as
        other files.
        """
        if not all(map(self.is_noted, self.step.script.writes)):
            return f"attempt {self.work.attempt.id}"
        parts = "\n".join(f"{path} {digest}" for path, digest in sorted(self.files_written.items()))
        return f"files {hashlib.sha256(parts.encode()).hexdigest()[:32]}"

    def is_noted(self, asset: AssetUri) -> bool:
        """Whether it is known what was written to an asset."""
        if not isinstance(asset, FileSet):
            return False
        each, storage = [asset], self.settings.storage
        if takes_key(asset):
            rule = self.step.script.partitioning
            each = [filled(asset, rule, key) for key in self.step.keys if key is not None]
        return bool(each) and all(storage.path(one) in self.files_written for one in each)

    # The call

    def call(self) -> object:
        script = self.step.script
        module = in_words(
            lambda: imported(self.settings.root, script.path), self.settings, debug=self.debug
        )
        # No worker of Spark could import it by its name.
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        function = (
            function_of(module, self.code, script.path)
            if script.job is None
            else registry.function_of(script, self.settings.root)
        )
        call = Call(
            code=self.code,
            path=script.path,
            keys=tuple(key for key in self.step.keys if key is not None),
            partitioning=script.partitioning,
            fire_time=self.work.fire_time,
            run=self.work.attempt.run,
            arguments=arguments_of(self.step),
            storage=self.settings.storage,
        )
        done = in_words(
            lambda: called_with_files(function, call, spark=self.spark, load=self.load_rows),
            self.settings,
            debug=self.debug,
        )
        self.files_written = done.files
        return done.returned

    def spark(self) -> SparkSession:
        self.handed_out = True
        return self.session

    def rows_returned(self, returned: object) -> DataFrame:
        """What the function returned, as rows that can be written."""
        place = Place(self.step.script.path, self.code.line)
        try:
            kind = returned_kind(returned, self.code.function)
        except ResultRejected as error:
            error.place = place
            raise
        if kind is None:
            raise ResultRejected(
                f"{self.code.function} returned None, and its rows are to be written",
                "return a frame, which may have no rows; or write by yourself, with materialize"
                " manual",
                place=place,
            )
        rows = self.located(self.code.line, lambda: self.frame(returned, kind))
        if kind == "spark":
            self.trace(rows, {key_column(rows)} if self.code.takes_ranges else set())
        return self.keyed(rows, place) if self.code.takes_ranges else rows

    def trace(self, rows: DataFrame, without: Collection[str | None] = ()) -> None:
        """Finds out where columns come from, unless it is known of these columns for a step that is
        defined as this one is."""
        columns = self.located(self.code.line, lambda: rows.columns)
        names = [name for name in columns if name not in (PARTITION_COLUMN, *without)]
        if self.work.traced is None or sorted(self.work.traced) != sorted(names):
            self.traced = traced(self.session, rows, names, self.known.assets)

    def frame(self, returned: Any, kind: str) -> DataFrame:
        """What was returned, as a frame of this session."""
        if kind == "spark" and returned.sparkSession is self.session:
            return returned  # type: ignore[no-any-return]
        return frame_of(self.session, converted(returned, "arrow") if kind != "spark" else returned)

    def keyed(self, rows: DataFrame, place: Place) -> DataFrame:
        """Rows of several keys, each of which says of which key it is."""
        column = key_column(rows)
        keys = self.range_keys
        if column is None:
            if not self.step.is_range:
                return rows
            raise ResultRejected(
                f"{self.code.function} was called for {len(keys)} keys, and its rows do not say of"
                f" which key each is",
                f"add the column {KEY_COLUMN}, or take partition instead of partitions",
                place=place,
            )
        # A row of another key would be lost, or would change a slice that nobody asked for.
        own = own_key(column, keys)
        if not self.step.is_range:
            # Spark does not move a condition that goes by where a row is at work.
            here = F.spark_partition_id() < 0
            return rows.where(own.isNotNull() | here).drop(column)
        checked = rows.withColumn(column, own.cast("string"))
        return checked.withColumnRenamed(column, PARTITION_COLUMN)

    # What it reads

    def loaded_tables(self) -> list[LakeTable]:
        values = (parameter.value for parameter in self.code.parameters)
        return [v.asset for v in values if isinstance(v, Loaded) and isinstance(v.asset, LakeTable)]

    def load_rows(self, loaded: Loaded) -> object:
        """The rows of an asset that the step's keys are made of, in the frame that is wanted."""
        asset = loaded.asset
        if isinstance(asset, JobTask):
            # What a task has done has no rows.
            return None
        rows = self.located(self.code.line, lambda: self.rows_of(asset, loaded))
        return rows if loaded.frame == "spark" else converted(rows, loaded.frame)

    def rows_of(self, asset: LakeTable | FileSet, loaded: Loaded) -> DataFrame:
        keys = None if loaded.all_partitions else mapped_keys(self.step, loaded)
        if isinstance(asset, FileSet):
            return self.file_rows(asset, keys)
        table, rows = asset, self.pinned_rows(asset)
        if keys is None or set(HISTORY_COLUMNS) <= set(rows.columns):
            # A history is one table of versions, of which no key has some for itself.
            return rows
        if PARTITION_COLUMN not in rows.columns:
            raise SourceMissing(
                f"{table} does not say which of its rows belong to {' … '.join(keys[:2])}: it has"
                f" no column {PARTITION_COLUMN}",
                "take spark, and filter its rows by yourself",
                place=Place(self.step.script.path, self.code.line),
            )
        found = rows.where(F.col(PARTITION_COLUMN).isin(keys))
        return found.drop(PARTITION_COLUMN) if len(keys) == 1 else found

    def pinned_rows(self, table: LakeTable) -> DataFrame:
        """The rows of a table as it was when this step first looked."""
        history = self.history_of(table)
        name = self.at_pinned(history or table)
        if len(identifier(name)) == 1:
            # The view of a table that is nothing but files.
            self.known.aliases[identifier(name)[0]] = history or table
        rows = self.session.sql(f"SELECT * FROM {name}")  # noqa: S608
        return rows if history is None else rows.where(F.col(HISTORY_COLUMNS[2]))

    def files_of(self, files: FileSet, key: str) -> FileSet:
        try:
            return filled(files, self.step.script.partitioning, key)
        except KeyRejected as error:
            # How its keys stand in paths, only the script that writes them knows.
            raise SourceMissing(
                f"{files} goes by other keys than {self.step.script.path}: {error.what}",
                "read its files with read_file",
                place=Place(self.step.script.path, self.code.line),
            ) from None

    def file_rows(self, files: FileSet, keys: list[str] | None) -> DataFrame:
        """The rows of files; of those that are there for each key, where there is one for each."""
        storage = self.settings.storage
        each = [files]
        if takes_key(files):
            own = [key for key in self.step.keys if key is not None]
            each = [self.files_of(files, key) for key in keys or own]
        paths = [escaped_path(storage.path(one)) for one in each]
        ending = files.path.rpartition(".")[2]
        reader = self.session.read.format(ending)
        if ending == "csv":
            reader = reader.option("header", True).option("inferSchema", True)
        return self.known.given(reader.load(paths), files)


def key_column(rows: DataFrame) -> str | None:
    """The column that says of which key each row is, where there is one."""
    return next((c for c in (PARTITION_COLUMN, KEY_COLUMN) if c in rows.columns), None)


def own_key(column: str, keys: Sequence[str]) -> Column:
    """The key of a row; it breaks if the function was not called for that.

    It is a value and no condition. Spark would ask a condition of all rows that others are made of:
    of many more, and of some that are meant to be left out.
    """
    key = F.col(column).cast("string")
    other = F.concat(
        F.lit(f"a row has the {column} "),
        F.coalesce(key, F.lit("NULL")),
        F.lit(", for which the function was not called"),
    )
    own = F.coalesce(key.isin(list(keys)), F.lit(False))
    return F.when(own, F.col(column)).otherwise(F.raise_error(other))


def mapped_keys(step: Step, loaded: Loaded) -> list[str] | None:
    """The keys of an asset that the keys of a step are made of; None if that is all of it."""
    found = [given.partition for given in step.inputs if given.asset == loaded.asset]
    keys = [key for key in found if key is not None]
    return keys if keys and len(keys) == len(found) else None


def arguments_of(step: Step) -> dict[str, object]:
    """The arguments of a step as values of Python, and what its payload has."""
    rule = time_of(step.script.partitioning)
    zone = time_zone("UTC" if rule is None else rule.tz)
    types = {argument.name: argument.type for argument in step.script.annotations.arguments}
    found: dict[str, object] = {
        name: None if text is None else value_of(types[name], text, zone)
        for name, text in step.arguments
    }
    return found | dict(step.fields)


def in_words(act: Callable[[], Any], settings: Settings, *, debug: bool = False) -> Any:
    """Runs a user's code; what it raised is told without secrets, and what Spark said as such."""
    try:
        return act()
    except CodeFailed as error:
        cause = error.__cause__
        if debug and cause is not None:
            shown = "".join(traceback.format_exception(cause))
            sys.stderr.write(without_secrets(shown, settings.secrets))
        error.what = scrubbed(error.what, settings.secrets)
        if isinstance(cause, Exception) and is_of_spark(cause):
            told: TrancheError = explained(cause, secrets=settings.secrets)
            told.place = error.place
            raise told from cause
        raise


def is_of_spark(error: Exception) -> bool:
    """Whether Spark raised an exception that came out of a user's code.

    A connection that broke may be one to anything; that of Spark breaks within its own code.
    """
    if not isinstance(error, ConnectionError):
        return comes_from_spark(error)
    deepest = error.__traceback__
    while deepest is not None and deepest.tb_next is not None:
        deepest = deepest.tb_next
    module = "" if deepest is None else str(deepest.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("py4j", "pyspark", "grpc")
