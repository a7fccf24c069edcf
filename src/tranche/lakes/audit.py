"""Data tests over the rows of a slice that nobody sees yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from tranche.errors import ColumnsRejected, Place
from tranche.lakes import duplicates
from tranche.lakes.rows import count_and_fetch, fetch
from tranche.model.asset import ColumnRef, LakeTable
from tranche.model.data_test import (
    AcceptedValues,
    DataTest,
    DataTestResult,
    NotNull,
    Relationship,
    ScriptTest,
    Unique,
)
from tranche.model.rows import Rows
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

SAMPLE = 20
"""How many violating rows are kept of each test."""

_T = TypeVar("_T")


class Surroundings(Protocol):
    """What data tests can look at besides the slice."""

    path: str
    """The script that declares them."""

    def rows_with(self, table: LakeTable, rows: DataFrame) -> Sequence[DataFrame]:
        """All that a table will hold once the slice is published, in one or more pieces."""
        ...

    def violating(self, name: str, rows: DataFrame) -> DataFrame:
        """What the test script of that name returns for the slice."""
        ...

    def located(self, line: int, act: Callable[[], _T]) -> _T:
        """Does something; what Spark says against it gets that line of the script."""
        ...


@dataclass(frozen=True, slots=True)
class _Rowwise:
    """A test that each row passes or fails by itself."""

    violated: Column


@dataclass(frozen=True, slots=True)
class _Setwise:
    """A test that looks at rows together: how many fail, and which. What is not asked for is not
    put together either, since Spark takes its time to understand it."""

    count: Callable[[], DataFrame]
    """How many rows fail; or, where there is an exact count, whether any could."""
    violating: Callable[[], DataFrame]
    exact: Callable[[], DataFrame] | None = None


@dataclass(frozen=True, slots=True)
class _Scripted:
    """A test that somebody wrote as a query."""

    violating: DataFrame


_Check = _Rowwise | _Setwise | _Scripted


def check_data_tests(rows: DataFrame, tests: Sequence[DataTest], around: Surroundings) -> None:
    """Rejects tests that could not be run, before anything is written. It reads no rows."""
    for test, check in zip(tests, _checks(rows, tests, around), strict=True):
        if isinstance(check, _Setwise):
            around.located(test.line, partial(_understood, check.count))


def _understood(query: Callable[[], DataFrame]) -> StructType:
    """On Spark Connect, nobody looks at a query before it is asked for something."""
    return query().schema


def run_data_tests(
    rows: DataFrame, tests: Sequence[DataTest], around: Surroundings
) -> tuple[DataTestResult, ...]:
    """The result of each test. All but those by script are counted in one query over the slice;
    another is needed only for the rows that fail."""
    checks = _checks(rows, tests, around)
    builtin = [test.line for test in tests if not isinstance(test.rule, ScriptTest)]
    counts = around.located(builtin[0], lambda: _counts(rows, checks)) if builtin else {}
    return tuple(
        around.located(test.line, partial(_result, rows, test, check, counts.get(number)))
        for number, (test, check) in enumerate(zip(tests, checks, strict=True))
    )


def run_data_tests_by_key(
    rows: DataFrame, tests: Sequence[DataTest], around: Surroundings, keys: Sequence[str]
) -> dict[str, tuple[DataTestResult, ...]]:
    """The results for each key of rows that say of which they are, counted in one query."""
    lines = [test.line for test in tests]
    found = around.located(lines[0], lambda: _counts_by_key(rows, tests, around))
    results: dict[str, list[DataTestResult]] = {key: [] for key in keys}
    for number, test in enumerate(tests):
        counts = found.get(number, {})
        samples: dict[str, Rows] = {}
        if counts:
            violating = _violating(rows, test, around)
            samples = around.located(test.line, partial(_samples, violating, list(counts)))
        for key in keys:
            results[key].append(
                DataTestResult(
                    test=str(test),
                    severity=test.severity,
                    violations=counts.get(key, 0),
                    sample=samples.get(key),
                )
            )
    return {key: tuple(each) for key, each in results.items()}


def _counts_by_key(
    rows: DataFrame, tests: Sequence[DataTest], around: Surroundings
) -> dict[int, dict[str, int]]:
    """How many rows of each key fail each test; keys without any are missing."""
    key, number = F.col(PARTITION_COLUMN).alias("key"), F.count(F.lit(1))
    parts: list[DataFrame] = []
    rowwise: dict[int, Column] = {}
    uniques: dict[int, Column] = {}
    for position, test in enumerate(tests):
        if isinstance(test.rule, Unique):
            place = Place(around.path, test.line)
            uniques[position] = _column(rows, test.rule.column, test, place)
            continue
        check = _check(rows, test, around)
        if isinstance(check, _Rowwise):
            rowwise[position] = check.violated
            continue
        grouped = _violating(rows, test, around).groupBy(key)
        parts.append(
            grouped.agg(number.alias("violations")).select(
                F.lit(position).alias("test"), "key", "violations"
            )
        )
    # What each row tells by itself is counted on the way of the first that looks at several.
    counted = {n: F.count_if(violated) for n, violated in rowwise.items()}
    for position, column in uniques.items():
        values = rows.groupBy(key, column.alias("value")).agg(
            number.alias("number"), *(each.alias(f"n{n}") for n, each in counted.items())
        )
        several = F.col("value").isNotNull() & (F.col("number") > 1)
        sums = {position: F.sum(F.when(several, F.col("number")).otherwise(F.lit(0)))}
        sums |= {n: F.sum(f"n{n}") for n in counted}
        parts.append(_listed(values.groupBy("key"), sums))
        counted = {}
    if counted:
        parts.append(_listed(rows.groupBy(key), counted))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionAll(part)
    found: dict[int, dict[str, int]] = {}
    for row in whole.collect():
        found.setdefault(row["test"], {})[row["key"]] = int(row["violations"])
    return found


def _listed(groups: GroupedData, counts: Mapping[int, Column]) -> DataFrame:
    """What was counted for each key, with a row for each test that some rows fail."""
    every = F.array(
        *(
            F.struct(F.lit(n).alias("test"), number.alias("violations"))
            for n, number in counts.items()
        )
    )
    each = groups.agg(every.alias("all")).select("key", F.inline("all"))
    return each.where(F.col("violations") > 0).select("test", "key", "violations")


def _violating(rows: DataFrame, test: DataTest, around: Surroundings) -> DataFrame:
    """The rows that fail a test, with their keys."""
    if isinstance(test.rule, Unique):
        place = Place(around.path, test.line)
        column = _column(rows, test.rule.column, test, place)
        number = F.count(F.lit(1)).over(Window.partitionBy(F.col(PARTITION_COLUMN), column))
        counted = rows.where(column.isNotNull()).withColumn("_tranche_number", number)
        return counted.where(F.col("_tranche_number") > 1).drop("_tranche_number")
    match _check(rows, test, around):
        case _Rowwise(violated):
            return rows.where(violated)
        case _Setwise(violating=violating):
            return violating()
        case _Scripted(violating=found):
            return found


def _samples(violating: DataFrame, keys: Sequence[str]) -> dict[str, Rows]:
    """Some rows of each key, from one query."""
    order = Window.partitionBy(PARTITION_COLUMN).orderBy(F.lit(1))
    some = violating.where(F.col(PARTITION_COLUMN).isin(list(keys)))
    some = some.withColumn("_tranche_number", F.row_number().over(order))
    some = some.where(F.col("_tranche_number") <= SAMPLE + 1).drop("_tranche_number")
    found = fetch(some.select(PARTITION_COLUMN, "*"), (SAMPLE + 1) * len(keys))
    columns = tuple(column for column in found.columns[1:] if column[0] != PARTITION_COLUMN)
    at = next(n for n, column in enumerate(found.columns) if n and column[0] == PARTITION_COLUMN)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for row in found.values:
        rows.setdefault(row[0], []).append((*row[1:at], *row[at + 1 :]))
    return {
        key: Rows(columns, tuple(values[:SAMPLE]), more=len(values) > SAMPLE)
        for key, values in rows.items()
    }


def _checks(rows: DataFrame, tests: Sequence[DataTest], around: Surroundings) -> list[_Check]:
    return [around.located(test.line, partial(_check, rows, test, around)) for test in tests]


def _result(rows: DataFrame, test: DataTest, check: _Check, found: int | None) -> DataTestResult:
    sample = None
    match check:
        case _Scripted(violating):
            found, sample = count_and_fetch(violating, SAMPLE)
        case _Rowwise(violated) if found:
            sample = fetch(rows.where(violated), SAMPLE)
        case _Setwise(_, violating, exact) if found:
            if exact is not None:
                found = int(exact().collect()[0]["violations"])
            sample = fetch(violating(), SAMPLE)
        case _:
            pass
    return DataTestResult(
        test=str(test),
        severity=test.severity,
        violations=found or 0,
        sample=sample if found else None,
    )


def _counts(rows: DataFrame, checks: Sequence[_Check]) -> dict[int, int]:
    """How many rows fail each built-in test. Those that go row by row share one pass."""
    parts = [
        check.count().select(F.lit(number).alias("test"), F.col("violations"))
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


def _check(rows: DataFrame, test: DataTest, around: Surroundings) -> _Check:
    place = Place(around.path, test.line)
    match test.rule:
        case NotNull(name):
            return _Rowwise(_column(rows, name, test, place).isNull())
        case AcceptedValues(name, values):
            column = _column(rows, name, test, place)
            known = [_as_type(value, _type(rows, name)) for value in values]
            return _Rowwise(column.isNotNull() & ~F.coalesce(column.isin(*known), F.lit(False)))
        case Unique(name):
            column = _column(rows, name, test, place)
            type_ = _type(rows, name)
            return _Setwise(
                partial(duplicates.suspected, rows, column, type_),
                partial(duplicates.violating, rows, column),
                partial(duplicates.counted, rows, column),
            )
        case Relationship(name, target):
            column = _column(rows, name, test, place)
            return _related(rows, column, _known(rows, target, test, place, around))
        case ScriptTest(name):
            return _Scripted(around.violating(name, rows))


def _related(rows: DataFrame, column: Column, known: DataFrame) -> _Setwise:
    orphans = rows.where(column.isNotNull()).join(
        known, column == F.col("_tranche_known"), "left_anti"
    )
    number = F.count(F.lit(1)).alias("violations")
    return _Setwise(lambda: orphans.agg(number), lambda: orphans)


def _known(
    rows: DataFrame, target: ColumnRef, test: DataTest, place: Place, around: Surroundings
) -> DataFrame:
    """The values that a relationship may refer to."""
    assert isinstance(target.asset, LakeTable)
    pieces = around.rows_with(target.asset, rows)
    # A column that the slice brings is not in the rest of the table yet.
    having = [piece for piece in pieces if _has(piece, target.column)] or pieces[:1]
    first, *others = (
        piece.select(_column(piece, target.column, test, place)).toDF("_tranche_known")
        for piece in having
    )
    for other in others:
        first = first.unionAll(other)
    return first


def _has(rows: DataFrame, name: str) -> bool:
    return name.lower() in {column.lower() for column in rows.columns}


def _column(rows: DataFrame, name: str, test: DataTest, place: Place) -> Column:
    if not _has(rows, name):
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
