"""The flows of the pages on a real server, a real Spark and the demo."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tranche.projects.demo import make_demo

from ..e2e.conftest import QUICK
from .conftest import Visitor
from .serving import Serving
from .shown import cell

pytestmark = pytest.mark.spark
Visits = Callable[..., Visitor]
DAY = "2026-05-16"
BAD = "2026-05-13"
SLOWLY = 90_000
"""How long Spark may take for something, in milliseconds."""
STEADY = """\
# pipeline
# on schedule "0 5 * * *"
# partitioned daily tz="Europe/Paris" start="2026-04-01"
# materialize lake://main/steady
import time


def main(spark, partition: str):
    time.sleep(1)
    return spark.sql("SELECT 1 AS one")
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("pages") / "shop"
    make_demo(folder)
    with (folder / "tranche.toml").open("a") as config:
        config.write(QUICK)
    (folder / "pipelines" / "steady.py").write_text(STEADY)
    spoil(folder)
    serving = Serving(folder)
    serving.start()
    yield serving
    serving.stop()


def spoil(folder: Path) -> None:
    """One day has orders without a customer, and one of a status that nobody knows."""
    file = folder / "data" / "orders" / f"{BAD}.json"
    orders = [json.loads(line) for line in file.read_text().splitlines()]
    orders[0]["customer_id"] = None
    orders[1]["status"] = "<b>lost</b>"
    file.write_text("".join(json.dumps(order) + "\n" for order in orders))


@pytest.fixture
def visitor(shop: Serving, visits: Visits) -> Visitor:
    return visits(shop.url)


def test_a_partition_is_run_and_looked_at(visitor: Visitor) -> None:
    page = visitor.open("/")
    expect(page.locator(".graph canvas")).to_be_visible()
    page.get_by_role("button", name="List").click()
    expect(page.locator(".list")).to_contain_text("raw_orders")
    page.locator(".list").get_by_role("link", name="raw_orders").click()
    expect(page.locator("h1")).to_contain_text("never")
    for asset in ("raw_customers", "raw_orders"):
        ran(visitor, asset, DAY)
    expect(page.get_by_role("region", name="Steps")).to_contain_text("orders_daily")
    # What it wrote, this partition and the whole table.
    expect(page.get_by_role("button", name="This partition")).to_be_visible(timeout=SLOWLY)
    expect(page.get_by_role("region", name=re.compile("^Rows of"))).to_be_visible(timeout=SLOWLY)
    visitor.picture("run")
    visitor.accessible()
    page.get_by_role("button", name="Whole table").click()
    expect(page.get_by_role("button", name="Whole table")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("log")).to_contain_text("succeeded")
    visitor.open("/")
    page.wait_for_load_state("networkidle")
    visitor.picture("graph")


def ran(visitor: Visitor, asset: str, day: str, how: str = "succeeded") -> Page:
    """A run of a key by the dialog, until it has ended."""
    page = visitor.asset(asset)
    page.get_by_role("button", name="Run…").first.click()
    page.get_by_role("dialog").get_by_label("Partition").fill(day)
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("region", name="The plan")).to_contain_text(asset)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page).to_have_url(re.compile("/runs/"))
    expect(page.locator("h1")).to_contain_text(how, timeout=SLOWLY)
    return page


def test_all_that_is_known_of_an_asset(visitor: Visitor) -> None:
    visitor.forgiven = ("400",)
    page = visitor.asset("orders_daily")
    expect(page.locator(".grid[data-drawn]")).to_be_visible()
    x, y = cell("2026-04-01", DAY)
    page.locator(".grid canvas").hover(position={"x": x, "y": y})
    for text in (DAY, "20 rows · snapshot", "unique order_id"):
        expect(page.locator(".grid .tip")).to_contain_text(text)
    visitor.asset("orders_daily", "data")
    page.get_by_role("button", name="This partition").click()
    rows = page.get_by_role("region", name=re.compile("^Rows of"))
    expect(rows).to_contain_text(DAY, timeout=SLOWLY)
    expect(rows.locator("tbody tr")).to_have_count(20)
    visitor.picture("data")
    page.get_by_role("tab", name="Schema").click()
    expect(page.get_by_role("region", name="Columns of version 1")).to_contain_text("decimal(10,2)")
    page.get_by_role("tab", name="Tests").click()
    expect(page.get_by_role("region", name="Data tests by partition")).to_contain_text("passed")
    page.get_by_role("tabpanel").get_by_role("button", name=DAY).click()
    expect(page.get_by_role("region", name="Tests of the key")).to_contain_text("passed")
    page.get_by_role("tab", name="Runs").click()
    expect(page.get_by_role("region", name="Runs")).to_contain_text("raw_orders")
    page.get_by_role("tab", name="Pending").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("No key waits")
    page.get_by_role("tab", name="Code").click()
    expect(page.get_by_role("region", name="pipelines/orders_daily.sql")).to_contain_text(
        "row_number()"
    )
    expect(page.get_by_role("region", name="Statement for Spark")).to_contain_text("`raw_orders`")
    page.get_by_label("Partition for the compiled statement").fill("yesterday")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel").get_by_role("alert")).to_contain_text("'yesterday'")
    visitor.asset("revenue_by_tier", "columns")
    page.get_by_role("button", name="lake://main/revenue_by_tier revenue").click()
    expect(page.get_by_role("region", name="Lineage of the column")).to_contain_text(
        "orders_daily.amount"
    )
    expect(page.get_by_role("region", name="Lineage of the column")).to_contain_text(
        "raw_orders.amount"
    )
    visitor.picture("columns")


