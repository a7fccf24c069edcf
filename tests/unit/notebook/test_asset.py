"""An asset in a notebook: its header, and its partitions."""

from __future__ import annotations

import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from tranche.model.partitioning import time_of
from tranche.model.run import Outcome
from tranche.notebook.paint import COLOURS, SIGNS

from .shop import CHAIN, DAILY, ended, read, shop

EVIL = '<img src=x onerror="alert(1)">'
LARGEST = 200_000
"""Letters of HTML that no asset exceeds."""


def made(name: str, rule: str) -> dict[str, str]:
    return {name: f"-- partitioned {rule}\n-- materialize lake://main/{name}\nSELECT 1 AS id"}


def days(first: str, number: int) -> list[str | None]:
    start = date.fromisoformat(first)
    return [str(start + timedelta(days=each)) for each in range(number)]


def test_the_header_says_who_makes_it_and_how_it_stands(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN)
    ended(shown, "lake://main/orders", days("2026-11-01", 17))
    found = read(shown["orders"])
    assert found.text.startswith("lake://main/orders ✓ fresh made by: pipelines/orders.sql")
    assert 'strategy: merge partitioning: daily start="2026-11-01"' in found.text
    assert "last run: succeeded, 2026-11-18 07:00 UTC, run-of-orders" in found.text
    assert shown["orders"].status == {"succeeded": 17}


def test_a_calendar_says_where_each_day_stands_in_words_too(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN)
    failed = {"2026-11-12", "2026-11-13"}
    ended(
        shown,
        "lake://main/orders",
        days("2026-11-01", 15),
        lambda key: "failed" if key in failed else "succeeded",
    )
    found = read(shown["orders"])
    assert "✗ failed 2 ○ missing 2 ✓ succeeded 13" in found.text
    assert "17 partitions, 2026-11-01 to 2026-11-17" in found.text
    assert "2026-11-03: succeeded" in found.text
    assert "2026-11-12: failed" in found.text
    assert "✗ failed 2026-11-12 … 2026-11-13 (2 partitions)" in found.text
    assert "○ missing 2026-11-16 … 2026-11-17 (2 partitions)" in found.text


def test_a_day_as_it_is_drawn(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'daily start="2026-11-16"'))
    ended(shown, "lake://main/a", ["2026-11-16"])
    html = shown["a"]._repr_html_()
    assert (
        '<g opacity="0.8"><text x="54" y="12">Nov 2026</text><text x="0" y="28">Mon</text>'
        '<text x="0" y="58">Wed</text><text x="0" y="88">Fri</text><text x="0" y="118">Sun</text></g>'
        "<g><title>2026-11-16: succeeded</title>"
        '<rect x="54" y="18" width="13" height="13" rx="2.5" fill="#2a9464"></rect></g>'
        "<g><title>2026-11-17: missing</title>"
        '<rect x="54.5" y="33.5" width="12" height="12" rx="2.5" fill="#7b8494"'
        ' fill-opacity="0.07" stroke="#7b8494" stroke-opacity="0.6"></rect></g></svg>'
    ) in html


def test_what_failed_last_is_told(tmp_path: Path) -> None:
    shown = shop(tmp_path, CHAIN)
    ended(
        shown,
        "lake://main/orders",
        ["2026-11-17"],
        lambda _: "failed",
        error=f"{EVIL} " + "x" * 999,
    )
    found = read(shown["orders"])
    assert f"✗ 2026-11-17: {EVIL} xxx" in found.text
    assert "x" * 500 not in found.text
    assert "img" not in found.tags


def test_years_of_days_are_a_year_of_days_and_all_months(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'daily start="2019-03-01"'))
    ended(shown, "lake://main/a", days("2019-03-01", 400))
    found = read(shown["a"])
    assert "○ missing 2,419 ✓ succeeded 400" in found.text
    assert "the latest 366 partitions, 2025-11-17 to 2026-11-17" in found.text
    assert "all 2,819 partitions, 2019-03-01 to 2026-11-17, a square for each month" in found.text
    assert "2019-03-01 … 2019-03-31: 31 succeeded" in found.text
    assert "2020-04-01 … 2020-04-30: 27 missing, 3 succeeded" in found.text


