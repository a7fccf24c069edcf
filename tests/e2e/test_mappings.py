"""Keys that travel through mappings, through the real command line and on real tables."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

ZONE = 'tz="America/New_York" start="2026-03-01"'
HOURS = f"""\
-- pipeline
-- partitioned hourly {ZONE} format="%Y-%m-%dT%H%z"
-- materialize lake://main/hours
SELECT '{{partition}}' AS hour, id FROM range(2);
"""
DAYS = f"""\
-- pipeline
-- on lake://main/hours
-- partitioned daily {ZONE}
-- materialize lake://main/days
SELECT count(*) AS n FROM hours WHERE hour LIKE '{{partition}}' || 'T%';
"""
REGIONS = f"""\
-- pipeline
-- on lake://main/days
-- partitioned region: static keys="us,eu" | day: daily {ZONE}
-- materialize lake://main/regions
SELECT n, '{{partition.region}}' AS region
FROM days WHERE _tranche_partition = '{{partition.day}}';
"""
WEEKS = """\
-- pipeline
-- on lake://main/regions map=product(all, start_of_week)
-- partitioned weekly tz="America/New_York"
-- materialize lake://main/weeks
SELECT sum(n) AS n FROM regions;
"""


def partitions(backfill: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each["partition"], each["rows"]) for each in backfill["partitions"]]


def rows(shell: Shell, table: str) -> list[tuple[str, int]]:
    found = shell.json("sql", f"SELECT _tranche_partition AS k, n FROM main.{table} ORDER BY k")
    return [(row["k"], row["n"]) for row in found]


def test_hours_to_days_to_regions_over_both_clock_changes(shell: Shell) -> None:
    for name, text in (("hours", HOURS), ("days", DAYS), ("regions", REGIONS), ("weeks", WEEKS)):
        shell.write(f"pipelines/{name}.sql", text)
    assert shell.json("check")["faults"] == []
    shell.quick()
    shell.warm()

    # The day that has 23 hours, all but its last one: no day follows.
    filled = shell.json(
        "backfill", "hours", "--start", "2026-03-08T00-0500", "--end", "2026-03-08T22-0400"
    )
    assert len(partitions(filled)) == 22
    assert shell.json("status", "days")["partitions"] == []

    # The last one comes, and what it was that the day waited for runs with it.
    last = shell.json("run", "hours", "--partition", "2026-03-08T23-0400")
    assert [(step["asset"], step["status"]) for step in last["steps"]] == [
        ("lake://main/hours", "succeeded"),
        ("lake://main/days", "succeeded"),
        ("lake://main/regions", "succeeded"),
        ("lake://main/weeks", "skipped"),
    ]
    assert "it waits for lake://main/regions" in last["steps"][3]["error"]
    assert rows(shell, "days") == [("2026-03-08", 2 * 23)]
    assert rows(shell, "regions") == [("eu|2026-03-08", 46), ("us|2026-03-08", 46)]

    # The day that has 25, from one backfill.
    shell.json("backfill", "hours", "--start", "2026-11-01", "--end", "2026-11-01")
    assert rows(shell, "days") == [("2026-03-08", 2 * 23), ("2026-11-01", 2 * 25)]

    # An hour that is written again with other rows makes its day stale, and no other.
    changed = HOURS.replace("range(2)", "range(3)")
    shell.write("pipelines/hours.sql", changed)
    shell.json("run", "hours", "--only", "--partition", "2026-11-01T01-0500")
    stale = shell.json(
        "backfill", "days", "--stale", "--only", "--keys", "2026-03-08,2026-11-01", "--dry-run"
    )
    assert stale["stale"]["lake://main/days"] == {
        "2026-11-01": "lake://main/hours 2026-11-01T01-0500 has other rows"
    }
