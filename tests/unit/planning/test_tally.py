"""Keys that are counted and not listed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tranche.model.partitioning import Daily, Hourly
from tranche.model.run import Outcome
from tranche.planning.grid import Standing
from tranche.planning.tally import Span, tallies
from tranche.ports import StateReader

from .test_catchup import Ledger

MOST: dict[Span, int] = {"day": 10, "month": 24, "year": 5}
ASSET = "lake://main/back"


class Listening(Ledger):
    """A ledger that knows how many keys somebody has had listed."""

    listed = 0

    def statuses(self, asset: str, **wanted: Any) -> dict[str, Outcome]:
        found = super().statuses(asset, **wanted)
        self.listed += len(found)
        return found


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


def test_months_that_are_whole_are_not_read_key_by_key() -> None:
    store = Listening()
    for day in range(1, 31):
        store.ended("back", f"2026-04-{day:02}", asset=ASSET)
    store.ended("back", "2026-05-02", asset=ASSET)
    _, found = counts(Daily(start="2026-04-01"), store, "2026-05-31")
    assert found == {
        ("2026-04-01", "2026-04-30"): {"succeeded": 30},
        ("2026-05-01", "2026-05-31"): {"succeeded": 1, "missing": 30},
    }
    # The ledger has told numbers: as many as there are days between the first and the last.
    assert store.listed == 0


def test_keys_of_a_partitioning_of_former_times_do_not_count() -> None:
    store = Ledger()
    store.ended("back", "2026-11-16T05", ordinal=datetime(2026, 11, 16, 5, tzinfo=UTC), asset=ASSET)
    assert counts(Daily(start="2026-11-16"), store, "2026-11-17")[1] == {
        ("2026-11-16", "2026-11-16"): {"missing": 1},
        ("2026-11-17", "2026-11-17"): {"missing": 1},
    }
