"""Tasks on Spark: what they keep, in which parts of tables, and what those downstream read."""

from __future__ import annotations

import itertools
import re
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tranche.lakes.engine import SparkEngine
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.planning.backfill import plan_backfill
from tranche.planning.plan import build_plan
from tranche.projects.load import load_project
from tranche.run.runner import RunResult, run_plan
from tranche.script.ranges.ranged import only_key_by_key
from tranche.testing import MemoryStore

LAKES = ("main", "delta", "parquet", "ducklake")
NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
D0, D1, D2 = "2026-05-14", "2026-05-15", "2026-05-16"
IOS = {
    "iceberg": 'IcebergIO("lake://main")',
    "delta": 'DeltaIO("data/{}")',
    "parquet": 'ParquetIO("data/{}")',
    "csv": 'CsvIO("data/{}")',
    "json": 'JsonIO("data/{}")',
}
_NUMBERS = itertools.count()
_HEAD = """\
import tranche
from tranche import (
    CsvIO, Daily, DeltaIO, IcebergIO, JsonIO, Merge, ParquetIO, all_partitions,
    current_partition, current_partitions, job, logical_date, task,
)
from pipelines_rows import ROWS, seen
"""


@dataclass
class Jobs:
    """Jobs in files of their own, run as a runner runs them."""

    engine: SparkEngine
    root: Path
    name: str = field(default_factory=lambda: f"job{next(_NUMBERS)}")
    store: MemoryStore = field(default_factory=MemoryStore)
    rows: dict[str, Any] = field(default_factory=dict)
    """What the tasks return, by key."""
    seen: list[Any] = field(default_factory=list)
    """What the tasks note."""

    def write(self, body: str, arguments: str = "partitioning=Daily(start='2026-05-01')") -> None:
        file = self.root / "pipelines" / f"{self.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = textwrap.indent(textwrap.dedent(body), "    ")
        file.write_text(f"{_HEAD}\n\n@job({arguments})\ndef {self.name}():\n{body}\n")

    def io(self, kind: str) -> str:
        return IOS[kind].format(self.name)

    def project(self) -> Project:
        import sys
        import types

        module = types.ModuleType("pipelines_rows")
        module.ROWS, module.seen = self.rows, self.seen  # type: ignore[attr-defined]
        sys.modules["pipelines_rows"] = module
        project = load_project(self.engine._settings)
        assert not project.faults, project.faults
        own = tuple(script for script in project.scripts if script.job == self.name)
        return Project(settings=self.engine._settings, scripts=own)

    def run(self, partition: str | None = None, **given: Any) -> RunResult:
        asked = Request(target=self.name, fire_time=NOON, partition=partition, **given)
        plan = build_plan(self.project(), asked, self.store, only_key_by_key)
        return run_plan(plan, self.engine, self.store, lambda: datetime.now(UTC))

    def done(self, partition: str | None = None, **given: Any) -> RunResult:
        result = self.run(partition, **given)
        assert result.status == "succeeded", [step.record.error for step in result.steps]
        return result

    def fill(self, start: str, end: str) -> RunResult:
        request = BackfillRequest(target=self.name, at=NOON, start=start, end=end)
        plan = plan_backfill(self.project(), request, self.store, only_key_by_key)
        return run_plan(plan.plan, self.engine, self.store, lambda: datetime.now(UTC))


@pytest.fixture
def jobs(engine: SparkEngine, root: Path) -> Iterator[Jobs]:
    found = Jobs(engine, root)
    yield found
    (root / "pipelines" / f"{found.name}.py").unlink(missing_ok=True)


TEXTS = ("csv", "json")
EXTRACT = """
@task(io={io}, partition_by=("event_date", "region"))
def extract(spark, partition):
    return spark.createDataFrame(ROWS[partition], "event_date string, region string, n int")

@task(all_partitions=True)
def everything(extract) -> None:
    seen.append(sorted(map(tuple, extract.select("event_date", "region", "n").collect()), key=repr))

@task
def own(extract) -> None:
    seen.append(sorted(map(tuple, extract.select("event_date", "region", "n").collect()), key=repr))

rows = extract()
everything(rows)
own(rows)
"""


