"""History: every version of every row, with the time for which it held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import ColumnsRejected, RowsRejected
from tranche.lakes import versions
from tranche.lakes.columns import Fit
from tranche.lakes.commit import Commit
from tranche.lakes.keys import check_key_columns, guarded
from tranche.lakes.parameters import asked
from tranche.lakes.table import ADDED, Snapshot, Table, TableFacts
from tranche.lakes.target import Target
from tranche.lakes.versions import CHANGE, CURRENT, FROM, TO, VersionColumns
from tranche.lakes.writer import SliceWriter
from tranche.model.asset import LakeTable
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN, History
from tranche.ports import Written
from tranche.script.binding import quoted_name

_ROWS, _CURRENT_ROWS = "_tranche_rows", "_tranche_current"
_BACKWARDS = "TRANCHE_BACKWARDS "


class HistoryWriter(SliceWriter):
    """A snapshot that is newer than everything that the history knows."""

    def __init__(
        self, stored: Table, target: Target, commit: Commit, *, tested: bool, at: datetime
    ) -> None:
        super().__init__(stored, target, commit, tested=tested)
        assert isinstance(target.strategy, History)
        self.strategy = target.strategy
        self.at = at

    @property
    def managed(self) -> tuple[str, ...]:
        return (PARTITION_COLUMN, *HISTORY_COLUMNS)

    @property
    def key(self) -> tuple[str, ...]:
        return self.strategy.key

    def check(self, rows: DataFrame) -> None:
        check_history_columns(self.stored, self.target, rows)

    def fitted(self, rows: DataFrame, facts: TableFacts | None) -> Fit:
        if facts is not None:
            check_is_history(self.table, facts)
        fitted = super().fitted(rows, facts)
        if fitted.widened:
            raise ColumnsRejected(
                f"{self.table} keeps versions, and their columns cannot change their types",
                "cast in the SELECT, or drop the table and build it anew",
            )
        return fitted

    def parts(self, rows: DataFrame) -> VersionColumns:
        return version_columns(self.strategy, data_columns(rows))

    def first(self, rows: DataFrame) -> DataFrame:
        sound = guarded(rows, self.key)
        sound.createOrReplaceTempView(_ROWS)
        first = versions.first_versions(self.parts(rows), rows=_ROWS)
        return ordered(asked(self.session, first, {"at": self.at}), rows.columns)

    def aside(self, rows: DataFrame) -> DataFrame:
        return guarded(rows, self.key)

    def write_staged(self, rows: DataFrame, facts: TableFacts) -> None:
        with self.sound_keys(), self.changes(rows) as changes:
            if changes is None:
                self.idle = True
            else:
                super().write_staged(changes, facts)

    def entered(self, rows: DataFrame, facts: TableFacts) -> Written:
        there = self.landed()
        if there is not None:
            return there
        with self.changes(rows) as changes:
            if changes is None:
                return self.nothing_new()
            self.stored.lay_out(self.layout, facts)
            with self.stored.committing(self.commit):
                self.enter(changes)
        return self.seen()

    def enter(self, rows: DataFrame) -> None:
        """The rows are changes here."""
        self.watch = None
        columns = self.parts(self.fit.rows)
        into = self.stored.merging(rows)
        change, at = into.given(CHANGE), F.lit(self.at)
        on = into.equal(columns.key) & into.held(CURRENT) & (change != "open")
        merge = into.on(on)
        merge = merge.whenMatched(change == "close").update({TO: at, CURRENT: F.lit(False)})
        merge = merge.whenMatched(change == "drop").delete()
        rest = (*columns.track, *columns.others)
        if rest:
            merge = merge.whenMatched(change == "amend").update(dict(into.assignments(rest)))
        opened = {
            **into.assignments(columns.data),
            FROM: at,
            TO: F.lit(None).cast("timestamp"),
            CURRENT: F.lit(True),
        }
        merge.whenNotMatched(change == "open").insert(opened).merge()

    @contextmanager
    def changes(self, rows: DataFrame) -> Iterator[DataFrame | None]:
        """What the snapshot changes, computed once; None if it changes nothing."""
        guarded(rows, self.key).createOrReplaceTempView(_ROWS)
        there = self.stored.rows().where(F.col(CURRENT))
        there.createOrReplaceTempView(_CURRENT_ROWS)
        statement = versions.changes_now(
            self.parts(rows),
            rows=_ROWS,
            current=_CURRENT_ROWS,
            close_deleted=self.strategy.close_deleted,
        )
        changes = asked(self.session, statement, {"at": self.at}).persist()
        try:
            # Looking for one shows what is wrong with some keys; the others come with the write.
            with going_forward(self.table):
                yield changes if changes.take(1) else None
        finally:
            changes.unpersist()

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        written = super().publish(leave_out)
        make_current_view(self.stored)
        return written

    def nothing_new(self) -> Written:
        return replace(super().nothing_new(), rows=0)

    def unchanged(self, staged: Snapshot) -> bool:
        return staged.changed == 0

    def rows_of(self, snapshot: str | None, commit: Snapshot) -> int:
        return commit.count(ADDED) if commit.changed is None else commit.changed

    def only_slice(self, rows: DataFrame) -> DataFrame:
        return rows.where(F.col(CURRENT)).drop(*self.managed)

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        whole = facts is None or self.strategy.close_deleted
        return self.waiting() if whole else self.upserted()


def check_history_columns(stored: Table, target: Target, rows: DataFrame) -> None:
    """What is wrong with a SELECT for a history, before anything is written."""
    strategy = target.strategy
    assert isinstance(strategy, History)
    check_key_columns(rows, strategy.key)
    check_key_columns(rows, strategy.track, "track")
    if strategy.at not in (None, "partition"):
        check_key_columns(rows, (strategy.at,), "at")
    companion = stored.current()
    if companion.columns() is not None and not companion.has_view():
        raise ColumnsRejected(
            f"{companion} is a table, and the history's view of its current rows has that name",
            "rename the table, or write the history to another one",
        )


def check_is_history(table: LakeTable, facts: TableFacts) -> None:
    missing = [name for name in HISTORY_COLUMNS if name not in facts.columns.names]
    if missing:
        raise ColumnsRejected(
            f"{table} was not written as a history: it has no {', '.join(missing)}",
            "drop it and run again, or write to another table",
        )


def version_columns(strategy: History, columns: Sequence[str]) -> VersionColumns:
    """The columns of the data by their part, as the data spells them."""
    key = {name.lower() for name in strategy.key}
    aside = {strategy.at.lower()} if strategy.at not in (None, "partition") else set()
    wanted = {name.lower() for name in strategy.track}
    tracked = [
        name
        for name in columns
        if name.lower() not in key
        and (name.lower() in wanted if wanted else name.lower() not in aside)
    ]
    others = [name for name in columns if name.lower() not in key and name not in tracked]
    return VersionColumns(
        tuple(name for name in columns if name.lower() in key), tuple(tracked), tuple(others)
    )


def data_columns(rows: DataFrame) -> list[str]:
    """The columns of the data; rows of several keys also say of which they are."""
    return [name for name in rows.columns if name != PARTITION_COLUMN]


def ordered(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """In the order of the SELECT, the history's own columns last."""
    return rows.select(*(F.col(quoted_name(name)) for name in (*columns, FROM, TO, CURRENT)))


def make_current_view(history: Table) -> None:
    """The view of the current rows; made again when the columns have changed."""
    columns = history.columns()
    if columns is not None:
        kept = [name for name in columns.names if name != PARTITION_COLUMN]
        history.current().show_current(kept, history, CURRENT)


@contextmanager
def going_forward(table: LakeTable) -> Iterator[None]:
    """Says so when a snapshot is older than versions that are there."""
    try:
        yield
    except Exception as error:
        found: Any = str(error).partition(_BACKWARDS)[2]
        if not found:
            raise
        raise RowsRejected(
            f"{table} has versions that are newer than this run: one holds since {found[:19]}",
            "run it for a later time; with at=<column> or at=partition, history takes any order",
        ) from None
