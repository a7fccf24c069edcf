"""How fast commands answer that touch no data, on a project of 200 scripts."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench.figure import Figure
from tranche.model.run import Materialization, Run, StepRecord
from tranche.state.sql_store import SqlStore

_SCRIPT = """\
-- pipeline
-- on lake://main/t{before}
-- partitioned daily tz="Europe/Paris" start="2026-01-01"
-- materialize lake://main/t{number}
-- One of many.
WITH recent AS (
    SELECT order_id, customer_id, amount, created_at,
           row_number() OVER (PARTITION BY order_id ORDER BY created_at DESC) AS latest
    FROM t{before}
    WHERE created_at::date = '{{partition}}'
)
SELECT r.order_id, r.amount * 1.2 AS gross, c.tier, count(*) OVER (PARTITION BY c.tier) AS peers
FROM recent AS r
LEFT JOIN customers AS c ON c.customer_id = r.customer_id AND c.country IN ('FR', 'DE')
WHERE r.latest = 1 AND NOT EXISTS (SELECT 1 FROM blocked AS b WHERE b.order_id = r.order_id)
"""
_CODE = """\
# pipeline
# on lake://main/t{before}
# partitioned daily tz="Europe/Paris" start="2026-01-01"
# materialize lake://main/t{number} key=order_id
# $least (int) = 10
import json

import pandas as pd
from tranche import read_file, write_file

RAW = "s3:///raw/t{number}/{{partition}}.json"


def scored(rows, size: int):
    \"\"\"Those that are large enough, the best first.\"\"\"
    found = []
    for row in rows:
        if row["amount"] > size:
            found.append({{**row, "score": row["amount"] / (size + 1)}})
    return sorted(found, key=lambda each: each["score"], reverse=True)


def main(partition: str, least: int, t{before}: pd.DataFrame) -> pd.DataFrame:
    rows = scored(read_file(RAW.replace("{{partition}}", partition)), least)
    write_file("s3:///out/t{number}/{{partition}}.json", json.dumps(rows))
    return t{before}.merge(pd.DataFrame(rows), on="order_id")
"""
_JOB = """\
from tranche import Cron, Daily, ParquetIO, all_partitions, job, task

io = ParquetIO("data/lake")


@job(partitioning=Daily(start="2024-01-01", lookback=2), schedule=Cron("0 6 * * 1-5"))
def sales_{number}(limit: int = 10):
    @task(io=io, partition_by="event_date")
    def extract_{number}(spark, partitions: list[str], limit):
        return spark.table("x").limit(limit)

    @task(tests=["unique id", "not_null id"])
    def clean(rows, partition: str):
        return rows.where("id > 1")

    @task
    def report(rows, everything):
        print(rows.count())

    rows = extract_{number}()
    report(clean(rows), all_partitions(rows))
"""
_TRANCHE = Path(sys.executable).parent / "tranche"
_EXPLAIN = "explain lake://main/t7 2026-05-05"
_ROUNDS = 7


def measure() -> Iterator[Figure]:
    yield from _measure_python()
    yield from _measure_jobs()
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        for number in range(1, 201):
            file = folder / "pipelines" / f"group{number % 10}" / f"t{number}.sql"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_SCRIPT.format(number=number, before=number - 1))
        _time(folder, "--help")
        cold = []
        for _ in range(3):
            shutil.rmtree(folder / ".tranche", ignore_errors=True)
            cold.append(_time(folder, "check"))
        yield Figure("check, 200 scripts, nothing parsed yet", statistics.median(cold), "s", 2.0)
        _fill_ledger(folder)
        for command in ("--help", "check", "graph", "status", _EXPLAIN):
            times = [_time(folder, command) for _ in range(_ROUNDS)]
            yield Figure(f"{command}, 200 scripts, parsed", statistics.median(times), "s", 0.8)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure_python() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        for number in range(1, 201):
            file = folder / "pipelines" / f"t{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_CODE.format(number=number, before=number - 1))
        _time(folder, "--help")
        cold = []
        for _ in range(3):
            shutil.rmtree(folder / ".tranche", ignore_errors=True)
            cold.append(_time(folder, "check"))
        warm = [_time(folder, "check") for _ in range(_ROUNDS)]
        what = "check, 200 Python scripts"
        yield Figure(f"{what}, nothing parsed yet", statistics.median(cold), "s", 2.0)
        yield Figure(f"{what}, parsed", statistics.median(warm), "s", 0.8)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure_jobs() -> Iterator[Figure]:
    """Files of jobs are imported by every command, so that nothing of them is parsed before."""
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        for number in range(1, 201):
            file = folder / "pipelines" / f"job{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_JOB.format(number=number))
        _time(folder, "--help")
        times = [_time(folder, "check") for _ in range(_ROUNDS)]
        yield Figure("check, 200 files of jobs, 600 tasks", statistics.median(times), "s", 2.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill_ledger(folder: Path) -> None:
    """Ten partitions of each asset: on an empty ledger, `status` would have nothing to read."""
    now = datetime.now(UTC)
    store = SqlStore(f"sqlite:///{folder}/.tranche/state.db")
    step = StepRecord(
        run="run",
        position=0,
        script="t",
        asset=None,
        partition=None,
        ordinal=None,
        strategy=None,
        status="succeeded",
    )
    run = Run(id="run", target="t", status="running", fire_time=now, started_at=now)
    store.begin_run(run, [step])
    for number in range(1, 201):
        entries = [
            Materialization(
                id=f"{number}-{day}",
                asset=f"lake://main/t{number}",
                partition=f"2026-05-{day:02}",
                ordinal=datetime(2026, 5, day, tzinfo=UTC),
                status="succeeded",
                run="run",
                attempt="attempt",
                fingerprint="fingerprint",
                started_at=now,
                finished_at=now,
                rows=1,
            )
            for day in range(1, 11)
        ]
        store.finish_step(step, entries)
    store.close()


def _time(folder: Path, command: str) -> float:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(
        [_TRANCHE, *command.split()], cwd=folder, env=env, check=True, capture_output=True
    )
    return time.perf_counter() - began
