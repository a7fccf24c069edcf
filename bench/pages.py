"""How soon pages show something, and what it costs a run that people watch it: a real server."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from bench.figure import Figure
from bench.ledger import RULE, fill
from bench.serving import served, wait_for
from bench.timing import ratio, rounds
from tranche import service
from tranche.web.shared import AGAIN_IN, HOLDS_FOR

HOURS = int(os.environ.get("TRANCHE_BENCH_HOURS", "100000"))
ASSETS = int(os.environ.get("TRANCHE_BENCH_ASSETS", "200"))
ROWS = int(os.environ.get("TRANCHE_BENCH_PAGE_ROWS", "3000000"))
PAGES = 20
DAYS = 366
_ROUNDS = 5
_WARM_UP = 2
_ROUNDS_OF_RUNS = 9
_WARM_UP_OF_RUNS = 4
"""Spark gets faster for longer than pages do."""
_HOURLY = "lake://main/hours"
_DAILY = "lake://main/daily"
_SETTINGS = """\
[spark]
master = "local[2]"
[spark.conf]
"spark.sql.shuffle.partitions" = 2
"""
_HOURS = f"""\
-- pipeline
-- partitioned hourly start="{RULE.start}" end="2025-12-31"
-- materialize {_HOURLY}
SELECT '{{partition}}' AS hour
"""
_ORDERS = f"""\
-- pipeline
-- materialize lake://main/orders
SELECT id, date_add(date'2024-01-01', CAST(id % {DAYS} AS INT)) AS day, id % 97 AS region
FROM range({ROWS})
"""
_PER_DAY = f"""\
-- pipeline
-- partitioned daily start="2024-01-01" end="2024-12-31"
-- materialize {_DAILY}
-- data_test not_null region
SELECT region, count(*) AS orders FROM orders WHERE day = '{{partition}}' GROUP BY region
"""
_CHAIN = """\
-- pipeline
-- on lake://main/{before}
-- partitioned daily start="2024-01-01"
-- materialize lake://main/{name}
SELECT * FROM {before} WHERE day = '{{partition}}'
"""


def measure() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        _project(folder)
        with served(folder) as (url, told):
            yield from _opening(url)
            yield from _watching(url, told)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _project(folder: Path) -> None:
    """Assets to draw, one of them with many hours, and one to backfill."""
    pipelines = folder / "pipelines"
    pipelines.mkdir(parents=True)
    (folder / "tranche.toml").write_text(_SETTINGS)
    (pipelines / "hours.sql").write_text(_HOURS)
    (pipelines / "orders.sql").write_text(_ORDERS)
    (pipelines / "daily.sql").write_text(_PER_DAY)
    for number in range(ASSETS):
        # Five in a row, so that the graph is as wide as it is high.
        before = f"s{number}" if number % 5 == 0 else f"a{number - 1}"
        (pipelines / f"a{number}.sql").write_text(_CHAIN.format(before=before, name=f"a{number}"))
    project = service.open_project(folder)
    script = project.script("hours")
    assert script is not None
    with service.open_state(project, create=True) as store:
        fill(store, [script], HOURS)


# Opening a page


def _opening(url: str) -> Iterator[Figure]:
    page = Page(url)
    first = _median(lambda: page.opens("/", "/api/session", "/api/overview", "/api/pulse"), page)
    yield Figure(f"first page, {ASSETS} assets: all that it asks for", first, "s", 1)
    grid = _median(lambda: page.get("/api/grid", asset=_HOURLY), page)
    yield Figure(f"grid of {HOURS:,} partitions: the answer", grid, "s", 1)
    with _browser() as open_page:
        if open_page is None:
            return
        drawn = _median(lambda: open_page(f"{url}/", ".graph canvas"))
        yield Figure(f"first page, {ASSETS} assets: there in Chromium", drawn, "s", 1)
        where = f"{url}/assets/{quote(_HOURLY, safe='')}"
        drawn = _median(lambda: open_page(where, ".grid[data-drawn]"))
        yield Figure(f"grid of {HOURS:,} partitions: drawn in Chromium", drawn, "s", 1)


def _median(act: Callable[[], object], asks: Page | None = None) -> float:
    """How long something takes; an answer that the server keeps is waited out in between."""

    def settled() -> None:
        if asks is not None:
            time.sleep(max(0.0, asks.held - time.monotonic()))

    times = rounds({"act": act}, _WARM_UP, _ROUNDS, before=settled)
    return statistics.median(times["act"])


@contextmanager
def _browser() -> Iterator[Callable[[str, str], object] | None]:
    """Opens an address and waits for an element; None where there is no Chromium to do it."""
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()

        def opened(address: str, element: str) -> None:
            page.goto(address, wait_until="commit")
            page.wait_for_selector(element)

        yield opened
        browser.close()


class Page:
    """What a browser asks a server for, on a connection that it keeps."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self.changed = True
        """Whether something has happened that the page does not show yet."""
        self.held = 0.0
        """Until when the server answers as it did."""
        self.connection = http.client.HTTPConnection(host, int(port), timeout=60)

    def get(self, path: str, **query: Any) -> Any:
        text = self._asked("GET", f"{path}?{urlencode(query)}" if query else path)
        return json.loads(text)

    def post(self, path: str, **body: Any) -> Any:
        return json.loads(self._asked("POST", path, json.dumps(body)))

    def opens(self, *paths: str) -> None:
        """A page with the modules that it imports, and then what these ask for."""
        page = self._asked("GET", paths[0])
        left, known = re.findall(r'"(/static/[\w.]+)"', page), set()
        while left:
            file = left.pop()
            if file not in known:
                known.add(file)
                left += (f"/static/{name}" for name in _imports(self._asked("GET", file)))
        for path in paths[1:]:
            self._asked("GET", path)

    def _asked(self, method: str, path: str, body: str | None = None) -> str:
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        except ConnectionError:
            # A server closes what was idle for some seconds, as it does to browsers.
            self.connection.close()
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
        text = answer.read().decode()
        self.held = max(self.held, time.monotonic() + float(answer.getheader(HOLDS_FOR) or 0))
        self.changed |= answer.getheader(AGAIN_IN) is not None
        assert answer.status < 300, f"{method} {path}: {text}"
        return text


