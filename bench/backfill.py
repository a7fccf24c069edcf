"""Backfills beside the best job that is written by hand for the same range.

A year of orders is summed up by day and region. By hand it is one GROUP BY over the year, written
in one commit; Tranche is given the query for one day. Both write tables of their own and take
turns. The hand-written side has no ledger, no row count for each day, and no data tests.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning

from bench.figure import Figure
from bench.opened import Opened, opened
from bench.timing import ratio, rounds
from tranche import service
from tranche.lakes.execution import Execution
from tranche.lakes.ranging import bytes_read
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.model.run import Attempt
from tranche.ports import Work
from tranche.service import backfilling

ROWS = int(os.environ.get("TRANCHE_BENCH_BACKFILL_ROWS", "20000000"))
DAYS = 365
FIRST = date(2024, 1, 1)
SCRIPT = """\
-- pipeline
-- partitioned daily start="2010-01-01"
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
    with opened() as found:
        bench = Bench(found)
        yield from bench.year(ROWS, 1.15, 5)
        yield from bench.year(ROWS // 20, None, 20)
        yield from bench.week()
        yield from bench.growth_in_rows()
        yield from bench.growth_in_keys()


def days_from(number: int, first: date = FIRST) -> list[str]:
    return [str(first + timedelta(n)) for n in range(number)]


@dataclass
class Bench:
    on: Opened

    def source(self, name: str, rows: int, days: int) -> None:
        """Rows over the days that end with a year from the first, in files by month."""
        begins = FIRST - timedelta(days - DAYS)
        seconds = days * 86_400
        frame = self.on.spark.range(0, rows, 1, 8).select(
            F.timestamp_seconds(
                F.lit((begins - date(1970, 1, 1)).days * 86_400)
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
        days = days_from(DAYS)
        for name, tests in ((f"year_{rows}", ""), (f"tested_{rows}", TESTS)):
            self.script(name, source, tests)
        theirs = f"year_{rows}_by_hand"
        self.by_hand(theirs, source, days, create=True)
        acts: dict[str, Callable[[], object]] = {
            "hand": lambda: self.by_hand(theirs, source, days),
            "run": lambda: self.backfill(f"year_{rows}", days),
            "tested": lambda: self.backfill(f"tested_{rows}", days),
        }
        times = rounds(acts, 3, 7)
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
        yield Figure(f"backfill, {of}, key by key", one * DAYS, "s")
        times_faster = one * DAYS / statistics.median(times["run"])
        yield Figure(f"backfill, {of}, key by key / one job", times_faster, "×", faster, least=True)

    def week(self) -> Iterator[Figure]:
        """A week of ten years that have as many rows in a day."""
        number = 3_650
        self.source("long", ROWS * number // DAYS, number)
        days = days_from(7, FIRST + timedelta(100))
        self.script("week", "long", "")
        self.by_hand("week_by_hand", "long", days, create=True)
        acts: dict[str, Callable[[], object]] = {
            "hand": lambda: self.by_hand("week_by_hand", "long", days),
            "run": lambda: self.backfill("week", days),
        }
        # Short enough that a session which is not warm yet would be most of what is measured.
        times = rounds(acts, 20, 25)
        hand = statistics.median(times["hand"])
        yield Figure("backfill, 7 of 3,650 days, hand-written", hand, "s")
        yield Figure(
            "backfill, 7 of 3,650 days, tranche / hand-written", ratio(times, "run"), "×", 1.3
        )
        bytes_ = self.bytes_by_tranche("week", days) / self.bytes_by_hand("long", days)
        yield Figure(
            "backfill, 7 of 3,650 days, bytes read, tranche / hand-written", bytes_, "×", 1.1
        )

    def bytes_by_hand(self, source: str, days: list[str]) -> int:
        return self.bytes_of(by_hand(source, days))

    def bytes_by_tranche(self, name: str, days: list[str]) -> int:
        """What the query for all keys reads, as it is sent to Spark."""
        planned = backfilling.plan(
            service.open_project(self.on.folder), self.request(name, days), self.on.store
        )
        (step,) = planned.plan.steps
        at = service.now()
        nobody = Attempt(id="", run="", position=0, number=0, status="running", started_at=at)
        with self.on.engine.attempt(Work(step=step, attempt=nobody, fire_time=at)) as trial:
            assert isinstance(trial, Execution)
            assert step.script.query is not None
            trial.rows(step.script.query)
            sent = trial.sent[-1]
            return self.bytes_of(sent.text, dict(sent.parameters))

    def bytes_of(self, text: str, values: dict[str, object] | None = None) -> int:
        """What Iceberg plans to read for a query, from what it knows of the files."""
        plan = self.on.spark.sql(f"EXPLAIN COST {text}", args=values or {}).collect()
        return bytes_read(plan[0][0])

    def growth_in_rows(self) -> Iterator[Figure]:
        """How time grows with rows: 1 would be in proportion."""
        days = days_from(DAYS)
        found: dict[int, float] = {}
        for share in (40, 4, 1):
            rows = 2 * ROWS // share
            self.source(f"grows_{rows}", rows, DAYS)
            self.script(f"of_{rows}", f"grows_{rows}", "")
            found[rows] = self.best(lambda name=f"of_{rows}": self.backfill(name, days))  # type: ignore[misc]
            yield Figure(f"backfill, {rows:,} rows, {DAYS} days, tranche", found[rows], "s")
        less, *_, most = found
        power = math.log(found[most] / found[less]) / math.log(most / less)
        yield Figure(f"backfill, growth from {less:,} to {most:,} rows", power, "power", 1.1)

    def growth_in_keys(self) -> Iterator[Figure]:
        """How time grows with keys that have the same rows between them."""
        rows, found = ROWS // 10, dict[int, float]()
        for number in (30, 300, 3_000):
            self.source(f"keys_{number}", rows, number)
            self.script(f"of_keys_{number}", f"keys_{number}", "")
            days = days_from(number, FIRST - timedelta(number - DAYS))
            found[number] = self.best(
                lambda name=f"of_keys_{number}", keys=days: self.backfill(name, keys)  # type: ignore[misc]
            )
            yield Figure(f"backfill, {rows:,} rows, {number:,} days, tranche", found[number], "s")
        power = math.log(found[3_000] / found[30]) / math.log(100)
        yield Figure("backfill, growth from 30 to 3,000 keys", power, "power", 1.0)

    def script(self, name: str, source: str, tests: str) -> None:
        self.on.script(name, SCRIPT.format(name=name, source=source, tests=tests))

    def by_hand(self, name: str, source: str, days: list[str], *, create: bool = False) -> None:
        rows = self.on.spark.sql(by_hand(source, days))
        writer = rows.writeTo(f"main.default.{name}")
        if create:
            writer.using("iceberg").partitionedBy(F.col("day")).create()
        else:
            inside = (F.col("day") >= days[0]) & (F.col("day") <= days[-1])
            writer.option("fanout-enabled", "false").overwrite(inside)

    def backfill(self, name: str, days: list[str]) -> None:
        project = service.open_project(self.on.folder)
        planned = backfilling.plan(project, self.request(name, days), self.on.store)
        begun = backfilling.begin(planned, self.on.store)
        result = backfilling.run(begun, planned, self.on.engine, self.on.store)
        if result.status != "succeeded" or len(result.keys) != len(days):
            raise RuntimeError(f"{result.status}: {[k.error for k in result.keys if k.error][:3]}")

    def request(self, name: str, days: list[str]) -> BackfillRequest:
        return BackfillRequest(
            target=name,
            at=service.now(),
            start=days[0],
            end=days[-1],
            every=True,
            only=True,
            most_keys=len(days),
        )

    def key_by_key(self, name: str, days: list[str]) -> float:
        """Seconds for a key that is run by itself, on a session that has done sixty."""
        project = service.open_project(self.on.folder)
        times = []
        for day in days[:80]:
            began = time.perf_counter()
            request = Request(target=name, fire_time=service.now(), partition=day, only=True)
            planned = service.plan(project, request, self.on.store)
            result = service.run(planned, self.on.engine, self.on.store)
            times.append(time.perf_counter() - began)
            assert result.status == "succeeded"
        return statistics.mean(times[60:])

    def best(self, act: Callable[[], object]) -> float:
        """The shortest of a few times; the first makes the table."""
        times = []
        for _ in range(4):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        return min(times[1:])


def by_hand(source: str, days: list[str]) -> str:
    after = str(date.fromisoformat(days[-1]) + timedelta(1))
    return BY_HAND.format(source=source, first=days[0], after=after)