@pytest.mark.parametrize(
    "kind",
    ["iceberg", "delta", "parquet", *(pytest.param(k, marks=pytest.mark.slow) for k in TEXTS)],
)
def test_other_parts_stay_as_they_were(jobs: Jobs, kind: str) -> None:
    """(eu, d1) and (us, d2) are written, (eu, d2) and (us, d1) are not touched."""
    jobs.write(EXTRACT.format(io=jobs.io(kind)))
    jobs.rows[D1] = [(D1, "eu", 1), (D1, "us", 2), (D2, "eu", 3), (D2, "us", 4)]
    jobs.done(D1)
    jobs.rows[D2] = [(D1, "eu", 10), (D2, "us", 40)]
    jobs.done(D2)
    every, own = jobs.seen[-2:]
    assert every == [(D1, "eu", 10), (D1, "us", 2), (D2, "eu", 3), (D2, "us", 40)]
    assert own == [(D1, "eu", 10), (D2, "us", 40)]


@pytest.mark.parametrize(
    "kind",
    [
        *("iceberg", "parquet"),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("delta", *TEXTS)),
    ],
)
class TestParts:
    def test_parts_without_values_and_slices_without_rows(self, jobs: Jobs, kind: str) -> None:
        jobs.write(EXTRACT.format(io=jobs.io(kind)))
        jobs.rows |= {D1: [(D1, None, 1), (D1, "a/b=c 'd'", 2)], D2: [(D2, "eu", 3)]}
        jobs.done(D1)
        jobs.done(D2)
        assert jobs.seen[-2] == [(D1, "a/b=c 'd'", 2), (D1, None, 1), (D2, "eu", 3)]
        jobs.rows[D1] = [(D1, None, 5)]
        jobs.done(D1)
        # What the key has written before and not now is gone, and nothing else is.
        assert jobs.seen[-2:] == [[(D1, None, 5), (D2, "eu", 3)], [(D1, None, 5)]]
        jobs.rows[D1] = []
        jobs.done(D1)
        assert jobs.seen[-2:] == [[(D2, "eu", 3)], []]

    def test_keys_that_run_at_once_make_a_table_together(self, jobs: Jobs, kind: str) -> None:
        jobs.write(EXTRACT.format(io=jobs.io(kind)))
        jobs.rows |= {key: [(key, "eu", n)] for n, key in enumerate((D0, D1, D2))}
        result = jobs.fill(D0, D2)
        assert result.status == "succeeded", [step.record.error for step in result.steps]
        assert not result.warnings
        every = max((seen for seen in jobs.seen), key=len)
        assert every == [(D0, "eu", 0), (D1, "eu", 1), (D2, "eu", 2)]

    def test_a_key_that_never_had_rows(self, jobs: Jobs, kind: str) -> None:
        jobs.write(EXTRACT.format(io=jobs.io(kind)))
        jobs.rows |= {D1: [(D1, "eu", 1)], D2: []}
        jobs.done(D1)
        jobs.done(D2)
        assert jobs.seen[-2:] == [[(D1, "eu", 1)], []]

    @pytest.mark.slow
    def test_columns_that_divide_it_do_not_change(self, jobs: Jobs, kind: str) -> None:
        jobs.write(EXTRACT.format(io=jobs.io(kind)).replace(', "region")', ",)"))
        jobs.rows |= {D1: [(D1, "eu", 1), (D1, "us", 2)], D2: [(D1, "eu", 3)]}
        jobs.done(D1)
        before = jobs.seen[-2]
        jobs.write(EXTRACT.format(io=jobs.io(kind)))
        (failed, *_) = jobs.run(D2).steps
        error = str(failed.record.error)
        assert (
            "is divided by event_date, and the task divides its rows by event_date, region" in error
        )
        jobs.write(EXTRACT.format(io=jobs.io(kind)).replace(', "region")', ",)"))
        jobs.rows[D2] = [(D2, "eu", 3)]
        jobs.done(D2)
        assert jobs.seen[-2] == [*before, (D2, "eu", 3)]

    def test_without_columns_all_is_replaced(self, jobs: Jobs, kind: str) -> None:
        body = EXTRACT.replace(', partition_by=("event_date", "region")', "")
        jobs.write(body.format(io=jobs.io(kind)))
        jobs.rows |= {D1: [(D1, "eu", 1)], D2: [(D2, "us", 2)]}
        jobs.done(D1)
        jobs.done(D2)
        assert jobs.seen[-2] == [(D2, "us", 2)]


SEVERAL = """
@task(io={io}, partition_by={by})
def extract(spark, partitions):
    rows = [row for key in partitions for row in ROWS[key]]
    return spark.createDataFrame(rows, "day date, region string, n int")

@task(all_partitions=True)
def everything(extract, partitions) -> None:
    seen.append(sorted((row.n for row in extract.collect())))

@task
def own(extract, partition) -> None:
    seen.append((partition, sorted(row.n for row in extract.collect())))

rows = extract()
everything(rows)
own(rows)
"""


