"""Data tests over the rows of a slice that nobody sees yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from tranche.errors import ColumnsRejected, NotBuiltYet, Place
from tranche.lake.rows import fetch
from tranche.model.asset import LakeTable
from tranche.model.data_test import (
    AcceptedValues,
    DataTest,
    DataTestResult,
    NotNull,
    Relationship,
    ScriptTest,
    Unique,
)
from tranche.script.binding import quoted_name

SAMPLE = 20
"""How many violating rows are kept of each test."""

TableFrame = Callable[[LakeTable], DataFrame]


@dataclass(frozen=True, slots=True)
class _Rowwise:
    """A test that each row passes or fails by itself."""

    violated: Column


@dataclass(frozen=True, slots=True)
class _Setwise:
    """A test that looks at rows together: how many fail, and which."""

    count: DataFrame
    violating: DataFrame


def run_data_tests(
    rows: DataFrame, tests: Sequence[DataTest], path: str, table: TableFrame
) -> tuple[DataTestResult, ...]:
    """The result of each test, from one query over the slice; another for the rows that fail."""
    checks = [_check(rows, test, path, table) for test in tests]
    counts = _counts(rows, checks)
    results = []
    for number, (test, check) in enumerate(zip(tests, checks, strict=True)):
        found = counts.get(number, 0)
        sample = None
        if found:
            bad = rows.where(check.violated) if isinstance(check, _Rowwise) else check.violating
            sample = fetch(bad, SAMPLE)
        results.append(
            DataTestResult(test=str(test), severity=test.severity, violations=found, sample=sample)
        )
    return tuple(results)


def _counts(rows: DataFrame, checks: Sequence[_Rowwise | _Setwise]) -> dict[int, int]:
    """How many rows fail each test. Those that go row by row share one pass."""
    parts = [
        check.count.select(F.lit(number).alias("test"), F.col("violations"))
        for number, check in enumerate(checks)
        if isinstance(check, _Setwise)
    ]
    rowwise = {n: check for n, check in enumerate(checks) if isinstance(check, _Rowwise)}
    if rowwise:
        counted = rows.agg(
            F.array(
                *(
                    F.struct(
                        F.lit(number).alias("test"),
                        F.count_if(check.violated).alias("violations"),
                    )
                    for number, check in rowwise.items()
                )
            ).alias("all")
        )
        parts.append(counted.select(F.inline("all")))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionAll(part)
    return {row["test"]: int(row["violations"]) for row in whole.collect()}


def _check(rows: DataFrame, test: DataTest, path: str, table: TableFrame) -> _Rowwise | _Setwise:
    rule = test.rule
    place = Place(path, test.line)
    match rule:
        case NotNull(name):
            return _Rowwise(_column(rows, name, test, place).isNull())
        case AcceptedValues(name, values):
            column = _column(rows, name, test, place)
            known = [_as_type(value, _type(rows, name)) for value in values]
            return _Rowwise(column.isNotNull() & ~F.coalesce(column.isin(*known), F.lit(False)))
        case Unique(name):
            return _unique(rows, _column(rows, name, test, place), name)
        case Relationship(name, target):
            assert isinstance(target.asset, LakeTable)
            others = table(target.asset)
            values_there = others.select(_column(others, target.column, test, place))
            return _related(rows, _column(rows, name, test, place), values_there)
        case ScriptTest():
            raise NotBuiltYet("data tests by script cannot be run yet")


def _unique(rows: DataFrame, column: Column, name: str) -> _Setwise:
    there = rows.where(column.isNotNull())
    number = F.count(F.lit(1)).alias("_tranche_number")
    twice = there.groupBy(column.alias("_tranche_value")).agg(number).where("_tranche_number > 1")
    total = F.coalesce(F.sum("_tranche_number"), F.lit(0)).alias("violations")
    violating = there.join(
        twice.select("_tranche_value"), column == F.col("_tranche_value"), "left_semi"
    ).orderBy(F.col(quoted_name(name)))
    return _Setwise(twice.agg(total), violating)


def _related(rows: DataFrame, column: Column, known: DataFrame) -> _Setwise:
    named = known.toDF("_tranche_known")
    orphans = rows.where(column.isNotNull()).join(
        named, column == F.col("_tranche_known"), "left_anti"
    )
    return _Setwise(orphans.agg(F.count(F.lit(1)).alias("violations")), orphans)


def _column(rows: DataFrame, name: str, test: DataTest, place: Place) -> Column:
    if name.lower() not in {column.lower() for column in rows.columns}:
        raise ColumnsRejected(
            f"the data test '{test}' names the column {name}, which is not there",
            f"the columns are {', '.join(rows.columns)}",
            place=place,
        )
    return rows[quoted_name(name)]


def _type(rows: DataFrame, name: str) -> DataType:
    return next(f.dataType for f in rows.schema.fields if f.name.lower() == name.lower())


def _as_type(value: str, type_: DataType) -> Column:
    """A value of the script as one of the column; one that it cannot have is never equal."""
    return F.lit(value).try_cast(type_)
