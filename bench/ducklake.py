"""The same slices and ranges in a lake of DuckLake and in one of Iceberg, and a table of many files."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

from pyspark.sql import functions as F

from bench.figure import Figure
from bench.opened import Opened, opened
from bench.timing import ratio, rounds
from tranche import service
from tranche.lakes.ducklake.catalog import catalog_of
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.model.asset import LakeTable
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.service import backfilling

CONF = """\
[lakes.main]
[lakes.duck]
format = "ducklake"
"""
SCRIPT = """\
-- pipeline
-- partitioned daily
-- materialize lake://{lake}/{name}
SELECT region, count(*) AS orders, sum(amount) AS revenue
FROM main.orders WHERE at::date = '{{partition}}' GROUP BY region
"""
FIRST, DAYS, ROWS, FILES = date(2025, 1, 1), 365, 2_000_000, 10_000


def measure() -> Iterator[Figure]:
    with opened({"tranche.toml": CONF}) as on:
        on.spark.sql("CREATE NAMESPACE IF NOT EXISTS main.default")
        rows = on.spark.range(ROWS).select(
            (F.col("id") % 7).cast("string").alias("region"),
            (F.col("id") % 1000).alias("amount"),
            # As many rows on each day of the year.
            F.timestamp_seconds(
                F.lit(1735689600) + F.expr(f"id * {DAYS * 86400} DIV {ROWS}")
            ).alias("at"),
        )
        rows.writeTo("main.default.orders").using("iceberg").create()
        for lake in ("main", "duck"):
            on.script(f"sums_{lake}", SCRIPT.format(lake=lake, name="sums"))
        yield from _writes(on)
        yield from _many_files(on)


def _writes(on: Opened) -> Iterator[Figure]:
    year = [str(FIRST + timedelta(n)) for n in range(DAYS)]
    ranges: dict[str, Callable[[], object]] = {
        lake: lambda lake=lake: _backfill(on, f"sums_{lake}", year) for lake in ("main", "duck")
    }
    times = rounds(ranges, 2, 5)
    yield Figure("backfill of 365 days, ducklake", statistics.median(times["duck"]), "s")
    yield Figure("backfill of 365 days, ducklake / iceberg", ratio(times, "duck", "main"), "×", 1.2)
    slices: dict[str, Callable[[], object]] = {
        lake: lambda lake=lake: _run(on, f"sums_{lake}", year[40]) for lake in ("main", "duck")
    }
    times = rounds(slices, 4, 9)
    yield Figure("replace of one slice, ducklake", statistics.median(times["duck"]), "s")
    yield Figure("replace of one slice, ducklake / iceberg", ratio(times, "duck", "main"), "×", 1.2)


def _many_files(on: Opened) -> Iterator[Figure]:
    lake = service.open_project(on.folder).settings.lakes["duck"]
    catalog = catalog_of(lake)
    folder = Path(lake.warehouse, "main", "many")
    folder.mkdir(parents=True)
    seed = folder / "seed.parquet"
    catalog.rows(f"COPY (SELECT i::INTEGER AS id FROM range(10) r(i)) TO '{seed}'")
    paths = []
    for number in range(FILES):
        day = folder / f"_tranche_partition={FIRST - timedelta(number % 3650)}"
        day.mkdir(exist_ok=True)
        paths.append(str(day / f"{number}.parquet"))
        os.link(seed, paths[-1])
    with catalog.transaction():
        catalog.asked("CREATE TABLE dl.many (id INTEGER, _tranche_partition VARCHAR)")
        catalog.asked("ALTER TABLE dl.many SET PARTITIONED BY (_tranche_partition)")
        catalog.asked(
            "CALL ducklake_add_data_files('dl', 'many', ?, hive_partitioning => true)", (paths,)
        )
    table = DuckLakeTable(on.spark, LakeTable("duck", "many"), lake)
    planned = []
    for _ in range(5):
        began = time.perf_counter()
        rows = table.rows()
        planned.append(time.perf_counter() - began)
    yield Figure("planning of a table of 10,000 files", statistics.median(planned), "s", 2)
    one = rows.where(F.col("_tranche_partition") == str(FIRST))
    read = {row[0] for row in one.select(F.input_file_name()).collect()}
    yield Figure("files read for one day of ten years", len(read), "files", FILES // 3650 + 1)


def _backfill(on: Opened, name: str, days: list[str]) -> None:
    request = BackfillRequest(
        target=name,
        at=service.now(),
        start=days[0],
        end=days[-1],
        every=True,
        only=True,
        most_keys=len(days),
    )
    planned = backfilling.plan(service.open_project(on.folder), request, on.store)
    begun = backfilling.begin(planned, on.store)
    result = backfilling.run(begun, planned, on.engine, on.store)
    if result.status != "succeeded":
        raise RuntimeError(f"{result.status}: {[k.error for k in result.keys if k.error][:3]}")


def _run(on: Opened, name: str, day: str) -> None:
    request = Request(target=name, fire_time=service.now(), partition=day, only=True)
    plan = service.plan(service.open_project(on.folder), request, on.store)
    result = service.run(plan, on.engine, on.store)
    if result.status != "succeeded":
        raise RuntimeError(result.steps[0].record.error)
