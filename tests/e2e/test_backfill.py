"""A range of partitions through the real command line."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

RAW = """\
-- pipeline
-- partitioned daily start="2025-01-01" end="2025-12-31"
-- materialize lake://main/raw key=id
SELECT id, CAST(amount AS DECIMAL(10, 2)) AS amount FROM read_json('data/' || '{partition}' || '.json')
"""
SUMS = """\
-- pipeline
-- on lake://main/raw
-- partitioned daily start="2025-01-01"
-- materialize lake://main/sums
-- data_test not_null total
SELECT count(*) AS n, sum(amount) AS total FROM raw WHERE _tranche_partition = '{partition}'
"""


def orders(shell: Shell, day: str, *amounts: object) -> None:
    rows = [json.dumps({"id": f"{day} {n}", "amount": a}) for n, a in enumerate(amounts)]
    shell.write(f"data/{day}.json", "\n".join(rows))


@pytest.mark.parametrize(
    ("number", "last"),
    [(31, "2025-01-31"), pytest.param(365, "2025-12-31", marks=pytest.mark.slow)],
)
def test_one_poisoned_day_fails_by_itself(shell: Shell, number: int, last: str) -> None:
    days_ = [str(date(2025, 1, 1) + timedelta(days)) for days in range(number)]
    poisoned = days_[number // 3]
    shell.quick()
    shell.write("pipelines/raw.sql", RAW.replace("2025-12-31", last))
    shell.write("pipelines/sums.sql", SUMS)
    for place, day in enumerate(days_):
        orders(shell, day, f"{place}.5", "1")
    orders(shell, poisoned, "many")
    shell.warm()
    planned = shell.json("backfill", "raw", "--dry-run")
    assert planned["standing"] == {"missing": number}
    assert [(job["keys"], job["mode"]) for job in planned["jobs"]] == [(number, "range")] * 2

    found = shell.json("backfill", "raw", code=1)
    assert found["status"] == "failed"
    failed = [p for p in found["partitions"] if p["status"] != "succeeded"]
    assert [p["partition"] for p in failed] == [poisoned]
    assert "many" in failed[0]["error"]
    assert len(found["partitions"]) == number
    skipped = [p for p in found["downstream"] if p["status"] != "succeeded"]
    assert [(p["partition"], p["status"]) for p in skipped] == [(poisoned, "skipped")]
    days = "SELECT count(DISTINCT _tranche_partition) AS days FROM {}"
    assert shell.json("sql", days.format("raw")) == [{"days": number - 1}]
    assert shell.json("sql", days.format("sums")) == [{"days": number - 1}]

    orders(shell, poisoned, f"{number // 3}.5", "1")
    again = shell.json("backfill", "raw")
    assert [p["partition"] for p in again["partitions"]] == [poisoned]
    assert [p["partition"] for p in again["downstream"]] == [poisoned]
    [total] = shell.json("sql", "SELECT sum(n) AS n, sum(total) AS total FROM sums")
    assert (total["n"], float(total["total"])) == (2 * number, sum(range(number)) + number * 1.5)
    nothing = shell.json("backfill", "raw")
    assert (nothing["partitions"], nothing["downstream"], nothing["run"]) == ([], [], None)

    listed = shell.json("backfill", "list")["backfills"]
    assert [each["status"] for each in listed] == ["succeeded", "succeeded", "failed"]
    shown = shell.json("backfill", "show", found["backfill"])
    assert {p["status"] for p in shown["partitions"]} == {"succeeded"}
    done = shell.tranche("backfill", "resume", found["backfill"])
    assert done.returncode == 2
    assert "have succeeded" in done.stderr


HOURS = """\
-- pipeline
-- partitioned hourly start="2025-01-01"
-- materialize lake://main/hours
SELECT id, repeat(CAST(id AS STRING), 50) AS text, date_format(at, "yyyy-MM-dd'T'HH") AS hour
FROM (SELECT id, timestamp_seconds(unix_seconds(TIMESTAMP '2025-01-01 00:00:00') + id * 36) AS at
      FROM range(300000))
WHERE date_format(at, "yyyy-MM-dd'T'HH") = '{partition}'
"""


@pytest.mark.slow
def test_three_thousand_keys_pass_in_a_small_heap(shell: Shell) -> None:
    shell.write(
        "tranche.toml",
        '[spark]\nmaster = "local[2]"\n[spark.conf]\n"spark.driver.memory" = "1g"\n',
    )
    shell.write("pipelines/hours.sql", HOURS)
    found = shell.json("backfill", "hours", "--end", "2025-05-05", "--max-keys-per-job", "3000")
    assert len(found["partitions"]) == 3000
    assert {p["rows"] for p in found["partitions"]} == {100}
    assert len({p["snapshot"] for p in found["partitions"]}) == 1
    [files] = shell.json("sql", "SELECT count(*) AS n FROM main.default.hours.files")
    # Sorted by key: one file for each, and one more where a task ends and the next begins.
    assert 3000 <= files["n"] <= 3100
