"""A backfill whose process is killed goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TRANCHE = Path(sys.executable).parent / "tranche"
SCRIPT = """\
-- pipeline
-- partitioned daily start="2026-03-01"
-- materialize lake://main/t
SELECT id, '{partition}' AS day, sum(id) OVER () AS total FROM range(1000)
WHERE id % 7 = day(to_date('{partition}')) % 7
"""
SETTINGS = '[spark]\nmaster = "local[2]"\n[spark.conf]\n"spark.sql.shuffle.partitions" = 2\n'
ROWS = "SELECT day, count(*) AS n, sum(total) AS t FROM t GROUP BY day ORDER BY day"


def tranche(folder: Path, *args: str) -> Any:
    done = subprocess.run(
        [str(TRANCHE), *args, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def project(folder: Path) -> Path:
    (folder / "pipelines").mkdir(parents=True)
    (folder / "pipelines" / "t.sql").write_text(SCRIPT)
    (folder / "tranche.toml").write_text(SETTINGS)
    return folder


def test_killed_at_the_third_of_six(tmp_path: Path) -> None:
    range_ = ("--end", "2026-03-30", "--max-keys-per-job", "5")
    whole, killed = project(tmp_path / "whole"), project(tmp_path / "killed")
    tranche(whole, "backfill", "t", *range_)
    process = subprocess.Popen(
        [str(TRANCHE), "backfill", "t", *range_],
        cwd=killed,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 240
        while time.monotonic() < until and process.poll() is None:
            state = killed / ".tranche" / "state.db"
            done = tranche(killed, "status", "t")["partitions"] if state.exists() else []
            if len(done) >= 10:
                break
            time.sleep(0.1)
        assert process.poll() is None, "it was over before it could be killed"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    [backfill] = tranche(killed, "backfill", "list")["backfills"]
    assert backfill["status"] == "interrupted"
    gone_on = tranche(killed, "backfill", "resume", backfill["backfill"])
    assert gone_on["status"] == "succeeded"
    assert len(gone_on["partitions"]) <= 20
    assert tranche(killed, "sql", ROWS) == tranche(whole, "sql", ROWS)
    assert len(tranche(killed, "status", "t")["partitions"]) == 30


def java_of(process: int) -> int | None:
    """Spark's own process below another."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == process and command.split(b"\0")[0].endswith(b"java"):
            return int(folder.name)
    return None


def test_a_spark_that_dies_is_started_again(tmp_path: Path) -> None:
    range_ = ("--end", "2026-03-30", "--max-keys-per-job", "5")
    whole, hurt = project(tmp_path / "whole"), project(tmp_path / "hurt")
    tranche(whole, "backfill", "t", *range_)
    process = subprocess.Popen(
        [str(TRANCHE), "backfill", "t", *range_, "--json"],
        cwd=hurt,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 240
        while time.monotonic() < until and process.poll() is None:
            state = hurt / ".tranche" / "state.db"
            done = tranche(hurt, "status", "t")["partitions"] if state.exists() else []
            if len(done) >= 10:
                break
            time.sleep(0.1)
        spark = java_of(process.pid)
        assert spark is not None
        os.kill(spark, signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, err
    found = json.loads(out)
    assert {p["status"] for p in found["partitions"]} == {"succeeded"}
    assert len(found["partitions"]) == 30
    assert tranche(hurt, "sql", ROWS) == tranche(whole, "sql", ROWS)


def until(what: Any, seconds: float = 120) -> Any:
    """Asks again and again until there is an answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("nothing happened for too long")


def test_left_to_another_process_cancelled_and_gone_on_with(tmp_path: Path) -> None:
    folder = project(tmp_path / "detached")
    range_ = ("--end", "2026-03-30", "--max-keys-per-job", "2")
    begun = tranche(folder, "backfill", "t", *range_, "--detach")
    id = begun["backfill"]
    assert begun["status"] == "waiting"

    def shown() -> Any:
        return tranche(folder, "backfill", "show", id)

    until(lambda: sum(p["status"] == "succeeded" for p in shown()["partitions"]) >= 2)
    taken = subprocess.run(
        [str(TRANCHE), "backfill", "t", *range_], cwd=folder, capture_output=True, text=True
    )
    assert taken.returncode == 2
    assert id in taken.stderr
    assert tranche(folder, "backfill", "cancel", id)["status"] == "cancelling"
    until(lambda: shown()["status"] == "cancelled")
    done = [p for p in shown()["partitions"] if p["status"] == "succeeded"]
    assert 2 <= len(done) < 30
    assert Path(begun["log"]).read_text().strip()
    gone_on = tranche(folder, "backfill", "resume", id)
    assert len(gone_on["partitions"]) == 30 - len(done)
    assert (
        tranche(folder, "catchup", "t", "--dry-run", "--at", "2026-03-31T09:00+00:00")["assets"][0][
            "partitions"
        ]
        == []
    )
