"""What an ASOF JOIN costs: the one of a script beside one written by hand.

Both find the version of the customer for each order, over the same Parquet files, in turn, in one
warm process. The hand-written one joins on the key and on the time from one version to the next.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.figure import Figure
from tranche import service
from tranche.model.statement import Statement
from tranche.script.adhoc import resolved_statement
from tranche.script.binding import Values, bind
from tranche.script.lakes import Lakes

_ORDERS = """
SELECT id AS order_id, pmod(hash(id), 200000) AS customer_id, rand(1) * 100 AS amount,
       timestamp_seconds(1700000000 + pmod(hash(id, 7), 10000000)) AS ordered_at
FROM range(2000000)
"""
_VERSIONS = """
SELECT CAST(k.id AS INT) AS id, 'name ' || k.id || ' ' || v.id AS name, 'tier ' || v.id AS tier,
       timestamp_seconds(1699000000 + pmod(hash(k.id, v.id), 10000000)) AS valid_from
FROM range(200000) AS k CROSS JOIN range(5) AS v
"""
_OURS = """
SELECT o.*, d.* FROM global_temp.orders AS o ASOF JOIN global_temp.versions AS d
ON o.customer_id = d.id AND o.ordered_at >= d.valid_from
"""
_THEIRS = """
SELECT o.*, d.* EXCEPT (next) FROM global_temp.orders AS o JOIN (
    SELECT *, lead(valid_from) OVER (PARTITION BY id ORDER BY valid_from) AS next
    FROM global_temp.versions
) AS d ON o.customer_id = d.id AND o.ordered_at >= d.valid_from
      AND (d.next IS NULL OR o.ordered_at < d.next)
"""
_WARM_UP = 2
_ROUNDS = 9


def measure() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        yield from _measured(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path) -> Iterator[Figure]:
    ours: list[float] = []
    theirs: list[float] = []
    (folder / "pipelines").mkdir()
    with service.open_engine(service.open_project(folder)) as engine:
        engine.start()
        spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        for name, rows in (("orders", _ORDERS), ("versions", _VERSIONS)):
            spark.sql(rows).write.parquet(str(folder / name))
            spark.read.parquet(str(folder / name)).createOrReplaceGlobalTempView(name)
        statement = resolved_statement(_OURS, Lakes(frozenset({"main"}), "main"))
        assert isinstance(statement, Statement)
        rewritten = bind(statement, Values(None, {}, {}), table=str, files=str).text
        for number in range(_WARM_UP + _ROUNDS):
            hand, asof = _timed(spark.sql(_THEIRS)), _timed(spark.sql(rewritten))
            if number >= _WARM_UP:
                theirs.append(hand)
                ours.append(asof)
    hand, asof = statistics.median(theirs), statistics.median(ours)
    yield Figure("as of, 2 M orders, 200 k × 5 versions, hand-written", hand, "s")
    yield Figure("as of, 2 M orders, 200 k × 5 versions, ASOF JOIN", asof, "s")
    yield Figure("ASOF JOIN / hand-written", asof / hand, "×", 1.5)


def _timed(rows: DataFrame) -> float:
    began = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
