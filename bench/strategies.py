"""Strategies beside the same statements written by hand in PySpark.

Each pair reads the same source and writes tables of its own that hold the same rows; both go back
to where they were before every round. The hand-written side has no plan, ledger, digest, guard
against bad keys, or pinned reads, and publishes what it writes at once.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.figure import Figure
from bench.opened import opened
from tranche import service
from tranche.model.plan import Request
from tranche.ports import Engine, StateStore

LARGE = int(os.environ.get("TRANCHE_BENCH_ROWS", "5000000"))
SMALL = 1_000
KEYS = LARGE // 5
DAY = "2026-05-15"
TESTS = """\
-- data_test unique id
-- data_test not_null id
-- data_test not_null status
-- data_test accepted_values status = s0,s1,s2,s3,s4,s5,s6
-- data_test relationships status -> lake://main/statuses.status
"""
_SELECT = "SELECT id, amount, status, at FROM {source}"
_ROUNDS = {
    ("replace", "large"): (2, 20),
    ("append", "large"): (2, 20),
    ("merge", "large"): (1, 5),
    ("replace", "small"): (5, 9),
    ("append", "small"): (5, 9),
    ("merge", "small"): (5, 9),
}
"""How many rounds warm up, and how many count."""
BEST = {"use-table-distribution-and-ordering": "false", "fanout-enabled": "false"}
"""What writes a slice fastest: neither a shuffle nor a sort."""


def measure() -> Iterator[Figure]:
    with opened() as found:
        yield from Bench(found.folder, found.spark, found.engine, found.store).figures()


@dataclass(frozen=True)
class Rounds:
    """Times of both sides. They are compared round by round: a machine's pace drifts, and the two
    of a round are next to each other."""

    hand: list[float]
    run: list[float]

    @property
    def theirs(self) -> float:
        return statistics.median(self.hand)

    @property
    def ratio(self) -> float:
        return statistics.median(b / a for a, b in zip(self.hand, self.run, strict=True))

    @property
    def added(self) -> float:
        return statistics.median(b - a for a, b in zip(self.hand, self.run, strict=True))


@dataclass
class Bench:
    folder: Path
    spark: SparkSession
    engine: Engine
    store: StateStore
    number: int = 0
    """Makes each query another, where it must be."""

    def figures(self) -> Iterator[Figure]:
        for size, rows in (("large", LARGE), ("small", SMALL)):
            self.source(f"{size}_before", rows, "amount")
            # One row in ten has changed, and one in ten is new.
            self.source(f"{size}_after", rows, "if(id % 10 = 0, amount + 1, amount)", rows // 10)
        self.spark.range(7).select(F.concat(F.lit("s"), "id").alias("status")).writeTo(
            "main.default.statuses"
        ).using("iceberg").create()
        for strategy, words in (("replace", ""), ("append", " append"), ("merge", " key=id")):
            # The small ones first: by then, what does not depend on the rows is compiled.
            yield from self.pair(strategy, words, "small")
            yield from self.pair(strategy, words, "large")
        yield from self.first_time()
        yield from self.other_rows()
        self.script("reader", "", "replace_large_ours")
        yield from self.other_rows(read=True)
        yield from self.tests()
        yield from self.history()

    def source(self, name: str, rows: int, amount: str, shift: int = 0) -> None:
        frame = self.spark.range(shift, rows + shift, 1, 4).select(
            "id",
            (F.col("id") * 7 % 1000 / 3).alias("amount"),
            F.concat(F.lit("s"), (F.col("id") % 7).cast("string")).alias("status"),
            F.timestamp_seconds(F.col("id") + 1_700_000_000).alias("at"),
        )
        frame = frame.withColumn("amount", F.expr(amount))
        frame.writeTo(f"main.default.{name}").using("iceberg").create()

    def pair(self, strategy: str, words: str, size: str) -> Iterator[Figure]:
        ours, theirs = f"{strategy}_{size}_ours", f"{strategy}_{size}_theirs"
        self.script(ours, words, f"{size}_before")
        self.run(ours)
        before = self.spark.table(f"main.default.{size}_before").withColumn("day", F.lit(DAY))
        before.writeTo(f"main.default.{theirs}").using("iceberg").partitionedBy(
            F.col("day")
        ).create()
        self.script(ours, words, f"{size}_after")
        found = self.rounds(
            theirs,
            lambda: self.by_hand(strategy, theirs, f"{size}_after"),
            ours,
            lambda: self.run(ours),
            *_ROUNDS[strategy, size],
        )
        rows = f"{LARGE:,}" if size == "large" else f"{SMALL:,}"
        yield Figure(f"{strategy}, {rows} rows, hand-written", found.theirs, "s")
        if size == "large":
            yield Figure(f"{strategy}, {rows} rows, tranche / hand-written", found.ratio, "×", 1.15)
        else:
            yield Figure(f"{strategy}, {rows} rows, what tranche adds", found.added, "s", 0.5)

    def first_time(self) -> Iterator[Figure]:
        """Slices that were not there before, as on most days."""
        keys = [f"2025-01-{day:02}" for day in range(1, 32)]
        found = self.rounds(
            "replace_large_theirs",
            lambda: self.by_hand("replace", "replace_large_theirs", "large_after", keys[-1]),
            "replace_large_ours",
            lambda: self.run("replace_large_ours", key=keys[-1]),
            *_ROUNDS["replace", "large"],
            after_each=keys.pop,
        )
        what = f"replace, {LARGE:,} rows, a slice that is new"
        yield Figure(f"{what}, tranche / hand-written", found.ratio, "×", 1.15)

    def other_rows(self, *, read: bool = False) -> Iterator[Figure]:
        """Slices that are written again, each time with other rows.

        What another script reads is digested on its way, to tell whether that script is stale; the
        statement by hand does nothing of the kind.
        """
        self.number = 0

        def turn() -> None:
            self.number += 1
            self.script("replace_large_ours", "", "large_after", select=self.select())

        turn()
        found = self.rounds(
            "replace_large_theirs",
            lambda: self.by_hand("replace", "replace_large_theirs", "large_after"),
            "replace_large_ours",
            lambda: self.run("replace_large_ours"),
            *_ROUNDS["replace", "large"],
            after_each=turn,
        )
        self.number = 0
        what = f"replace, {LARGE:,} rows, by other rows"
        if read:
            yield Figure(f"{what} that a script reads, tranche / hand-written", found.ratio, "×")
        else:
            yield Figure(f"{what}, tranche / hand-written", found.ratio, "×", 1.15)

    def select(self) -> str:
        return _SELECT.replace("amount", f"amount + {self.number} AS amount", self.number > 0)

    def tests(self) -> Iterator[Figure]:
        self.script("untested", "", "large_after")
        self.script("tested", "", "large_after", TESTS)
        self.run("untested")
        self.run("tested")
        found = self.rounds(
            "untested", lambda: self.run("untested"), "tested", lambda: self.run("tested"), 1, 5
        )
        rows = f"{LARGE:,} rows"
        yield Figure(f"replace, {rows}, untested", found.theirs, "s")
        yield Figure(f"five data tests / writing, {rows}", found.ratio - 1, "×", 0.7)

    def history(self) -> Iterator[Figure]:
        for name, change in (
            ("keys_before", "amount"),
            ("keys_after", "if(id % 100 = 0, -1, amount)"),
        ):
            self.source(name, KEYS, change)
        self.script("history_ours", " key=id history", "keys_before", partitioned=False)
        self.run("history_ours", key=None)
        self.spark.sql(
            "CREATE TABLE main.default.history_theirs USING iceberg AS SELECT *,"
            " now() AS valid_from, CAST(NULL AS TIMESTAMP) AS valid_to, true AS is_current"
            " FROM main.default.keys_before"
        )
        self.script("history_ours", " key=id history", "keys_after", partitioned=False)
        found = self.rounds(
            "history_theirs",
            lambda: self.spark.sql(_HISTORY),
            "history_ours",
            lambda: self.run("history_ours", key=None),
            1,
            5,
        )
        yield Figure(f"history, {KEYS:,} keys, 1 % changed, hand-written", found.theirs, "s")
        yield Figure(f"history, {KEYS:,} keys, tranche / hand-written", found.ratio, "×", 1.3)

    def rounds(
        self,
        theirs: str,
        by_hand: Callable[[], object],
        ours: str,
        by_us: Callable[[], object],
        warm_up: int,
        rounds: int,
        after_each: Callable[[], object] = lambda: None,
    ) -> Rounds:
        """Both in turn, each from where its table was; who is first changes from round to round."""
        start = {name: self.snapshot(name) for name in (theirs, ours)}
        times: dict[str, list[float]] = {theirs: [], ours: []}
        turn = [(theirs, by_hand), (ours, by_us)]
        for number in range(warm_up + rounds):
            turn.reverse()
            for name, act in turn:
                self.roll_back(name, start[name])
                began = time.perf_counter()
                act()
                if number >= warm_up:
                    times[name].append(time.perf_counter() - began)
            after_each()
        return Rounds(times[theirs], times[ours])

    def snapshot(self, table: str) -> int:
        found = self.spark.sql(
            f"SELECT snapshot_id FROM main.default.{table}.history ORDER BY made_current_at DESC"
        ).first()
        assert found is not None
        return int(found[0])

    def roll_back(self, table: str, snapshot: int) -> None:
        if self.snapshot(table) != snapshot:
            self.spark.sql(
                f"CALL main.system.rollback_to_snapshot('default.{table}', {snapshot})"
            ).collect()

    def by_hand(self, strategy: str, table: str, source: str, day: str = DAY) -> None:
        name = f"main.default.{table}"
        select = self.select().format(source=f"main.default.{source}")
        rows = self.spark.sql(select).withColumn("day", F.lit(day))
        match strategy:
            case "replace":
                rows.writeTo(name).options(**BEST).overwrite(F.col("day") == F.lit(day))
            case "append":
                rows.writeTo(name).options(**BEST).append()
            case _:
                self.spark.sql(
                    f"MERGE INTO {name} AS t USING (SELECT *, '{DAY}' AS day FROM ({select})) AS s"
                    f" ON t.day = '{DAY}' AND t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                )

    def script(
        self,
        name: str,
        words: str,
        source: str,
        tests: str = "",
        *,
        partitioned: bool = True,
        select: str = _SELECT,
    ) -> None:
        header = "-- pipeline\n" + ("-- partitioned daily\n" if partitioned else "")
        query = select.format(source=source)
        text = f"{header}-- materialize lake://main/{name}{words}\n{tests}{query}"
        (self.folder / "pipelines" / f"{name}.sql").write_text(text)

    def run(self, name: str, *, key: str | None = DAY) -> None:
        project = service.open_project(self.folder)
        request = Request(target=name, fire_time=service.now(), partition=key, only=True)
        plan = service.plan(project, request, self.store)
        result = service.run(plan, self.engine, self.store)
        if result.status != "succeeded":
            raise RuntimeError(result.steps[0].record.error)


_HISTORY = """
MERGE INTO main.default.history_theirs AS t USING (
    WITH changed AS (
        SELECT s.*, c.id IS NOT NULL AS known
        FROM main.default.keys_after AS s
        LEFT JOIN (SELECT * FROM main.default.history_theirs WHERE is_current) AS c ON s.id = c.id
        WHERE c.id IS NULL OR NOT (
            s.amount <=> c.amount AND s.status <=> c.status AND s.at <=> c.at)
    )
    SELECT id AS known_id, * FROM changed WHERE known
    UNION ALL SELECT NULL AS known_id, * FROM changed
) AS s ON t.id = s.known_id AND t.is_current
WHEN MATCHED THEN UPDATE SET t.valid_to = now(), t.is_current = false
WHEN NOT MATCHED THEN INSERT (id, amount, status, at, valid_from, valid_to, is_current)
VALUES (s.id, s.amount, s.status, s.at, now(), CAST(NULL AS TIMESTAMP), true)
"""
