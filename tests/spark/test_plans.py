"""Plans of frames, made anew: another version of Spark may write them in another way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tranche.lakes.engine import SparkEngine
from tranche.lakes.tracing import Known, traced
from tranche.model.asset import FileSet
from tranche.model.lineage import ScriptLineage
from tranche.model.plan import Step

from ..unit.script.lineage_cases import Told, told
from ..unit.script.plan_cases import TABLES, Case, cases
from .conftest import Bench

pytestmark = pytest.mark.spark
LAKES = "all"
SCHEMA, RAW = "plans", "raw_plans"


@dataclass
class Frames:
    """What the code of cases may use, and how plans of frames are asked for."""

    spark: SparkSession
    known: Known
    names: dict[str, Any]

    def made(self, case: Case) -> DataFrame:
        return eval(_placed(case.frame), self.names)  # type: ignore[no-any-return]

    def traced(self, frame: DataFrame) -> ScriptLineage:
        return traced(self.spark, frame, frame.columns, self.known.assets)


@pytest.fixture(scope="module")
def frames(engine: SparkEngine, root: Path) -> Iterator[Frames]:
    spark, settings = engine.session(), engine._settings
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS main.{SCHEMA}")
    for statement in TABLES:
        spark.sql(_placed(statement))
    orders = f"main.{SCHEMA}.orders"
    spark.sql(f"INSERT INTO {orders} (id) VALUES (1)")
    spark.sql(f"CREATE VIEW main.{SCHEMA}.big AS SELECT id, amount FROM {orders} WHERE amount > 1")
    spark.sql("DECLARE VARIABLE least INT DEFAULT 1")
    spark.table(orders).createOrReplaceTempView("oo")
    spark.sql("CREATE OR REPLACE TEMP VIEW vv AS SELECT id AS z, amount FROM oo")
    some = spark.range(3).withColumn("v", F.lit("q"))
    delta = f"{settings.lakes['delta'].warehouse}/{SCHEMA}/d"
    some.write.format("delta").save(delta)
    for kind in ("csv", "json", "parquet"):
        some.write.option("header", True).format(kind).save(f"{root}/data/in.{kind}")

    def given(kind: str) -> DataFrame:
        return spark.read.option("header", True).format(kind).load(f"{root}/data/in.{kind}")

    def same(values: pd.Series) -> pd.Series:
        return values

    def first(values: pd.Series) -> float:
        return float(values.iloc[0])

    names = {
        "spark": spark,
        "F": F,
        "Window": Window,
        "pd": pd,
        "orders": spark.table(orders),
        "customers": spark.table(f"main.{SCHEMA}.customers"),
        "events": spark.table(f"main.{RAW}.events"),
        "snapshot": spark.sql(f"SELECT snapshot_id FROM {orders}.snapshots").first()[0],  # type: ignore[index]
        "delta": delta,
        "given": given,
        "plus": F.pandas_udf(same, "double"),
        "pyudf": F.udf(str, "string"),
        "mean_of": F.pandas_udf(first, "double"),
    }
    step = Bench(engine, root, SCHEMA).plan("-- pipeline\nSELECT 1 AS one").steps[0]
    assert isinstance(step, Step)
    known = Known(settings, step, {"given": FileSet("file", "data/given.parquet")})
    yield Frames(spark, known, names)
    spark.catalog.clearCache()


@pytest.mark.parametrize("case", cases(), ids=str)
def test_where_columns_come_from(case: Case, frames: Frames) -> None:
    assert _shown(told(frames.traced(frames.made(case)))) == case.expected


def _placed(code: str) -> str:
    """The same with schemas that no other test has."""
    return code.replace("main.default.", f"main.{SCHEMA}.").replace("main.raw", f"main.{RAW}")


def _shown(found: Told) -> Told:
    """The same with the schemas that cases have."""

    def back(text: str) -> str:
        named = text.replace(f"{RAW}.", "raw.").replace(f"main.{SCHEMA}.", "main.default.")
        return named.replace(f"{SCHEMA}.", "")

    return {name: set(map(back, parts)) for name, parts in found.items()}


def test_asking_leaves_nothing_behind(frames: Frames) -> None:
    """A frame in memory stays there, and settings stay what they are."""
    spark, name = frames.spark, "spark.sql.debug.maxToStringFields"
    spark.conf.set(name, "7")
    frame = spark.table(f"main.{SCHEMA}.orders").select("id", "amount").cache()
    assert frame.storageLevel.useMemory
    lineage = frames.traced(frame)
    assert [str(column.direct[0].kind) for column in lineage.columns] == ["identity", "identity"]
    assert frame.storageLevel.useMemory
    assert spark.conf.get(name) == "7"
    spark.conf.unset(name)