@pytest.mark.parametrize(
    "kind",
    [
        "parquet",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("iceberg", "delta", *TEXTS)),
    ],
)
class TestSeveralKeys:
    """One call for several keys, whose rows are divided by columns of their own."""

    def test_a_run_that_looks_back_touches_no_day_before(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            SEVERAL.format(io=jobs.io(kind), by='("day", "region")'),
            "partitioning=Daily(start='2026-05-01', lookback=1)",
        )
        jobs.rows |= {
            key: [(date.fromisoformat(key), "eu", n), (date.fromisoformat(key), None, n + 10)]
            for n, key in enumerate((D0, D1, D2))
        }
        jobs.done(D1)
        jobs.done(D2)
        # The run of D2 is also for D1, which was written together with D0.
        every, *own = jobs.seen[-3:]
        assert every == [0, 1, 2, 10, 11, 12]
        assert sorted(own) == [(D1, [1, 11]), (D2, [2, 12])]
        jobs.rows[D1] = []
        jobs.done(D1, exact=True)
        assert jobs.seen[-2:] == [[0, 2, 10, 12], (D1, [])]

    def test_parts_that_do_not_tell_their_key_are_shared(self, jobs: Jobs, kind: str) -> None:
        jobs.write(SEVERAL.format(io=jobs.io(kind), by='"region"'))
        day = date.fromisoformat(D1)
        jobs.rows |= {D1: [(day, "eu", 1)], D2: [(day, "us", 2)]}
        assert jobs.fill(D1, D2).status == "succeeded"
        jobs.rows[D1] = [(day, "jp", 3)]
        jobs.done(D1)
        # Whether (eu) was of D1 alone, nobody knows: it stays until D2 has run again too.
        assert jobs.seen[-2:] == [[1, 2, 3], (D1, [3])]
        jobs.done(D2)
        assert jobs.seen[-2:] == [[2, 3], (D2, [2])]


KEYED = """
@task(io={io}, partition_by="partition_key")
def extract(spark, partitions):
    rows = [row for key in partitions for row in ROWS[key]]
    return spark.createDataFrame(rows, "partition_key string, n int")

@task
def own(extract, partition) -> None:
    seen.append((partition, sorted(map(tuple, extract.select("partition_key", "n").collect()))))

own(extract())
"""


class TestKeys:
    @pytest.mark.parametrize(
        "kind",
        ["parquet", *(pytest.param(k, marks=pytest.mark.slow) for k in ("iceberg", "delta"))],
    )
    def test_a_range_is_one_call(self, jobs: Jobs, kind: str) -> None:
        jobs.write(KEYED.format(io=jobs.io(kind)))
        jobs.rows |= {D1: [(D1, 1), (D1, 2)], D2: [(D2, 3)]}
        assert jobs.fill(D1, D2).status == "succeeded"
        assert sorted(jobs.seen) == [(D1, [(D1, 1), (D1, 2)]), (D2, [(D2, 3)])]

    def test_the_key_comes_by_itself(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")}, partition_by="partition_key")
            def extract(spark):
                return spark.createDataFrame([(len(current_partition()),)], "n int")

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.collect())))

            own(extract())
            """
        )
        jobs.done(D1)
        assert jobs.seen == [[(10, D1)]]

    def test_several_keys_without_the_column(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")}, partition_by="partition_key")
            def extract(spark, partitions):
                return spark.createDataFrame([(1,)], "n int")

            extract()
            """
        )
        result = jobs.fill(D1, D2)
        (step,) = result.steps
        assert step.record.status == "failed"
        assert "rows of 2 keys without the column partition_key" in str(step.keys[0].error)

    def test_a_column_that_is_missing(self, jobs: Jobs) -> None:
        jobs.write(EXTRACT.format(io=jobs.io("parquet")).replace("region string", "reg string"))
        jobs.rows[D1] = [(D1, "eu", 1)]
        result = jobs.run(D1)
        error = str(result.steps[0].record.error)
        assert "is divided by region, and its rows have no such column" in error
        assert f"pipelines/{jobs.name}.py:" in error


_VALUES = """
    id int, text string, at timestamp, local timestamp_ntz, day date, n double, much decimal(38,9),
    good boolean
"""
_TEXTS = ["  padded ", "a\nb", "a\r\nb", 'a "quote"', "back\\slash", "a,b", "", None, "null", "ü"]


