"""A Merge of a task into a table, by Spark's MERGE or by what does as Spark would."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, MergeIntoWriter
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.errors import ColumnsRejected, MergeRejected
from tranche.jobs.merge import Match, Merge, When
from tranche.lakes.columns import Fit
from tranche.lakes.commit import Commit
from tranche.lakes.merging import several_match
from tranche.lakes.outputs.fitting import fitted
from tranche.lakes.outputs.place import Kept, Place
from tranche.lakes.table import ADDED, Snapshot, Table
from tranche.model.strategy import PARTITION_COLUMN, SchemaPolicy
from tranche.script.binding import quoted_name
from tranche.script.retargeting import retargeted

SOURCE = "source"
_SEVERAL = (
    "MERGE_CARDINALITY_VIOLATION",
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
)
Opened: TypeAlias = Callable[[Column], MergeIntoWriter]
"""What begins a MERGE whose rows are the same if a condition holds."""


class MergePlace(Place):
    """A table that rows can be merged into."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __str__(self) -> str:
        return str(self.table)

    def columns(self) -> StructType | None:
        return self.table.columns()

    def published(self, commit: Commit) -> Kept | None:
        if self.table.columns() is None:
            return None
        found = self.table.published(commit)
        return None if found is None else self.kept(found, self.parts_of(found.id))

    def made(self, commit: Commit, by: Sequence[str]) -> Kept:
        found = self.table.published(commit)
        # Where nothing changes, there is no commit.
        return Kept(rows=0) if found is None else self.kept(found, self.parts_of(found.id))

    def kept(self, found: Snapshot, parts: frozenset[str]) -> Kept:
        rows = found.count(ADDED) if found.changed is None else found.changed
        return Kept(rows=rows, snapshot=found.id, parts=parts)

    def parts_of(self, snapshot: str) -> frozenset[str]:
        """The parts that a commit has brought rows to."""
        return frozenset()

    @abstractmethod
    def merging(self, rows: DataFrame, keys: Sequence[str]) -> tuple[str, Opened]:
        """What stands for the table in conditions, and what begins a MERGE of these rows into the
        slices of these keys, or into the whole."""

    def merge(
        self,
        merge: Merge,
        rows: DataFrame,
        commit: Commit,
        keys: Sequence[str] = (),
        *,
        policy: SchemaPolicy,
    ) -> None:
        """Merges rows into it. Of a table with slices, the rows say of which each is, and nothing
        changes but the slices of these keys."""
        known = self.columns()
        assert known is not None, f"{self} does not exist"
        fit = _fit(merge, rows, known, str(self), policy)
        if fit.changes:
            self.table.alter(fit)
        with self.table.committing(commit), _in_a_sentence():
            name, opened = self.merging(rows, keys)
            writer: Any = opened(_condition(merge, name, keys))
            for when in merge.clauses:
                writer = _with_clause(writer, when, name, fit.rows.columns, keys)
            writer.merge()


def check_merge(merge: Merge, rows: DataFrame, known: StructType, where: str) -> None:
    """Breaks where a Merge names a column that neither side has, before anything is written."""
    columns = {name.lower() for name in known.names}
    new = {name.lower() for name in rows.columns} if _takes_all(merge) else set()
    for when in merge.clauses:
        for name, _ in when.values or ():
            if name.lower() not in columns | new:
                raise MergeRejected(
                    f"a Merge sets the column {name}, and {where} has none",
                    f"the columns are {', '.join(known.names)}",
                )
    target = rows.sparkSession.createDataFrame([], known).alias("target")
    source = rows.alias(SOURCE)
    seen: dict[Match, DataFrame] = {
        "matched": target.join(source),
        # A name without a table means a column of the only side that there is.
        "not_matched": source,
        "not_matched_by_source": target,
    }
    texts: dict[Match, list[str]] = {"matched": [merge.condition]}
    for when in merge.clauses:
        own = texts.setdefault(when.match, [])
        own += [when.condition] if when.condition is not None else []
        own += [value for _, value in when.values or ()]
    for match, found in texts.items():
        seen[match].select(*map(F.expr, found)).schema  # noqa: B018 - Spark looks at it then


def _takes_all(merge: Merge) -> bool:
    """Whether rows enter the table, or change it, with all columns that they have."""
    return any(when.action != "delete" and when.values is None for when in merge.clauses)


def _fit(merge: Merge, rows: DataFrame, known: StructType, where: str, policy: SchemaPolicy) -> Fit:
    """The columns of the rows that enter a table as they are, and what it must change for them."""
    if not _takes_all(merge):
        return Fit(rows)
    found = fitted(rows, known, where)
    added = [field.name for field in found.added]
    if (found.widened and policy != "sync") or (added and policy == "fail"):
        changed = [*added, *(f"{f.name} as {f.dataType.simpleString()}" for f in found.widened)]
        raise ColumnsRejected(
            f"the rows of a Merge have {', '.join(changed)}, and {where} has not",
            'name the columns in its clauses, or say on_schema_change="sync"',
        )
    if policy == "sync":
        return Fit(rows, found.added, found.widened)
    return Fit(rows.drop(*added))


def new_columns(merge: Merge, rows: DataFrame, known: StructType) -> list[str]:
    """The columns of the rows that would enter a table as they are, and that it has not."""
    have = {name.lower() for name in known.names}
    return [n for n in rows.columns if n.lower() not in have] if _takes_all(merge) else []


def _condition(merge: Merge, name: str, keys: Sequence[str]) -> Column:
    on = F.expr(retargeted(merge.condition, name))
    if not keys:
        return on
    own = F.col(f"{name}.{PARTITION_COLUMN}")
    return own.isin(list(keys)) & (own == F.col(f"{SOURCE}.{PARTITION_COLUMN}")) & on


def _with_clause(
    writer: Any, when: When, name: str, columns: Sequence[str], keys: Sequence[str]
) -> Any:
    condition = None if when.condition is None else F.expr(retargeted(when.condition, name))
    if keys and when.match == "not_matched_by_source":
        # Rows of other slices have no match either.
        own = F.col(f"{name}.{PARTITION_COLUMN}").isin(list(keys))
        condition = own if condition is None else own & condition
    match when.match:
        case "matched":
            open_ = writer.whenMatched(condition)
        case "not_matched":
            open_ = writer.whenNotMatched(condition)
        case _:
            open_ = writer.whenNotMatchedBySource(condition)
    if when.action == "delete":
        return open_.delete()
    if when.values is None:
        values = {quoted_name(c): F.col(f"{SOURCE}.{quoted_name(c)}") for c in columns}
    else:
        values = {quoted_name(c): F.expr(retargeted(v, name)) for c, v in when.values}
    if keys and when.action == "insert":
        values[quoted_name(PARTITION_COLUMN)] = F.col(f"{SOURCE}.{PARTITION_COLUMN}")
    return open_.update(values) if when.action == "update" else open_.insert(values)


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if any(condition in str(error) for condition in _SEVERAL):
            raise several_match() from error
        raise
