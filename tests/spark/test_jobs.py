"""Tasks of jobs whose rows are tables of a lake."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tranche.lakes.engine import SparkEngine
from tranche.model.plan import Request
from tranche.planning.plan import build_plan
from tranche.projects.load import load_project
from tranche.run.runner import run_plan
from tranche.script.ranges.ranged import only_key_by_key
from tranche.testing import MemoryEngine, MemoryStore, run_job

from .conftest import typed

pytestmark = pytest.mark.spark

SALES = """
from pathlib import Path

from tranche import Daily, current_partition, job, task


@job(partitioning=Daily(start="2026-05-01", lookback=1), limit=2)
def spark_sales(factor: int = 2):
    @task
    def extract(spark, partitions: list[str]):
        rows = [(key, n) for key in partitions for n in (1, 2)]
        return spark.createDataFrame(rows, "partition_key string, n int")

    @task(tests=["not_null n"])
    def scaled(rows, factor: int):
        return rows.selectExpr(f"n * {factor} AS n")

    @task
    def note(rows, logical_date):
        assert current_partition() == logical_date.date().isoformat()
        Path(__file__).with_suffix(f".{current_partition()}").write_text(str(rows.count()))

    note(scaled(extract()))
"""


def test_a_job_runs_on_spark(engine: SparkEngine, root: Path) -> None:
    file = root / "pipelines" / "spark_sales.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(SALES)
    project = load_project(engine._settings)
    request = Request(
        target="spark_sales",
        fire_time=datetime(2026, 5, 16, tzinfo=UTC),
        partition="2026-05-16",
        arguments={"factor": "5"},
    )
    store = MemoryStore()
    plan = build_plan(project, request, store, only_key_by_key)
    result = run_plan(plan, engine, store, lambda: datetime.now(UTC))
    assert result.status == "succeeded", [step.record.error for step in result.steps]
    rows = engine.query(typed("SELECT * FROM main.spark_sales.scaled"), limit=10).records()
    assert sorted((row["_tranche_partition"], row["n"]) for row in rows) == [
        ("2026-05-15", 5),
        ("2026-05-15", 10),
        ("2026-05-16", 5),
        ("2026-05-16", 10),
    ]
    assert [file.with_suffix(f".2026-05-{day}").read_text() for day in (15, 16)] == ["2", "2"]
    [scaled] = [script for script in project.scripts if script.name.endswith("scaled")]
    seen = store.traced(str(scaled.asset), scaled.fingerprint)
    assert seen is not None
    [column] = seen.columns
    source = "lake://main/spark_sales.extract.n"
    assert [(str(each.source), each.kind) for each in column.direct] == [(source, "expression")]
    noted = store.standing("job://spark_sales/note", ["2026-05-15", "2026-05-16"])
    assert {state.status for state in noted.values()} == {"succeeded"}


def test_the_fixture_is_a_session(tranche_spark: Any) -> None:
    from tranche import job, task

    @job
    def numbers() -> None:
        @task
        def make(spark: Any) -> Any:
            return spark.range(3)

        @task
        def total(rows: Any) -> Any:
            return rows.selectExpr("sum(id) AS n")

        total(make())

    done = run_job(numbers, engine=MemoryEngine(spark=tranche_spark))
    assert done.status == "succeeded", {n: t.errors for n, t in done.tasks.items()}
    assert done["total"].rows == ({"n": 3},)