class TestResults:
    @pytest.mark.parametrize("kind", ["csv", "json"])
    def test_files_of_text_keep_every_value(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io(kind)}, partition_by="partition_key")
            def extract(spark, partition):
                return spark.createDataFrame(ROWS[partition], ROWS["columns"])

            @task(io={jobs.io(kind)}, partition_by="partition_key")
            def alone(extract):
                return extract.where(ROWS["alone"]).select("text")

            @task
            def own(rows, texts) -> None:
                seen.append(sorted(map(tuple, rows.drop("partition_key").collect()), key=repr))
                seen.append(sorted((row.text for row in texts.collect()), key=repr))

            rows = extract()
            own(rows, alone(rows))
            """
        )
        moment = datetime(2026, 5, 15, 12, 30, 1, 123456)
        values = (
            moment,
            moment,
            moment.date(),
            0.1,
            Decimal("12345678901234567890.123456789"),
            True,
        )
        rows = [(n, text, *values) for n, text in enumerate(_TEXTS)]
        rows.append((len(rows), *([None] * 7)))
        # A row of CSV that is nothing but NULL is a line with nothing on it, and refused.
        alone = "text IS NOT NULL" if kind == "csv" else "true"
        jobs.rows |= {"columns": _VALUES, "alone": alone, D1: rows}
        jobs.done(D1)
        texts = [text for _, text, *_ in rows if kind != "csv" or text is not None]
        assert jobs.seen[0] == sorted(rows, key=repr)
        assert jobs.seen[1] == sorted(texts, key=repr)

    @pytest.mark.parametrize("kind", ["csv", pytest.param("json", marks=pytest.mark.slow)])
    def test_columns_of_files_go_by_name(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io(kind)}, partition_by="partition_key")
            def extract(spark, partition):
                return spark.createDataFrame(*ROWS[partition])

            @task(io={jobs.io(kind)})
            def latest(extract):
                return extract.select(*ROWS["latest"])

            @task(all_partitions=True)
            def every(extract, latest) -> None:
                seen.append(sorted((row.a, row.b) for row in extract.collect()))
                seen.append([row.asDict() for row in latest.collect()])

            rows = extract()
            every(rows, latest(rows))
            """
        )
        jobs.rows |= {
            D0: ([(1, "x")], "a int, b string"),
            D1: ([("y", 2)], "b string, a int"),
            D2: ([(3,)], "a int"),
            "latest": ["b"],
        }
        jobs.done(D0)
        jobs.done(D1)
        assert jobs.seen[-2:] == [[(1, "x"), (2, "y")], [{"b": "y"}]]
        jobs.rows["latest"] = ["a"]
        jobs.done(D2)
        assert jobs.seen[-2:] == [[(1, "x"), (2, "y"), (3, None)], [{"a": 3}]]
        jobs.rows[D2] = ([(3, 4)], "a int, c int")
        jobs.done(D2)
        assert jobs.seen[-2:] == [[(1, "x"), (2, "y"), (3, None)], [{"a": 3}]]

    def test_none_writes_nothing_and_is_handed_over(self, jobs: Jobs) -> None:
        jobs.write(
            """
            @task
            def extract(partition):
                return None if ROWS.get(partition) is None else ROWS[partition]

            @task
            def own(extract) -> None:
                seen.append(extract)

            own(extract())
            """
        )
        jobs.done(D1)
        assert jobs.seen == [None]

    @pytest.mark.parametrize(
        "kind",
        [
            "pd.DataFrame",
            "pl.LazyFrame",
            pytest.param("pl.DataFrame", marks=pytest.mark.slow),
            pytest.param("pa.Table", marks=pytest.mark.slow),
        ],
    )
    def test_frames_of_all_kinds(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            f"""
            import pandas as pd
            import polars as pl
            import pyarrow as pa

            @task
            def extract() -> {kind}:
                made = {{"n": [1, 2]}}
                return pa.table(made) if {kind!r} == "pa.Table" else {kind}(made)

            @task
            def own(extract: {kind}) -> None:
                seen.append(type(extract).__name__)

            own(extract())
            """
        )
        jobs.done(D1)
        assert jobs.seen == [kind.partition(".")[2]]

    @pytest.mark.parametrize("kind", ["iceberg", pytest.param("delta", marks=pytest.mark.slow)])
    def test_merge(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io(kind)}, partition_by="day")
            def extract(spark, partition):
                rows = spark.createDataFrame(ROWS[partition], "day string, id int, n int, gone boolean")
                return (
                    Merge(rows, on=("day", "id"))
                    .when_matched_delete("source.gone")
                    .when_matched_update({{"n": "target.n + source.n"}})
                    .when_not_matched_insert_all("NOT source.gone")
                )

            @task(all_partitions=True)
            def every(extract) -> None:
                seen.append(sorted(map(tuple, extract.select("day", "id", "n").collect())))

            every(extract())
            """
        )
        jobs.rows |= {
            D1: [(D1, 1, 1, False), (D1, 2, 1, False), (D1, 3, 1, True)],
            D2: [(D1, 1, 5, False), (D1, 2, 0, True), (D2, 9, 9, False)],
        }
        jobs.done(D1)
        jobs.done(D2)
        assert jobs.seen == [[(D1, 1, 1), (D1, 2, 1)], [(D1, 1, 6), (D2, 9, 9)]]

    @pytest.mark.slow
    def test_a_merge_knows_the_key_of_rows_that_do_not_say_it(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")}, partition_by="partition_key")
            def extract(spark, partition):
                return Merge(spark.createDataFrame(ROWS[partition], "id int, n int"), on="id")

            @task(all_partitions=True)
            def every(extract) -> None:
                seen.append(sorted(map(tuple, extract.select("partition_key", "id", "n").collect())))

            every(extract())
            """
        )
        jobs.rows |= {D1: [(1, 1), (2, 1)], D2: [(2, 5), (3, 5)]}
        jobs.done(D1)
        jobs.done(D2)
        assert jobs.seen[-1] == [(D1, 1, 1), (D2, 2, 5), (D2, 3, 5)]

    def test_a_merge_lacks_a_column_that_divides_the_table(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")}, partition_by="region")
            def extract(spark):
                return Merge(spark.range(1), on="id")

            extract()
            """
        )
        (step,) = jobs.run(D1).steps
        assert "extract is divided by region, and its rows have no such column" in str(
            step.record.error
        )

    def test_a_merge_into_a_format_that_takes_none(self, jobs: Jobs) -> None:
        jobs.write(
            """
            @task(writes="lake://parquet/merged_by_sql", key="id")
            def extract(spark):
                return Merge(spark.range(1), on="id")

            extract()
            """
        )
        (step,) = jobs.run(D1).steps
        assert re.fullmatch(
            rf"pipelines/{jobs.name}\.py:\d+: lake://parquet/merged_by_sql is a parquet table, which"
            r" cannot take a Merge; say key= and .*",
            str(step.record.error),
        )

    def test_a_merge_by_columns_that_are_not_there(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")})
            def extract(spark):
                return Merge(spark.range(1), on="target.id = source.idd")

            extract()
            """
        )
        (step,) = jobs.run(D1).steps
        assert "`source`.`idd` cannot be resolved. Did you mean" in str(step.record.error)

    @pytest.mark.parametrize(
        "lake", ["main", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ducklake", "delta"))]
    )
    def test_a_merge_inserts_all_columns_into_its_slice(self, jobs: Jobs, lake: str) -> None:
        jobs.write(
            f"""
            @task(writes="lake://{lake}/inserted")
            def extract(spark, partition):
                return Merge(spark.createDataFrame(ROWS[partition], "id int, n int"), on="id")

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.collect())))

            own(extract())
            """
        )
        for day, rows in ((D1, [(1, 1)]), (D2, [(1, 5)]), (D1, [(1, 7), (2, 7)])):
            jobs.rows[day] = rows
            jobs.done(day)
        assert jobs.seen == [[(1, 1)], [(1, 5)], [(1, 7), (2, 7)]]

    @pytest.mark.parametrize("lake", ["main", "ducklake"])
    def test_a_merge_stays_within_its_slice(self, jobs: Jobs, lake: str) -> None:
        # Of a row that is new, Iceberg knows which side a name without one is of.
        given = "n" if lake == "main" else "source.n"
        jobs.write(
            f"""
            @task(writes="lake://{lake}/merged")
            def extract(spark, partition):
                rows = spark.createDataFrame(ROWS[partition], "id int, n int")
                return (
                    Merge(rows, on="id")
                    .when_matched_update_all()
                    .when_not_matched_insert({{"id": "source.id", "n": "{given} * 10"}})
                    .when_not_matched_by_source_delete()
                )

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.collect())))

            own(extract())
            """
        )
        for day, rows in ((D1, [(1, 1), (2, 2)]), (D2, [(1, 5)]), (D1, [(2, 7)])):
            jobs.rows[day] = rows
            jobs.done(day)
        assert jobs.seen == [[(1, 10), (2, 20)], [(1, 50)], [(2, 7)]]
        jobs.rows[D2] = [(1, 6)]
        jobs.done(D2)
        assert jobs.seen[-1] == [(1, 6)]

    def test_a_merge_into_a_whole_ducklake_table(self, jobs: Jobs) -> None:
        jobs.write(
            """
            @task(writes="lake://ducklake/balances")
            def extract(spark):
                rows = spark.createDataFrame(ROWS["all"], "id int, n int, gone boolean")
                return (
                    Merge(rows, on="target.id = source.id")
                    .when_matched_delete("source.gone")
                    .when_matched_update({"n": "target.n + source.n"}, condition="source.n > 0")
                    .when_not_matched_insert_all("NOT source.gone")
                    .when_not_matched_by_source_update({"n": "0"}, condition="target.n < 0")
                )

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.select("id", "n").collect())))

            own(extract())
            """,
            arguments="",
        )
        for rows in (
            [(1, 1, False), (2, 2, False), (3, 3, True), (4, -4, False)],
            [(1, 5, False), (2, 0, False), (5, 5, False)],
            [(1, 0, True), (9, 9, True)],
            [(7, 7, True)],
        ):
            jobs.rows["all"] = rows
            jobs.done()
        assert jobs.seen == [
            [(1, 1), (2, 2), (4, -4)],
            [(1, 6), (2, 2), (4, 0), (5, 5)],
            [(2, 2), (4, 0), (5, 5)],
            [(2, 2), (4, 0), (5, 5)],
        ]

    @pytest.mark.parametrize(
        "where",
        [
            "io={iceberg}",
            pytest.param("io={delta}", marks=pytest.mark.slow),
            'writes="lake://ducklake/two"',
        ],
    )
    def test_several_rows_of_a_merge_match_one(self, jobs: Jobs, where: str) -> None:
        kept = where.format(iceberg=jobs.io("iceberg"), delta=jobs.io("delta"))
        jobs.write(
            f"""
            @task({kept})
            def extract(spark):
                return Merge(spark.createDataFrame(ROWS["all"], "id int, n int"), on="id")

            extract()
            """,
            arguments="",
        )
        jobs.rows["all"] = [(1, 1)]
        jobs.done()
        jobs.rows["all"] = [(1, 2), (1, 3)]
        (step,) = jobs.run().steps
        assert re.fullmatch(
            rf"pipelines/{jobs.name}\.py:\d+: several rows of a Merge match one row of the table, .*",
            str(step.record.error),
        )

    def test_a_merge_that_breaks_makes_no_table(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("delta")})
            def extract(spark):
                made = Merge(spark.range(1), on="id")
                return made.when_not_matched_insert({{"id": "source.id", "m": "1"}})

            extract()
            """
        )
        (step,) = jobs.run(D1).steps
        assert "a Merge sets the column m, and " in str(step.record.error)
        assert not (jobs.root / "data" / jobs.name / "extract").exists()

    def test_a_merge_brings_new_columns_where_that_is_asked_for(self, jobs: Jobs) -> None:
        body = """
            @task({kept})
            def extract(spark):
                return Merge(spark.createDataFrame(*ROWS["all"]), on="id")

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.collect()), key=repr))

            own(extract())
            """
        strict, growing = (
            'writes="lake://ducklake/grown"',
            'writes="lake://ducklake/grown", on_schema_change="sync"',
        )
        jobs.write(body.format(kept=strict), arguments="")
        jobs.rows["all"] = [(1, 1), (2, 2)], "id int, n int"
        jobs.done()
        jobs.rows["all"] = [(1, 5, "x")], "id int, n bigint, label string"
        refused, _ = jobs.run().steps
        assert (
            "the rows of a Merge have label, n as bigint, and lake://ducklake/grown has not; name"
            ' the columns in its clauses, or say on_schema_change="sync"'
        ) in str(refused.record.error)
        jobs.write(body.format(kept=growing), arguments="")
        jobs.done()
        assert jobs.seen == [[(1, 1), (2, 2)], [(1, 5, "x"), (2, 2, None)]]
        leaving = growing.replace("sync", "warn")
        jobs.write(body.format(kept=leaving), arguments="")
        jobs.rows["all"] = [(1, 6, "y", 0.5)], "id int, n bigint, label string, share double"
        warnings = jobs.done().warnings
        assert "lake://ducklake/grown: new columns share are left out" in str(warnings)
        assert jobs.seen[-1] == [(1, 6, "y"), (2, 2, None)]
        jobs.rows["all"] = [(1, "six")], "id int, n string"
        refused, _ = jobs.run().steps
        assert "the rows have n as string, not bigint, which it is in" in str(refused.record.error)

    @pytest.mark.parametrize("kind", ["iceberg", pytest.param("delta", marks=pytest.mark.slow)])
    def test_a_merge_brings_new_columns_into_what_an_io_keeps(self, jobs: Jobs, kind: str) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io(kind)})
            def extract(spark):
                return Merge(spark.createDataFrame(*ROWS["all"]), on="id")

            @task
            def own(extract) -> None:
                seen.append(sorted(map(tuple, extract.select("id", "n", "label").collect())))

            own(extract())
            """,
            arguments="",
        )
        jobs.rows["all"] = [(1, 1), (2, 2)], "id int, n int"
        assert jobs.run().steps[0].record.status == "succeeded"
        jobs.rows["all"] = [(1, 5, "x"), (2, 6, "y")], "id int, n bigint, label string"
        jobs.done()
        assert jobs.seen == [[(1, 5, "x"), (2, 6, "y")]]

    def test_files_take_no_merge(self, jobs: Jobs) -> None:
        jobs.write(
            f"""
            @task(io={jobs.io("csv")})
            def extract(spark):
                return Merge(spark.range(1), on="id")

            extract()
            """
        )
        (step,) = jobs.run(D1).steps
        assert "cannot take a Merge: its files have no rows that change" in str(step.record.error)

    def test_an_io_of_the_user(self, jobs: Jobs) -> None:
        jobs.write(
            """
            class Own:
                def write(self, context, data):
                    if context.keys == ("2026-05-16",):
                        raise OSError("half-way")
                    ROWS["kept", context.keys] = data
                def read(self, context):
                    return ROWS["kept", context.keys], dict(context.parts)

            @task(io=Own(), partition_by="n")
            def extract(spark, partition):
                return {"any": partition} if partition != "2026-05-14" else spark.range(2).toDF("n")

            @task
            def own(extract) -> None:
                seen.append(extract)

            own(extract())
            """
        )
        jobs.done(D1)
        assert jobs.seen == [({"any": D1}, {})]
        jobs.done("2026-05-14")
        assert sorted(jobs.seen[-1][1]["n"]) == ["0", "1"]
        failed = jobs.run(D2).steps[0].record
        assert failed.status == "failed" and "OSError: half-way" in str(failed.error)


