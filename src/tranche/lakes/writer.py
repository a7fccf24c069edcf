"""A slice on its way into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import CommitLost, KeysFailed
from tranche.lakes.columns import Fit, captured, check_columns, columns_to_be, fit
from tranche.lakes.commit import Commit
from tranche.lakes.comparing import compared_keys
from tranche.lakes.digest import Watch, digest_of, sets_in, watched
from tranche.lakes.keys import REFUSAL, bad_key_slices, bad_keys
from tranche.lakes.layout_fields import fitted_layout
from tranche.lakes.meanwhile import Meanwhile
from tranche.lakes.racing import until_committed
from tranche.lakes.table import (
    ADDED,
    ADDED_SIZE,
    Snapshot,
    Table,
    TableFacts,
    Waiting,
    slice_condition,
)
from tranche.lakes.target import Target
from tranche.model.digest import Digests, Seen, compared
from tranche.model.layout import Transform
from tranche.model.run import Materialization
from tranche.model.strategy import PARTITION_COLUMN
from tranche.ports import Written, WrittenKey


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
    columns of a table are the same for what is staged and for what its readers see. They do so too
    where the table's format cannot keep a commit from its readers.
    """

    always_staged: ClassVar[bool] = True
    """Whether a slice is staged even if nothing tests it: it must not be written twice, or may
    turn out to change nothing."""
    grows: ClassVar[bool] = False
    """Whether rows only come to the slice, so that their number tells how many it has then."""

    def __init__(self, stored: Table, target: Target, commit: Commit, *, tested: bool) -> None:
        """`stored` is the table that it writes to, as its lake has it."""
        self.stored = stored
        self.session = stored.session
        self.target = target
        self.table = target.table
        self.commit = commit
        self.tested = tested
        self.side: Waiting | None = None
        self.staged: Snapshot | None = None
        self.looked = Meanwhile(stored.facts)
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
        self.known_keys: Mapping[str, Digests] = {}
        """The digests of those of them whose rows are known without looking."""
        self.key_rows: tuple[str, Mapping[str, int]] | None = None
        """How many rows each key had at a snapshot."""
        self.base: str | None = None
        """The snapshot that the table had before this wrote to it."""
        self.known: Digests | None = None
        """The digests of the rows, where they are known without looking at them."""
        self.read: tuple[frozenset[str], ...] = ()
        """The sets of columns that are read of the slice, which are digested beside the rows."""
        self.watch: Watch | None = None
        self.unwatched = False
        """Whether the digest is wanted, and was not to be had on the way."""
        self.layout: tuple[Transform, ...] | None = None
        """What the script asks for, as the table spells it."""

    @property
    def staged_size(self) -> int | None:
        """How many bytes of rows are staged, if that is known."""
        size = None if self.staged is None else self.staged.summary.get(ADDED_SIZE)
        return None if size is None else int(size)

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
        waits = facts is not None and (self.tested or self.always_staged)
        unfit = self.tested and (facts is None or self.fit.changes)
        if unfit or (waits and not self.stored.stages):
            self.write_aside()
            under_test = self.slice_with(facts) if self.tested else None
        elif facts is not None and waits and not self.fit.changes:
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
        rest = rows.where(slice_condition(self.target))
        if since is None:
            return self.committed(lambda: self.write(rest))
        return self.committed(lambda: self.overwrite(rest, since=since))

    def discard(self) -> None:
        """Removes what is left beside the table."""
        if self.side is not None:
            self.side.drop()
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

    def changes_nothing(self, rows: DataFrame) -> bool:
        """Whether it would change nothing to enter these rows."""
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
        facts = found or self.stored.facts()
        if facts is None:
            return self.create(rows)
        self.base = facts.snapshot
        fitted = self.fit if found and rows is self.fit.rows else self.fitted(rows, facts)
        if fitted.rebuild:
            return self.rebuild(fitted.rows, facts)
        self.stored.alter(fitted)
        if not self.always_staged:
            self.stored.lay_out(self.layout, facts)
            return self.overwrite(fitted.rows, on=facts)
        if not self.stored.stages:
            return self.entered(fitted.rows, facts)
        self.write_staged(fitted.rows, facts)
        return self.nothing_new() if self.staged is None else self.picked(self.staged)

    def create(self, rows: DataFrame) -> Written:
        first = self.made_of(self.first(rows))
        self.stored.create(first, self.target, self.layout, self.commit)
        return self.seen()

    def rebuild(self, rows: DataFrame, facts: TableFacts) -> Written:
        """Makes the table anew, with other columns."""
        seen = self.made_of(rows)
        self.stored.rebuild(seen, self.target, self.layout, facts, self.commit)
        return self.seen()

    def overwrite(
        self, rows: DataFrame, *, on: TableFacts | None = None, since: str | None = None
    ) -> Written:
        """Replaces the slice; not if it was changed since a snapshot, where one is given."""
        self.stored.overwrite(self.seen_off(rows), self.target, self.commit, since)
        return self.seen(on)

    def write_staged(self, rows: DataFrame, facts: TableFacts) -> None:
        self.base = facts.snapshot
        self.stored.lay_out(self.layout, facts)
        if self.grows and not self.several:
            before = facts.snapshot
            self.earlier = before, Meanwhile(lambda: self.counted(before))
        with self.sound_keys(), self.stored.staging(self.commit, facts):
            self.enter(rows)
        self.staged = self.stored.staged(self.commit)

    def entered(self, rows: DataFrame, facts: TableFacts) -> Written:
        """Writes to a table that cannot keep a commit from its readers."""
        there = self.landed()
        if there is not None:
            return there
        if self.changes_nothing(rows):
            return self.nothing_new()
        self.stored.lay_out(self.layout, facts)
        with self.stored.committing(self.commit):
            self.enter(rows)
        return self.seen()

    def write_aside(self) -> None:
        rows = self.aside(self.fit.rows)
        seen = self.watched(rows, rows.schema)
        self.side = self.stored.side(self.commit)
        with self.sound_keys():
            self.side.put(seen)

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
        seen, self.watch = watched(rows, columns, sets_in(columns, self.read))
        return seen

    def with_key(self, rows: DataFrame) -> DataFrame:
        if not self.target.sliced or PARTITION_COLUMN in rows.columns:
            return rows
        return rows.withColumn(PARTITION_COLUMN, F.lit(self.target.partition))

    def made_of(self, rows: DataFrame) -> DataFrame:
        """The rows as they go to a table that is made of them."""
        if self.stored.watched_making:
            return self.seen_off(rows)
        self.watch, self.unwatched = None, self.comparing
        return self.with_key(rows)

    def seen_off(self, rows: DataFrame) -> DataFrame:
        """The rows as they go to the table, with their key."""
        # Watched last: rows that pass through it are built anew by whatever comes after.
        return self.watched(self.with_key(rows), rows.schema)

    def only_slice(self, rows: DataFrame) -> DataFrame:
        """The data's own columns; of several keys each row keeps its key."""
        managed = [name for name in self.managed if not self.several or name != PARTITION_COLUMN]
        return rows.where(slice_condition(self.target)).drop(*managed)

    def staged_rows(self) -> DataFrame:
        assert self.staged is not None
        return self.stored.rows(self.staged.id)

    def staged_slice(self) -> DataFrame:
        return self.current_slice() if self.idle else self.only_slice(self.staged_rows())

    def waiting(self) -> DataFrame:
        """The rows that wait beside the table."""
        assert self.side is not None
        return self.side.rows()

    def upserted(self) -> DataFrame:
        """The slice once the rows that wait have taken the place of those with their keys."""
        there = self.current_slice().join(self.waiting(), list(self.identity), "left_anti")
        return there.unionByName(self.waiting(), allowMissingColumns=True)

    def current_slice(self) -> DataFrame:
        return self.only_slice(self.stored.rows())

    # What came of it

    def seen(self, before: TableFacts | None = None) -> Written:
        """What the table says of a commit that was made to it."""
        found = self.stored.made(self.commit, self.target, before=before, watch=self.watch)
        if not found.own:
            # Nothing was written this time, so that nothing has passed by.
            self.watch, self.unwatched = None, self.comparing
        if before is not None and found.rows_by_key is not None:
            self.key_rows = found.id, found.rows_by_key
        return self.written(found.id, found, found.at)

    def picked(self, staged: Snapshot) -> Written:
        if self.unchanged(staged):
            written = self.nothing_new()
            self.stored.tidy(self.commit)
            return written
        snapshot = self.stored.pick(staged.id)
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
        facts = self.stored.facts()
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
        digests = self.known or self.digests(commit)
        return Written(
            rows=self.rows_of(snapshot, commit),
            snapshot=snapshot,
            committed_at=at,
            digest=digests.rows,
            column_digests=digests.columns,
            columns=self.columns(),
        )

    def written_keys(self, snapshot: str | None, *, changed: bool = True) -> dict[str, WrittenKey]:
        """Each key of the slice, as it is at a snapshot."""
        rows: Mapping[str, int] | None = {}
        if self.key_rows is not None and self.key_rows[0] == snapshot:
            rows = self.key_rows[1]
        elif snapshot is not None:
            rows = self.stored.key_rows(self.target.keys, snapshot)
        if rows is None:
            counted = self.current_slice().groupBy(PARTITION_COLUMN).count().collect()
            rows = {row[0]: int(row[1]) for row in counted}
        found = dict(self.known_keys)
        if changed and snapshot is not None and self.base is not None:
            others = {key: each for key, each in self.standing.items() if key not in found}
            found |= compared_keys(
                self.stored, others, rows, before=self.base, after=snapshot, read=self.read
            )
        return {
            key: self.written_key(key, rows.get(key, 0), found.get(key, Digests()), changed)
            for key in self.target.keys
        }

    def written_key(self, key: str, rows: int, digests: Digests, changed: bool) -> WrittenKey:
        held = self.standing.get(key)
        same = held is not None and held.digest is not None and held.digest == digests.rows
        return WrittenKey(rows, digests.rows, changed and not same, digests.columns)

    def digests(self, commit: Snapshot) -> Digests:
        """What stands for the rows, as far as somebody wants to know."""
        seen = self.seen_now(commit)
        if seen is None:
            return Digests()
        held = self.latest
        if held is None:
            return compared(seen, Digests(), None, lambda: None)
        return compared(seen, held.digests, held.rows, lambda: self.seen_then(held))

    def seen_now(self, commit: Snapshot) -> Seen | None:
        if self.unwatched:
            return self.gone_over(self.stored.rows(commit.id))
        watch = self.watch
        # A task that ran twice was counted twice; the table counts what it holds.
        return None if watch is None or watch.rows != commit.count(ADDED) else watch.seen

    def seen_then(self, held: Materialization) -> Seen | None:
        """What the slice was; None if that cannot be told any more."""
        # A table that was made anew may count its snapshots from the first one on again.
        if self.base is None or held.snapshot is None or not self.stored.has(held.snapshot):
            return None
        then = self.stored.rows(held.snapshot)
        if (PARTITION_COLUMN in then.columns) != self.target.sliced:
            return None
        return self.gone_over(then, proper=False)

    def gone_over(self, table: DataFrame, *, proper: bool = True) -> Seen:
        rows = self.only_slice(table)
        return digest_of(rows, rows.schema, sets_in(rows.schema, self.read, proper=proper))

    def columns(self) -> tuple[tuple[str, str], ...]:
        return captured(self.fit.rows.schema, self.managed)

    def count(self, snapshot: str | None) -> int:
        rows = self.counted(snapshot)
        return self.current_slice().count() if rows is None else rows

    def counted(self, snapshot: str | None) -> int | None:
        """How many rows the slice has at a snapshot; None if only a scan could tell."""
        key = self.target.partition if self.target.sliced else None
        return self.stored.slice_rows(key, snapshot)

    def committed(self, write: Callable[[], Written]) -> Written:
        """Writes until the table has it."""

        def try_to() -> Written:
            with self.sound_keys():
                return write()

        return until_committed(try_to, self.landed)

    def landed(self) -> Written | None:
        """What readers see of this step, if they see anything."""
        if self.stored.columns() is None:
            return None
        found = self.stored.published(self.commit)
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


def _total(keys: Mapping[str, WrittenKey]) -> int:
    return sum(key.rows or 0 for key in keys.values())
