"""A server in a process of its own: runs that start by themselves."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .conftest import Shell

pytestmark = pytest.mark.spark

LANDED = """\
-- pipeline
-- on lake://main/outside
-- partitioned daily
-- materialize lake://main/landed
SELECT id, '{partition}' AS day FROM range(4);
"""
BOTH = """\
-- pipeline
-- on lake://main/landed
-- on lake://main/other
-- trigger all
-- partitioned daily
-- materialize lake://main/both
SELECT count(*) AS n FROM landed WHERE day = '{partition}';
"""
NIGHTLY = """\
-- pipeline
-- on schedule "0 3 * * *"
-- partitioned daily lag=1
-- materialize lake://main/nightly
SELECT '{partition}' AS day;
"""


@contextmanager
def serving(shell: Shell) -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """A server, and a way to wait until something has come of it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tranche", "serve", "--json"],
        cwd=shell.folder,
        env=shell.environment,
        stdout=(shell.folder / "serve.log").open("ab"),
        stderr=subprocess.STDOUT,
    )

    def until(found: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            assert process.poll() is None, (shell.folder / "serve.log").read_text()
            if value := found():
                return value
            time.sleep(0.3)
        raise AssertionError((shell.folder / "serve.log").read_text())

    try:
        yield until
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()


def told(shell: Shell) -> list[dict[str, Any]]:
    lines = (shell.folder / "serve.log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_events_and_schedules_start_runs(shell: Shell) -> None:
    for name, text in (("landed", LANDED), ("both", BOTH), ("nightly", NIGHTLY)):
        shell.write(f"pipelines/{name}.sql", text)
    shell.quick()
    for asset, day in (("outside", "2026-05-01"), ("other", "2026-05-02")):
        found = shell.json("event", "emit", f"lake://main/{asset}", "--partition", day)
        assert found["partition"] == day
    with serving(shell) as until:
        pending = until(lambda: len(rows := shell.json("pending", "both")["pending"]) == 2 and rows)
        assert {row["partition"]: row["lacking"] for row in pending} == {
            "2026-05-01": ["an event of lake://main/other"],
            "2026-05-02": ["lake://main/landed 2026-05-02"],
        }
        # The one that is missing comes for one of them, and the other stays.
        shell.json("event", "emit", "lake://main/other", "--partition", "2026-05-01")
        until(lambda: shell.json("status", "both")["partitions"])
        (row,) = shell.json("pending", "both")["pending"]
        assert row["partition"] == "2026-05-02"
        (event,) = shell.json("event", "list", "lake://main/other", "--limit", "1")["events"]
        assert event["partition"] == "2026-05-01"
    (built,) = shell.json("status", "both")["partitions"]
    assert (built["partition"], built["rows"]) == ("2026-05-01", 1)

    # The server was away for forty days, as far as its state knows.
    away = datetime.now(UTC) - timedelta(days=40)
    with sqlite3.connect(shell.folder / ".tranche" / "state.db") as database:
        changed = database.execute(
            "UPDATE turns SET until = ? WHERE until IS NOT NULL",
            (away.isoformat(timespec="microseconds"),),
        )
        assert changed.rowcount == 1
    with serving(shell) as until:
        until(lambda: len(shell.json("status", "nightly")["partitions"]) >= 40)
    runs = [line for line in told(shell) if line["event"] == "started"]
    assert [len(line["keys"]) for line in runs if line["asset"] == "lake://main/nightly"] == [40]

    # Events can be taken back, and what they asked for with them.
    event = shell.json("event", "list", "lake://main/other")["events"][-1]
    taken = shell.json("event", "retract", event["event"])
    assert taken["dropped"] == [{"asset": "lake://main/both", "partition": "2026-05-02"}]
    assert shell.json("pending")["pending"] == []
    shell.json("event", "retract", event["event"], code=2)


RAW = """\
-- pipeline
-- on lake://main/outside
-- partitioned daily
-- materialize lake://main/raw
SELECT CAST(n AS INT) AS n FROM read_csv('data/' || '{partition}' || '.csv', header => true, schema => 'n INT');
"""
DOUBLED = """\
-- pipeline
-- on lake://main/raw
-- partitioned daily
-- materialize lake://main/doubled
SELECT 2 * n AS n, '{partition}' AS day FROM raw WHERE _tranche_partition = '{partition}';
"""
LOGGED = """\
-- pipeline
-- on lake://main/doubled
-- partitioned daily
-- materialize lake://main/logged append
SELECT sum(n) AS n FROM doubled WHERE day = '{partition}';
"""


@pytest.mark.slow
def test_commands_use_the_server_and_a_correction_refreshes_what_is_made_of_it(
    shell: Shell,
) -> None:
    for name, text in (("raw", RAW), ("doubled", DOUBLED), ("logged", LOGGED)):
        shell.write(f"pipelines/{name}.sql", text)
    days = [f"2026-05-{day:02}" for day in range(1, 6)]
    for day in days:
        shell.write(f"data/{day}.csv", "n\n1\n2\n")
    shell.quick()

    def logged() -> list[tuple[str, int]]:
        sql = "SELECT _tranche_partition AS day, n FROM logged ORDER BY 1, 2"
        return [(row["day"], row["n"]) for row in shell.json("sql", sql)]

    def quiet() -> bool:
        return not shell.json("pending")["pending"]

    with serving(shell) as until:
        until(lambda: "serving" in (shell.folder / "serve.log").read_text())
        # A run and a backfill by the server, with all that follows: each key is made once.
        began = time.monotonic()
        made = shell.json("run", "raw", "--partition", days[0])
        assert [step["status"] for step in made["steps"]] == ["succeeded"] * 3
        shell.json("backfill", "raw", "--start", days[1], "--end", days[-1])
        seconds = time.monotonic() - began
        until(quiet)
        shell.json("run", "raw", "--partition", "2026-13-01", code=2)
        shell.json("run", "nothing", code=2)
        shell.write("data/2026-05-02.csv", "n\n5\n")
        # The same rows of one day again, others of another one.
        for day in days[:2]:
            shell.json("event", "emit", "lake://main/outside", "--partition", day)
        runs = until(
            lambda: (
                len(shell.json("status", "logged")["partitions"]) == 5
                and quiet()
                and [line for line in told(shell) if line["event"] == "ended"]
            )
        )
        until(lambda: ended(shell, "lake://main/logged", days[1]))
    assert seconds < 120, runs
    assert logged() == [(days[0], 6), (days[1], 6), (days[1], 10), *((day, 6) for day in days[2:])]
    started = [line for line in told(shell) if line["event"] == "started"]
    assert [line["kind"] for line in started if line["asset"] == "raw"] == ["ordered"]
    refreshed = [
        line["keys"]
        for line in started
        if line["asset"] == "lake://main/doubled" and line["kind"] == "triggered"
    ]
    assert refreshed == [[days[1]]]


def ended(shell: Shell, asset: str, key: str) -> bool:
    """Whether a run that was triggered for this key has come to its end."""
    runs = [e["run"] for e in told(shell) if e["event"] == "started" and e.get("keys") == [key]]
    return any(
        e["event"] == "ended" and e["run"] in runs and e["asset"] == asset for e in told(shell)
    )
