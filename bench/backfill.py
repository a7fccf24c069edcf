"""Backfills beside the best job that is written by hand for the same range.

A year of orders is summed up by day and region. By hand it is one GROUP BY over the year, written
in one commit; Tranche is given the query for one day. Both write tables of their own and take
turns. The hand-written side has no ledger, no row count for each day, and no data tests.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning

from bench.figure import Figure
from tranche import service
from tranche.model.backfill import BackfillRequest
from tranche.ports import Engine, StateStore
from tranche.service import backfilling

ROWS = int(os.environ.get("TRANCHE_BENCH_BACKFILL_ROWS", "20000000"))
DAYS = 365
FIRST = date(2024, 1, 1)
SCRIPT = """\
-- pipeline
-- partitioned daily start="2014-01-01"
-- materialize lake://main/{name}
{tests}SELECT region, count(*) AS orders, sum(amount) AS revenue, max(customer) AS last_customer
FROM {source}
WHERE at::date = '{{partition}}'
GROUP BY region
"""
TESTS = "-- data_test unique region\n-- data_test not_null orders\n"
BY_HAND = """\
SELECT region, count(*) AS orders, sum(amount) AS revenue, max(customer) AS last_customer,
       CAST(CAST(at AS DATE) AS STRING) AS day
FROM main.default.{source}
WHERE at >= '{first}' AND at < '{after}'
GROUP BY CAST(at AS DATE), region
"""


def measure() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    (folder / "pipelines").mkdir()
    try:
        project = service.open_project(folder)
        with (
            service.open_state(project, create=True) as store,
            service.open_engine(project) as engine,
        ):
            engine.start()
            spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
            bench = Bench(folder, spark, engine, store)
            yield from bench.figures()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Bench:
    folder: Path
    spark: SparkSession
    engine: Engine
    store: StateStore

    def figures(self) -> Iterator[Figure]:
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS main.default")
        yield from self.year(ROWS, 1.15, 5)
        yield from self.year(ROWS // 20, None, 20)
        yield from self.week()

    def source(self, name: str, rows: int, days: int) -> None:
        """Rows over days, in files by month, as tables of events mostly are."""
        seconds = days * 86_400
        frame = self.spark.range(0, rows, 1, 8).select(
            F.timestamp_seconds(
                F.lit(int(time.mktime(FIRST.timetuple())))
                - F.lit((days - DAYS) * 86_400)
                + (F.col("id") * 7_919 % rows * seconds / rows).cast("long")
            ).alias("at"),
            (F.col("id") % 1000 / 7).alias("amount"),
            F.concat(F.lit("r"), (F.col("id") % 12).cast("string")).alias("region"),
            (F.col("id") % 50_000).alias("customer"),
        )
        frame.writeTo(f"main.default.{name}").using("iceberg").partitionedBy(
            partitioning.months("at")
        ).create()

    def year(self, rows: int, limit: float | None, faster: float) -> Iterator[Figure]:
        source = f"orders_{rows}"
        self.source(source, rows, DAYS)
        days = [str(FIRST + timedelta(n)) for n in range(DAYS)]
        for name, tests in ((f"year_{rows}", ""), (f"tested_{rows}", TESTS)):
            self.script(name, source, tests)
        theirs = f"year_{rows}_by_hand"
        self.by_hand(theirs, source, days, create=True)
        acts: dict[str, Callable[[], object]] = {
            "hand": lambda: self.by_hand(theirs, source, days),
            "run": lambda: self.backfill(f"year_{rows}", days),
            "tested": lambda: self.backfill(f"tested_{rows}", days),
        }
        times = self.rounds(acts, 2, 5)
        hand = statistics.median(times["hand"])
        of = f"{rows:,} rows, {DAYS} days"
        yield Figure(f"backfill, {of}, hand-written", hand, "s")
        yield Figure(f"backfill, {of}, tranche", statistics.median(times["run"]), "s")
        yield Figure(f"backfill, {of}, tranche / hand-written", ratio(times, "run"), "×", limit)
        tested = 1.4 if limit is not None else None
        yield Figure(
            f"backfill, {of}, two data tests, / hand-written", ratio(times, "tested"), "×", tested
        )
        one = self.key_by_key(f"year_{rows}", days)
        times_faster = one * DAYS / statistics.median(times["run"])
        yield Figure(f"backfill, {of}, key by key / one job", times_faster, "×", faster, least=True)

    def week(self) -> Iterator[Figure]:
        source, rows = "long", ROWS
        self.source(source, rows, 3_650)
        days = [str(FIRST + timedelta(n)) for n in range(100, 107)]
        self.script("week", source, "")
        self.by_hand("week_by_hand", source, days, create=True)
        times = self.rounds(
            {
                "hand": lambda: self.by_hand("week_by_hand", source, days),
                "run": lambda: self.backfill("week", days),
            },
            3,
            9,
        )
        yield Figure(
            "backfill, 7 of 3,650 days, hand-written", statistics.median(times["hand"]), "s"
        )
        yield Figure(
            "backfill, 7 of 3,650 days, tranche / hand-written", ratio(times, "run"), "×", 1.3
        )

    def script(self, name: str, source: str, tests: str) -> None:
        text = SCRIPT.format(name=name, source=source, tests=tests)
        (self.folder / "pipelines" / f"{name}.sql").write_text(text)

    def by_hand(self, name: str, source: str, days: list[str], *, create: bool = False) -> None:
        after = str(date.fromisoformat(days[-1]) + timedelta(1))
        rows = self.spark.sql(BY_HAND.format(source=source, first=days[0], after=after))
        writer = rows.writeTo(f"main.default.{name}")
        if create:
            writer.using("iceberg").partitionedBy(F.col("day")).create()
        else:
            inside = (F.col("day") >= days[0]) & (F.col("day") <= days[-1])
            writer.option("fanout-enabled", "false").overwrite(inside)

    def backfill(self, name: str, days: list[str]) -> None:
        project = service.open_project(self.folder)
        request = BackfillRequest(
            target=name, at=service.now(), start=days[0], end=days[-1], every=True, only=True
        )
        planned = backfilling.plan(project, request, self.store)
        begun = backfilling.begin(planned, self.store)
        result = backfilling.run(begun, planned, self.engine, self.store)
        if result.status != "succeeded" or len(result.keys) != len(days):
            raise RuntimeError(f"{result.status}: {[k.error for k in result.keys if k.error][:3]}")

    def key_by_key(self, name: str, days: list[str]) -> float:
        """Seconds for a key, on a session that has done sixty."""
        request = BackfillRequest(
            target=name, at=service.now(), keys=tuple(days[:80]), only=True, one_by_one=True
        )
        project = service.open_project(self.folder)
        planned = backfilling.plan(project, request, self.store)
        begun = backfilling.begin(planned, self.store)
        result = backfilling.run(begun, planned, self.engine, self.store)
        assert result.run is not None
        ends = [step.record.finished_at for step in result.run.steps]
        assert ends[59] is not None and ends[-1] is not None
        return (ends[-1] - ends[59]).total_seconds() / (len(ends) - 60)

    def rounds(
        self, acts: dict[str, Callable[[], object]], warm_up: int, rounds: int
    ) -> dict[str, list[float]]:
        times: dict[str, list[float]] = {name: [] for name in acts}
        order = list(acts)
        for number in range(warm_up + rounds):
            order.append(order.pop(0))
            for name in order:
                began = time.perf_counter()
                acts[name]()
                if number >= warm_up:
                    times[name].append(time.perf_counter() - began)
        return times


def ratio(times: dict[str, list[float]], name: str) -> float:
    return statistics.median(b / a for a, b in zip(times["hand"], times[name], strict=True))
