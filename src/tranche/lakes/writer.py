"""A slice on its way into an Iceberg table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import CommitLost, KeysFailed
from tranche.lakes.columns import Fit, alter, captured, check_columns, fit
from tranche.lakes.commit import Commit
from tranche.lakes.comparing import unchanged_keys
from tranche.lakes.digest import Watch, digest_of, watched
from tranche.lakes.iceberg import (
    ADDED,
    KEY_PATHS,
    Snapshot,
    TableFacts,
    at_snapshot,
    existing_columns,
    has_snapshot,
    in_few_words,
    in_keys,
    key_files,
    key_rows,
    make_namespace,
    only_commit_since,
    published,
    rows_in,
    slice_rows,
    table_facts,
    with_properties,
)
from tranche.lakes.keys import REFUSAL, bad_key_slices, bad_keys
from tranche.lakes.layout import (
    LAYOUT,
    columns_to_be,
    evolve,
    forget,
    lay_out,
    partition_columns,
    recreation,
)
from tranche.lakes.layout_fields import SLICE, creation, fitted_layout, with_slice
from tranche.lakes.meanwhile import Meanwhile
from tranche.lakes.publishing import allow_staging, pick, staged_snapshot, staging
from tranche.lakes.racing import until_committed
from tranche.lakes.target import Target
from tranche.model.asset import LakeTable
from tranche.model.digest import is_of_rows
from tranche.model.layout import Transform, canonical
from tranche.model.run import Materialization
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Written, WrittenKey
from tranche.script.binding import quoted

_SIDE = "__tranche_"
_ORDERED = {"distribution-mode": "none"}
_AS_THEY_COME = {"use-table-distribution-and-ordering": "false"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A slice that could be published."""

    rows: DataFrame | None
    """What the slice would be, for its tests; None if it has none."""
    warnings: tuple[str, ...] = ()


