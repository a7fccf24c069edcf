"""Replace, merge and append."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.lakes.iceberg import ADDED, Snapshot, TableFacts
from tranche.lakes.keys import check_key_columns, guarded
from tranche.lakes.merging import Merging
from tranche.lakes.writer import SliceWriter
from tranche.model.strategy import PARTITION_COLUMN, Merge
from tranche.ports import Written

_COUNTED = "spark.merge-into.num-target-rows-"


class ReplaceWriter(SliceWriter):
    """The slice becomes exactly the rows, also when there are none."""

    always_staged: ClassVar[bool] = False

    def enter(self, rows: DataFrame) -> None:
        self.writer(rows).overwrite(self.slice_condition())

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
        self.unwatched(self.with_key(rows)).append()

    def unchanged(self, staged: Snapshot) -> bool:
        return self.came(staged) == 0

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

    def enter(self, rows: DataFrame) -> None:
        # The digest would be of the rows that came, not of the slice.
        self.watch = None
        into = Merging(self.table, self.with_key(guarded(rows, self.identity)))
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
        return merged_nothing(staged)

    def came(self, commit: Snapshot) -> int | None:
        inserted = f"{_COUNTED}inserted"
        return commit.count(inserted) if inserted in commit.summary else None

    def written_again(self, staged: Snapshot) -> Written:
        return self.copied(staged)

    def slice_with(self, facts: TableFacts | None) -> DataFrame:
        return self.waiting() if facts is None else self.upserted()


def merged_rows(commit: Snapshot) -> int | None:
    """How many rows a MERGE changed, as Spark counted them."""
    if f"{_COUNTED}inserted" not in commit.summary:
        return None
    return sum(commit.count(f"{_COUNTED}{name}") for name in ("inserted", "updated", "deleted"))


def merged_nothing(commit: Snapshot) -> bool:
    return merged_rows(commit) == 0
