"""Frames of one kind as another, without Spark."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tranche.errors import ResultRejected, UsageError
from tranche.jobs.conversion import columns_of, converted, frame_kind, returned_kind
from tranche.model.code import Frame

RECORDS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
TABLE = pa.Table.from_pylist(RECORDS)
FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame(RECORDS),
    "polars": pl.DataFrame(RECORDS),
    "lazy": pl.LazyFrame(RECORDS),
    "arrow": TABLE,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_kinds_are_told_apart(kind: str) -> None:
    assert frame_kind(FRAMES[kind]) == kind
    assert returned_kind(FRAMES[kind], "main") == kind
    assert columns_of(FRAMES[kind]) == ["id", "name"]


@pytest.mark.parametrize("source", FRAMES)
@pytest.mark.parametrize("target", FRAMES)
def test_each_becomes_each_other(source: str, target: Frame) -> None:
    found = converted(FRAMES[source], target)
    assert frame_kind(found) == target
    assert converted(found, "arrow").to_pylist() == RECORDS


def test_a_batch_is_a_table() -> None:
    (batch,) = TABLE.to_batches()
    assert converted(batch, "arrow").to_pylist() == RECORDS
    assert converted(batch, "polars").to_dicts() == RECORDS


def test_a_subclass_is_what_it_derives_from() -> None:
    class Own(pd.DataFrame):
        pass

    assert frame_kind(Own(RECORDS)) == "pandas"


def test_nothing_was_returned() -> None:
    assert returned_kind(None, "main") is None


@pytest.mark.parametrize(
    ("value", "name"), [([], "list"), ("a", "str"), (pd.Series([1]), "pandas.core.series.Series")]
)
def test_anything_else_is_rejected(value: object, name: str) -> None:
    with pytest.raises(ResultRejected) as caught:
        returned_kind(value, "main")
    assert str(caught.value) == (
        f"main returned a value of the type {name}; return a DataFrame of Spark, pandas or Polars,"
        " a LazyFrame, an Arrow table, or None"
    )


def test_none_becomes_one_of_spark_here() -> None:
    with pytest.raises(UsageError, match="only in a session"):
        converted(TABLE, "spark")
    assert "spark" in get_args(Frame)


def test_nothing_that_is_optional_is_imported() -> None:
    code = (
        "import sys, tranche.jobs.conversion, tranche.files;"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
