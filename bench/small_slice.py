"""What Tranche adds to a small slice: a run beside the same write in hand-written PySpark.

Both read the same JSON file and replace the same kind of slice in tables of their own, in turn,
in one warm process. The hand-written one has no plan, no ledger, no digest and no pinned reads.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.figure import Figure
from bench.strategies import BEST
from tranche import service
from tranche.model.plan import Request
from tranche.ports import Engine, StateStore

_SCHEMA = "id long, name string, amount double"
_SCRIPT = f"""\
-- pipeline
-- partitioned daily
-- materialize lake://main/ours
SELECT id, upper(name) AS name, amount * 2 AS amount
FROM read_json('in/' || '{{partition}}' || '.json', schema => '{_SCHEMA}')
"""
_WARM_UP = 5
_ROUNDS = 15


def measure() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        yield from _measured(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path) -> Iterator[Figure]:
    days = [f"2026-05-{day:02}" for day in range(1, _WARM_UP + _ROUNDS + 1)]
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "ours.sql").write_text(_SCRIPT)
    (folder / "in").mkdir()
    for day in days:
        rows = ({"id": n, "name": f"name {n}", "amount": n / 3} for n in range(1000))
        lines = (json.dumps(row) for row in rows)
        (folder / "in" / f"{day}.json").write_text("\n".join(lines))
    project = service.open_project(folder)
    with service.open_state(project, create=True) as store, service.open_engine(project) as engine:
        engine.start()
        spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        theirs: list[float] = []
        ours: list[float] = []
        for number, day in enumerate(days):
            hand = _timed(lambda day=day: _by_hand(spark, folder, day))
            run = _timed(lambda day=day: _run(folder, engine, store, day))
            if number >= _WARM_UP:
                theirs.append(hand)
                ours.append(run)
    hand, run = statistics.median(theirs), statistics.median(ours)
    yield Figure("slice of 1,000 rows, hand-written", hand, "s")
    yield Figure("slice of 1,000 rows, tranche run", run, "s")
    yield Figure("what tranche adds to a small slice", run - hand, "s", 0.5)
    yield Figure("tranche run / hand-written, small slice", run / hand, "×")


def _by_hand(spark: SparkSession, folder: Path, day: str) -> None:
    rows = (
        spark.read.schema(_SCHEMA)
        .json(str(folder / "in" / f"{day}.json"))
        .select("id", F.upper("name").alias("name"), (F.col("amount") * 2).alias("amount"))
        .withColumn("day", F.lit(day))
    )
    if not spark.catalog.tableExists("main.default.theirs"):
        spark.sql("CREATE NAMESPACE IF NOT EXISTS main.default")
        rows.limit(0).writeTo("main.default.theirs").using("iceberg").partitionedBy(
            F.col("day")
        ).create()
    rows.writeTo("main.default.theirs").options(**BEST).overwrite(F.col("day") == F.lit(day))


def _run(folder: Path, engine: Engine, store: StateStore, day: str) -> None:
    project = service.open_project(folder)
    request = Request(target="ours", fire_time=service.now(), partition=day)
    result = service.run(service.plan(project, request, store), engine, store)
    if result.status != "succeeded":
        raise RuntimeError(result.steps[0].record.error)


def _timed(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
