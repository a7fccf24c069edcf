"""Keys that identify rows: each is there, and there once."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tranche.errors import ColumnsRejected, RowsRejected
from tranche.lakes.rows import fetch
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.binding import quoted_name

REFUSAL = "TRANCHE_BAD_KEY"
_SAMPLES = 5


def check_key_columns(rows: DataFrame, key: Sequence[str], what: str = "key") -> None:
    names = {name.lower() for name in rows.columns}
    missing = [name for name in key if name.lower() not in names]
    if missing:
        raise ColumnsRejected(
            f"{what}= names {', '.join(missing)}, and the SELECT has no such column",
            f"the columns are {', '.join(rows.columns)}",
        )


def guarded(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows; the query breaks if two have the same key, or one has none.

    It breaks within the write, before its commit, so that nothing is read twice to find out. The
    rows are shuffled by their key here, which the write needs anyway.
    """
    columns = [F.col(quoted_name(name)) for name in key]
    number = "_tranche_number"
    counted = rows.withColumn(number, F.count(F.lit(1)).over(Window.partitionBy(*columns)))
    bad = (F.col(number) > 1) | _absent(columns)
    sound = F.when(bad, F.raise_error(F.lit(REFUSAL)).cast("boolean")).otherwise(F.lit(True))
    return counted.where(sound).drop(number)


def bad_keys(rows: DataFrame, key: Sequence[str]) -> RowsRejected | None:
    """What is wrong with the keys, with samples; None if nothing is."""
    columns = [F.col(quoted_name(name)) for name in key]
    grouped = rows.groupBy(*columns).agg(F.count(F.lit(1)).alias("_tranche_number"))
    bad = grouped.where((F.col("_tranche_number") > 1) | _absent(columns))
    found = fetch(bad.orderBy(F.desc("_tranche_number"), *columns), _SAMPLES)
    if not found.values:
        return None
    samples = []
    for *values, number in found.values:
        shown = ", ".join("NULL" if value is None else str(value) for value in values)
        samples.append(f"{shown} ({number} {'row' if number == 1 else 'rows'})")
    more = ", …" if found.more else ""
    absent = any(value is None for row in found.values for value in row[:-1])
    name = ",".join(key)
    what = "some rows have no key" if absent else "several rows have the same key"
    return RowsRejected(
        f"{what} {name}: {'; '.join(samples)}{more}",
        "make the SELECT return one row for each key, and none without",
    )


def bad_key_slices(rows: DataFrame, key: Sequence[str]) -> dict[str, RowsRejected]:
    """What is wrong with the keys of rows in each slice that has something wrong."""
    columns = [F.col(PARTITION_COLUMN), *(F.col(quoted_name(name)) for name in key)]
    grouped = rows.groupBy(*columns).agg(F.count(F.lit(1)).alias("_tranche_number"))
    bad = grouped.where((F.col("_tranche_number") > 1) | _absent(columns[1:]))
    slices = [row[0] for row in bad.select(PARTITION_COLUMN).distinct().collect()]
    found = {}
    for slice_ in slices:
        error = bad_keys(rows.where(F.col(PARTITION_COLUMN) == F.lit(slice_)), key)
        if error is not None:
            found[slice_] = error
    return found


def _absent(columns: Sequence[Column]) -> Column:
    absent = columns[0].isNull()
    for column in columns[1:]:
        absent = absent | column.isNull()
    return absent
