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
