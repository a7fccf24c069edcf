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
