"""MERGE over a DataFrame.

Not in SQL: Spark 4.1 cannot plan a MERGE whose source is a temporary view of a frame that reads a
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, MergeIntoWriter
from pyspark.sql import functions as F

from tranche.errors import MergeRejected
from tranche.script.binding import quoted_name

_SOURCE = "_tranche_source"


class Merging:
    """A frame to be merged into a table, and the columns of both."""

    def __init__(self, table: str, rows: DataFrame) -> None:
        """`table` is what stands for it in SQL."""
        self.table = table
        self.rows = rows

    def held(self, name: str) -> Column:
        """A column of the table."""
        return F.col(f"{self.table}.{quoted_name(name)}")

    def given(self, name: str) -> Column:
        """A column of the frame."""
        return F.col(f"{_SOURCE}.{quoted_name(name)}")

    def equal(self, columns: Sequence[str]) -> Column:
        return all_of(self.held(name) == self.given(name) for name in columns)

    def same(self, columns: Sequence[str]) -> Column:
        """Equal, where two NULLs are equal too."""
        return all_of(self.held(name).eqNullSafe(self.given(name)) for name in columns)

    def assignments(self, columns: Sequence[str]) -> Mapping[str, Column]:
        return {quoted_name(name): self.given(name) for name in columns}

    def on(self, condition: Column) -> MergeIntoWriter:
        return self.rows.alias(_SOURCE).mergeInto(self.table, condition)


def all_of(conditions: Iterable[Column]) -> Column:
    found = F.lit(True)
    for condition in conditions:
        found = found & condition
    return found


def several_match() -> MergeRejected:
    return MergeRejected(
        "several rows of a Merge match one row of the table, which can become only one of them",
        "leave one of the rows for each, or let on= tell them apart",
    )