class SliceWriter:
    """Writes one slice for one attempt; subclasses are strategies.

    A slice that is tested, or that must not be written twice, is staged first. Where the table is
    missing, or its columns must change, the rows wait in a table of their own beside it: the
    columns of a table are the same for what is staged and for what its readers see.
    """

    always_staged: ClassVar[bool] = True
    """Whether a slice is staged even if nothing tests it: it must not be written twice, or may
    turn out to change nothing."""
    grows: ClassVar[bool] = False
    """Whether rows only come to the slice, so that their number tells how many it has then."""

    def __init__(
        self, session: SparkSession, target: Target, commit: Commit, *, tested: bool
    ) -> None:
        self.session = session
        self.target = target
        self.table = target.table
        self.commit = commit
        self.tested = tested
        self.side: LakeTable | None = None
        self.staged: Snapshot | None = None
        self.looked = Meanwhile(lambda: table_facts(session, target.table))
        self.found: TableFacts | None = None
        """The table as it was when this looked last, until something has come of that."""
        self.earlier: tuple[str | None, Meanwhile[int | None]] | None = None
        """The snapshot before the write, and how many rows the slice had."""
        self.idle = False
        """Whether it is known already that there is nothing to write."""
        self.comparing = False
        """Whether rows are digested on their way, to tell if they are those of an earlier time."""
        self.latest: Materialization | None = None
        """What the slice is now, with which they are compared."""
        self.standing: Mapping[str, Materialization] = {}
        """What the keys of a slice of several are now."""
        self.known_keys: Mapping[str, str] = {}
        """The digests of those of them whose rows are known without looking."""
        self.key_rows: tuple[str, dict[str, int] | None] | None = None
        """How many rows each key had at a snapshot."""
        self.base: str | None = None
        """The snapshot that the table had before this wrote to it."""
        self.known: str | None = None
        """The digest of the rows, where it is known without looking at them."""
        self.watch: Watch | None = None
        self.layout: tuple[Transform, ...] | None = None
        """What the script asks for, as the table spells it."""
        self.split = False
        """Whether the table's layout splits slices."""
        self.ordered = False
        """Whether somebody wants the table's rows in some order."""

    @property
    def several(self) -> bool:
        """Whether the rows are of several keys."""
        return self.target.sliced and self.target.ranged

    def stage(self, rows: DataFrame) -> Candidate:
        """Gets the slice ready, unseen by readers."""
        check_columns(rows.drop(PARTITION_COLUMN) if self.target.ranged else rows, self.managed)
        self.check(rows)
        self.given = rows
        self.found = facts = self.looked.answer()
        self.fit = self.fitted(rows, facts)
        under_test = None
        if self.tested and (facts is None or self.fit.changes):
            self.write_aside()
            under_test = self.slice_with(facts)
        elif facts is not None and not self.fit.changes and (self.tested or self.always_staged):
            self.write_staged(self.fit.rows, facts)
            under_test = self.staged_slice() if self.tested else None
        return Candidate(under_test, self.fit.warnings)

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        """Makes the slice visible in one commit, but for the keys that are left out."""
        if leave_out:
            return self.publish_rest(leave_out)
        if self.idle:
            return self.nothing_new()
        if self.staged is not None:
            return self.picked(self.staged)
        rows = self.fit.rows if self.side is None else self.waiting()
        return self.committed(lambda: self.write(rows))

    def publish_rest(self, leave_out: frozenset[str]) -> Written:
        """What was staged is not picked: its lineage would have what was left out."""
        kept = tuple(key for key in self.target.keys if key not in leave_out)
        if self.staged is not None:
            rows, since = self.staged_rows(), self.staged.parent
        else:
            rows, since = self.waiting(), None
        self.target = replace(self.target, keys=kept)
        rest = rows.where(self.slice_condition())
        if since is None:
            return self.committed(lambda: self.write(rest))
        return self.committed(lambda: self.overwrite(rest, since=since))

    def discard(self) -> None:
        """Removes what is left beside the table."""
        if self.side is not None:
            self.session.sql(f"DROP TABLE IF EXISTS {quoted(self.side)} PURGE")
            self.side = None

    # What strategies do in their own way

    @property
    def managed(self) -> tuple[str, ...]:
        """The columns that come with the table and are not the SELECT's."""
        return (PARTITION_COLUMN,)

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies a row, if anything does."""
        return ()

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells the rows of a whole slice apart."""
        return (PARTITION_COLUMN, *self.key) if self.several else self.key

    def check(self, rows: DataFrame) -> None:
        """Rejects rows that the strategy could never take."""

    def first(self, rows: DataFrame) -> DataFrame:
        """What a new table begins with."""
        return rows

    def enter(self, rows: DataFrame) -> None:
        """Writes the rows to the table, which is there and has their columns."""
        raise NotImplementedError

    def unchanged(self, staged: Snapshot) -> bool:
        """Whether what was staged changes nothing."""
        return False

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        """What the slice will be once the rows that wait aside are in it."""
        raise NotImplementedError

    def came(self, commit: Snapshot) -> int | None:
        """How many rows a commit brought to those which the slice had, if that is all it did."""
        return None

    def rows_of(self, snapshot: str | None, commit: Snapshot) -> int:
        """How many rows the slice has after a commit."""
        came = self.came(commit)
        if came is not None and self.earlier is not None and snapshot == commit.id:
            before, earlier = self.earlier
            if commit.parent == before and (rows := earlier.answer()) is not None:
                return rows + came
        return self.count(snapshot)

    # What is written, and where to

    def write(self, rows: DataFrame) -> Written:
        """Writes to the table itself, made or altered first if it must be."""
        # Staging looked at it a moment ago; another try looks again.
        found, self.found = self.found, None
        facts = found or table_facts(self.session, self.table)
        if facts is None:
            return self.create(rows)
        self.base = facts.snapshot
        fitted = self.fit if found and rows is self.fit.rows else self.fitted(rows, facts)
        if fitted.rebuild:
            return self.rebuild(fitted.rows, facts)
        alter(self.session, self.table, fitted)
        if not self.always_staged:
            self.lay_out(facts)
            return self.overwrite(fitted.rows, on=facts)
        self.write_staged(fitted.rows, facts)
        return self.nothing_new() if self.staged is None else self.picked(self.staged)

    def create(self, rows: DataFrame) -> Written:
        make_namespace(self.session, self.table)
        first = self.first(rows)
        fields = with_slice(self.layout or (), sliced=self.target.sliced)
        made = creation(fields, first.columns)
        self.split = bool(self.layout)
        self.laid_out(self.direct(first), made.stated).create()
        if made.later:
            evolve(self.session, self.table, fields)
        return self.seen()

    def rebuild(self, rows: DataFrame, facts: TableFacts) -> Written:
        """Makes the table anew, with other columns."""
        made = recreation(self.session, self.table, self.layout, facts, rows.schema)
        self.laid_out(self.direct(rows), made.stated).createOrReplace()
        if made.later:
            evolve(self.session, self.table, (*made.stated, *made.later))
        if self.layout is None and LAYOUT in facts.properties:
            forget(self.session, self.table)
        return self.seen()

    def laid_out(self, writer: DataFrameWriterV2, fields: Sequence[Transform]) -> DataFrameWriterV2:
        """Writes a table that begins with these fields."""
        stated = {} if self.layout is None else {LAYOUT: canonical(self.layout)}
        if self.target.key_paths and all(field == SLICE for field in fields):
            stated |= KEY_PATHS
        made = with_properties(writer, **stated)
        return made.partitionedBy(*partition_columns(fields)) if fields else made

    def overwrite(
        self, rows: DataFrame, *, on: TableFacts | None = None, since: str | None = None
    ) -> Written:
        """Replaces the slice; not if it was changed since a snapshot, where one is given."""
        writer = self.direct(rows)
        if since is not None:
            checks = {"validate-from-snapshot-id": since, "isolation-level": "serializable"}
            writer = writer.options(**checks)
        writer.overwrite(self.slice_condition())
        return self.seen(on)

    def lay_out(self, facts: TableFacts) -> None:
        """Sees to it that what is written next has the layout of the script."""
        self.split = lay_out(self.session, self.table, self.layout, facts)
        self.ordered = facts.ordered

    def direct(self, rows: DataFrame) -> DataFrameWriterV2:
        """Readers see it with its commit."""
        return self.writer(rows).options(**self.commit.options())

    def write_staged(self, rows: DataFrame, facts: TableFacts) -> None:
        self.base = facts.snapshot
        allow_staging(self.session, self.table, facts)
        self.lay_out(facts)
        if self.grows and not self.several:
            before = facts.snapshot
            self.earlier = before, Meanwhile(lambda: self.counted(before))
        with self.sound_keys(), staging(self.session, self.commit, split=self.split):
            self.enter(rows)
        self.staged = staged_snapshot(self.session, self.table, self.commit)

    def write_aside(self) -> None:
        self.side = side_table(self.table, self.commit)
        make_namespace(self.session, self.table)
        rows = self.aside(self.fit.rows)
        seen = self.watched(rows, rows.schema)
        with self.sound_keys():
            with_properties(seen.writeTo(quoted(self.side))).create()

    def aside(self, rows: DataFrame) -> DataFrame:
        return rows

    # Frames

    def fitted(self, rows: DataFrame, facts: TableFacts | None) -> Fit:
        fitted = Fit(rows)
        if facts is not None:
            fitted = fit(self.target, rows, facts.columns, self.managed)
        if self.target.layout is not None:
            columns = columns_to_be(fitted, facts, self.managed)
            self.layout = fitted_layout(self.target.layout, columns, self.target.layout_place)
        return fitted

    def watched(self, rows: DataFrame, columns: StructType) -> DataFrame:
        """The rows; with their write comes the digest of these columns, if somebody wants it."""
        self.watch = None
        if not self.comparing:
            return rows
        seen, self.watch = watched(rows, columns)
        return seen

    def with_key(self, rows: DataFrame) -> DataFrame:
        if not self.target.sliced or PARTITION_COLUMN in rows.columns:
            return rows
        return rows.withColumn(PARTITION_COLUMN, F.lit(self.target.partition))

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        # Watched last: rows that pass through it are built anew by whatever comes after.
        return self.unwatched(self.watched(self.with_key(rows), rows.schema))

    def unwatched(self, rows: DataFrame) -> DataFrameWriterV2:
        writer = rows.writeTo(quoted(self.table))
        if not self.target.sliced or self.split:
            return writer
        if self.several:
            # Sorted by key, since a writer for each of many keys takes a lot of memory.
            return writer.options(**{"fanout-enabled": "false"})
        # Rows of one slice are clustered: they need no shuffle, no sorting, no writer per slice.
        how = _ORDERED if self.ordered else _AS_THEY_COME
        return writer.options(**how, **{"fanout-enabled": "false"})

    def slice_condition(self) -> Column:
        if not self.target.sliced:
            return F.lit(True)
        if self.several:
            return in_keys(PARTITION_COLUMN, self.target.keys)
        return F.col(PARTITION_COLUMN) == F.lit(self.target.partition)

    def only_slice(self, rows: DataFrame) -> DataFrame:
        """The data's own columns; of several keys each row keeps its key."""
        managed = [name for name in self.managed if not self.several or name != PARTITION_COLUMN]
        return rows.where(self.slice_condition()).drop(*managed)

    def staged_rows(self) -> DataFrame:
        assert self.staged is not None
        return self.session.sql(f"SELECT * FROM {at_snapshot(self.table, self.staged.id)}")  # noqa: S608

    def staged_slice(self) -> DataFrame:
        return self.only_slice(self.staged_rows())

    def waiting(self) -> DataFrame:
        """The rows that wait beside the table."""
        assert self.side is not None
        return self.session.table(quoted(self.side))

    def upserted(self) -> DataFrame:
        """The slice once the rows that wait have taken the place of those with their keys."""
        there = self.current_slice().join(self.waiting(), list(self.identity), "left_anti")
        return there.unionByName(self.waiting(), allowMissingColumns=True)

    def current_slice(self) -> DataFrame:
        return self.only_slice(self.session.table(quoted(self.table)))

    # What came of it

    def seen(self, before: TableFacts | None = None) -> Written:
        """What the table says of a commit that was made to it."""
        found: Snapshot | None = None
        if before is not None and self.several:
            found = self.next_commit_of_keys(before)
        elif before is not None:
            found = self.next_commit(before)
        if found is None:
            found = staged_snapshot(self.session, self.table, self.commit)
        return self.written(found.id, found, found.at)

    def next_commit(self, before: TableFacts) -> Snapshot | None:
        """This writer's commit, if nobody else made one since.

        What it added is what passed by on the way to the files, each row once: only where rows are
        shuffled on that way can a task that is run again count them twice.
        """
        alone = self.target.sliced and not self.several and not self.split
        if before.snapshot is None or self.watch is None or not alone:
            return None
        found = only_commit_since(self.session, self.table, before.snapshot)
        if found is None:
            return None
        snapshot, at = found
        return Snapshot(snapshot, before.snapshot, {ADDED: str(self.watch.rows)}, at)

    def next_commit_of_keys(self, before: TableFacts) -> Snapshot | None:
        """The commit that replaced several keys, whose rows are counted at the same time."""
        if before.sums_up(len(self.target.keys)):
            with in_few_words(self.session):
                said = staged_snapshot(self.session, self.table, self.commit)
            self.key_rows = None if said.rows_by_key is None else (said.id, said.rows_by_key)
            return said
        if before.snapshot is None:
            return None
        # Read before it is asked who has committed, so that it is of this commit if nobody else has.
        files = key_files(self.session, self.table, self.target.keys)
        since = before.snapshot
        asked = Meanwhile(lambda: only_commit_since(self.session, self.table, since))
        rows = rows_in(self.session, files)
        found = asked.answer()
        if found is None:
            return None
        snapshot, at = found
        self.key_rows = snapshot, rows
        return Snapshot(snapshot, since, {}, at)

    def picked(self, staged: Snapshot) -> Written:
        if self.unchanged(staged):
            return self.nothing_new()
        snapshot = pick(self.session, self.table, staged.id)
        if snapshot is not None:
            return self.written(snapshot, staged, None)
        return self.landed() or self.written_again(staged)

    def written_again(self, staged: Snapshot) -> Written:
        """Writes what was staged to a table that has moved since, if only other slices have."""
        raise CommitLost(f"another writer changed {self.table} in the meantime", "run it again")

    def copied(self, staged: Snapshot) -> Written:
        """The slice as it was staged, unless somebody changed it since."""
        return self.overwrite(self.staged_slice(), since=staged.parent)

    def nothing_new(self) -> Written:
        facts = table_facts(self.session, self.table)
        snapshot = facts.snapshot if facts is not None else None
        if self.several:
            keys = self.written_keys(snapshot, changed=False)
            return Written(
                rows=_total(keys),
                snapshot=snapshot,
                columns=self.columns(),
                keys=keys,
                changed=False,
            )
        return Written(
            rows=self.count(snapshot), snapshot=snapshot, columns=self.columns(), changed=False
        )

    def written(self, snapshot: str, commit: Snapshot, at: datetime | None) -> Written:
        if self.several:
            keys = self.written_keys(snapshot)
            return Written(
                rows=_total(keys),
                snapshot=snapshot,
                committed_at=at,
                columns=self.columns(),
                keys=keys,
            )
        return Written(
            rows=self.rows_of(snapshot, commit),
            snapshot=snapshot,
            committed_at=at,
            digest=self.known or self.digest(commit),
            columns=self.columns(),
        )

    def written_keys(self, snapshot: str | None, *, changed: bool = True) -> dict[str, WrittenKey]:
        """Each key of the slice, as it is at a snapshot."""
        rows: dict[str, int] | None = {}
        if self.key_rows is not None and self.key_rows[0] == snapshot:
            rows = self.key_rows[1]
        elif snapshot is not None:
            rows = key_rows(self.session, self.table, self.target.keys, snapshot)
        if rows is None:
            counted = self.current_slice().groupBy(PARTITION_COLUMN).count().collect()
            rows = {row[0]: int(row[1]) for row in counted}
        same = dict(self.known_keys)
        if changed and snapshot is not None and self.base is not None:
            others = {key: each for key, each in self.standing.items() if key not in same}
            same |= unchanged_keys(
                self.session, self.table, others, rows, before=self.base, after=snapshot
            )
        return {
            key: WrittenKey(rows.get(key, 0), same.get(key), changed and key not in same)
            for key in self.target.keys
        }

    def digest(self, commit: Snapshot) -> str | None:
        watch = self.watch
        # A task that ran twice was counted twice; the table counts what it holds.
        if watch is None or watch.rows != commit.count(ADDED):
            return None
        held = self.latest
        if held is None or held.digest is None or is_of_rows(held.digest):
            return watch.digest
        # It was written when there was nothing to compare with.
        same = held.rows == watch.rows and self.digest_then(held) == watch.digest
        return held.digest if same else watch.digest

    def digest_then(self, held: Materialization) -> str | None:
        """The digest of what the slice was; None if that cannot be told any more."""
        if held.snapshot is None or not has_snapshot(self.session, self.table, held.snapshot):
            return None
        then = self.session.sql(f"SELECT * FROM {at_snapshot(self.table, held.snapshot)}")  # noqa: S608
        if (PARTITION_COLUMN in then.columns) != self.target.sliced:
            return None
        rows = self.only_slice(then)
        return digest_of(rows, rows.schema)

    def columns(self) -> tuple[tuple[str, str], ...]:
        return captured(self.fit.rows.schema, self.managed)

    def count(self, snapshot: str | None) -> int:
        rows = self.counted(snapshot)
        return self.current_slice().count() if rows is None else rows

    def counted(self, snapshot: str | None) -> int | None:
        """How many rows the slice has at a snapshot; None if only a scan could tell."""
        key = self.target.partition if self.target.sliced else None
        return slice_rows(self.session, self.table, key, snapshot)

    def committed(self, write: Callable[[], Written]) -> Written:
        """Writes until the table has it."""

        def try_to() -> Written:
            with self.sound_keys():
                return write()

        return until_committed(try_to, self.landed)

    def landed(self) -> Written | None:
        """What readers see of this step, if they see anything."""
        if existing_columns(self.session, self.table) is None:
            return None
        found = published(self.session, self.table, self.commit)
        return None if found is None else self.written(found.id, found, found.at)

    @contextmanager
    def sound_keys(self) -> Iterator[None]:
        """Says which keys broke a write, when it was keys."""
        try:
            yield
        except Exception as error:
            if not self.key or REFUSAL not in str(error):
                raise
            if self.several:
                slices = bad_key_slices(self.given, self.key)
                if not slices:
                    raise
                raise KeysFailed(slices) from None
            found = bad_keys(self.given, self.key)
            if found is None:
                raise
            raise found from None


def side_table(table: LakeTable, commit: Commit) -> LakeTable:
    """Where an attempt's rows wait while the table cannot take them yet."""
    return replace(table, table=f"{table.table}{_SIDE}{commit.attempt.id}")


def _total(keys: Mapping[str, WrittenKey]) -> int:
    return sum(key.rows or 0 for key in keys.values())