def test_append_happens_once(jobs: Jobs) -> None:
    jobs.write(EXTRACT.format(io=jobs.io("delta").replace(")", ', mode="append")')))
    jobs.rows[D1] = [(D1, "eu", 1)]
    jobs.done(D1)
    jobs.done(D1)
    assert jobs.seen[-2] == [(D1, "eu", 1), (D1, "eu", 1)]


def test_auto_filter_that_is_off_is_told(jobs: Jobs) -> None:
    jobs.write(EXTRACT.format(io=jobs.io("parquet").replace(")", ", auto_filter=False)")))
    jobs.rows |= {D1: [(D1, "eu", 1)], D2: [(D2, "eu", 2)]}
    jobs.done(D1)
    result = jobs.done(D2)
    assert jobs.seen[-1] == [(D1, "eu", 1), (D2, "eu", 2)]
    assert any("its IO has auto_filter=False" in warning for warning in result.warnings)


def test_a_run_across_midnight_keeps_its_key(jobs: Jobs) -> None:
    jobs.write(
        """
        @task
        def extract(spark):
            seen.append(current_partition())
            return spark.range(1)

        @task
        def report(extract) -> None:
            seen.append((current_partition(), logical_date().isoformat()))

        report(extract())
        """
    )
    late = datetime(2026, 5, 16, 23, 59, 59, tzinfo=UTC)
    clock = iter([late, *(datetime(2026, 5, 17, 0, n, tzinfo=UTC) for n in range(50))])
    asked = Request(target=jobs.name, fire_time=late)
    plan = build_plan(jobs.project(), asked, jobs.store, only_key_by_key)
    result = run_plan(plan, jobs.engine, jobs.store, lambda: next(clock))
    assert result.status == "succeeded"
    assert jobs.seen == [D2, (D2, "2026-05-16T00:00:00+00:00")]


