"""One step in one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tranche.errors import NotBuiltYet, Place, RangeRefused, SourceMissing
from tranche.lakes.audit import check_data_tests, run_data_tests, run_data_tests_by_key
from tranche.lakes.catalogs import binds_late
from tranche.lakes.columns import captured
from tranche.lakes.commit import commit_of
from tranche.lakes.dialects import prepare
from tranche.lakes.failures import comes_from_outside, explained
from tranche.lakes.given import frame_of
from tranche.lakes.history import HistoryWriter
from tranche.lakes.meanwhile import Meanwhile
from tranche.lakes.observed import DatedHistoryWriter, SlicedHistoryWriter
from tranche.lakes.parameters import spelled_out
from tranche.lakes.ranging import range_files, range_rows, takes_key
from tranche.lakes.rows import fetch
from tranche.lakes.strategies import AppendWriter, MergeWriter, ReplaceWriter
from tranche.lakes.table import Table
from tranche.lakes.tables import Tables
from tranche.lakes.target import Target, target_of
from tranche.lakes.tuning import in_few_parts
from tranche.lakes.under_test import UnderTest, expected_rows
from tranche.lakes.writer import SliceWriter
from tranche.model.asset import LakeTable
from tranche.model.digest import Digests
from tranche.model.explanation import FilesView, SentStatement
from tranche.model.project import Settings
from tranche.model.rows import Rows
from tranche.model.run import Materialization
from tranche.model.statement import FileHole, ImpliedHole, Statement, TableHole
from tranche.model.strategy import (
    Append,
    History,
    Manual,
    Materialize,
    Merge,
    Replace,
)
from tranche.ports import Staged, Work, Written
from tranche.script.binding import (
    Bound,
    bind,
    current_rows,
    escaped_path,
    file_path,
    files_view,
    is_stored,
    stored_path,
    values_of,
)
from tranche.script.ranges.ranged import key_type, only_key_by_key
from tranche.script.repeatable import repeatable

RESULT_LIMIT = 1_000
"""How many rows a script that materializes nothing returns at most."""

_LEAST_TASK = "spark.sql.adaptive.coalescePartitions.minPartitionSize"
_UNKNOWN = 2**60
"""Bytes of rows that nobody has counted."""

_T = TypeVar("_T")


class Execution:
    """A trial on Spark: binds a script's statements, runs them, and writes what the last returns."""

    def __init__(
        self,
        session: SparkSession,
        settings: Settings,
        work: Work,
        snapshots: dict[LakeTable, tuple[str, StructType]] | None = None,
    ) -> None:
        """`snapshots` are those that were read last, with their columns, which never change."""
        prepare(session, work.step.script.annotations.dialect)
        self.session = session
        self.snapshots = {} if snapshots is None else snapshots
        self.settings = settings
        self.work = work
        self.step = step = work.step
        self.tables = Tables(session, settings.lakes)
        self.commit = commit_of(step, work.attempt)
        self.pinned: dict[LakeTable, str | None] = {}
        self.histories: dict[LakeTable, LakeTable | None] = {}
        self.asked: dict[LakeTable, Meanwhile[tuple[StructType, str | None] | None]] = {}
        """Tables that will be pinned, and are looked at already."""
        self.sources: dict[str, str] = {}
        self.path = step.script.path
        """The file whose statement is at work."""
        self.views: list[FilesView] = []
        self.made_views: dict[tuple[FileHole, str | None], str] = {}
        self.sent: list[SentStatement] = []
        """The statements that went to Spark so far."""
        self.handed_out = False
        """Whether code of the user has got the session."""
        self.writer: SliceWriter | None = None
        self.result: Rows | None = None
        self.values = values_of(step)
        made = step.script.annotations.materialize
        # What a merge or an append leaves depends on what was there.
        replaces = made is not None and isinstance(made.strategy, Replace)
        self.repeats = replaces and repeatable(step.script)
        """Whether the same tables make the same slice again."""

    def stage(self) -> Staged:
        script = self.step.script
        made = script.annotations.materialize
        if made is not None and isinstance(made.strategy, Manual):
            # What it writes can be seen at once, so all of it belongs to publishing.
            return Staged()
        if made is not None and self.work.rows is not None:
            writer = self.writer_for(made)
            return self.stage_rows(writer, frame_of(self.session, self.work.rows))
        if self.step.is_range:
            self.check_range()
            self.write_side_by_side()
        for statement in script.setup:
            self.sql(statement)
        if script.query is None:
            raise NotBuiltYet(f"{script.path} has no SELECT")
        line = script.query.line
        if made is None:
            result = self.sql(script.query)
            self.result = self.located(line, lambda: fetch(result, RESULT_LIMIT))
            return Staged(sources=self.sources)
        self.look_at(script.query)
        # It looks at its table while the SELECT is made ready.
        writer = self.writer_for(made)
        rows = self.rows(script.query)
        return self.located(line, lambda: self.stage_rows(writer, rows))

    def check_range(self) -> None:
        """What is known to go only key by key."""
        reason = only_key_by_key(self.step.script)
        if reason is not None:
            raise RangeRefused(reason)

    def write_side_by_side(self) -> None:
        """Lets several tasks write the files of keys, however few rows there are: to open a file
        takes longer than to start a task. Each key is still written by one of them."""
        if _LEAST_TASK not in self.settings.spark.conf:
            self.session.conf.set(_LEAST_TASK, "16k")

    @property
    def range_keys(self) -> list[str]:
        return [key for key in self.step.keys if key is not None]

    @property
    def key_type(self) -> str | None:
        """The type of `$partition`, where the script declares it."""
        return key_type(self.step.script)

    def rows(self, query: Statement) -> DataFrame:
        if not self.step.is_range:
            return self.sql(query)
        return range_rows(self, query, self.range_keys)

    def check_for(self, query: Statement, key: str) -> None:
        """Lets Spark read the query of one key; nothing runs."""
        several, self.values = self.values, replace(self.values, key=key)
        try:
            self.sql(query)
        finally:
            self.values = several

    def stage_rows(self, writer: SliceWriter, rows: DataFrame) -> Staged:
        self.writer = writer
        writer.standing, writer.known_keys = self.work.standing, self.known_digests()
        writer.latest = next(iter(self.work.past or ()), None)
        writer.known, writer.read = self.known_digest(), self.work.read
        writer.comparing = self.work.compares and writer.known is None and not self.step.is_range
        tests = self.step.script.annotations.data_tests
        around = UnderTest(self, writer.target)
        if tests:
            check_data_tests(expected_rows(writer, rows), tests, around)
        candidate = writer.stage(rows)
        staged = Staged(sources=self.sources, warnings=candidate.warnings)
        if candidate.rows is None:
            return staged
        if self.step.is_range:
            keys = self.range_keys
            size = writer.staged_size or _UNKNOWN
            with in_few_parts(self.session, size):
                found = run_data_tests_by_key(candidate.rows, tests, around, keys)
            return replace(staged, key_tests=found)
        return replace(staged, tests=run_data_tests(candidate.rows, tests, around))

    def known_digest(self) -> Digests | None:
        """What stands for the rows, if the same script has made a slice of the same before."""
        past = (entry for entry in self.work.past or () if entry.digest is not None)
        found = (entry.digests for entry in past if self.made_of_the_same(entry))
        return next(found, None)

    def known_digests(self) -> dict[str, Digests]:
        """The same for the keys of a slice of several, each beside what it is now."""
        return {
            key: entry.digests
            for key, entry in self.work.standing.items()
            if entry.digest is not None and self.made_of_the_same(entry)
        }

    def made_of_the_same(self, entry: Materialization) -> bool:
        unsure = self.work.rows is not None or None in self.pinned.values()
        if unsure or entry.fingerprint != self.step.script.fingerprint or not self.repeats:
            return False
        return {given.asset: given.snapshot for given in entry.inputs} == self.sources

    def writer_for(self, made: Materialize) -> SliceWriter:
        target = target_of(self.step, made, self.settings)
        stored = self.tables.of(target.table)
        stored.check(target.strategy, self.step.script.annotations.layout)
        tested = bool(self.step.script.annotations.data_tests)
        match target.strategy:
            case Replace():
                return ReplaceWriter(stored, target, self.commit, tested=tested)
            case Merge():
                return MergeWriter(stored, target, self.commit, tested=tested)
            case Append():
                return AppendWriter(stored, target, self.commit, tested=tested)
            case History(at=None):
                kind, at = HistoryWriter, self.work.fire_time
            case History(at="partition"):
                return self.sliced_history(stored, target, tested=tested)
            case History():
                kind, at = DatedHistoryWriter, self.work.fire_time
            case other:
                raise NotBuiltYet(f"{other.name} into {target.table} cannot be run yet")
        return kind(stored, target, self.commit, tested=tested, at=at)

    def sliced_history(self, stored: Table, target: Target, *, tested: bool) -> SlicedHistoryWriter:
        times = {
            key.partition: key.ordinal
            for key in self.step.slice
            if key.partition is not None and key.ordinal is not None
        }
        return SlicedHistoryWriter(stored, target, self.commit, tested=tested, times=times)

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        made = self.step.script.annotations.materialize
        if self.writer is not None:
            writer = self.writer
            line = self.step.script.query.line if self.step.script.query else 1
            return self.located(line, lambda: writer.publish(leave_out))
        if self.result is not None:
            return Written(rows=len(self.result.values), result=self.result)
        for statement in self.step.script.setup:
            self.sql(statement)
        return self.manual(made)

    def close(self) -> None:
        """Removes what was staged and is of no use any more."""
        if self.writer is not None:
            self.writer.discard()

    def manual(self, made: Materialize | None) -> Written:
        """The script has written by itself; what its table shows now is noted."""
        if made is None or not isinstance(made.asset, LakeTable):
            return Written()
        facts = self.tables.of(made.asset).facts()
        if facts is None:
            return Written()
        return Written(snapshot=facts.snapshot, columns=captured(facts.columns))

    def sql(
        self,
        statement: Statement,
        table: Callable[[TableHole], str] | None = None,
        implied: Callable[[ImpliedHole], Bound] | None = None,
        *,
        noted: bool = True,
    ) -> DataFrame:
        before = len(self.views)
        bound = bind(
            statement,
            self.values,
            table=table or self.table,
            files=self.files,
            implied=implied if implied is None or not self.is_remote else spelled_out(implied),
            # Where parameters are bound late, the query of a view takes none; on a server of Spark
            # Connect, no statement may.
            literals=self.is_remote or (statement.kind != "select" and binds_late(self.settings)),
        )
        parameters = dict(bound.parameters)
        sent = SentStatement(
            kind=statement.kind,
            line=statement.line,
            text=bound.text,
            parameters=tuple(parameters.items()),
            files=tuple(self.views[before:]),
        )
        if noted:
            self.sent.append(sent)
        return self.located(statement.line, lambda: self.session.sql(bound.text, args=parameters))

    @property
    def is_remote(self) -> bool:
        return self.settings.spark.remote is not None

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """What is wrong in here is wrong in another file than the script."""
        before, self.path = self.path, path
        try:
            yield
        finally:
            self.path = before

    def located(self, line: int, act: Callable[[], _T]) -> _T:
        """Runs something; what Spark says against it gets its place in the script."""
        if self.work.rows is not None:
            return act()
        try:
            return act()
        except Exception as error:
            if not comes_from_outside(error):
                raise
            secrets = self.settings.secrets
            raise explained(error, path=self.path, line=line, secrets=secrets) from error

    def table(self, hole: TableHole) -> str:
        """The table's identifier, at the snapshot that it had when this step first looked."""
        history = self.history_of(hole.table) if hole.pinned or hole.qualifies else None
        if history is not None:
            named = self.tables.of(history).name if hole.qualifies else self.at_pinned(history)
            return current_rows(hole, named)
        return self.at_pinned(hole.table) if hole.pinned else self.tables.of(hole.table).name

    def look_at(self, query: Statement) -> None:
        """Pins the tables that a query reads, which all that comes next waits for."""
        holes = [hole for hole in query.tables() if hole.pinned]
        # The first is asked for at once, the others meanwhile.
        others = list(dict.fromkeys(hole.table for hole in holes))[1:]
        self.asked = {each: Meanwhile(self.tables.of(each).readable) for each in others}
        for hole in holes:
            self.located(query.line, partial(self.table, hole))

    def history_of(self, table: LakeTable) -> LakeTable | None:
        """The history whose current rows the name means; it is read as such, not as a view."""
        if table not in self.histories:
            history = self.tables.of(table).history()
            self.histories[table] = None if history is None else history.address
        return self.histories[table]

    def at_pinned(self, table: LakeTable) -> str:
        if table not in self.pinned:
            self.pinned[table] = self.as_then(table) or self.pin(table)
        snapshot = self.pinned[table]
        stored = self.tables.of(table)
        return stored.name if snapshot is None else stored.at(snapshot)

    def as_then(self, table: LakeTable) -> str | None:
        """The snapshot that an earlier run read, where this one repeats it."""
        given = next((g for g in self.step.pinned if g.asset == str(table)), None)
        if given is None or given.snapshot is None:
            return None
        if not self.tables.of(table).has(given.snapshot):
            raise SourceMissing(
                f"{table} has no snapshot {given.snapshot} any more, which the earlier run read",
                "it has expired, or the table was made anew; run it without --like",
            )
        self.sources[str(table)] = given.snapshot
        return given.snapshot

    def pin(self, table: LakeTable) -> str | None:
        """The snapshot to read at; None to read what is there."""
        asked = self.asked.pop(table, None)
        now = asked.answer() if asked is not None else self.tables.of(table).readable()
        if now is None:
            own = table in self.step.script.writes
            raise SourceMissing(
                f"{table} does not exist, and {self.step.script.path} reads it",
                "it is its own table: make it once, as in tranche sql 'CREATE TABLE …'"
                if own
                else "run the script that makes it, or correct the name",
            )
        columns, snapshot = now
        if snapshot is None:
            return None
        self.sources[str(table)] = snapshot
        # A snapshot has the columns of its time; those that were altered since would be missing.
        same = captured(self.columns_at(table, snapshot), ()) == captured(columns, ())
        return snapshot if same else None

    def columns_at(self, table: LakeTable, snapshot: str) -> StructType:
        known, columns = self.snapshots.get(table, ("", StructType()))
        if known != snapshot:
            columns = self.tables.of(table).rows(snapshot).schema
            self.snapshots[table] = snapshot, columns
        return columns

    def files(self, hole: FileHole) -> str:
        """A temporary view over files; the same for those that were asked for before."""
        if (hole, self.values.key) in self.made_views:
            return self.made_views[hole, self.values.key]
        name = files_view(len(self.views))
        self.made_views[hole, self.values.key] = name
        if self.step.is_range and takes_key(hole, self.key_type):
            several = [(key, self.path_of(hole, key)) for key in self.range_keys]
            self.views.append(FilesView(name, hole.format, several[0][1], hole.options))
            rows = self.located(hole.line, lambda: range_files(self, hole, several))
        else:
            path = self.path_of(hole, self.values.key)
            asked = path if is_stored(hole, self.values) else file_path(hole, self.values)
            self.views.append(FilesView(name, hole.format, asked, hole.options))
            rows = self.located(hole.line, lambda: self.load(hole, [path]))
        rows.createOrReplaceTempView(name)
        return name

    def path_of(self, hole: FileHole, key: str | None) -> str:
        """Where the files of a key are, as Spark takes it."""
        arguments = dict(self.values.arguments)
        if self.key_type is not None and self.step.is_range:
            arguments["partition"] = key
        values = replace(self.values, key=key, arguments=arguments)
        if is_stored(hole, values):
            rule, storage = self.step.script.partitioning, self.settings.storage
            return self.local(hole, stored_path(hole, values, rule, storage))
        path = file_path(hole, values)
        if "://" not in path and not path.startswith("file:/"):
            path = self.local(hole, path)
        return path

    def local(self, hole: FileHole, path: str) -> str:
        """A path of the project; its own folder may hold characters that Spark reads as patterns."""
        name = path.rstrip("/").rpartition("/")[2]
        # Spark passes over such files without a word, and the slice would be emptied.
        if name.startswith(("_", ".")) and not (Path(self.settings.root) / path).is_dir():
            raise SourceMissing(
                f"Spark does not read {name!r}: to it, names that begin with _ or . are hidden",
                "give the file another name",
                place=Place(self.path, hole.line),
            )
        if path.startswith("/"):
            return path
        return f"{escaped_path(self.settings.root)}/{path}"

    def load(self, hole: FileHole, paths: list[str], *, merge: bool = False) -> DataFrame:
        """The rows of files; `merge` takes the columns of all of them together."""
        reader = self.session.read.format(hole.format)
        if merge:
            reader = reader.option("mergeSchema", True)
        for name, value in hole.options:
            known = name.lower() == "schema"
            reader = reader.schema(value) if known else reader.option(name, value)
        return reader.load(paths)
