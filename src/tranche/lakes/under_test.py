"""What the data tests of a step can look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import Place, SourceMissing
from tranche.lakes.columns import check_columns
from tranche.lakes.target import Target
from tranche.lakes.travel import rows_now
from tranche.lakes.writer import SliceWriter
from tranche.model.asset import LakeTable
from tranche.model.script import ViolationQuery
from tranche.model.statement import TableHole
from tranche.model.strategy import PARTITION_COLUMN, History
from tranche.script.binding import SLICE_VIEW, quoted_name

if TYPE_CHECKING:
    from tranche.lakes.execution import Execution

_T = TypeVar("_T")
_HISTORY_COLUMNS = (
    "CAST(NULL AS TIMESTAMP) AS valid_from",
    "CAST(NULL AS TIMESTAMP) AS valid_to",
    "CAST(NULL AS BOOLEAN) AS is_current",
)


class UnderTest:
    """The tables around a slice, as its tests see them."""

    def __init__(self, execution: Execution, target: Target) -> None:
        self.execution = execution
        self.tables = execution.tables
        self.script = execution.step.script
        self.path = self.script.path
        self.target = target

    def located(self, line: int, act: Callable[[], _T]) -> _T:
        return self.execution.located(line, act)

    def rows_with(self, table: LakeTable, rows: DataFrame) -> Sequence[DataFrame]:
        if table not in self.script.writes:
            return (self.there(table),)
        # Of its own table, the slice is what it is about to be, and the rest is what it was.
        stored = self.tables.of(table)
        if not self.target.sliced or stored.columns() is None:
            return (rows,)
        elsewhere = ~F.coalesce(F.col(PARTITION_COLUMN).isin(list(self.target.keys)), F.lit(False))
        return rows, stored.rows().where(elsewhere)

    def there(self, table: LakeTable, place: Place | None = None) -> DataFrame:
        """Another table, as readers see it."""
        stored = self.tables.of(table)
        if stored.columns() is None and stored.history() is None:
            raise SourceMissing(
                f"{table} does not exist, and a data test of {self.path} refers to it",
                "run the script that makes it, or correct the name",
                place=place,
            )
        return rows_now(stored)

    def violating(self, name: str, rows: DataFrame) -> DataFrame:
        query = self.script.violation_query(name)
        assert query is not None, f"{self.path} was read without its data test {name}"
        rows.createOrReplaceTempView(SLICE_VIEW)
        with self.execution.reading(query.path):
            return self.execution.sql(query.statement, lambda hole: self.named(query, hole))

    def named(self, query: ViolationQuery, hole: TableHole) -> str:
        """A table in a test script. One that the SELECT has read is seen as it was seen then."""
        table = hole.table
        if hole.pinned and table in self.execution.pinned:
            return self.execution.table(hole)
        stored = self.tables.of(table)
        if stored.columns() is not None:
            return stored.name
        if stored.history() is not None:
            return self.execution.table(hole)
        if table not in self.script.writes:
            self.there(table, Place(query.path, query.statement.line))
        # Before its first run, a table is empty.
        if hole.qualifies:
            return quoted_name(table.table)
        empty = f"(SELECT {self.all_columns()} FROM {quoted_name(SLICE_VIEW)} WHERE false)"  # noqa: S608
        return empty if hole.alias is None else f"{empty} AS {quoted_name(hole.alias)}"

    def all_columns(self) -> str:
        columns = ["*"]
        if self.target.sliced:
            columns.append(f"CAST(NULL AS STRING) AS {PARTITION_COLUMN}")
        if isinstance(self.target.strategy, History):
            columns += _HISTORY_COLUMNS
        return ", ".join(columns)


def expected_rows(writer: SliceWriter, rows: DataFrame) -> DataFrame:
    """Rows with all columns that the slice could have: the SELECT's, and those of the table."""
    data = rows.drop(PARTITION_COLUMN) if writer.target.ranged else rows
    check_columns(data, writer.managed)
    there = writer.stored.columns()
    known = {*(name.lower() for name in rows.columns), *writer.managed}
    missing = [
        F.lit(None).cast(field.dataType).alias(field.name)
        for field in (there.fields if there is not None else ())
        if field.name.lower() not in known
    ]
    return rows.select("*", *missing) if missing else rows