CHAIN = """
@task(io={})
def first(spark):
    return spark.range(3).selectExpr("id AS n", "id AS m")

@task(io={})
def second(first):
    return first.where("m > 0").selectExpr("n", "n + 1 AS m")

@task
def third(second):
    return second.where("m > 0").selectExpr("n", "n + 1 AS m")

third(second(first()))
"""


def test_where_columns_come_from_is_seen_wherever_rows_are_kept(jobs: Jobs) -> None:
    jobs.write(CHAIN.format(jobs.io("parquet"), jobs.io("delta")), "")
    jobs.done()
    first, second, third = jobs.project().scripts
    for made, source in ((second, first), (third, second)):
        seen = jobs.store.traced(str(made.asset), made.fingerprint)
        assert seen is not None and seen.complete, (made.name, seen)
        found = {each.column: [str(one.source) for one in each.direct] for each in seen.columns}
        assert found == {"n": [f"{source.asset}.n"], "m": [f"{source.asset}.n"]}
        assert [str(each.source) for each in seen.rows] == [f"{source.asset}.m"]
        assert seen.tables == (source.asset,)


@pytest.mark.parametrize(
    "output",
    ['writes="lake://main/{name}"', 'io=DeltaIO("data/{name}"), partition_by=("partition_key",)'],
)
def test_only_rows_that_are_returned_must_be_of_its_keys(jobs: Jobs, output: str) -> None:
    """Spark may not look at the keys of rows that the function leaves out."""
    jobs.write(
        f"""
        @task({output.format(name=jobs.name)})
        def some(spark, partitions):
            rows = spark.createDataFrame(ROWS["every"], "partition_key string, n int")
            wanted = spark.createDataFrame([(key,) for key in partitions], "partition_key string")
            return rows.join(wanted, "partition_key")
        some()
        """
    )
    jobs.rows["every"] = [(D1, 1), (D2, 2), ("2026-05-17", 3), (None, 4)]
    jobs.done(D1)
    result = jobs.fill(D1, D2)
    assert result.status == "succeeded", [key.error for key in result.steps[0].keys]