def _imports(module: str) -> list[str]:
    return re.findall(r'from "\./([\w.]+)"', module)


# Watching a run


def _watching(url: str, told: queue.Queue[dict[str, Any]]) -> Iterator[Figure]:
    """A backfill in turn with nobody who looks, and with many pages that are open."""
    asks = Page(url)
    asks.post("/api/runs", target="orders")
    wait_for(told, "ended")

    def backfill() -> None:
        asks.post("/api/backfills", target="daily", all=True, max_keys_per_job=40)
        wait_for(told, "ended")

    def watched() -> None:
        with _open_pages(url):
            backfill()

    times = rounds({"alone": backfill, "watched": watched}, _WARM_UP_OF_RUNS, _ROUNDS_OF_RUNS)
    alone, seen = statistics.median(times["alone"]), statistics.median(times["watched"])
    yield Figure(f"backfill of {DAYS} days, {ROWS:,} rows, nobody looks", alone, "s")
    yield Figure(f"backfill of {DAYS} days, {ROWS:,} rows, {PAGES} pages are open", seen, "s")
    of = ratio(times, "watched", "alone")
    yield Figure(f"backfill with {PAGES} pages open / with none", of, "×", 1.05)


@contextmanager
def _open_pages(url: str) -> Iterator[None]:
    over = threading.Event()
    looks = (_graph, _asset, _backfills, _runs)
    pages = [
        threading.Thread(target=_looked_at, args=(url, looks[number % len(looks)], over))
        for number in range(PAGES)
    ]
    for page in pages:
        page.start()
    try:
        yield
    finally:
        over.set()
        for page in pages:
            page.join()


def _looked_at(url: str, look: Callable[[Page], None], over: threading.Event) -> None:
    """An open page: the pulse each second, and when that says so, what it shows."""
    page, last = Page(url), None
    while not over.is_set():
        pulse = page.get("/api/pulse")
        page.changed |= (pulse["number"], len(pulse["running"])) != last
        last = pulse["number"], len(pulse["running"])
        if page.changed and time.monotonic() >= page.held:
            page.changed = False
            look(page)
        over.wait(1)


def _graph(page: Page) -> None:
    page.get("/api/overview")


def _asset(page: Page) -> None:
    about = page.get("/api/asset", asset=_DAILY)
    for each in about["backfills"]:
        page.get(f"/api/backfills/{each['backfill']}")
    page.get("/api/grid", asset=_DAILY)


def _backfills(page: Page) -> None:
    found = page.get("/api/backfills")["backfills"]
    for each in found[:1]:
        page.get(f"/api/backfills/{each['backfill']}")


def _runs(page: Page) -> None:
    page.get("/api/runs")
