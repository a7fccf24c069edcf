"""A client of Spark Connect that is killed: what its server still does for it is stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tranche import service
from tranche.model.plan import Request
from tranche.run.reconcile import Recovered

from ..elsewhere import connect_server

SLOW = """\
-- pipeline
-- partitioned daily
-- materialize lake://main/slow append
SELECT id, reflect('java.util.concurrent.locks.LockSupport', 'parkNanos', {nanos}L) AS slept
FROM range(0, 2, 1, 2)
"""
SECONDS = 20
DAY = "2026-05-16"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "shop"
    (folder / "pipelines").mkdir(parents=True)
    server = tmp_path / "server"
    server.mkdir()
    with connect_server(server) as url:
        monkeypatch.setenv("TRANCHE_SPARK_REMOTE", url)
        yield folder


def write(project: Path, seconds: float) -> None:
    nanos = int(seconds * 1_000_000_000)
    (project / "pipelines" / "slow.sql").write_text(SLOW.format(nanos=nanos))


def tranche(project: Path, *args: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tranche", *args, "--project", str(project)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def attempts(project: Path) -> int:
    database = project / ".tranche" / "state.db"
    if not database.exists():
        return 0
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as state:
        try:
            return int(state.execute("SELECT count(*) FROM attempts").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


@pytest.mark.parametrize("first", [True, False], ids=["first slice", "later slice"])
def test_it_does_not_land_behind_our_back(project: Path, first: bool) -> None:
    write(project, 0)
    if not first:
        assert tranche(project, "run", "slow", "--partition", "2026-05-15").wait(120) == 0
    before = attempts(project)
    write(project, SECONDS)
    lost = tranche(project, "run", "slow", "--partition", DAY)
    while attempts(project) == before:
        assert lost.poll() is None
        time.sleep(0.1)
    # The query is on its way by then, and does not end before long.
    time.sleep(6)
    os.kill(lost.pid, signal.SIGKILL)
    lost.wait()
    killed = time.monotonic()

    write(project, 0)
    found: list[Recovered] = []

    def tell(news: Any) -> None:
        if isinstance(news, Recovered):
            found.append(news)

    loaded = service.open_project(project)
    with (
        service.open_engine(loaded) as engine,
        service.open_state(loaded, create=True) as store,
    ):
        asked = Request(target="slow", fire_time=service.now(), partition="2026-05-17")
        plan = service.plan(loaded, asked, store)
        assert service.run(plan, engine, store, tell=tell).status == "succeeded"
        assert [run.status for run in found] == ["failed"]
        time.sleep(max(0.0, killed + SECONDS + 10 - time.monotonic()))
        asking = service.resolve_sql(loaded, "SELECT DISTINCT _tranche_partition AS day FROM slow")
        days = {row["day"] for row in engine.query(asking, limit=9).records()}
        assert days == {"2026-05-17"} | (set() if first else {"2026-05-15"})
        state = store.partition("lake://main/slow", DAY)
        assert state is not None and state.status == "failed"
