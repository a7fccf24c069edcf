"""Pages on a server in memory: for everyone, on any screen, whatever things are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tranche.errors import StatementFailed

from ..unit.web.site import DAILY, KEY, SHOP, Site
from .conftest import Visitor

Visits = Callable[..., Visitor]
HOSTILE = "<img src=x onerror=alert(1)>"
TABS = ("partitions", "data", "schema", "columns", "tests", "runs", "pending", "code")
PAGES = {
    "graph": "/",
    "runs": "/runs",
    "backfills": "/backfills",
    "events": "/events",
    "schedules": "/schedules",
    "pending": "/pending",
    "nothing": "/runs/nobody",
    **{tab: f"/assets/lake%3A%2F%2Fmain%2Fa?tab={tab}" for tab in TABS},
}
TEXTS = SHOP | {
    "hostile": f'-- pipeline\n-- partitioned static keys="{HOSTILE},b"\n'
    "-- materialize lake://main/hostile\nSELECT 1 AS x",
    "nightly": f'{DAILY}-- on schedule "0 3 * * *"\n-- materialize lake://main/nightly\nSELECT 1 AS x',
    "deep/er/leaf": f"{DAILY}-- on lake://main/b\n-- materialize lake://main/leaf\n"
    "-- data_test not_null x\nSELECT x FROM b",
}


class Shown:
    """A site in memory at an address, whose runs are worked off when a test says so."""

    def __init__(self, site: Site, url: str) -> None:
        self.site = site
        self.url = url


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    site = Site(TEXTS)
    site.post("/api/runs", target="a", partition=KEY)
    site.settle()
    with site.listening() as url:
        yield Shown(site, url)


@contextmanager
def closed_site() -> Iterator[Shown]:
    site = Site(TEXTS, is_open=False)
    with site.listening() as url:
        yield Shown(site, url)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_read_by_everyone_on_any_screen(
    name: str, shown: Shown, visits: Visits
) -> None:
    visitor = visits(shown.url, forgiven=("404", "/api/code"))
    page = visitor.open(PAGES[name])
    page.wait_for_load_state("networkidle")
    expect(page.locator("main")).to_be_visible()
    # Each look takes a second: one is light and wide, the other is dark and narrow.
    visitor.accessible("light")
    page.set_viewport_size({"width": 360, "height": 740})
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{name} is {wide} pixels wider than a phone"
    visitor.accessible("dark")


def test_the_graph_is_searched_and_leads_to_assets(shown: Shown, visits: Visits) -> None:
    visitor = visits(shown.url)
    page = visitor.open("/")
    search = page.get_by_role("searchbox", name="Search assets")
    status = page.locator(".tools [role=status]")
    for text, matches in (("+b", 3), ("b+", 3), ("leaf", 1), ("nothing", 0)):
        search.fill(text)
        expect(status).to_have_text(f"{matches} match{'' if matches == 1 else 'es'}")
    page.get_by_role("button", name="List").click()
    search.fill("b+")
    expect(page.locator(".list a")).to_have_text(["b", "m", "leaf"])
    # What is searched for has an address, and stands in the middle if it is the only one.
    search.fill("leaf")
    expect(page).to_have_url(f"{shown.url}/?q=leaf")
    page.get_by_role("button", name="List").click()
    canvas = page.locator(".graph canvas")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator(".tip")
    expect(tip).to_contain_text("lake://main/leaf")
    expect(tip).to_contain_text("not_null x")
    expect(tip).to_contain_text("≡ x ← b.x")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile("assets/lake%3A%2F%2Fmain%2Fleaf"))
    expect(page.get_by_role("heading", name="lake://main/leaf")).to_be_visible()
    page.go_back()
    expect(search).to_have_value("leaf")


def test_keys_of_the_keyboard_lead_everywhere(shown: Shown, visits: Visits) -> None:
    visitor = visits(shown.url)
    page = visitor.open("/")
    expect(page.locator(".graph canvas")).to_be_visible()
    for key, path in (("r", "/runs"), ("b", "/backfills"), ("e", "/events"), ("g", "/")):
        page.keyboard.press(key)
        expect(page).to_have_url(shown.url + path)
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search assets")).to_be_focused()
    visitor.asset("a")
    page.get_by_role("tab", name="Partitions").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Data")).to_be_focused()
    expect(page.get_by_role("tab", name="Data")).to_have_attribute("aria-selected", "true")


def test_what_is_wrong_stands_beside_its_field(shown: Shown, visits: Visits) -> None:
    visitor = visits(shown.url, forgiven=("400",))
    page = visitor.asset("region")
    page.get_by_role("button", name="Event…").click()
    page.get_by_label("Payload").fill("{")
    page.get_by_role("button", name="Emit").click()
    expect(page.get_by_label("Payload")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=page.get_by_label("Payload"))).to_contain_text("is no JSON")
    page.keyboard.press("Escape")
    visitor.asset("whole")
    page.get_by_role("button", name="Run…").first.click()
    page.get_by_label("$n").evaluate("(input) => { input.type = 'text'; input.value = 'seven'; }")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_label("$n")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("$n").fill("7")
    expect(page.get_by_label("$n")).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("region", name="The plan")).to_contain_text("whole")
    page.keyboard.press("Escape")
    visitor.asset("a")
    page.get_by_role("button", name="Backfill…").click()
    page.get_by_label("From").fill("2026-5-1")
    expect(page.get_by_label("From")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field", has=page.get_by_label("From"))).to_contain_text("2026-05-01")
    page.get_by_label("From").fill("2026-05-01")
    page.get_by_label("To").fill("2026-05-03")
    expect(page.get_by_role("region", name="The plan")).to_contain_text("2 partitions")


def test_names_that_look_like_markup_are_text(shown: Shown, visits: Visits) -> None:
    site = shown.site
    site.post("/api/runs", target="hostile", partition=HOSTILE)
    site.settle()
    visitor = visits(shown.url)
    page = visitor.asset("hostile")
    expect(page.get_by_role("button", name=HOSTILE)).to_be_visible()
    page.get_by_role("button", name=HOSTILE).click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    for path in ("/runs", "/events", "/"):
        visitor.open(path)
        page.wait_for_load_state("networkidle")
        assert page.locator("img[src=x]").count() == 0


def test_a_run_that_broke_tells_why(shown: Shown, visits: Visits) -> None:
    site = shown.site
    broken = StatementFailed("no such table 'prices'", "make it first")
    site.breaks = lambda step: broken if step.script.name == "d" else None
    begun = site.post("/api/runs", target="d", partition="2026-05-07")
    site.settle()
    site.breaks = lambda step: None
    visitor = visits(shown.url)
    page = visitor.open(f"/runs/{begun['run']}")
    expect(page.locator("h1")).to_contain_text("failed")
    expect(page.get_by_role("region", name="Steps")).to_contain_text("make it first")
    page.get_by_role("button", name="Run again…").click()
    expect(page.get_by_label("Partition")).to_have_value("2026-05-07")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page).not_to_have_url(re.compile(re.escape(begun["run"])))
    site.settle()
    expect(page.locator("h1")).to_contain_text("succeeded")


def test_what_is_gone_says_so(shown: Shown, visits: Visits) -> None:
    visitor = visits(shown.url, forgiven=("404",))
    page = visitor.asset("vanished")
    expect(page.get_by_role("alert")).to_contain_text("vanished")
    visitor.open("/backfills/nobody")
    expect(page.locator("main").get_by_role("alert")).to_contain_text("nobody")
    visitor.open("/runs/nobody")
    expect(page.locator("main").get_by_role("alert")).to_contain_text("nobody")


def test_a_token_opens_pages_for_what_it_may(visits: Visits) -> None:
    with closed_site() as shown:
        reads, runs = shown.site.token("read"), shown.site.token("run")
        visitor = visits(shown.url, forgiven=("401", "403"))
        page = visitor.asset("a")
        page.get_by_label("Token").fill("nonsense")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        visitor.accessible()
        page.get_by_label("Token").fill(reads)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="lake://main/a")).to_be_visible()
        expect(page.get_by_role("button", name="Run…")).to_have_count(0)
        # A button that is not there is no protection: the API refuses by itself.
        refused = page.evaluate(
            "() => fetch('/api/runs', {method: 'POST', headers: {'Content-Type': 'application/json'},"
            " body: JSON.stringify({target: 'a'})}).then((answer) => answer.status)"
        )
        assert refused == 403
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").fill(runs)
        page.get_by_role("button", name="Sign in").click()
        # Whoever leaves before the answer is there has not signed in.
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        visitor.asset("a")
        expect(page.get_by_role("button", name="Run…")).to_be_visible()
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def test_a_page_outlives_its_server(visits: Visits) -> None:
    site = Site(TEXTS)
    with site.listening() as url:
        visitor = visits(url, forgiven=("ERR_CONNECTION", "Failed to load resource"))
        page = visitor.open("/runs")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    banner = page.locator(".banner")
    expect(banner).to_contain_text("does not answer")
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    with site.listening(int(url.rpartition(":")[2])):
        expect(banner).to_be_hidden()
        expect(page.get_by_role("region", name="Runs")).to_contain_text("succeeded")
