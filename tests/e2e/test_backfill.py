"""A range of partitions through the real command line."""

from __future__ import annotations

import json

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

RAW = """\
-- pipeline
-- partitioned daily start="2026-03-01" end="2026-03-31"
-- materialize lake://main/raw key=id
SELECT id, CAST(amount AS DECIMAL(10, 2)) AS amount FROM read_json('data/' || '{partition}' || '.json')
"""
SUMS = """\
-- pipeline
-- on lake://main/raw
-- partitioned daily start="2026-03-01"
-- materialize lake://main/sums
-- data_test not_null total
SELECT count(*) AS n, sum(amount) AS total FROM raw WHERE _tranche_partition = '{partition}'
"""
DAYS = [f"2026-03-{day:02}" for day in range(1, 32)]


def orders(shell: Shell, day: str, *amounts: object) -> None:
    rows = [json.dumps({"id": f"{day} {n}", "amount": a}) for n, a in enumerate(amounts)]
    shell.write(f"data/{day}.json", "\n".join(rows))


def test_one_poisoned_day_fails_by_itself(shell: Shell) -> None:
    shell.quick()
    shell.write("pipelines/raw.sql", RAW)
    shell.write("pipelines/sums.sql", SUMS)
    for number, day in enumerate(DAYS):
        orders(shell, day, f"{number}.5", "1")
    orders(shell, DAYS[9], "many")
    shell.warm()
    planned = shell.json("backfill", "raw", "--dry-run")
    assert planned["standing"] == {"missing": 31}
    assert [(job["keys"], job["mode"]) for job in planned["jobs"]] == [(31, "range")] * 2

    found = shell.json("backfill", "raw", code=1)
    assert found["status"] == "failed"
    failed = [p for p in found["partitions"] if p["status"] != "succeeded"]
    assert [p["partition"] for p in failed] == [DAYS[9]]
    assert "many" in failed[0]["error"]
    assert len(found["partitions"]) == 31
    skipped = [p for p in found["downstream"] if p["status"] != "succeeded"]
    assert [(p["partition"], p["status"]) for p in skipped] == [(DAYS[9], "skipped")]
    days = "SELECT count(DISTINCT _tranche_partition) AS days FROM {}"
    assert shell.json("sql", days.format("raw")) == [{"days": 30}]
    assert shell.json("sql", days.format("sums")) == [{"days": 30}]

    orders(shell, DAYS[9], "9.5", "1")
    again = shell.json("backfill", "raw")
    assert [p["partition"] for p in again["partitions"]] == [DAYS[9]]
    assert [p["partition"] for p in again["downstream"]] == [DAYS[9]]
    [total] = shell.json("sql", "SELECT sum(n) AS n, sum(total) AS total FROM sums")
    assert (total["n"], float(total["total"])) == (62, sum(range(31)) + 31 * 1.5)
    nothing = shell.json("backfill", "raw")
    assert (nothing["partitions"], nothing["downstream"], nothing["run"]) == ([], [], None)

    listed = shell.json("backfill", "list")["backfills"]
    assert [each["status"] for each in listed] == ["succeeded", "succeeded", "failed"]
    shown = shell.json("backfill", "show", found["backfill"])
    assert {p["status"] for p in shown["partitions"]} == {"succeeded"}
    done = shell.tranche("backfill", "resume", found["backfill"])
    assert done.returncode == 2
    assert "have succeeded" in done.stderr