def test_a_million_hours_are_counted_and_not_listed(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'hourly start="1912-01-01"'))
    rule = time_of(shown._project.scripts[0].partitioning)
    assert rule is not None
    keys = rule.keys(end="2026-11-18T08")
    assert len(keys) > 1_000_000
    ended(shown, "lake://main/a", keys[-5_000:])
    began = time.process_time()
    html = shown["a"]._repr_html_()
    assert time.process_time() - began < 3
    assert len(html) < LARGEST
    found = read(shown["a"])
    assert f"○ missing {len(keys) - 5_000:,} ✓ succeeded 5,000" in found.text
    assert f"all {len(keys):,} partitions, 1912-01-01T00 to 2026-11-18T08" in found.text
    assert "1912-01-01T00 … 1912-12-31T23: 8,784 missing" in found.text


def test_hours_and_weeks_and_months(tmp_path: Path) -> None:
    shown = shop(
        tmp_path,
        made("h", 'hourly start="2026-11-16"')
        | made("w", 'weekly start="2025-01-01"')
        | made("m", 'monthly start="2025-01-01"')
        | made("q", 'quarterly start="2025-01-01"')
        | made("y", 'yearly start="1998-01-01"'),
    )
    for asset, key in {
        "h": "2026-11-17T05",
        "w": "2026-W53",
        "m": "2026-05",
        "q": "2026-Q2",
        "y": "2003",
    }.items():
        ended(shown, f"lake://main/{asset}", [key])
        found = read(shown[asset])
        assert f"{key}: succeeded" in found.text
        assert ": missing" in found.text
        assert len(shown[asset]._repr_html_()) < LARGEST


def test_hours_that_come_twice_share_a_square(tmp_path: Path) -> None:
    rule = 'hourly tz="Europe/Paris" format="%Y-%m-%dT%H%z" start="2026-10-25"'
    shown = shop(tmp_path, made("a", rule))
    ended(shown, "lake://main/a", ["2026-10-25T02+0200", "2026-10-25T02+0100"])
    assert "2026-10-25T02+0200 … 2026-10-25T02+0100: 2 succeeded" in read(shown["a"]).text


def test_static_keys_are_listed_also_those_that_nobody_tried(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'static keys="us,eu,jp"'))
    outcome: dict[str | None, Outcome] = {"us": "succeeded", "eu": "failed"}
    ended(shown, "lake://main/a", outcome, lambda key: outcome[key])
    found = read(shown["a"])
    assert "✗ failed 1 ○ missing 1 ✓ succeeded 1" in found.text
    assert "us ✓ succeeded 12 rows eu ✗ failed" in found.text
    assert "jp ○ missing" in found.text


def test_dynamic_keys_are_texts_and_not_listed_without_end(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'dynamic key="$.t"'))
    keys = [EVIL, "b" * 900, "\u202egnp.exe", *(f"t{number:04}" for number in range(2_000))]
    ended(shown, "lake://main/a", keys)
    found = read(shown["a"])
    assert EVIL in found.text
    assert "img" not in found.tags
    assert not any(key.startswith("on") for key, _ in found.attributes)
    assert "\u202e" not in found.text
    assert ("title", "b" * 900) in found.attributes
    assert "… and 1,973 more partitions" in found.text
    assert len(shown["a"]._repr_html_()) < LARGEST


def test_time_and_other_dimensions_are_a_table(tmp_path: Path) -> None:
    rule = 'day: daily start="2026-01-01" | region: static keys="us,eu"'
    shown = shop(tmp_path, made("a", rule))
    ended(shown, "lake://main/a", ["2026-11-17|us", "2026-11-16|eu"])
    found = read(shown["a"])
    assert "2026-11-17|us: succeeded" in found.text
    assert "2026-11-17|eu: missing" in found.text
    assert found.tags.count("title") == 2 * 62
    assert "2026-09-17" in found.text


