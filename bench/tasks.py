"""Tasks of jobs beside the same DataFrame that is written by hand.

Both sides make the same frame of the same table and write it to tables of their own, in turn, in
one warm process. The hand-written side has no plan, no ledger, no digest and no pinned reads, and
uses the fastest write that the format has.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning

from bench.figure import Figure
from bench.opened import Opened, opened
from bench.strategies import BEST
from bench.timing import ratio, rounds
from tranche import service
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.service import backfilling

ROWS = int(os.environ.get("TRANCHE_BENCH_TASK_ROWS", "8000000"))
YEAR = int(os.environ.get("TRANCHE_BENCH_BACKFILL_ROWS", "20000000"))
DAYS = 365
FIRST = date(2024, 1, 1)
JOBS = """\
from pyspark.sql import functions as F

from tranche import Daily, DeltaIO, job, task


@job(partitioning=Daily(start="2010-01-01"))
def slices():
    @task(writes="lake://main/slices_ours")
    def big(spark, partition):
        return spark.table("main.default.big").withColumn("label", F.upper("label"))

    big()


@job(partitioning=Daily(start="2010-01-01"))
def parts():
    @task(io=DeltaIO("ours"), partition_by=("day", "region"))
    def divided(spark, partition):
        rows = spark.table("main.default.big").withColumn("label", F.upper("label"))
        return rows.withColumn("day", F.lit(partition)).repartition("day", "region")

    divided()


@job(partitioning=Daily(start="2010-01-01"))
def year():
    @task(writes="lake://main/year_ours")
    def summed(spark, partitions):
        rows = spark.table("main.default.orders").withColumn(
            "partition_key", F.col("at").cast("date").cast("string")
        )
        wanted = (F.col("at") >= partitions[0]) & (
            F.col("at") < F.date_add(F.lit(partitions[-1]).cast("date"), 1)
        )
        return (
            rows.where(wanted)
            .groupBy("partition_key", "region")
            .agg(F.count("*").alias("orders"), F.sum("amount").alias("revenue"))
        )

    summed()
