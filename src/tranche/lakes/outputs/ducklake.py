"""Tables of DuckLake that a task merges rows into; other rows enter them as those of a script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame

from tranche.lakes.commit import Commit
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.lakes.outputs.merges import SOURCE, MergePlace, Opened
from tranche.lakes.table import in_keys
from tranche.lakes.target import Target
from tranche.model.strategy import PARTITION_COLUMN, Replace


class DuckLakePlace(MergePlace):
    table: DuckLakeTable

    def __init__(self, table: DuckLakeTable) -> None:
        super().__init__(table)

    def create(self, rows: DataFrame, by: Sequence[str], commit: Commit) -> None:
        target = Target(
            table=self.table.address,
            strategy=Replace(),
            sliced=bool(by),
            # Whatever keys there are, each row says its own.
            keys=("", "") if by else (),
            policy="fail",
        )
        self.table.create(rows, target, None, commit)

    def merging(self, rows: DataFrame, keys: Sequence[str]) -> tuple[str, Opened]:
        into = self.table.merging(rows)
        among = in_keys(PARTITION_COLUMN, keys) if keys else None
        return into.table, partial(into.opened, source=SOURCE, among=among)
