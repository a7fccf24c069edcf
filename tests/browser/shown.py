"""Sites in memory that a browser looks at, and where things stand on their canvases."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any

from playwright.sync_api import Locator, Page

from tranche.errors import RangeRefused
from tranche.model.plan import Step

from ..unit.run.test_serving import NOW
from ..unit.web.site import SHOP, Site

DAYS = '-- pipeline\n-- partitioned daily start="2026-04-01"\n'
FLOWS = SHOP | {
    "deep/leaf": f"{DAYS}-- on lake://main/b\n-- materialize lake://main/leaf\n"
    "-- data_test not_null x\n-- data_test unique x\nSELECT x, 2 * x AS twice FROM b",
    "days": f'{DAYS}-- on schedule "0 3 * * *"\n-- materialize lake://main/days\nSELECT 1 AS x',
    "after": f"{DAYS}-- on lake://main/days\n-- materialize lake://main/after\nSELECT x FROM days",
    "slow": f"{DAYS}-- materialize lake://main/slow\nSELECT 1 AS x",
    "hours": '-- pipeline\n-- partitioned hourly start="2024-01-01"\n'
    "-- materialize lake://main/hours\nSELECT 1 AS x",
    "weeks": '-- pipeline\n-- partitioned weekly start="2025-W01"\n'
    "-- materialize lake://main/weeks\nSELECT 1 AS x",
    "odd": '-- pipeline\n-- partitioned daily format="%d.%m.%Y" start="01.04.2026"\n'
    "-- materialize lake://main/odd\nSELECT 1 AS x",
    "sales": '-- pipeline\n-- partitioned day: daily start="2026-05-01" | region: static'
    ' keys="us,eu"\n-- materialize lake://main/sales\nSELECT 1 AS x',
    "given": "-- pipeline\n-- $n (int) = 3\n-- $day (date)\n-- $flag (boolean) = true\n"
    "-- $name (string)\n-- $at (timestamp)\n-- $price (decimal(10,2)) = 1.5\n"
    "-- materialize lake://main/given\nSELECT $n AS n, $day AS day, $flag AS flag, $name AS name,"
    " $at AS at, $price AS price",
    "both": f"{DAYS}-- on lake://main/days\n-- on lake://main/news\n-- trigger all\n"
    "-- materialize lake://main/both\nSELECT x FROM days",
    "tells": "-- pipeline\n-- $who (string)\nSELECT $who AS who",
}


class Going(Site):
    """A site whose server works by itself, with a clock that goes, and steps that wait to be let."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._began = time.monotonic()
        self.gate = threading.Semaphore(0)
        self.held = "slow"
        """The script whose keys come one by one, each when somebody lets it."""
        super().__init__(texts)
        self.url = ""

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=time.monotonic() - self._began)

    @now.setter
    def now(self, at: datetime) -> None: ...

    def lets(self, step: Step) -> Exception | None:
        if step.script.name != self.held:
            return None
        if step.is_range:
            return RangeRefused("its keys are let one by one")
        assert self.gate.acquire(timeout=30)
        return None

    def let(self, keys: int) -> None:
        self.gate.release(keys)

    def made(self, target: str, *keys: str | None, **more: Any) -> str:
        """Runs keys of a script, without what follows, and answers with the last run."""
        run = ""
        for key in keys or (None,):
            run = self.post("/api/runs", target=target, partition=key, only=True, **more)["run"]
            self.ended(run)
        return run

    def ended(self, run: str) -> str:
        """How a run has ended, once it has."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            status = self.get(f"/api/runs/{run}")["status"]
            if status != "running":
                return str(status)
            time.sleep(0.02)
        raise AssertionError(f"{run} never ends")


@contextmanager
def going(texts: dict[str, str]) -> Iterator[Going]:
    site = Going(texts)
    site.breaks = site.lets
    with site.listening() as url, site.running():
        site.url = url
        yield site
        # Nobody waits for a gate when the server stops.
        site.let(1000)


# Where things stand on canvases, as calendar.js and painting.js have it

_CELL, _PITCH, _LEFT, _TOP = 14, 17, 58, 24
_NODE, _STUB = 210, 10


def cell(first: str, day: str) -> tuple[float, float]:
    """The middle of a day on a calendar whose first key is another, if that is under a year ago."""
    start, at = date.fromisoformat(first), date.fromisoformat(day)
    monday = start - timedelta(days=start.weekday())
    week, line = divmod((at - monday).days, 7)
    return _LEFT + week * _PITCH + _CELL / 2, _TOP + line * _PITCH + _CELL / 2


def badge_of_middle(page: Page) -> tuple[float, float]:
    """Where the badges of an asset are that stands in the middle of the graph."""
    x, y = middle(page.locator(".graph canvas"))
    scale = float(page.locator(".graph").get_attribute("data-scale") or "0")
    return x - (_NODE / 2 + _STUB + 8) * scale, y


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