"""


def measure() -> Iterator[Figure]:
    with opened({"pipelines/jobs.py": JOBS}) as found:
        bench = Bench(found)
        yield from bench.slices()
        yield from bench.parts()
        yield from bench.year()


@dataclass
class Bench:
    on: Opened

    def slices(self) -> Iterator[Figure]:
        self.on.spark.range(0, ROWS, 1, 4).select(
            "id",
            (F.col("id") % 1000 / 7).alias("amount"),
            F.concat(F.lit("label "), F.col("id") % 9973).alias("label"),
            F.concat(F.lit("r"), F.col("id") % 4).alias("region"),
        ).writeTo("main.default.big").using("iceberg").create()
        theirs = "main.default.slices_by_hand"
        first = self.big().withColumn("day", F.lit("2024-01-01"))
        first.limit(0).writeTo(theirs).using("iceberg").partitionedBy(F.col("day")).create()

        def by_hand(day: str) -> None:
            rows = self.big().withColumn("day", F.lit(day))
            rows.writeTo(theirs).options(**BEST).overwrite(F.col("day") == F.lit(day))

        yield from self.compared("a slice", by_hand, "slices")

    def parts(self) -> Iterator[Figure]:
        theirs = f"spark_catalog.delta.`{self.on.folder}/theirs`"
        first = self.big().withColumn("day", F.lit("2024-01-01")).limit(0)
        by = [F.col("day"), F.col("region")]
        first.writeTo(theirs).using("delta").partitionedBy(*by).create()

        def by_hand(day: str) -> None:
            rows = self.big().withColumn("day", F.lit(day)).repartition("day", "region")
            rows.writeTo(theirs).overwritePartitions()

        yield from self.compared("parts of a Delta table", by_hand, "parts")

    def year(self) -> Iterator[Figure]:
        seconds = DAYS * 86_400
        self.on.spark.range(0, YEAR, 1, 8).select(
            F.timestamp_seconds(
                F.lit((FIRST - date(1970, 1, 1)).days * 86_400)
                + (F.col("id") * 7_919 % YEAR * seconds / YEAR).cast("long")
            ).alias("at"),
            (F.col("id") % 1000 / 7).alias("amount"),
            F.concat(F.lit("r"), (F.col("id") % 12).cast("string")).alias("region"),
        ).writeTo("main.default.orders").using("iceberg").partitionedBy(
            partitioning.months("at")
        ).create()
        days = [str(FIRST + timedelta(n)) for n in range(DAYS)]
        theirs = "main.default.year_by_hand"
        made = self.summed(days)
        made.limit(0).writeTo(theirs).using("iceberg").partitionedBy(F.col("day")).create()

        def by_hand() -> None:
            rows = self.summed(days)
            between = (F.col("day") >= days[0]) & (F.col("day") <= days[-1])
            rows.writeTo(theirs).option("fanout-enabled", "false").overwrite(between)

        times = rounds({"hand": by_hand, "ours": lambda: self.fill("year", days)}, 2, 5)
        of = f"{YEAR:,} rows, {DAYS} days"
        hand, ours = (statistics.median(times[name]) for name in ("hand", "ours"))
        yield Figure(f"a task with partitions, {of}, hand-written", hand, "s")
        yield Figure(f"a task with partitions, {of}, tranche", ours, "s")
        yield Figure(
            f"a task with partitions, {of}, tranche / hand-written", ratio(times, "ours"), "×", 1.25
        )

    def compared(self, what: str, by_hand: Callable[[str], None], job: str) -> Iterator[Figure]:
        """Each round writes a day that was never written."""
        days = iter(str(FIRST + timedelta(n)) for n in range(100))
        theirs = iter(str(FIRST + timedelta(n)) for n in range(100))
        acts: dict[str, Callable[[], object]] = {
            "hand": lambda: by_hand(next(theirs)),
            "ours": lambda: self.run(job, next(days)),
        }
        times = rounds(acts, 2, 7)
        hand, ours = (statistics.median(times[name]) for name in ("hand", "ours"))
        of = f"{ROWS:,} rows"
        yield Figure(f"{what}, {of}, hand-written", hand, "s")
        yield Figure(f"{what}, {of}, a task", ours, "s")
        yield Figure(f"{what}, {of}, a task / hand-written", ratio(times, "ours"), "×", 1.05)

    def big(self) -> DataFrame:
        return self.on.spark.table("main.default.big").withColumn("label", F.upper("label"))

    def summed(self, days: list[str]) -> DataFrame:
        after = str(date.fromisoformat(days[-1]) + timedelta(1))
        return (
            self.on.spark.table("main.default.orders")
            .where((F.col("at") >= days[0]) & (F.col("at") < after))
            .withColumn("day", F.col("at").cast("date").cast("string"))
            .groupBy("day", "region")
            .agg(F.count("*").alias("orders"), F.sum("amount").alias("revenue"))
        )

    def run(self, job: str, day: str) -> None:
        project = service.open_project(self.on.folder)
        request = Request(target=job, fire_time=service.now(), partition=day)
        plan = service.plan(project, request, self.on.store)
        result = service.run(plan, self.on.engine, self.on.store)
        assert result.status == "succeeded", [step.record.error for step in result.steps]

    def fill(self, job: str, days: list[str]) -> None:
        project = service.open_project(self.on.folder)
        request = BackfillRequest(
            target=job,
            at=service.now(),
            start=days[0],
            end=days[-1],
            every=True,
            most_keys=len(days),
        )
        planned = backfilling.plan(project, request, self.on.store)
        begun = backfilling.begin(planned, self.on.store)
        result = backfilling.run(begun, planned, self.on.engine, self.on.store)
        assert result.status == "succeeded", [key.error for key in result.keys if key.error][:3]