SAME = """
@task({output})
def same(spark, partition):
    return spark.createDataFrame(ROWS[partition], "day string, region string, n int")
same()
"""


@pytest.mark.parametrize(
    ("output", "own"),
    [
        ('io=DeltaIO("data/{name}"), partition_by=("day", "region")', 0),
        # It asks for the parts that it wrote.
        ('io=IcebergIO("lake://main"), partition_by=("day", "region")', 1),
        ('writes="lake://main/{name}"', 0),
    ],
)
def test_a_task_makes_few_jobs_besides_its_write(jobs: Jobs, output: str, own: int) -> None:
    jobs.write(SAME.format(output=output.format(name=jobs.name)))
    jobs.rows |= {day: [(day, "eu", 1), (day, "us", 2)] for day in (D1, D2)}
    spark = jobs.engine._spark.open()
    theirs = f"main.default.{jobs.name}_by_hand"
    if "Delta" in output:
        theirs = f"spark_catalog.delta.`{jobs.root}/data/{jobs.name}_by_hand`"

    def by_hand(day: str) -> None:
        rows = spark.createDataFrame(jobs.rows[day], "day string, region string, n int")
        if day != D1:
            rows.writeTo(theirs).overwritePartitions()
            return
        by = [F.col("day")] if "writes" in output else [F.col("day"), F.col("region")]
        format_ = "delta" if "Delta" in output else "iceberg"
        rows.writeTo(theirs).using(format_).partitionedBy(*by).create()

    by_hand(D1)
    jobs.done(D1)
    wanted = jobs_of(spark, lambda: by_hand(D2))
    assert wanted > 0
    assert jobs_of(spark, lambda: jobs.done(D2)) <= wanted + own


