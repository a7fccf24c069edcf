"""Replace, merge and append."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.lakes.keys import check_key_columns, guarded
from tranche.lakes.merging import all_of
from tranche.lakes.table import ADDED, Snapshot, TableFacts
from tranche.lakes.writer import SliceWriter
from tranche.model.strategy import PARTITION_COLUMN, Merge
from tranche.ports import Written
from tranche.script.binding import quoted_name


class ReplaceWriter(SliceWriter):
    """The slice becomes exactly the rows, also when there are none."""

    always_staged: ClassVar[bool] = False

    def enter(self, rows: DataFrame) -> None:
        self.stored.overwrite(self.seen_off(rows), self.target, None)

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        return self.waiting()

    def rows_of(self, snapshot: str | None, commit: Snapshot) -> int:
        return commit.count(ADDED)

    def written_again(self, staged: Snapshot) -> Written:
        return self.copied(staged)


class AppendWriter(SliceWriter):
    """The rows come to those which are there."""

    grows: ClassVar[bool] = True

    def enter(self, rows: DataFrame) -> None:
        # Whatever comes makes the slice another, so that nothing asks for its digest.
        self.watch = None
        self.stored.append(self.with_key(rows), self.target)

    def unchanged(self, staged: Snapshot) -> bool:
        return self.came(staged) == 0

    def changes_nothing(self, rows: DataFrame) -> bool:
        return not rows.take(1)

    def came(self, commit: Snapshot) -> int | None:
        return commit.count(ADDED)

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        if facts is None:
            return self.waiting()
        return self.current_slice().unionByName(self.waiting(), allowMissingColumns=True)


class MergeWriter(SliceWriter):
    """Rows are upserted on their key; others stay."""

    grows: ClassVar[bool] = True

    @property
    def key(self) -> tuple[str, ...]:
        assert isinstance(self.target.strategy, Merge)
        return self.target.strategy.key

    def check(self, rows: DataFrame) -> None:
        check_key_columns(rows, self.key)

    def first(self, rows: DataFrame) -> DataFrame:
        return guarded(rows, self.identity)

    def aside(self, rows: DataFrame) -> DataFrame:
        return guarded(rows, self.identity)

    def write_staged(self, rows: DataFrame, facts: TableFacts) -> None:
        if not self.stored.merges:
            # The rows are looked at several times, and must be the same each time.
            kept = rows.persist()
            try:
                with self.sound_keys():
                    self.idle = self.changes_nothing(guarded(kept, self.identity))
                if not self.idle:
                    super().write_staged(kept, facts)
            finally:
                kept.unpersist()
        else:
            super().write_staged(rows, facts)

    def enter(self, rows: DataFrame) -> None:
        if not self.stored.merges:
            self.watch = None
            sound = guarded(rows, self.identity)
            stay = self.current_slice().join(sound, list(self.identity), "left_anti")
            slice_ = stay.unionByName(sound)
            self.stored.overwrite(self.with_key(slice_), self.target, None)
            return
        # The digest would be of the rows that came, not of the slice.
        self.watch = None
        into = self.stored.merging(self.with_key(guarded(rows, self.identity)))
        on = into.equal(self.identity)
        if self.several:
            on = into.held(PARTITION_COLUMN).isin(list(self.target.keys)) & on
        elif self.target.sliced:
            on = (into.held(PARTITION_COLUMN) == F.lit(self.target.partition)) & on
        key = {PARTITION_COLUMN, *(name.lower() for name in self.key)}
        others = [name for name in rows.columns if name.lower() not in key]
        merge = into.on(on)
        if others:
            merge = merge.whenMatched(~into.same(others)).updateAll()
        merge.whenNotMatched().insertAll().merge()

    def unchanged(self, staged: Snapshot) -> bool:
        return staged.changed == 0

    def changes_nothing(self, rows: DataFrame) -> bool:
        there = self.current_slice()
        new = rows.join(there, list(self.identity), "left_anti")
        if new.take(1):
            return False
        held, given = there.alias("h"), rows.alias("g")
        on = [F.col(f"h.{quoted_name(k)}") == F.col(f"g.{quoted_name(k)}") for k in self.identity]
        others = [name for name in rows.columns if name not in self.identity]
        different = ~all_of(
            F.col(f"h.{quoted_name(name)}").eqNullSafe(F.col(f"g.{quoted_name(name)}"))
            for name in others
        )
        return not given.join(held, on).where(different).take(1)

    def came(self, commit: Snapshot) -> int | None:
        return commit.inserted

    def written_again(self, staged: Snapshot) -> Written:
        return self.copied(staged)

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        return self.waiting() if facts is None else self.upserted()
