"""History whose time comes from the data, so that it can arrive in any order.

What was observed is kept in a table of its own, `<table>__observed`, and the versions of a key
are derived from all that was ever observed of it. Observations are written first. Should the
process end before the versions follow, the next run derives them all again: the history notes up
to which snapshot of the observations it has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tranche.errors import RowsRejected
from tranche.lakes import versions
from tranche.lakes.columns import check_columns
from tranche.lakes.commit import Commit
from tranche.lakes.history import (
    HistoryWriter,
    check_history_columns,
    data_columns,
    make_current_view,
    ordered,
)
from tranche.lakes.keys import guarded
from tranche.lakes.strategies import MergeWriter, ReplaceWriter
from tranche.lakes.table import Table, TableFacts
from tranche.lakes.target import Target
from tranche.lakes.versions import AT, CHANGE, CURRENT, DELETED, FROM, TO, VersionColumns
from tranche.lakes.writer import Candidate, SliceWriter
from tranche.model.strategy import PARTITION_COLUMN, Merge, Replace
from tranche.ports import Written, WrittenKey
from tranche.script.binding import quoted_name

DERIVED_FROM = "tranche.derived-from"
"""The property of a history that says which snapshot of its observations it reflects."""

_EXISTING, _DERIVED = "_tranche_existing", "_tranche_derived"
_OBSERVATIONS, _MOMENTS = "_tranche_observations", "_tranche_moments"


class ObservedHistoryWriter(HistoryWriter):
    """Keeps what was observed, and derives the versions of the keys that it touches."""

    observations: SliceWriter | None = None

    def stage(self, rows: DataFrame) -> Candidate:
        data = rows.drop(PARTITION_COLUMN) if self.target.ranged else rows
        check_columns(data, (*self.managed, AT, DELETED))
        check_history_columns(self.stored, self.target, rows)
        self.given = rows
        self.fit = self.fitted(rows, self.looked.answer())
        self.before = observed(self.stored).facts()
        self.observations = self.observer()
        with self.sound_keys():
            staged = self.observations.stage(self.as_observed(self.fit.rows))
        under_test = None
        if staged.rows is not None:
            under_test = self.data_of(staged.rows)
        return Candidate(under_test, (*self.fit.warnings, *staged.warnings))

    def discard(self) -> None:
        super().discard()
        if self.observations is not None:
            self.observations.discard()

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        assert self.observations is not None
        with self.sound_keys():
            published = self.observations.publish(leave_out)
        self.now = observed(self.stored).facts()
        history = self.stored.facts()
        if history is None:
            written = self.committed(lambda: self.create(self.all_versions()))
        else:
            self.stored.alter(self.fitted(self.fit.rows, history))
            self.stored.lay_out(self.layout, history)
            written = self.committed(lambda: self.renew(history))
        note_derived(self.stored, self.now)
        make_current_view(self.stored)
        keys = {
            key: WrittenKey(each.rows, changed=written.changed)
            for key, each in published.keys.items()
        }
        return replace(written, keys=keys)

    # Observations

    def observer(self) -> SliceWriter:
        raise NotImplementedError

    def as_observed(self, rows: DataFrame) -> DataFrame:
        """The rows as observations."""
        raise NotImplementedError

    def data_of(self, observations: DataFrame) -> DataFrame:
        """The data's own rows among observations."""
        there = F.col(quoted_name(self.key[0])).isNotNull()
        return observations.where(there).drop(AT, DELETED)

    def observations_at(self, facts: TableFacts | None) -> DataFrame:
        assert facts is not None and facts.snapshot is not None
        return observed(self.stored).rows(facts.snapshot)

    # Versions

    def first(self, rows: DataFrame) -> DataFrame:
        return rows

    def all_versions(self) -> DataFrame:
        return self.derived(self.observations_at(self.now))

    def derived(self, observations: DataFrame) -> DataFrame:
        """The versions of the keys that are observed in these."""
        there = observations.where(F.col(quoted_name(self.key[0])).isNotNull())
        if DELETED not in there.columns:
            there = there.withColumn(DELETED, F.lit(False))
        there.createOrReplaceTempView(_OBSERVATIONS)
        statement = versions.derived_versions(
            self.parts(self.fit.rows), observations=_OBSERVATIONS, moments=self.moments()
        )
        return ordered(self.session.sql(statement), data_columns(self.fit.rows))

    def moments(self) -> str | None:
        """The view of the times at which all of the data was observed, if absence says anything."""
        raise NotImplementedError

    def renew(self, history: TableFacts) -> Written:
        """Brings the history up to the observations, in one commit."""
        up_to_date = (
            self.before is not None
            and self.before.snapshot is not None
            and history.properties.get(DERIVED_FROM) == self.before.snapshot
        )
        if not up_to_date:
            return self.derive(None)
        if self.is_newest():
            return self.go_on()
        return self.derive(self.touched())

    def is_newest(self) -> bool:
        raise NotImplementedError

    def newest(self) -> DataFrame:
        """The rows of the slice that is newer than all others."""
        raise NotImplementedError

    def touched(self) -> DataFrame:
        """The keys whose versions may change."""
        raise NotImplementedError

    def go_on(self) -> Written:
        """What is newer than everything else just goes on from the current versions."""
        # What was published, not the query again: it may be slow, or give other rows.
        with self.changes(self.newest()) as changes:
            if changes is None:
                return self.nothing_new()
            with self.stored.committing(self.commit):
                self.enter(changes)
        return self.seen()

    def derive(self, touched: DataFrame | None) -> Written:
        """Makes the versions of keys what their observations say; of all keys, if none are given."""
        observations = self.observations_at(self.now)
        existing = self.stored.rows()
        if touched is not None:
            keys = list(self.parts(self.fit.rows).key)
            touched = touched.persist()
            observations = observations.join(touched, keys, "left_semi")
            existing = existing.join(touched, keys, "left_semi")
        columns = self.parts(self.fit.rows)
        self.derived(observations).createOrReplaceTempView(_DERIVED)
        existing.createOrReplaceTempView(_EXISTING)
        changes = self.session.sql(
            versions.version_differences(columns, existing=_EXISTING, derived=_DERIVED)
        ).persist()
        try:
            if not changes.take(1):
                return self.nothing_new()
            self.watch = None
            into = self.stored.merging(changes)
            change = into.given(CHANGE)
            every = dict(into.assignments((*columns.data, FROM, TO, CURRENT)))
            merge = into.on(into.equal((*columns.key, FROM)))
            merge = merge.whenMatched(change == "delete").delete()
            merge = merge.whenMatched(change == "update").update(every)
            merge = merge.whenNotMatched(change == "insert").insert(every)
            with self.stored.committing(self.commit):
                merge.merge()
            return self.seen()
        finally:
            changes.unpersist()
            if touched is not None:
                touched.unpersist()


