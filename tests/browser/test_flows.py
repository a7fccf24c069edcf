"""What people do on pages, on a server in memory that works while they look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from tranche.errors import StatementFailed
from tranche.model.plan import Step

from .conftest import Visitor
from .shown import FLOWS, Going, badge_of_middle, cell, going, middle

Visits = Callable[..., Visitor]
FIRST = "2026-04-01"


@pytest.fixture(scope="module")
def site() -> Iterator[Going]:
    with going(FLOWS) as found:
        for name in ("days", "after", "slow", "d", "hours", "b"):
            found.engine.answers[name] = lambda step: [{"x": 1}, {"x": 2}]
        yield found


@pytest.fixture
def visitor(site: Going, visits: Visits) -> Visitor:
    return visits(site.url)


def panel(page: Page) -> Locator:
    return page.get_by_role("tabpanel")


def rows_of(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Rows of"))


def dialog(page: Page, button: str) -> Locator:
    page.get_by_role("button", name=button).first.click()
    return page.get_by_role("dialog")


class TestGraph:
    def test_badges_on_the_arrow_into_an_asset_list_its_tests_and_columns(
        self, visitor: Visitor
    ) -> None:
        page = visitor.open("/?q=leaf")
        page.wait_for_load_state("networkidle")
        expect(page.locator(".graph")).to_have_attribute("data-scale", re.compile("0.[8-9]|1"))
        page.mouse.move(*badge_of_middle(page))
        tip = page.locator(".tip")
        for text in ("not_null x", "unique x", "≡ x ← b.x", "≡ twice ← b.x"):
            expect(tip).to_contain_text(text)

    def test_tags_select(self, site: Going, visitor: Visitor) -> None:
        project = site.server.project
        tagged = tuple(
            replace(each, tags=("money",)) if each.name in ("sales", "after") else each
            for each in project.scripts
        )
        site.server.reload = lambda: replace(project, scripts=tagged)
        site.server.look_at_scripts()
        page = visitor.open("/?q=tag:money")
        page.get_by_role("button", name="List").click()
        expect(page.locator(".list a")).to_have_text(["after", "sales"])

    def test_it_is_moved_and_zoomed_by_hand_and_by_keys(self, visitor: Visitor) -> None:
        page = visitor.open("/")
        graph, canvas = page.locator(".graph"), page.locator(".graph canvas")
        expect(graph).to_have_attribute("data-scale", re.compile(r"\d"))
        whole = graph.get_attribute("data-scale") or ""
        page.mouse.move(*middle(canvas))
        page.mouse.wheel(0, -400)
        expect(graph).not_to_have_attribute("data-scale", whole)
        canvas.focus()
        page.keyboard.press("f")
        expect(graph).to_have_attribute("data-scale", whole)
        page.keyboard.press("+")
        expect(graph).not_to_have_attribute("data-scale", whole)
        page.get_by_role("button", name="Fit").click()
        expect(graph).to_have_attribute("data-scale", whole)

    def test_it_lives_while_things_run(self, site: Going, visitor: Visitor) -> None:
        page = visitor.open("/?q=slow")
        page.get_by_role("button", name="List").click()
        line = page.locator(".list li", has_text="slow")
        expect(line).to_contain_text("never")
        run = site.post("/api/runs", target="slow", partition="2026-04-30")["run"]
        expect(line).to_contain_text("running")
        site.let(1)
        site.ended(run)
        expect(line).to_contain_text("fresh")

    def test_a_script_that_makes_nothing_is_run_with_its_arguments(self, visitor: Visitor) -> None:
        page = visitor.open("/?q=tells")
        page.wait_for_load_state("networkidle")
        page.mouse.click(*middle(page.locator(".graph canvas")))
        page.get_by_label("$who").fill("me")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("h1")).to_contain_text("succeeded")
        expect(page.locator(".facts")).to_contain_text("$who = me")


class TestPartitions:
    def test_hours_are_looked_at_from_years_down(self, site: Going, visitor: Visitor) -> None:
        site.made("hours", "2026-05-16T10")
        page = visitor.asset("hours")
        levels = page.get_by_role("group", name="Zoom")
        expect(levels.get_by_role("button")).to_have_text(["years", "months", "days", "hours"])
        levels.get_by_role("button", name="years").click()
        canvas, said = panel(page).locator("canvas"), panel(page).get_by_role("status")
        canvas.focus()
        page.keyboard.press("End")
        expect(said).to_contain_text("2026-01-01T00 … 2026-05-16T11: missing 3251 succeeded 1")
        for level in ("months", "days", "hours"):
            page.keyboard.press("Enter")
            expect(levels.get_by_role("button", pressed=True)).to_have_text(level)
            page.keyboard.press("End")
        expect(said).to_contain_text("2026-05-16T11: missing")
        page.keyboard.press("ArrowLeft")
        expect(said).to_contain_text("2026-05-16T10: succeeded")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=re.compile("2026-05-16T10"))).to_be_visible()
        page.keyboard.press("Escape")
        expect(levels.get_by_role("button", pressed=True)).to_have_text("days")
        page.get_by_role("button", name="← All").click()
        expect(levels.get_by_role("button", pressed=True)).to_have_text("years")

    def test_a_day_tells_its_rows_where_it_is_pointed_at(
        self, site: Going, visitor: Visitor
    ) -> None:
        site.made("days", "2026-05-06")
        page = visitor.asset("days")
        canvas, (x, y) = panel(page).locator("canvas"), cell(FIRST, "2026-05-06")
        expect(page.locator(".grid[data-drawn]")).to_be_visible()
        canvas.hover(position={"x": x, "y": y})
        for text in ("2026-05-06", "succeeded", "2 rows · snapshot"):
            expect(page.locator(".grid .tip")).to_contain_text(text)
        canvas.click(position={"x": x, "y": y})
        expect(page.get_by_role("region", name="Attempts")).to_contain_text("succeeded")
        # Several days are picked by dragging, and can be backfilled.
        canvas.hover(position={"x": x, "y": y})
        page.mouse.down()
        to = cell(FIRST, "2026-05-08")
        canvas.hover(position={"x": to[0], "y": to[1]})
        page.mouse.up()
        expect(panel(page)).to_contain_text("3 partitions, 2026-05-06 to 2026-05-08")
        page.get_by_role("button", name="Backfill these…").click()
        expect(page.get_by_role("dialog").get_by_label("To")).to_have_value("2026-05-08")
        expect(page.get_by_role("region", name="The plan")).to_contain_text("2 partitions")

    def test_weeks_and_months_have_grids_of_their_own(self, visitor: Visitor) -> None:
        page = visitor.asset("weeks")
        panel(page).locator("canvas").focus()
        page.keyboard.press("Home")
        expect(panel(page).get_by_role("status")).to_contain_text("2025-W01: missing")
        site_levels = page.get_by_role("group", name="Zoom").get_by_role("button")
        expect(site_levels).to_have_text(["years", "weeks"])

    def test_keys_that_are_names_are_bars(self, site: Going, visitor: Visitor) -> None:
        site.engine.answers["region"] = lambda step: [{"x": n} for n in range(8)]
        site.engine.answers["tenant"] = lambda step: [{"x": n} for n in range(4)]
        site.made("region", "us")
        page = visitor.asset("region")
        rows = page.get_by_role("region", name="Partitions").locator("tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.nth(1)).to_contain_text("missing")
        page.get_by_role("searchbox", name="Find a partition").fill("mars")
        page.keyboard.press("Enter")
        expect(panel(page).get_by_role("alert")).to_contain_text("its keys are us, eu")
        rows.nth(0).locator(".bar").hover()
        expect(page.locator(".tip")).to_contain_text("8 rows · snapshot")
        site.made("tenant", "acme", "globex")
        visitor.asset("tenant")
        bars = page.get_by_role("region", name="Partitions").locator(".bar > span")
        expect(bars).to_have_count(2)
        expect(page.get_by_role("searchbox", name="Find a partition")).to_be_visible()
        page.get_by_role("searchbox", name="Find a partition").fill("globex")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=re.compile("globex"))).to_be_visible()

    def test_of_several_dimensions_one_is_chosen(self, site: Going, visitor: Visitor) -> None:
        site.made("sales", "2026-05-01|us")
        page = visitor.asset("sales")
        expect(panel(page)).to_contain_text("succeeded 1")
        page.get_by_label("Which of the other dimensions").select_option("us")
        expect(panel(page)).to_contain_text("missing 14")
        page.get_by_label("Which of the other dimensions").select_option("eu")
        expect(panel(page)).to_contain_text("missing 15")


class TestData:
    def test_rows_of_any_snapshot_sorted_and_filtered(self, site: Going, visitor: Visitor) -> None:
        for value in (7, 8):
            site.engine.answers["d"] = lambda step, v=value: [{"n": v}, {"n": 1}]
            site.made("d", "2026-05-02")
        page = visitor.asset("d", "data")
        page.get_by_role("button", name="This partition").click()
        rows = rows_of(page).locator("tbody tr")
        expect(rows).to_have_text(["8", "1"])
        rows_of(page).get_by_role("button", name="n", exact=True).click()
        expect(rows).to_have_text(["1", "8"])
        page.get_by_role("button", name="Add a filter").click()
        page.get_by_label("Comparison").select_option("is more than")
        page.get_by_label("Value").fill("5")
        page.keyboard.press("Enter")
        expect(rows).to_have_text(["8"])
        page.get_by_label("Snapshot").select_option(index=2)
        expect(rows).to_have_text(["7"])
        # All of that is in the address.
        page.reload()
        expect(rows).to_have_text(["7"])
        page.get_by_role("button", name="Remove the filter of n").click()
        page.get_by_role("button", name="Whole table").click()
        expect(rows).to_have_text(["1", "7"])

    def test_bytes_and_what_is_nested_are_shown_and_opened(
        self, site: Going, visitor: Visitor
    ) -> None:
        odd = {"raw": bytes(range(64)), "deep": {"a": [1, {"b": "<i>x</i>"}], "c": "y" * 90}}
        site.engine.answers["d"] = lambda step: [odd, {"raw": None, "deep": {}}]
        site.made("d", "2026-05-03")
        page = visitor.open("/assets/lake%3A%2F%2Fmain%2Fd?tab=data&key=2026-05-03")
        rows = rows_of(page)
        expect(rows).to_contain_text("0x000102030405060708090a0b0c0d0e0f… 64 bytes")
        expect(rows).to_contain_text("NULL")
        rows.get_by_role("button", name=re.compile("64 bytes")).click()
        expect(page.get_by_role("dialog")).to_contain_text("3c3d3e3f")
        page.keyboard.press("Escape")
        rows.get_by_role("button").filter(has_text="<i>x</i>").click()
        expect(page.get_by_role("dialog").locator("pre")).to_contain_text('"b": "<i>x</i>"\n')

    def test_a_table_that_is_gone_says_so(self, site: Going, visits: Visits) -> None:
        site.engine.answers["m"] = lambda step: [{"x": 1}]
        site.made("m", "2026-04")
        site.engine.tables.pop("lake://main/m")
        visitor = visits(site.url, forgiven=("404", "409", "400"))
        page = visitor.asset("m", "data")
        expect(panel(page).locator(".problem")).to_contain_text("lake://main/m")
        page.get_by_role("tab", name="Partitions").click()
        expect(panel(page)).to_contain_text("succeeded 1")

    def test_columns_that_change_make_versions(self, site: Going, visitor: Visitor) -> None:
        for row in ({"kept": 1, "gone": 1, "other": 1}, {"kept": 1, "other": "x", "new": 2}):
            site.engine.answers["whole"] = lambda step, row=row: [row]
            site.made("whole", arguments={"n": "1"})
        page = visitor.asset("whole", "schema")
        latest = page.get_by_role("region", name="Columns of version 2")
        for text in ("new int new", "other str was int", "gone dropped"):
            expect(latest.locator("tr", has_text=text.split()[0])).to_have_text(
                re.compile(r"\s*".join(text.split()))
            )
        expect(page.get_by_role("region", name="Columns of version 1")).to_contain_text("gone")

    def test_a_column_is_traced_both_ways(self, visitor: Visitor) -> None:
        page = visitor.asset("b", "columns")
        page.get_by_role("button", name="lake://main/b x").click()
        found = page.get_by_role("region", name="Lineage of the column")
        expect(found).to_contain_text("b.x")
        expect(found).to_contain_text("leaf.twice")
        expect(page.locator(".lineage path.on")).not_to_have_count(0)


class TestRunDialog:
    @pytest.mark.parametrize(
        ("asset", "type_", "typed", "key"),
        [
            ("days", "date", "2026-05-04", "2026-05-04"),
            ("weeks", "week", "2026-W03", "2026-W03"),
            ("m", "month", "2026-03", "2026-03"),
            ("hours", "datetime-local", "2026-05-04T07:00", "2026-05-04T07"),
            ("odd", "text", "04.05.2026", "04.05.2026"),
        ],
    )
    def test_a_key_of_time_has_a_field_of_its_kind(
        self, asset: str, type_: str, typed: str, key: str, visitor: Visitor
    ) -> None:
        page = visitor.asset(asset)
        asked = dialog(page, "Run…")
        expect(asked.get_by_label("Partition")).to_have_attribute("type", type_)
        asked.get_by_label("Partition").fill(typed)
        asked.get_by_role("button", name="Show the plan").click()
        expect(asked.get_by_role("region", name="The plan")).to_contain_text(key)

    def test_static_keys_are_a_list_and_dimensions_a_field_each(self, visitor: Visitor) -> None:
        page = visitor.asset("region")
        asked = dialog(page, "Run…")
        expect(asked.get_by_label("Partition").locator("option")).to_have_text(["us", "eu"])
        asked.get_by_label("Partition").select_option("eu")
        asked.get_by_role("button", name="Show the plan").click()
        expect(asked.get_by_role("region", name="The plan")).to_contain_text("eu")
        visitor.asset("sales")
        asked = dialog(page, "Run…")
        asked.get_by_label("day").fill("2026-05-09")
        asked.get_by_label("region").select_option("eu")
        expect(asked.get_by_label("Partition")).to_have_value("2026-05-09|eu")

    def test_arguments_have_fields_of_their_types(self, visitor: Visitor) -> None:
        page = visitor.asset("given")
        asked = dialog(page, "Run…")
        types = {"$n": "number", "$day": "date", "$at": "datetime-local", "$price": "number"}
        for label, type_ in types.items():
            expect(asked.get_by_label(label, exact=True)).to_have_attribute("type", type_)
        # What is needed is asked for before the server is.
        asked.get_by_role("button", name="Show the plan").click()
        assert page.evaluate("document.activeElement.validity.valueMissing")
        visitor.accessible("dark")
        asked.get_by_label("$day").fill("2026-05-01")
        asked.get_by_label("$name").fill("<b>me</b>")
        asked.get_by_label("$at").fill("2026-05-01T10:30")
        asked.get_by_label("$flag").select_option("false")
        asked.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".facts")).to_contain_text("$name = <b>me</b>")
        expect(page.locator(".facts")).to_contain_text("$at = 2026-05-01T10:30")
        # Once more, with what it was given.
        expect(page.locator("h1")).to_contain_text("succeeded")
        asked = dialog(page, "Run again…")
        expect(asked.get_by_label("$name")).to_have_value("<b>me</b>")
        expect(asked.get_by_label("$at")).to_have_value("2026-05-01T10:30")
        expect(asked.get_by_label("$flag")).to_have_value("false")


class TestBackfill:
    def test_a_range_is_picked_and_its_standing_shown(self, site: Going, visitor: Visitor) -> None:
        site.breaks = lambda step: (
            StatementFailed("no") if step.keys == ("2026-04-12",) else site.lets(step)
        )
        site.made("after", "2026-04-11", "2026-04-12")
        site.breaks = site.lets
        page = visitor.asset("after")
        asked = dialog(page, "Backfill…")
        canvas = asked.locator("canvas")
        # A click begins a range, another one ends it.
        for day in ("2026-04-10", "2026-04-14"):
            x, y = cell(FIRST, day)
            canvas.click(position={"x": x, "y": y})
        expect(asked.get_by_label("From")).to_have_value("2026-04-10")
        expect(asked.get_by_label("To")).to_have_value("2026-04-14")
        plan = asked.get_by_role("region", name="The plan")
        for text in ("missing 3", "failed 1", "succeeded 1", "4 partitions", "in 1 job"):
            expect(plan).to_contain_text(text)
        expect(asked.get_by_label("Missing and failed only")).to_be_checked()
        asked.get_by_label("Missing and failed only").uncheck()
        expect(plan).to_contain_text("5 partitions")

    def test_static_keys_are_chosen_from_a_list(self, site: Going, visitor: Visitor) -> None:
        page = visitor.asset("region")
        asked = dialog(page, "Backfill…")
        asked.get_by_label("Missing and failed only").uncheck()
        asked.get_by_label("us").uncheck()
        expect(asked.get_by_role("region", name="The plan")).to_contain_text("1 partition from eu")
        asked.get_by_role("button", name="Start").click()
        visitor.open("/backfills")
        page.get_by_role("row", name=re.compile("region")).get_by_role("link").first.click()
        expect(page.locator("h1")).to_contain_text("succeeded")
        expect(page.get_by_role("region", name="Partitions").get_by_role("link")).to_have_text(
            ["✓eu"]
        )

    def test_it_fills_its_grid_is_cancelled_and_resumed(self, site: Going, visits: Visits) -> None:
        first = visits(site.url)
        page = first.asset("slow")
        asked = dialog(page, "Backfill…")
        asked.get_by_label("From").fill("2026-05-01")
        asked.get_by_label("To").fill("2026-05-06")
        expect(asked.get_by_role("region", name="The plan")).to_contain_text("6 partitions")
        asked.get_by_role("button", name="Start").click()
        header = page.locator(".plan")
        expect(header).to_contain_text("0 of 6 partitions done")
        site.let(2)
        expect(header).to_contain_text("2 of 6 partitions done")
        expect(panel(page)).to_contain_text("running 4")
        page.close()
        # Somebody else finds it where it is, with what it tells.
        page = visits(site.url).asset("slow")
        expect(page.locator(".plan")).to_contain_text("2 of 6 partitions done")
        page.locator(".plan").get_by_role("link", name="Backfill").click()
        expect(page.locator("h1")).to_contain_text("running")
        backfill = page.url
        page.get_by_role("link", name=re.compile(r"^2026\d+T")).click()
        log = page.get_by_role("log")
        expect(log).to_contain_text("goes key by key")
        expect(log).to_contain_text("✓ slow 2026-05-02")
        site.let(1)
        expect(log).to_contain_text("✓ slow 2026-05-03")
        page.goto(backfill)
        expect(page.locator("main")).to_contain_text("3 of 6 partitions done")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("h1")).to_contain_text("cancelling")
        site.let(1)
        expect(page.locator("h1")).to_contain_text("cancelled")
        page.get_by_role("button", name="Resume").click()
        site.let(2)
        expect(page.locator("h1")).to_contain_text("succeeded")
        expect(page.locator("main")).to_contain_text("6 of 6 partitions done")

    def test_what_failed_is_tried_again(self, site: Going, visitor: Visitor) -> None:
        def breaks(step: Step) -> Exception | None:
            return StatementFailed("no such day") if "2026-04-22" in step.keys else None

        site.breaks = breaks
        body = {"target": "days", "start": "2026-04-20", "end": "2026-04-24", "only": True}
        id = site.post("/api/backfills", **body)["backfill"]
        page = visitor.open(f"/backfills/{id}")
        expect(page.locator("main")).to_contain_text("4 of 5 partitions done, 1 failed")
        expect(page.get_by_role("link", name="2026-04-22")).to_be_visible()
        site.breaks = site.lets
        page.get_by_role("button", name="Retry failed").click()
        expect(page.locator("main")).to_contain_text("5 of 5 partitions done")
        expect(page.locator("h1")).to_contain_text("succeeded")

    def test_what_follows_it_is_tried_again_too(self, site: Going, visitor: Visitor) -> None:
        site.breaks = lambda step: (
            StatementFailed("not yet") if step.script.name == "after" else site.lets(step)
        )
        body = {"target": "days", "start": "2026-04-05", "end": "2026-04-06"}
        id = site.post("/api/backfills", **body)["backfill"]
        page = visitor.open(f"/backfills/{id}")
        expect(page.locator("main")).to_contain_text("What is made of them has failed")
        page.locator("main").get_by_role("link", name=re.compile(r"^2026\d+T")).click()
        steps = page.get_by_role("region", name="Steps")
        expect(steps).to_contain_text("not yet")
        page.go_back()
        site.breaks = site.lets
        page.get_by_role("button", name="Retry failed").click()
        expect(page.locator("h1")).to_contain_text("succeeded")


class TestRuns:
    def test_runs_are_found_by_status_and_asset_together(
        self, site: Going, visitor: Visitor
    ) -> None:
        site.breaks = lambda step: (
            StatementFailed("no such table") if step.script.name == "odd" else None
        )
        failed = site.made("odd", "01.05.2026")
        site.breaks = site.lets
        site.made("odd", "02.05.2026")
        page = visitor.open("/runs")
        page.get_by_label("Of an asset or a script").fill("odd")
        page.keyboard.press("Enter")
        rows = page.get_by_role("region", name="Runs").locator("tbody tr")
        expect(rows).to_have_count(2)
        page.get_by_label("Status").select_option("failed")
        expect(rows).to_have_count(1)
        expect(page).to_have_url(f"{site.url}/runs?status=failed&asset=odd")
        rows.get_by_role("link", name=failed).click()
        expect(page.get_by_role("region", name="Steps")).to_contain_text("no such table")
        page.locator(".facts").get_by_role("link", name="odd").click()
        expect(page.get_by_role("searchbox", name="Search assets")).to_have_value("odd")

    def test_runs_of_nothing_say_so_beside_the_field(self, site: Going, visits: Visits) -> None:
        page = visits(site.url, forgiven=("404", "400")).open("/runs")
        page.get_by_label("Of an asset or a script").fill("nobody")
        page.keyboard.press("Enter")
        expect(page.locator("main").get_by_role("alert")).to_contain_text("nobody")
        page.get_by_label("Of an asset or a script").fill("days")
        page.keyboard.press("Enter")
        expect(page.locator("main").get_by_role("alert")).to_be_empty()

    def test_what_it_wrote_is_shown_for_the_partition_and_the_table(
        self, site: Going, visitor: Visitor
    ) -> None:
        site.engine.answers["tenant"] = lambda step: [{"who": step.partition}]
        site.made("tenant", "acme")
        run = site.made("tenant", "globex")
        page = visitor.open(f"/runs/{run}")
        rows = rows_of(page).locator("tbody tr")
        expect(rows).to_have_text(["globex"])
        expect(page.get_by_role("button", name="This partition")).to_have_attribute(
            "aria-pressed", "true"
        )
        page.get_by_role("button", name="Whole table").click()
        expect(rows).to_have_text(["acme", "globex"])

    def test_a_run_of_a_script_that_is_gone(self, site: Going, visits: Visits) -> None:
        with going({"here": FLOWS["d"]}) as other:
            run = other.made("here", "2026-05-01")
            # It was deployed anew without it.
            other.server.reload = lambda: Going({"stays": FLOWS["whole"]}).bench.project
            other.server.look_at_scripts()
            visitor = visits(other.url, forgiven=("404", "400"))
            page = visitor.open(f"/runs/{run}")
            expect(page.locator("h1")).to_contain_text("succeeded")
            page.get_by_role("button", name="Run again…").click()
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.get_by_role("dialog").get_by_role("alert").first).to_contain_text("here")
            visitor.asset("d")
            expect(page.locator("main")).to_contain_text("No script of this project makes it")
            page.close()


class TestWhatAsks:
    def test_an_event_with_a_key_is_emitted_where_its_asset_is(
        self, site: Going, visits: Visits
    ) -> None:
        visitor = visits(site.url, forgiven=("400", "404"))
        page = visitor.asset("region")
        asked = dialog(page, "Event…")
        expect(asked.get_by_label("Partition").locator("option")).to_have_text(
            ["all of it", "us", "eu"]
        )
        visitor.accessible("light")
        page.keyboard.press("Escape")
        visitor.asset("a")
        asked = dialog(page, "Event…")
        expect(asked.get_by_label("Partition")).to_have_attribute("type", "date")
        asked.get_by_label("Partition").fill("2026-05-12")
        asked.get_by_role("button", name="Emit").click()
        expect(page.locator("#notes")).to_contain_text("It asks for b (2026-05-12)")
        visitor.open("/events")
        expect(page.get_by_role("region", name="Events")).to_contain_text("2026-05-12")
        page.get_by_role("button", name="Emit an event…").click()
        page.get_by_label("Asset").fill("lake://main/m")
        page.get_by_label("Asset").blur()
        expect(page.get_by_label("Partition")).to_have_attribute("type", "month")
        page.get_by_label("Asset").fill("nonsense")
        page.get_by_role("button", name="Emit", exact=True).click()
        expect(page.get_by_role("dialog").get_by_role("alert").first).to_contain_text("nonsense")

    def test_a_key_that_waits_tells_what_has_arrived(self, site: Going, visitor: Visitor) -> None:
        site.post("/api/events", asset="lake://main/news", partition="2026-05-15")
        page = visitor.asset("both", "pending")
        line = page.get_by_role("region", name="Pending keys").get_by_role(
            "row", name=re.compile("2026-05-15")
        )
        expect(line.locator("li", has_text="days")).to_contain_text("missing 2026-05-15")
        expect(line.locator("li", has_text="news")).to_contain_text("arrived")
        visitor.open("/pending")
        page.get_by_role("button", name="Why?").first.click()
        expect(page.get_by_role("region", name="Pending keys")).to_contain_text("arrived")
        visitor.asset("both", "pending")
        site.made("days", "2026-05-15")
        expect(line).to_have_count(0)

    def test_what_is_paused_does_not_run_until_it_is_resumed(
        self, site: Going, visitor: Visitor
    ) -> None:
        page = visitor.asset("days")
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("h1")).to_contain_text("paused")
        visitor.open("/schedules")
        line = page.get_by_role("row", name=re.compile("days"))
        expect(line).to_contain_text("paused")
        line.get_by_role("button", name="Resume").click()
        expect(line).to_contain_text("17/05/2026, 03:00:00")
        visitor.asset("days")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_the_keys_of_the_keyboard_are_listed(visitor: Visitor) -> None:
    page = visitor.open("/runs")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Light or dark")
    visitor.accessible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_phone_shows_names_in_the_graph(site: Going, visits: Visits) -> None:
    page = visits(site.url, width=390, height=800).open("/")
    expect(page.locator(".graph")).to_have_attribute("data-scale", "0.550")
    box = page.locator(".graph .legend").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 800


FRAMES = """() => new Promise((done) => {
  const canvas = document.querySelector(".graph canvas"), { x, y, width, height } = canvas.getBoundingClientRect();
  const send = (type, n) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: x + width / 2 + 3 * n, clientY: y + height / 2 + n, bubbles: true }));
  canvas.setPointerCapture = () => {};
  let n = 0, last = null;
  const took = [];
  send("pointerdown", 0);
  const frame = (at) => {
    if (last !== null) took.push(at - last);
    last = at;
    if (++n > 40) { send("pointercancel", n); done(took.sort((a, b) => a - b)[Math.floor(took.length / 2)]); return; }
    send("pointermove", n);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def test_five_hundred_assets_stay_fluid(visits: Visits) -> None:
    texts = {
        f"f{n // 50}/t{n}": "-- pipeline\n-- partitioned daily\n"
        + (f"-- on lake://main/t{n - 1}\n" if n % 5 else "-- on lake://main/src\n")
        + f"-- data_test not_null x\n-- materialize lake://main/t{n}\n"
        + f"SELECT x FROM {f't{n - 1}' if n % 5 else 'src'}"
        for n in range(500)
    }
    with going(texts) as site:
        page = visits(site.url).open("/")
        graph = page.locator(".graph")
        expect(graph).to_have_attribute("data-scale", re.compile(r"\d"))
        page.get_by_role("searchbox", name="Search assets").fill("t25")
        expect(page.locator(".tools [role=status]")).to_have_text("11 matches")
        page.get_by_role("searchbox", name="Search assets").fill("")
        # Twelve frames a second in a browser that draws without a graphics card, on a busy machine.
        median = page.evaluate(FRAMES)
        page.close()
        assert median < 80, f"a frame takes {median:.0f} ms"
