"""Rows that somebody gives: frames of Spark, pandas, Polars and Arrow."""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from tranche.errors import UsageError


def frame_of(session: SparkSession, given: object) -> DataFrame:
    """The rows as a frame of this session, whatever kind they are."""
    if isinstance(given, DataFrame):
        return _of_another(session, given)
    if _is(given, "polars", "LazyFrame"):
        given = given.collect()  # type: ignore[attr-defined]
    if _is(given, "polars", "DataFrame"):
        given = given.to_arrow()  # type: ignore[attr-defined]
    if _is(given, "pandas", "DataFrame") or _is(given, "pyarrow", "Table"):
        rows: Any = given
        return session.createDataFrame(rows)
    kind = f"{type(given).__module__}.{type(given).__qualname__}"
    raise UsageError(
        f"rows of the type {kind} cannot be written",
        "give a DataFrame of Spark, pandas or Polars, or an Arrow table",
    )


def _of_another(session: SparkSession, rows: DataFrame) -> DataFrame:
    """A frame of another session of the same Spark.

    The attempt has settings of its own, which must not be seen by whoever uses that session.
    """
    if rows.isStreaming:
        raise UsageError("a stream cannot be written as a slice", "give a frame that ends")
    name = f"tranche_{uuid.uuid4().hex}"
    rows.createGlobalTempView(name)
    try:
        shared = session.table(f"global_temp.{name}")
        if not is_remote():
            # Spark looks up the name again when a frame that is nothing but a table is written.
            return shared.select("*")
        # A frame of Spark Connect looks up its names each time: a view of the attempt's own stays.
        shared.createTempView(name)
        return session.table(name).select("*")
    finally:
        rows.sparkSession.catalog.dropGlobalTempView(name)


def _is(given: object, module: str, name: str) -> bool:
    """Without importing what may not be installed."""
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0] == module
        for kind in type(given).__mro__
    )
