"""Jobs by the commands of the command line, as far as they need no Spark."""

from __future__ import annotations

import json

from .conftest import Shell

SHOP = '''
"""What the shop sells."""
from tranche import Cron, Daily, DeltaIO, all_partitions, job, task

print("the shop is open")

@job(
    partitioning=Daily(start="2026-01-01", lookback=1),
    schedule=Cron("0 6 * * 1-5"),
    tags="money",
)
def sales(limit: int = 10):
    @task(io=DeltaIO("data/lake"), partition_by=("event_date", "region"))
    def extract(spark, partitions: list[str], limit): ...

    @task
    def clean(rows, partition: str):
        return rows

    @task
    def report(rows, everything): ...

    rows = extract()
    report(clean(rows), all_partitions(rows))
'''
BROKEN = """
from tranche import job, task

@job
def empty(): ...

@job
def other():
    @task
    def one(x): ...
    one()
"""


def test_a_job_is_checked_drawn_and_planned(shell: Shell) -> None:
    shell.write("pipelines/shop.py", SHOP)
    checked = json.loads(shell.tranche("check", "--json").stdout)
    assert [script["script"] for script in checked["scripts"]] == [
        "sales.extract",
        "sales.clean",
        "sales.report",
    ]
    assert {(script["job"], *script["tags"]) for script in checked["scripts"]} == {
        ("sales", "money")
    }
    drawn = shell.tranche("graph").stdout
    assert 'sales.report  (daily start="2026-01-01", nothing, #money)' in drawn
    assert "→ job://sales/report" in drawn
    assert 'subgraph job_sales["sales"]' in shell.tranche("graph", "--format", "mermaid").stdout
    assert "cluster_sales" in shell.tranche("graph", "--format", "dot").stdout
    planned = shell.tranche(
        "run", "sales", "--partition", "2026-01-10", "--arg", "limit=3", "--dry-run", "--json"
    )
    assert "the shop is open" in planned.stderr
    steps = json.loads(planned.stdout)["steps"]
    assert [step["asset"] for step in steps] == [
        "file:data/lake/extract",
        *["lake://main/sales.clean"] * 2,
        *["job://sales/report"] * 2,
    ]


def test_a_job_is_backfilled_and_caught_up_with(shell: Shell) -> None:
    shell.write("pipelines/shop.py", SHOP)
    planned = json.loads(
        shell.tranche(
            *("backfill", "sales", "--start", "2026-01-05", "--end", "2026-01-08"),
            *("--dry-run", "--json"),
        ).stdout
    )
    assert [(each["asset"], each["keys"], each["mode"]) for each in planned["jobs"]] == [
        ("file:data/lake/extract", 5, "range"),
        ("lake://main/sales.clean", 5, "per-key"),
        ("job://sales/report", 5, "per-key"),
    ]
    one = json.loads(
        shell.tranche(
            *("backfill", "sales.clean", "--keys", "2026-01-05", "--only"), "--dry-run", "--json"
        ).stdout
    )
    assert [each["asset"] for each in one["jobs"]] == ["lake://main/sales.clean"]
    caught = shell.tranche("catchup", "sales", "--dry-run").stdout
    assert "file:data/lake/extract" in caught
    everything = shell.tranche("catchup", "--dry-run").stdout
    assert "job://sales/report" in everything


def test_where_a_job_stands(shell: Shell) -> None:
    shell.write("pipelines/shop.py", SHOP)
    shell.write("pipelines/other.sql", "-- pipeline\n-- materialize lake://main/o\nSELECT 1 AS a")
    shell.tranche("backfill", "sales", "--keys", "2026-01-05", "--dry-run")
    found = json.loads(shell.tranche("status", "sales", "--json").stdout)
    assert [each["asset"] for each in found["assets"]] == [
        "file:data/lake/extract",
        "lake://main/sales.clean",
        "job://sales/report",
    ]
    for name in ("sales.report", "job://sales/report", "file:data/lake/extract"):
        page = json.loads(shell.tranche("status", name, "--json").stdout)
        assert page["partitions"] == []
    assert (
        "nothing has asked for it" in shell.tranche("explain", "sales.clean", "2026-01-05").stdout
    )
    refused = shell.tranche("show", "sales.report")
    assert refused.returncode == 2
    assert "is no table of a lake" in refused.stderr


def test_all_faults_of_a_file_of_jobs_are_told_together(shell: Shell) -> None:
    shell.write("pipelines/shop.py", BROKEN)
    done = shell.tranche("check")
    assert done.returncode == 1
    assert "pipelines/shop.py:4: the job 'empty' has no tasks" in done.stderr + done.stdout
    assert "pipelines/shop.py:11: nothing says what the parameter 'x'" in done.stderr + done.stdout
    for target in ("empty", "other", "shop"):
        refused = shell.tranche("run", target, "--dry-run")
        assert refused.returncode == 1
        assert "the job 'empty' has no tasks" in refused.stderr
