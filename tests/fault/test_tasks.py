"""A job whose process is killed once a task has kept its rows: they are there, and known."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CONF, die_at
from .test_backfill import tranche

IOS = {
    "iceberg": 'IcebergIO("lake://main", mode="append")',
    "delta": 'DeltaIO("data/delta", mode="append")',
    "csv": 'CsvIO("data/csv", mode="append")',
}
JOB = """\
from tranche import CsvIO, Daily, DeltaIO, IcebergIO, job, task


@job(partitioning=Daily(start="2026-05-01"))
def sales():
    @task(io={io}, partition_by=("region",))
    def extract(spark, partition: str):
        region = "eu" if partition == "2026-05-15" else "us"
        return spark.sql("SELECT 1 AS id, :region AS region", args={{"region": region}})

    @task
    def report(extract):
        return extract.groupBy("region").count()

    report(extract())
"""


@pytest.mark.parametrize("kind", IOS)
def test_killed_between_a_commit_and_the_ledger(tmp_path: Path, kind: str) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "sales.py").write_text(JOB.format(io=IOS[kind]))
    (tmp_path / "tranche.toml").write_text(CONF)
    tranche(tmp_path, "run", "sales", "--partition", "2026-05-16")
    point = "tranche.run.attempts:Attempts.succeeded"
    die_at(tmp_path, point, "run", "sales", "--partition", "2026-05-15")

    # Any command that runs something finds out what happened: the rows are there, once.
    tranche(tmp_path, "run", "sales.report", "--partition", "2026-05-16", "--only")
    status = tranche(tmp_path, "status", "sales.extract")["partitions"]
    assert {row["partition"]: row["status"] for row in status} == {
        "2026-05-15": "succeeded",
        "2026-05-16": "succeeded",
    }
    # And of what they are is known too: who reads this key gets these rows alone.
    tranche(tmp_path, "run", "sales.report", "--partition", "2026-05-15", "--only")
    query = "SELECT region, count FROM sales.report WHERE _tranche_partition = '2026-05-15'"
    assert tranche(tmp_path, "sql", query) == [{"region": "eu", "count": 1}]
