"""Values that are there twice are found, of whatever type, and never suspected in vain for long."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tranche.lakes import duplicates
from tranche.lakes.engine import SparkEngine

UNIQUE = {
    "bytes": "SELECT CAST(id - 128 AS TINYINT) AS x FROM range(256)",
    "longs at both ends": "SELECT explode(array(9223372036854775807L, -9223372036854775808L, 0L, -1L, 63L, 64L, -64L, -65L)) AS x",
    "longs in a row": "SELECT id - 500 AS x FROM range(1000)",
    "longs far apart": "SELECT id * 1000003 AS x FROM range(1000)",
    "texts": "SELECT CAST(id AS STRING) AS x FROM range(1000)",
    "texts that a collation would make equal": "SELECT explode(array('a', 'A', 'ä', '')) AS x",
    "decimals": "SELECT CAST(id AS DECIMAL(20, 2)) / 100 AS x FROM range(1000)",
    "doubles": "SELECT id / 3 AS x FROM range(1000)",
    "dates": "SELECT date_add(date '1960-01-01', CAST(id AS INT)) AS x FROM range(1000)",
    "times": "SELECT timestamp_micros(id * 7 - 3000) AS x FROM range(1000)",
    "booleans": "SELECT explode(array(true, false)) AS x",
    "structs": "SELECT struct(id, CAST(id AS STRING)) AS x FROM range(100)",
    "binary": "SELECT CAST(CAST(id AS STRING) AS BINARY) AS x FROM range(100)",
    "nulls alone": "SELECT CAST(NULL AS BIGINT) AS x FROM range(10)",
    "nothing": "SELECT 'a' AS x WHERE false",
}
TWICE = {
    **{
        name: f"SELECT x FROM ({text}) UNION ALL (SELECT x FROM ({text}) LIMIT 1)"
        for name, text in UNIQUE.items()
        if not name.startswith("no") and name != "nulls alone"
    },
    "texts that a collation makes equal": "SELECT y COLLATE UTF8_LCASE AS x FROM VALUES ('a'), ('A') AS v(y)",
    "zeros of both signs": "SELECT explode(array(0.0D, -0.0D)) AS x",
    "numbers that are none": "SELECT explode(array(double('NaN'), double('NaN'))) AS x",
}


@pytest.mark.parametrize("case", UNIQUE)
def test_nothing_is_suspected(engine: SparkEngine, case: str) -> None:
    rows = engine.session().sql(UNIQUE[case])
    kind = rows.schema["x"].dataType
    assert duplicates.suspected(rows, F.col("x"), kind).collect()[0]["violations"] == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", TWICE)
def test_what_is_there_twice_is_counted(engine: SparkEngine, case: str) -> None:
    rows = engine.session().sql(TWICE[case])
    kind = rows.schema["x"].dataType
    assert duplicates.suspected(rows, F.col("x"), kind).collect()[0]["violations"] > 0
    assert duplicates.counted(rows, F.col("x")).collect()[0]["violations"] == 2
    assert duplicates.violating(rows, F.col("x")).count() == 2
