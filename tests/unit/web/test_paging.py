"""Pages follow each other to the end, without a loss and without anything twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from .site import DAILY, Site

DAYS = [f"2026-05-{day:02}" for day in range(1, 12)]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    texts = {
        name: f"{DAILY}-- on lake://main/src\n-- materialize lake://main/{name}\nSELECT 1 AS x"
        for name in ("d", "e")
    }
    texts["t"] = '-- pipeline\n-- partitioned dynamic key="$.t"\n-- materialize lake://main/t\n'
    texts["t"] += "SELECT 1 AS x"
    texts["w"] = "-- pipeline\n-- on lake://main/all\n-- materialize lake://main/w\nSELECT 1 AS x"
    made = Site(texts)
    made.settle()
    made.post("/api/backfills", target="d", keys=DAYS[:9])
    made.post("/api/backfills", target="t", keys=["a/b", "ü", "a b", "B", "a%2Fb", "+", "'", "z"])
    made.settle()
    for asset in ("d", "e", "w"):
        made.post("/api/pauses", asset=asset)
    # All in one moment: what was told at the same time must be told apart too.
    made.heard(*DAYS)
    made.post("/api/events", asset="lake://main/all")
    while made.server.turn().more:
        pass
    # One loop for all requests, instead of one for each.
    with made.client:
        yield made


def all_of(site: Site, path: str, name: str, by: str, limit: int, **query: Any) -> Iterator[Any]:
    for _ in range(200):
        page = site.get(path, limit=limit, **query)
        assert len(page[name]) <= limit
        assert page["more"] is (page["next"] is not None)
        assert page["more"] is False or len(page[name]) == limit
        yield from page[name]
        if page["next"] is None:
            return
        query[by] = page["next"]
    raise AssertionError("it never comes to an end")


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 9, 100])
@pytest.mark.parametrize(
    ("path", "name", "by", "query", "of"),
    [
        ("/api/partitions", "partitions", "after", {"asset": "d"}, lambda p: p["partition"]),
        ("/api/partitions", "partitions", "after", {"asset": "t"}, lambda p: p["partition"]),
        ("/api/runs", "runs", "before", {}, lambda run: run["run"]),
        ("/api/events", "events", "before", {}, lambda event: event["event"]),
        ("/api/pending", "pending", "after", {}, lambda row: (row["asset"], row["partition"])),
        ("/api/pending", "pending", "after", {"asset": "e"}, lambda row: row["partition"]),
    ],
)
def test_all_of_them_come_once(
    site: Site,
    path: str,
    name: str,
    by: str,
    query: dict[str, str],
    of: Callable[[Any], Any],
    limit: int,
) -> None:
    whole = [of(each) for each in site.get(path, limit=1_000, **query)[name]]
    assert len(whole) >= 2
    assert len(set(whole)) == len(whole)
    assert [of(each) for each in all_of(site, path, name, by, limit, **query)] == whole


def test_there_is_as_much_as_there_should_be(site: Site) -> None:
    days = [
        each["partition"]
        for each in all_of(site, "/api/partitions", "partitions", "after", 2, asset="d")
    ]
    assert days == DAYS[:9]
    pending = list(all_of(site, "/api/pending", "pending", "after", 3))
    assert len(pending) == 2 * len(DAYS) + 1
    assert len(list(all_of(site, "/api/events", "events", "before", 2))) == len(DAYS) + 1


def test_a_range_of_keys_is_paged_too(site: Site) -> None:
    query = {"asset": "d", "start": "2026-05-03", "end": "2026-05-06"}
    found = all_of(site, "/api/partitions", "partitions", "after", 1, **query)
    assert [each["partition"] for each in found] == DAYS[2:6]


def test_what_comes_meanwhile_moves_no_page(site: Site) -> None:
    pages = all_of(site, "/api/runs", "runs", "before", 1)
    whole = [run["run"] for run in site.get("/api/runs")["runs"]]
    seen = [next(pages)["run"]]
    site.now += timedelta(seconds=1)
    site.post("/api/runs", target="t", partition="new")
    seen += [run["run"] for run in pages]
    assert seen == whole