def test_a_table_begins_with_the_first_key_that_is_known(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'day: daily | tenant: dynamic key="$.t"'))
    assert "It has no partition yet; tranche run a makes one." in read(shown["a"]).text
    ended(shown, "lake://main/a", ["2026-11-15|acme", "2026-11-17|<b>"])
    found = read(shown["a"])
    assert found.tags.count("title") == 2 * 3
    assert "2026-11-16|acme: missing" in found.text
    assert "b" not in found.tags


def test_of_very_many_other_values_keys_are_listed(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'day: daily | tenant: dynamic key="$.t"'))
    ended(shown, "lake://main/a", [f"2026-11-17|t{number}" for number in range(5_001)])
    found = read(shown["a"])
    assert "… and 4,971 more partitions" in found.text
    assert "svg" not in found.tags


def test_one_table_and_nothing_yet(tmp_path: Path) -> None:
    shown = shop(tmp_path, {"a": "-- materialize lake://main/a\nSELECT 1 AS id"})
    found = read(shown["a"])
    assert "partitioning: none, one table last run: none yet" in found.text
    assert "It has no partition yet; tranche run a makes one." in found.text
    assert shown["a"].status == {}
    ended(shown, "lake://main/a", [None])
    assert "✓ succeeded 12 rows" in read(shown["a"]).text


def test_without_a_first_key_nothing_is_there_until_a_run(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", "daily"))
    assert "It has no partition yet" in read(shown["a"]).text


def test_keys_of_a_rule_that_is_no_more_leave_the_header(tmp_path: Path) -> None:
    ended(shop(tmp_path, made("a", 'dynamic key="$.t"')), "lake://main/a", ["acme"])
    found = read(shop(tmp_path, made("a", "daily"))["a"])
    assert "lake://main/a ◐ stale made by: pipelines/a.sql" in found.text
    assert "✗ 'acme' is no daily key" in found.text


def test_a_table_that_no_script_makes_any_more(tmp_path: Path) -> None:
    ended(shop(tmp_path, made("a", 'static keys="us"')), "lake://main/a", ["us"])
    (tmp_path / "pipelines" / "a.sql").unlink()
    shown = shop(tmp_path, {})["lake://main/a"]
    assert "made by: no script of this project" in read(shown).text
    assert "us ✓ succeeded 12 rows" in read(shown).text
    assert repr(shown) == "asset 'lake://main/a'"


def test_headings_end_with_what_is_drawn(tmp_path: Path) -> None:
    shown = shop(tmp_path, made("a", 'monthly start="2026-01-01" end="2026-03-31"'))
    found = read(shown["a"])
    assert "Mar" in found.texts
    assert "Apr" not in found.texts


def test_a_script_that_has_changed_makes_days_stale(tmp_path: Path) -> None:
    shown = shop(tmp_path, {"a": f"{DAILY}-- materialize lake://main/a\nSELECT 1 AS id"})
    ended(shown, "lake://main/a", days("2026-11-01", 17), fingerprint="of then")
    found = read(shown["a"])
    assert "lake://main/a ◐ stale" in found.text
    assert "◐ stale 17" in found.text


def test_every_standing_has_a_sign_of_its_own() -> None:
    assert SIGNS.keys() == COLOURS.keys()
    assert SIGNS["failed"] != SIGNS["cancelled"] != SIGNS["stale"] != SIGNS["provisional"]


@pytest.mark.parametrize("colour", sorted(set(COLOURS.values())))
@pytest.mark.parametrize("back", ["#ffffff", "#111111"])
def test_colours_stand_out_from_light_and_dark(colour: str, back: str) -> None:
    dark, light = sorted((_light(colour), _light(back)))
    assert (light + 0.05) / (dark + 0.05) >= 3


def _light(colour: str) -> float:
    """The relative luminance, as WCAG has it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(p * share for p, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))