def jobs_of(spark: SparkSession, act: Callable[[], object]) -> int:
    """How many jobs of Spark begin while something is done."""
    before = next_job(spark)
    act()
    return next_job(spark) - before - 1


def next_job(spark: SparkSession) -> int:
    """The number of a job that begins now."""
    context, mark = spark.sparkContext, f"mark {next(_NUMBERS)}"
    context.setJobGroup(mark, "counts jobs")
    try:
        spark.range(1).collect()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    for _ in range(100):
        # Spark notes it a moment later.
        if found := context.statusTracker().getJobIdsForGroup(mark):
            (number,) = found
            return number
        time.sleep(0.1)
    raise AssertionError("Spark did not note a job")


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
@pytest.mark.slow
def test_keys_that_make_a_table_at_once_keep_each_others_rows(jobs: Jobs, kind: str) -> None:
    """The table is not there yet when the first of them begin."""
    jobs.write(EXTRACT.format(io=jobs.io(kind)))
    days = [f"2026-05-{day:02}" for day in range(10, 16)]
    jobs.rows |= {day: [(day, "eu", 1)] for day in days}
    result = jobs.fill(days[0], days[-1])
    assert result.status == "succeeded", [step.record.error for step in result.steps]
    assert max(jobs.seen, key=len) == [(day, "eu", 1) for day in days]
