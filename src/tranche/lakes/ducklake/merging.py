"""MERGE into a table of DuckLake: which of its rows go, and which come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from pyspark.sql import Column, DataFrame, MergeIntoWriter
from pyspark.sql import functions as F

from tranche.lakes.ducklake.reading import FILE, POSITION
from tranche.lakes.merging import Merging, several_match
from tranche.script.binding import quoted_name

_HELD, _SOURCE, _ACTION = "_tranche_held", "_tranche_source", "_tranche_action"
_CAME = "_tranche_came"


@dataclass(frozen=True, slots=True)
class Merged:
    """What a MERGE comes to."""

    rows: DataFrame
    """Those that come: new ones, and what others have become."""
    gone: DataFrame
    """Where those are that go, or have become others."""
    counts: Callable[[], tuple[int, int]]
    """How many were changed in any way, and how many of them are new."""


@dataclass(frozen=True, slots=True)
class _Clause:
    condition: Column | None
    values: Mapping[str, Column] | None
    """What the row becomes; None if it goes."""


class LakeMerging(Merging):
    """A frame to be merged into the rows of a table, each of which says where it is."""

    def __init__(self, held: DataFrame, rows: DataFrame, write: Callable[[Merged], None]) -> None:
        super().__init__(_HELD, rows)
        self.target = held
        self.write = write

    def on(self, condition: Column) -> MergeIntoWriter:
        # It has the methods that are used of Spark's own.
        return cast(MergeIntoWriter, _Merge(self, condition))

    def opened(self, condition: Column, *, source: str, among: Column | None) -> MergeIntoWriter:
        """The same for rows of which several may match one, which is an error.

        `among` says which rows of the table are meant at all.
        """
        return cast(MergeIntoWriter, _Merge(self, condition, source, among, once=True))


@dataclass
class _Merge:
    merging: LakeMerging
    condition: Column
    source: str = _SOURCE
    among: Column | None = None
    once: bool = False
    """Whether it has to be seen to that no row is changed twice."""
    matched: list[_Clause] = field(default_factory=list)
    others: list[_Clause] = field(default_factory=list)
    alone: list[_Clause] = field(default_factory=list)
    """For rows of the table that no row has matched."""

    def whenMatched(self, condition: Column | None = None) -> _Matched:  # noqa: N802
        return _Matched(self, condition, self.matched)

    def whenNotMatched(self, condition: Column | None = None) -> _Matched:  # noqa: N802
        return _Matched(self, condition, self.others)

    def whenNotMatchedBySource(self, condition: Column | None = None) -> _Matched:  # noqa: N802
        return _Matched(self, condition, self.alone)

    def merge(self) -> None:
        held = self.merging.target
        held = (held if self.among is None else held.where(self.among)).alias(_HELD)
        given = self.merging.rows.withColumn(_CAME, F.lit(True)).alias(self.source)
        joined = given.join(held, self.condition, "full" if self.alone else "left")
        there = F.col(f"{_HELD}.{FILE}").isNotNull()
        came = F.col(f"{self.source}.{_CAME}").isNotNull()
        action = F.lit(0)
        clauses = [
            *((c, there & came) for c in self.matched),
            *((c, ~there) for c in self.others),
            *((c, ~came) for c in self.alone),
        ]
        for number, (clause, where) in reversed(list(enumerate(clauses, 1))):
            wanted = where if clause.condition is None else where & clause.condition
            action = F.when(wanted, F.lit(number)).otherwise(action)
        columns = [n for n in self.merging.target.columns if n not in (FILE, POSITION)]
        changed = joined.withColumn(_ACTION, action).where(F.col(_ACTION) > 0)
        made = changed.select(
            *(self._value(name, clauses).alias(name) for name in columns),
            F.col(f"{_HELD}.{FILE}").alias(FILE),
            F.col(f"{_HELD}.{POSITION}").alias(POSITION),
            F.col(_ACTION),
        ).persist()
        try:
            self._write(made, columns, clauses)
        finally:
            made.unpersist()

    def _write(
        self, made: DataFrame, columns: list[str], clauses: list[tuple[_Clause, Column]]
    ) -> None:
        stay = [n for n, (clause, _) in enumerate(clauses, 1) if clause.values is not None]

        def counts() -> tuple[int, int]:
            new = F.count_if(F.col(FILE).isNull())
            # Counted only where a row may be changed twice.
            different = F.count_distinct(FILE, POSITION) if self.once else F.lit(0)
            changed, inserted, held = made.agg(F.count(F.lit(1)), new, different).collect()[0]
            if self.once and changed - inserted > held:
                raise several_match()
            return int(changed), int(inserted)

        rows = made.where(F.col(_ACTION).isin(stay)).select(*map(quoted_name, columns))
        gone = made.where(F.col(FILE).isNotNull()).select(FILE, POSITION)
        self.merging.write(Merged(rows, gone, counts))

    def _value(self, name: str, clauses: list[tuple[_Clause, Column]]) -> Column:
        """What a column becomes, by what is done with its row."""
        held = F.col(f"{_HELD}.{quoted_name(name)}")
        type_ = self.merging.target.schema[name].dataType
        found = held
        for number, (clause, _) in reversed(list(enumerate(clauses, 1))):
            if clause.values is None:
                continue
            set_ = {key.lower(): value for key, value in clause.values.items()}
            value = set_.get(name.lower(), set_.get(quoted_name(name).lower()))
            if value is None:
                # NULL for a row that is new; what is not named stays what it was otherwise.
                value = held
            found = F.when(F.col(_ACTION) == number, value.cast(type_)).otherwise(found)
        return found


@dataclass
class _Matched:
    merge_: _Merge
    condition: Column | None
    clauses: list[_Clause]

    def update(self, assignments: Mapping[str, Column]) -> _Merge:
        self.clauses.append(_Clause(self.condition, assignments))
        return self.merge_

    insert = update

    def updateAll(self) -> _Merge:  # noqa: N802
        names = self.merge_.merging.rows.columns
        return self.update({name: self.merge_.merging.given(name) for name in names})

    insertAll = updateAll  # noqa: N815

    def delete(self) -> _Merge:
        self.clauses.append(_Clause(self.condition, None))
        return self.merge_
