"""Keys that are counted and not listed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from tranche.model.partitioning import Daily, Hourly
from tranche.planning.grid import Standing
from tranche.planning.tally import Span, tallies
from tranche.ports import StateReader

from .test_catchup import Ledger

MOST: dict[Span, int] = {"day": 10, "month": 24, "year": 5}
ASSET = "lake://main/back"


def counts(
    rule: Daily | Hourly, store: StateReader, last: str
) -> tuple[Span, dict[tuple[str, str], Mapping[Standing, int]]]:
    span, found = tallies(rule, ASSET, store, last=last, most=MOST)
    return span, {(each.first, each.last): each.counts for each in found}


def test_few_days_are_counted_by_day_and_exactly() -> None:
    store = Ledger()
    store.ended("back", "2026-03-29T05", ordinal=datetime(2026, 3, 29, 3, tzinfo=UTC), asset=ASSET)
    hours = Hourly(tz="Europe/Paris", start="2026-03-28")
    assert counts(hours, store, "2026-03-30T11") == (
        "day",
        {
            ("2026-03-28T00", "2026-03-28T23"): {"missing": 24},
            ("2026-03-29T00", "2026-03-29T23"): {"succeeded": 1, "missing": 22},
            ("2026-03-30T00", "2026-03-30T11"): {"missing": 12},
        },
    )


def test_more_are_counted_by_month() -> None:
    store = Ledger()
    store.ended("back", "2026-01-15", asset=ASSET)
    store.ended("back", "2026-02-15", "failed", asset=ASSET)
    store.ended("back", "2026-04-01", asset=ASSET)
    span, found = counts(Daily(start="2026-01-10"), store, "2026-03-05")
    assert span == "month"
    assert found == {
        ("2026-01-10", "2026-01-31"): {"succeeded": 1, "missing": 21},
        ("2026-02-01", "2026-02-28"): {"failed": 1, "missing": 27},
        ("2026-03-01", "2026-03-05"): {"missing": 5},
    }


def test_of_very_many_years_the_latest() -> None:
    span, found = counts(Daily(start="1900-01-01"), Ledger(), "2026-11-17")
    assert span == "year"
    assert list(found) == [
        *((f"{year}-01-01", f"{year}-12-31") for year in range(2022, 2026)),
        ("2026-01-01", "2026-11-17"),
    ]


def test_without_a_start_from_the_first_that_is_known() -> None:
    store = Ledger()
    store.ended("back", "2026-11-16", asset=ASSET)
    assert counts(Daily(), store, "2026-11-17")[1] == {
        ("2026-11-16", "2026-11-16"): {"succeeded": 1},
        ("2026-11-17", "2026-11-17"): {"missing": 1},
    }