class SlicedHistoryWriter(ObservedHistoryWriter):
    """`at=partition`: each slice is what the data was at the start of its window."""

    def __init__(
        self,
        stored: Table,
        target: Target,
        commit: Commit,
        *,
        tested: bool,
        times: Mapping[str, datetime],
    ) -> None:
        """`times` has the start of each key's window."""
        super().__init__(stored, target, commit, tested=tested, at=max(times.values()))
        self.times = times

    @property
    def identity(self) -> tuple[str, ...]:
        return (PARTITION_COLUMN, *self.key) if self.target.ranged else self.key

    def observer(self) -> SliceWriter:
        stored = observed(self.stored)
        target = replace(
            self.target,
            table=stored.address,
            strategy=Replace(),
            sliced=True,
            layout=None,
        )
        return ReplaceWriter(stored, target, self.commit, tested=self.tested)

    def as_observed(self, rows: DataFrame) -> DataFrame:
        seen = self.dated(guarded(rows, self.identity))
        if not self.strategy.close_deleted:
            return seen
        # A slice without rows was observed too, and then says that every key had ended.
        fields = [field for field in rows.schema.fields if field.name != PARTITION_COLUMN]
        nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in fields]
        if not self.target.ranged:
            return seen.unionByName(self.session.range(1).select(*nothing, self.time()))
        keys = F.explode(F.array(*(F.lit(key) for key in self.target.keys)))
        each = self.session.range(1).select(keys.alias(PARTITION_COLUMN))
        return seen.unionByName(self.dated(each.select(*nothing, PARTITION_COLUMN)))

    def time(self) -> Column:
        return F.lit(self.at).alias(AT)

    def dated(self, rows: DataFrame) -> DataFrame:
        """The rows with the time of their slice."""
        if not self.target.ranged:
            return rows.select("*", self.time())
        pairs = [F.lit(value) for pair in self.times.items() for value in pair]
        times = F.create_map(*pairs)
        return rows.withColumn(AT, F.element_at(times, F.col(PARTITION_COLUMN)))

    def moments(self) -> str | None:
        if not self.strategy.close_deleted:
            return None
        every = self.observations_at(self.now).select(F.col(AT).alias("at")).distinct()
        every.createOrReplaceTempView(_MOMENTS)
        return _MOMENTS

    def is_newest(self) -> bool:
        if self.target.ranged:
            return False
        latest = self.observations_at(self.before).agg(F.max(F.unix_micros(AT))).collect()[0][0]
        return latest is None or latest < int(self.at.timestamp() * 1_000_000)

    def newest(self) -> DataFrame:
        return self.slice_of(self.now).select(
            *(quoted_name(name) for name in self.fit.rows.columns)
        )

    def touched(self) -> DataFrame:
        columns = self.parts(self.fit.rows)
        new = self.slice_of(self.now)
        old = self.slice_of(self.before)
        if self.target.ranged:
            # What is not in a slice that closes what is missing may be of any key.
            every = self.observations_at(self.now) if self.strategy.close_deleted else new
            keys = [quoted_name(name) for name in columns.key]
            there = F.col(keys[0]).isNotNull()
            return every.select(*keys).unionByName(old.select(*keys)).where(there).distinct()
        if not old.take(1):
            return _different(columns, new, self.held(), columns.track, self.strategy.close_deleted)
        return _different(columns, new, old, (*columns.track, *columns.others), True)

    def slice_of(self, facts: TableFacts | None) -> DataFrame:
        assert facts is not None
        in_slice = F.col(PARTITION_COLUMN).isin(list(self.target.keys))
        rows = self.data_of(self.observations_at(facts).where(in_slice))
        missing = [f for f in self.fit.rows.schema.fields if f.name not in rows.columns]
        for field in missing:
            rows = rows.withColumn(field.name, F.lit(None).cast(field.dataType))
        return rows

    def held(self) -> DataFrame:
        """The versions that hold at the time of this slice."""
        at = F.lit(self.at)
        return self.stored.rows().where(
            (F.col(FROM) <= at) & (F.col(TO).isNull() | (F.col(TO) > at))
        )


