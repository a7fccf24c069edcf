"""Key ranges: which keys they hold, and that they behave like the list they do not build."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest

from tranche.errors import KeyRejected, PartitioningError
from tranche.model.partitioning import (
    Daily,
    Hourly,
    KeyRange,
    Monthly,
    Quarterly,
    TimePartitioning,
    Weekly,
    Yearly,
)

MAY = Daily(start="2026-05-01", end="2026-05-31")
WITH_OFFSET = "%dT%H%z %m.%Y"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("partitioning", "start", "end", "first", "last", "count"),
    [
        (Daily(), "2026-01-01", "2026-12-31", "2026-01-01", "2026-12-31", 365),
        (Daily(), date(2024, 1, 1), date(2024, 12, 31), "2024-01-01", "2024-12-31", 366),
        (Daily(tz="Pacific/Apia"), "2011-12-01", "2011-12-31", "2011-12-01", "2011-12-31", 30),
        (Daily(tz="Pacific/Apia"), "2011-12-01", "2011-12-30", "2011-12-01", "2011-12-29", 29),
        (Daily(format="%Y%m%d"), "20260501", "2026-05-03", "20260501", "20260503", 3),
        (Hourly(), "2026-05-01", "2026-05-01", "2026-05-01T00", "2026-05-01T23", 24),
        (Hourly(), "2026-05-01T05", "2026-05-02", "2026-05-01T05", "2026-05-02T23", 43),
        (Hourly(tz="Europe/Paris"), "2026-03-29", "2026-03-29", "2026-03-29T00", "2026-03-29T23",
         23),
        (Hourly(tz="Europe/Paris"), "2026-10-25", "2026-10-25", "2026-10-25T00", "2026-10-25T23",
         24),
        (Hourly(tz="Europe/Paris", format=WITH_OFFSET), "2026-10-25", "2026-10-25",
         "25T00+0200 10.2026", "25T23+0100 10.2026", 25),
        (Weekly(), "2026-01-01", "2026-12-31", "2026-W01", "2026-W53", 53),
        (Weekly(), "2026-W02", "2026-01-11", "2026-W02", "2026-W02", 1),
        (Monthly(), "2025-11-30", "2026-02-01", "2025-11", "2026-02", 4),
        (Quarterly(), "2025-Q4", "2026-06-30", "2025-Q4", "2026-Q2", 3),
        (Yearly(), "1900", "2099", "1900", "2099", 200),
        (Daily(), "9999-12-01", "9999-12-31", "9999-12-01", "9999-12-30", 30),
    ],
)  # fmt: skip
def test_a_range_goes_from_start_to_end(
    partitioning: TimePartitioning,
    start: str | date,
    end: str | date,
    first: str,
    last: str,
    count: int,
) -> None:
    keys = partitioning.keys(start, end)
    assert (keys[0], keys[-1], len(keys)) == (first, last, count)
    assert len(list(keys)) == count
    assert keys.warnings == ()


@pytest.mark.parametrize(
    ("options", "asked", "last"),
    [
        ({}, {"now": at("2026-05-10T00:00")}, "2026-05-09"),
        ({}, {"now": at("2026-05-09T23:59:59.999999")}, "2026-05-08"),
        ({"lag": 3}, {"now": at("2026-05-10T12:00")}, "2026-05-09"),
        ({"tz": "Asia/Tokyo"}, {"now": at("2026-05-09T15:00")}, "2026-05-09"),
        ({"end": "2026-05-05"}, {"now": at("2026-05-10T00:00")}, "2026-05-05"),
        ({"end": "2026-05-15"}, {"now": at("2026-05-10T00:00")}, "2026-05-09"),
        ({"end": "2026-05-15"}, {}, "2026-05-15"),
        ({}, {"end": "2026-05-20", "now": at("2026-05-10T00:00")}, "2026-05-20"),
    ],
)
def test_the_end_is_asked_for_or_the_last_complete_period(
    options: dict[str, object], asked: dict[str, object], last: str
) -> None:
    keys = Daily(start="2026-05-01", **options).keys(**asked)  # type: ignore[arg-type]
    assert keys[0] == "2026-05-01"
    assert keys[-1] == last


def test_before_the_first_period_is_over_there_is_no_key() -> None:
    days = Daily(start="2026-05-01")
    assert len(days.keys(now=at("2026-05-01T23:00"))) == 0
    assert len(days.keys(now=at("2020-01-01T00:00"))) == 0


@pytest.mark.parametrize(
    ("start", "end", "expected", "warnings"),
    [
        (None, None, 31, ()),
        ("2026-05-01", "2026-05-31", 31, ()),
        (
            "2026-04-30",
            "2026-05-02",
            2,
            ("start '2026-04-30' lies before the partitioning's start '2026-05-01'",),
        ),
        (
            "2026-05-30",
            date(2026, 6, 1),
            2,
            ("end '2026-06-01' lies after the partitioning's end '2026-05-31'",),
        ),
        (
            "2026-04-01",
            "2026-06-01",
            31,
            (
                "start '2026-04-01' lies before the partitioning's start '2026-05-01'",
                "end '2026-06-01' lies after the partitioning's end '2026-05-31'",
            ),
        ),
        (
            "2026-06-01",
            "2026-06-02",
            0,
            (
                "start '2026-06-01' lies after the partitioning's end '2026-05-31'",
                "end '2026-06-02' lies after the partitioning's end '2026-05-31'",
            ),
        ),
        (
            "2026-05-01",
            "2026-04-01",
            0,
            ("end '2026-04-01' lies before the partitioning's start '2026-05-01'",),
        ),
        ("2026-05-10", "2026-05-09", 0, ()),
    ],
)
def test_a_range_cannot_exceed_the_partitioning(
    start: str | None, end: str | date | None, expected: int, warnings: tuple[str, ...]
) -> None:
    keys = MAY.keys(start, end)
    assert len(keys) == expected
    assert keys.warnings == warnings
    assert keys[:1].warnings == warnings  # type: ignore[attr-defined]


def test_a_range_needs_a_start_and_an_end() -> None:
    with pytest.raises(PartitioningError) as caught:
        Daily().keys(end="2026-05-01")
    assert str(caught.value) == (
        "a daily partitioning without start has no first key; "
        'give it start="…", or ask for keys from a start'
    )
    with pytest.raises(PartitioningError) as caught:
        Daily(start="2026-05-01").keys()
    assert str(caught.value) == (
        "a daily partitioning without end has no last key; "
        "ask for keys up to an end, or give now to stop at the last complete one"
    )
    with pytest.raises(ValueError, match="give an aware datetime"):
        Daily(start="2026-05-01").keys(now=datetime(2026, 5, 1))


@pytest.mark.parametrize("bound", ["yesterday", "", "2026-02-30", 5, datetime(2026, 5, 1)])
def test_a_range_is_not_asked_from_something_else(bound: str) -> None:
    with pytest.raises(KeyRejected, match="is no daily key and no date; use one like '2026-05-01'"):
        Daily().keys(bound, "2026-05-01")
    with pytest.raises(KeyRejected, match="is no daily key and no date"):
        Daily().keys("2026-05-01", bound)


RANGES = {
    "days": MAY.keys(),
    "days around a skipped one": Daily(tz="Pacific/Apia").keys("2011-12-25", "2012-01-05"),
    "hours in spring": Hourly(tz="Europe/Paris").keys("2026-03-28", "2026-03-30"),
    "hours in autumn": Hourly(tz="Europe/Paris", format=WITH_OFFSET).keys(
        "2026-10-24", "2026-10-26"
    ),
    "weeks": Weekly().keys("2026-W50", "2027-W03"),
    "one": Daily().keys("2026-05-01", "2026-05-01"),
    "none": Daily().keys("2026-05-01", "2026-04-01"),
    "backwards": MAY.keys()[::-1],
}


@pytest.mark.parametrize("keys", RANGES.values(), ids=RANGES.keys())
def test_a_range_behaves_like_a_list(keys: Sequence[str]) -> None:
    listed = list(keys)
    assert len(keys) == len(listed) == len(set(listed))
    assert list(reversed(keys)) == listed[::-1]
    for i in range(-len(listed), len(listed)):
        assert keys[i] == listed[i]
    for outside in (len(listed), -len(listed) - 1):
        with pytest.raises(IndexError):
            keys[outside]
    places = [None, 0, 1, 3, len(listed) - 1, len(listed), 99, -1, -2, -len(listed), -99]
    for start in places:
        for stop in places:
            for step in (None, 1, -1, 2, -3):
                part = keys[start:stop:step]
                assert list(part) == listed[start:stop:step], (start, stop, step)
                assert isinstance(part, KeyRange) == (step in (None, 1, -1))
    for position, key in enumerate(listed):
        assert key in keys
        assert keys.index(key) == position
        assert keys.count(key) == 1
    for absent in ("2031-05-01", "2031-05-01T01", "2031-W01", "", None, 5, "nonsense"):
        assert absent not in keys
        assert keys.count(absent) == 0
        with pytest.raises(ValueError, match="is not in KeyRange"):
            keys.index(absent)


def test_ranges_are_equal_when_their_keys_are() -> None:
    whole = Daily().keys("2026-05-01", "2026-05-31")
    assert whole == MAY.keys()
    assert hash(whole) == hash(MAY.keys())
    assert whole == Daily(tz="Asia/Tokyo").keys("2026-05-01", "2026-05-31")
    assert whole[3:5] == Daily().keys("2026-05-04", "2026-05-05")
    assert whole[3:4] == whole[3:2:-1]
    assert whole[::-1] != whole
    assert whole[::-1][::-1] == whole
    assert whole[:-1] != whole
    assert whole != list(whole)
    assert whole[5:5] == Yearly().keys("2026", "2025")
    assert hash(whole[5:5]) == hash(Yearly().keys("2026", "2025"))
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_a_range_says_what_it_holds() -> None:
    assert repr(MAY.keys()) == "KeyRange('2026-05-01' … '2026-05-31', 31 keys)"
    assert repr(MAY.keys()[5:5]) == "KeyRange(no keys)"


def test_a_decade_of_hours_is_counted_not_listed() -> None:
    began = time.perf_counter()
    utc = Hourly(start="2016-01-01").keys(end="2025-12-31")
    paris = Hourly(tz="Europe/Paris", start="2016-01-01").keys(end="2025-12-31")
    assert len(utc) == (datetime(2026, 1, 1) - datetime(2016, 1, 1)).days * 24
    assert len(paris) == len(utc) - 10, "an hour skipped each year, one repeated under one key"
    assert paris[50_000] in paris
    assert len(paris[100:-100]) == len(paris) - 200
    # Listing takes half a second; this takes some 20 ms on a slow machine.
    assert time.perf_counter() - began < 0.2