def test_a_day_that_breaks_its_tests_shows_which_rows_do(visitor: Visitor) -> None:
    page = ran(visitor, "raw_orders", BAD, "failed")
    expect(page.get_by_role("region", name="Steps")).to_contain_text("not_null customer_id: 1")
    page.get_by_role("link", name="the rows that violate them").first.click()
    found = page.get_by_role("region", name="accepted_values status = paid,open,refunded")
    expect(found).to_contain_text("<b>lost</b>", timeout=SLOWLY)
    visitor.accessible()
    visitor.asset("orders_daily", "tests")
    tests = page.get_by_role("region", name="Data tests by partition")
    expect(tests.locator("button", has=page.locator(".badge"))).to_have_count(2)


def test_a_range_is_backfilled_with_its_plan_shown_first(visitor: Visitor) -> None:
    page = visitor.asset("raw_orders")
    expect(page.get_by_role("tabpanel").locator("canvas")).to_be_visible()
    page.get_by_role("button", name="Backfill…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-05-10")
    dialog.get_by_label("To").fill(DAY)
    plan = dialog.get_by_role("region", name="The plan")
    # Of seven days, two are there already: one that passed, and the one that broke downstream.
    expect(plan).to_contain_text("5 partitions")
    expect(plan).to_contain_text("revenue_by_tier")
    dialog.get_by_label("Missing and failed only").uncheck()
    expect(plan).to_contain_text("7 partitions")
    dialog.get_by_label("Missing and failed only").check()
    expect(plan).to_contain_text("5 partitions")
    visitor.picture("backfill")
    visitor.accessible()
    dialog.get_by_role("button", name="Start").click()
    expect(dialog).to_have_count(0)
    # It shows in the header of the asset for as long as it takes.
    expect(page.locator(".plan")).to_contain_text("of 5 partitions")
    visitor.open("/backfills")
    page.get_by_role("region", name="Backfills").get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text("succeeded", timeout=SLOWLY)
    expect(page.locator("main")).to_contain_text("5 of 5 partitions done")
    visitor.asset("raw_orders")
    expect(page.get_by_role("tabpanel")).to_contain_text("succeeded 7")
    visitor.picture("partitions")


def test_events_schedules_and_what_waits(visitor: Visitor) -> None:
    page = visitor.open("/events")
    expect(page.locator("main")).to_contain_text("No event has come")
    page.get_by_role("button", name="Emit an event…").click()
    page.get_by_label("Asset").fill("lake://main/orders_daily")
    page.get_by_label("Partition").fill("2026-05-20")
    page.get_by_role("button", name="Emit", exact=True).click()
    expect(page.get_by_role("region", name="Events")).to_contain_text("2026-05-20")
    visitor.open("/pending")
    waiting = page.get_by_role("region", name="Pending keys")
    expect(waiting).to_contain_text("revenue_by_tier")
    waiting.get_by_role("button", name="Why?").first.click()
    expect(waiting).to_contain_text("raw_customers")
    visitor.accessible()
    visitor.asset("revenue_by_tier", "pending")
    expect(page.get_by_role("region", name="Pending keys")).to_contain_text("2026-05-20")
    visitor.open("/schedules")
    clocks = page.get_by_role("region", name="Schedules")
    row = clocks.get_by_role("row", name=re.compile("steady"))
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_role("button", name="Pause")).to_be_visible()
    visitor.open("/events")
    page.get_by_role("button", name="Retract").click()
    expect(page.get_by_role("region", name="Events")).to_contain_text("retracted")


def test_a_run_is_cancelled(visitor: Visitor) -> None:
    page = visitor.asset("steady")
    page.get_by_role("button", name="Backfill…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-05-01")
    dialog.get_by_label("To").fill("2026-05-30")
    dialog.get_by_role("button", name="Start").click()
    expect(page.locator(".plan")).to_contain_text("of 30 partitions")
    page.locator(".plan").get_by_role("link", name="Backfill").click()
    expect(page.locator("main")).to_contain_text(
        re.compile("[1-9] of 30 partitions done"), timeout=SLOWLY
    )
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("h1")).to_contain_text("cancelled", timeout=SLOWLY)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text(re.compile("queued|running"))


def test_a_backfill_outlives_its_page_and_its_server(shop: Serving, visits: Visits) -> None:
    """It was started in the browser before, and goes on."""
    forgiven = ("ERR_CONNECTION", "Failed to load")
    page = visits(shop.url).open("/backfills")
    listed = page.get_by_role("region", name="Backfills").get_by_role(
        "row", name=re.compile("steady")
    )
    listed.get_by_role("link").first.click()
    some = re.compile("[1-9][0-9]? of 30 partitions done")
    expect(page.locator("main")).to_contain_text(some, timeout=SLOWLY)
    path = page.url.removeprefix(shop.url)
    page.close()
    watching = visits(shop.url, forgiven=forgiven)
    page = watching.open(path)
    expect(page.locator("main")).to_contain_text(some)
    shop.kill()
    expect(page.locator(".banner")).to_contain_text("does not answer")
    shop.start()
    expect(page.locator(".banner")).to_be_hidden(timeout=SLOWLY)
    expect(page.locator("h1")).to_contain_text("succeeded", timeout=2 * SLOWLY)
    expect(page.locator("main")).to_contain_text("30 of 30 partitions done")
    watching.asset("steady")
    expect(page.get_by_role("tabpanel")).to_contain_text("succeeded 30")
