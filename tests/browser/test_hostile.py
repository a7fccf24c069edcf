"""Pages for somebody who types addresses by hand, and for keys that are called anything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from ..unit.web.site import DAILY, KEY, SHOP, Site
from .conftest import Visitor

Visits = Callable[..., Visitor]
ODD = [
    "<img src=x onerror=alert(1)>",
    " a ",
    "a/b?c#d&e=f%2e",
    'it\'s "q" `b`',
    "a|b\\c",
    "\u202eabc\u200b",
    "..",
    "a\nb",
]
TEXTS = SHOP | {
    "parts": '-- pipeline\n-- partitioned kind: static keys="p|q,r" | day: daily'
    ' start="2026-05-01"\n-- materialize lake://main/parts\nSELECT 1 AS x',
    "cells": f"{DAILY}-- materialize lake://main/cells\nSELECT 1 AS x",
}


class Shown:
    """A site in memory at an address."""

    def __init__(self, site: Site, url: str) -> None:
        self.site = site
        self.url = url


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    site = Site(TEXTS)
    for key in ODD:
        site.post("/api/runs", target="tenant", partition=key)
    site.settle()
    with site.listening() as url:
        yield Shown(site, url)


def at_key(shown: Shown, visitor: Visitor, key: str, tab: str) -> Page:
    asset = quote("lake://main/tenant", safe="")
    return visitor.open(f"/assets/{asset}?{urlencode({'tab': tab, 'key': key})}")


@pytest.mark.parametrize("path", ["/assets/%", "/runs/%ff", "/assets/%E0%A4%A", "/backfills/%zz"])
def test_an_address_that_cannot_be_read_says_so(shown: Shown, visits: Visits, path: str) -> None:
    visitor = visits(shown.url, forgiven=("400", "404"))
    page = visitor.open(path)
    expect(page.locator("main")).to_contain_text("Nothing is here")
    page.get_by_role("link", name="The graph").click()
    expect(page.locator("canvas")).to_be_visible()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ODD)
def test_a_key_is_run_by_the_name_that_it_has(shown: Shown, visits: Visits, key: str) -> None:
    visitor = visits(shown.url)
    page = at_key(shown, visitor, key, "partitions")
    asked: list[dict[str, Any]] = []
    page.on(
        "request",
        lambda each: each.method == "POST" and asked.append(json.loads(each.post_data or "{}")),
    )
    page.locator("#panel").get_by_role("button", name="Run…").click()
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("region", name="The plan")).to_contain_text("tenant")
    assert [body["partition"] for body in asked] == [key]
    assert page.locator("img[src=x]").count() == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ODD)
def test_a_key_is_looked_at_by_the_name_that_it_has(shown: Shown, visits: Visits, key: str) -> None:
    page = at_key(shown, visits(shown.url), key, "data")
    page.wait_for_load_state("networkidle")
    with page.expect_response(lambda each: "/api/rows" in each.url) as found:
        page.get_by_role("button", name="This partition").click()
    assert found.value.json()["partition"] == key


def test_keys_of_several_parts_are_put_together_as_they_are_read(
    shown: Shown, visits: Visits
) -> None:
    page = visits(shown.url).asset("parts")
    page.get_by_role("button", name="Run…").first.click()
    page.get_by_label("kind").select_option("p|q")
    page.get_by_label("day").fill("2026-05-03")
    expect(page.get_by_label("Partition", exact=True)).to_have_value("p\\|q|2026-05-03")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("region", name="The plan")).to_contain_text("parts")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Backfill…").click()
    calendar = page.get_by_role("dialog").get_by_role("application")
    calendar.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_label("From")).to_have_value(re.compile("^2026-05-..$"))


def test_a_page_of_a_slow_backfill_asks_for_one_answer_at_a_time(
    shown: Shown, visits: Visits
) -> None:
    site = shown.site
    begun = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
    visitor = visits(shown.url)
    page, most, now = visitor.page, 0, 0

    def began(request: Any) -> None:
        nonlocal most, now
        if request.url.endswith(f"/api/backfills/{begun}"):
            now += 1
            most = max(most, now)

    def ended(request: Any) -> None:
        nonlocal now
        now -= request.url.endswith(f"/api/backfills/{begun}")

    page.on("request", began)
    page.on("requestfinished", ended)
    held = {"first": True}

    def slow(route: Any) -> None:
        if held.pop("first", False):
            route.continue_()
        else:
            page.wait_for_timeout(4_000)
            route.continue_()

    page.route(f"**/api/backfills/{begun}", slow)
    visitor.open(f"/backfills/{begun}")
    expect(page.locator("h1")).to_contain_text("queued")
    page.wait_for_timeout(6_000)
    assert most == 1
    page.unroute_all(behavior="ignoreErrors")