class DatedHistoryWriter(ObservedHistoryWriter):
    """`at=<column>`: each row says from when on it holds."""

    @property
    def column(self) -> str:
        assert self.strategy.at is not None
        return self.strategy.at

    def observer(self) -> SliceWriter:
        stored = observed(self.stored)
        target = replace(
            self.target,
            table=stored.address,
            strategy=Merge((*self.key, AT)),
            layout=None,
        )
        return MergeWriter(stored, target, self.commit, tested=self.tested)

    def as_observed(self, rows: DataFrame) -> DataFrame:
        at = F.col(quoted_name(self.column)).cast("timestamp")
        seen = rows.withColumn(AT, at).withColumn(DELETED, F.lit(False))
        if not self.strategy.close_deleted or self.before is None:
            return seen
        return seen.unionByName(self.ended(rows))

    @contextmanager
    def sound_keys(self) -> Iterator[None]:
        try:
            with super().sound_keys():
                yield
        except RowsRejected as error:
            error.what = error.what.replace(AT, self.column)
            raise

    def ended(self, rows: DataFrame) -> DataFrame:
        """The keys that are current and not among the rows: they have ended by now."""
        keys = list(self.parts(rows).key)
        if self.stored.columns() is None:
            return self.session.createDataFrame([], rows.schema).select(
                "*", F.lit(self.at).alias(AT), F.lit(True).alias(DELETED)
            )
        gone = self.stored.rows().where(F.col(CURRENT))
        gone = gone.join(rows, keys, "left_anti")
        return gone.select(
            *(
                F.col(quoted_name(f.name))
                if f.name in keys
                else F.lit(None).cast(f.dataType).alias(f.name)
                for f in rows.schema.fields
            ),
            F.lit(self.at).alias(AT),
            F.lit(True).alias(DELETED),
        )

    def data_of(self, observations: DataFrame) -> DataFrame:
        return observations.where(~F.col(DELETED)).drop(AT, DELETED)

    def moments(self) -> str | None:
        return None

    def is_newest(self) -> bool:
        return False

    def touched(self) -> DataFrame:
        """The keys of observations that were not there before."""
        columns = self.parts(self.fit.rows)
        keys = list(columns.key)
        now, before = self.observations_at(self.now), self.observations_at(self.before)
        every = [name for name in now.columns if name in before.columns]
        fresh = now.select(*every).exceptAll(before.select(*every))
        return fresh.select(*(quoted_name(name) for name in keys)).distinct()


def note_derived(history: Table, observed: TableFacts | None) -> None:
    """Notes which observations a history reflects."""
    assert observed is not None and observed.snapshot is not None
    history.note(DERIVED_FROM, observed.snapshot)


def observed(history: Table) -> Table:
    """What the versions of a history are derived from."""
    return history.beside("__observed")


def _different(
    columns: VersionColumns,
    new: DataFrame,
    held: DataFrame,
    compared: tuple[str, ...],
    both_ways: bool,
) -> DataFrame:
    """The keys of rows that differ, or that only one side has."""
    left, right = new.alias("n"), held.alias("h")
    on = [
        F.col(f"n.{quoted_name(name)}") == F.col(f"h.{quoted_name(name)}") for name in columns.key
    ]
    first = quoted_name(columns.key[0])
    absent = F.col(f"h.{first}").isNull() | F.col(f"n.{first}").isNull()
    same = F.lit(True)
    for name in compared:
        same = same & F.col(f"n.{quoted_name(name)}").eqNullSafe(F.col(f"h.{quoted_name(name)}"))
    joined = left.join(right, on, "full" if both_ways else "left").where(absent | ~same)
    return joined.select(
        *(
            F.coalesce(F.col(f"n.{quoted_name(name)}"), F.col(f"h.{quoted_name(name)}")).alias(name)
            for name in columns.key
        )
    ).distinct()
