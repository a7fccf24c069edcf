"""Time kinds: options, keys, and the ranges they are asked for."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, date, datetime

import pytest

from tranche.errors import BadBound, BadFormat, KeyRejected, PartitioningError, UnknownTimeZone
from tranche.model.partitioning import (
    Daily,
    Hourly,
    Monthly,
    Quarterly,
    TimePartitioning,
    Weekly,
    Yearly,
)

KINDS: list[type[TimePartitioning]] = [Hourly, Daily, Weekly, Monthly, Quarterly, Yearly]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("partitioning", "kind", "example", "label"),
    [
        (Hourly(), "hourly", "2026-05-01T00", datetime(2026, 5, 1)),
        (Daily(), "daily", "2026-05-01", datetime(2026, 5, 1)),
        (Weekly(), "weekly", "2026-W18", datetime(2026, 4, 27)),
        (Monthly(), "monthly", "2026-05", datetime(2026, 5, 1)),
        (Quarterly(), "quarterly", "2026-Q2", datetime(2026, 4, 1)),
        (Yearly(), "yearly", "2026", datetime(2026, 1, 1)),
        (
            Hourly(tz="Asia/Kolkata", format="%Y%m%dT%H%z"),
            "hourly",
            "20260501T00+0530",
            datetime(2026, 5, 1),
        ),
    ],
)
def test_each_kind_has_its_keys(
    partitioning: TimePartitioning, kind: str, example: str, label: datetime
) -> None:
    assert partitioning.kind == kind
    assert partitioning.example() == example
    assert partitioning.parse(example) == label
    assert partitioning.validate(example) is example


@pytest.mark.parametrize(
    ("partitioning", "key", "message"),
    [
        (Daily(), "2026-5-1", "'2026-5-1' is no daily key; its keys look like '2026-05-01'"),
        (Daily(), "2026-02-30", "'2026-02-30' is no daily key; its keys look like '2026-05-01'"),
        (Weekly(), "2025-W53", "'2025-W53' is no weekly key; its keys look like '2026-W18'"),
        (Daily(), "", "'' is no daily key: it is empty; its keys look like '2026-05-01'"),
        (Daily(), None, "None is no daily key: a key is text; its keys look like '2026-05-01'"),
        (
            Daily(),
            date(2026, 5, 1),
            "datetime.date(2026, 5, 1) is no daily key: a key is text; "
            "its keys look like '2026-05-01'",
        ),
        (
            Daily(),
            "9999-12-31",
            "'9999-12-31' is no daily key: its window leaves the years 1 to 9999; "
            "its keys look like '2026-05-01'",
        ),
    ],
)
@pytest.mark.parametrize(
    "action", ["validate", "parse", "window", "ordinal", "next", "previous", "before_start"]
)
def test_what_is_no_key_is_rejected_with_one(
    partitioning: TimePartitioning, key: str, message: str, action: str
) -> None:
    with pytest.raises(KeyRejected) as caught:
        getattr(partitioning, action)(key)
    assert str(caught.value) == message


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(KeyRejected) as caught:
        Daily().validate("x" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"tz": "Europe/Pari"},
            UnknownTimeZone,
            "unknown time zone 'Europe/Pari'; use 'Europe/Paris'",
        ),
        (
            {"format": "%Y"},
            BadFormat,
            "format '%Y' does not identify a day: %j is missing; a daily ",
        ),
        ({"format": 5}, BadFormat, "format 5 is no text; use '%Y-%m-%d' or the like"),
        (
            {"start": "2026-13-01"},
            BadBound,
            "start '2026-13-01' is no daily key and no date; use one like '2026-05-01'",
        ),
        (
            {"end": "tomorrow", "format": "%Y%m%d"},
            BadBound,
            "end 'tomorrow' is no daily key and no date; use one like '2026-05-01' or '20260501'",
        ),
        ({"start": ""}, BadBound, "start '' is no daily key and no date; "),
        ({"start": 2026}, BadBound, "start 2026 is no daily key and no date; "),
        ({"start": datetime(2026, 5, 1)}, BadBound, "start datetime.datetime(2026, 5, 1, 0, 0) is"),
        (
            {"start": "2026-02-01", "end": "2026-01-31"},
            BadBound,
            "end '2026-01-31' lies before start '2026-02-01'; swap them, or leave one out",
        ),
        (
            {"start": "2026-02-01", "format": "%Y-%d-%m"},
            BadBound,
            "start '2026-02-01' is a date, and as a daily key it means another one; "
            "change the format '%Y-%d-%m', whose keys look like dates",
        ),
        ({"lag": -1}, PartitioningError, "lag -1 is no number of keys; use 0 or a whole number"),
        ({"lag": 1.5}, PartitioningError, "lag 1.5 is no number of keys; "),
        ({"lookback": True}, PartitioningError, "lookback True is no number of keys; "),
        ({"lookback": "2"}, PartitioningError, "lookback '2' is no number of keys; "),
        (
            {"gaps": "skip"},
            PartitioningError,
            "unknown gaps 'skip'; use gaps=collect, or leave it out",
        ),
    ],
)
def test_options_that_make_no_sense_are_explained(
    options: dict[str, object], error: type[PartitioningError], message: str
) -> None:
    with pytest.raises(PartitioningError) as caught:
        Daily(**options)  # type: ignore[arg-type]
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)
    assert caught.value.remedy


def test_a_bound_that_the_clocks_skip_is_no_key() -> None:
    with pytest.raises(BadBound, match=r"start '2026-03-29T02' is no hourly key: .* skip it; use"):
        Hourly(tz="Europe/Paris", start="2026-03-29T02")


@pytest.mark.parametrize(
    ("partitioning", "text"),
    [
        (Daily(), "daily"),
        (
            Daily(tz="Europe/Paris", start="2026-01-01"),
            'daily tz="Europe/Paris" start="2026-01-01"',
        ),
        (Daily(format="%Y-%m-%d"), "daily"),
        (Monthly(start=date(2026, 1, 15)), 'monthly start="2026-01-15"'),
        (
            Weekly(end="2026-W20", lag=1, lookback=2, gaps="collect"),
            'weekly end="2026-W20" lag="1" lookback="2" gaps="collect"',
        ),
        (Yearly(format=r'"\%Y"'.replace("\\%", "\\\\%")), r'yearly format="\"\\\\%Y\""'),
    ],
)
def test_a_partitioning_can_be_written_as_an_annotation(
    partitioning: TimePartitioning, text: str
) -> None:
    assert partitioning.describe() == text


def test_partitionings_are_values() -> None:
    one = Daily(tz="Europe/Paris", start=date(2026, 1, 1))
    assert one == Daily(tz="Europe/Paris", start="2026-01-01")
    assert hash(one) == hash(Daily(tz="Europe/Paris", start="2026-01-01"))
    assert one != replace(one, lag=1)
    assert len({kind() for kind in KINDS}) == len(KINDS), "another kind is another value"
    for kind in KINDS:
        value = kind(tz="Asia/Tokyo", lookback=3)
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
        assert repr(value).startswith(f"{kind.__name__}(tz='Asia/Tokyo'")
        assert not hasattr(value, "__dict__")
    with pytest.raises(FrozenInstanceError):
        one.tz = "UTC"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Daily("UTC")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="use Daily, Hourly or another one"):
        TimePartitioning()


@pytest.mark.parametrize(
    ("start", "end", "instant", "key"),
    [
        (None, None, "2026-05-01T22:30", "2026-05-02"),
        ("2026-05-02", None, "2026-05-01T21:59:59.999999", None),
        ("2026-05-02", None, "2026-05-01T22:00", "2026-05-02"),
        (None, "2026-05-02", "2026-05-02T21:59:59.999999", "2026-05-02"),
        (None, "2026-05-02", "2026-05-02T22:00", None),
    ],
)
def test_an_instant_has_a_key_between_start_and_end(
    start: str | None, end: str | None, instant: str, key: str | None
) -> None:
    assert Daily(tz="Europe/Paris", start=start, end=end).key_at(at(instant)) == key


@pytest.mark.parametrize(
    ("partitioning", "before", "first"),
    [
        (Daily(start="2026-05-02"), "2026-05-01", "2026-05-02"),
        (Hourly(tz="Europe/Paris", start="2026-05-02"), "2026-05-01T23", "2026-05-02T00"),
        (Hourly(start="2026-05-02T07"), "2026-05-02T06", "2026-05-02T07"),
        (Hourly(tz="America/Havana", start="2026-03-08"), "2026-03-07T23", "2026-03-08T01"),
        (Weekly(start="2026-05-01"), "2026-W17", "2026-W18"),
        (Monthly(start="2026-05-31"), "2026-04", "2026-05"),
        (Monthly(start="2026-05"), "2026-04", "2026-05"),
        (Quarterly(start="2026-05-31"), "2026-Q1", "2026-Q2"),
        (Yearly(start="2026-05-31"), "2025", "2026"),
        (Daily(tz="Pacific/Apia", start="2011-12-30"), "2011-12-29", "2011-12-31"),
        (Daily(format="%d.%m.%Y", start="2026-05-02"), "01.05.2026", "02.05.2026"),
        (Daily(format="%d.%m.%Y", start="02.05.2026"), "01.05.2026", "02.05.2026"),
    ],
)
def test_a_start_is_the_period_that_holds_it(
    partitioning: TimePartitioning, before: str, first: str
) -> None:
    assert partitioning.before_start(before)
    assert not partitioning.before_start(first)
    assert partitioning.next(before) == first, "bounds do not limit the neighbours of a key"
    assert partitioning.keys(now=at("2030-01-01T00:00"))[0] == first


def test_without_start_no_key_lies_before_it() -> None:
    assert not Daily().before_start("0001-01-01")


@pytest.mark.parametrize(
    ("partitioning", "key", "by", "shifted"),
    [
        (Daily(), "2026-05-01", 0, "2026-05-01"),
        (Daily(), "2026-05-01", 365, "2027-05-01"),
        (Daily(), "2026-05-01", -365, "2025-05-01"),
        (Daily(tz="Pacific/Apia"), "2011-12-29", 2, "2012-01-01"),
        (Daily(tz="Pacific/Apia"), "2012-01-01", -2, "2011-12-29"),
        (Hourly(tz="Europe/Paris"), "2026-03-29T01", 1, "2026-03-29T03"),
        (Hourly(tz="Europe/Paris"), "2026-10-25T03", -1, "2026-10-25T02"),
        (Hourly(tz="Europe/Paris", format="%Y-%m-%dT%H%z"), "2026-10-25T03+0100", -2,
         "2026-10-25T02+0200"),
        (Weekly(), "2026-W52", 2, "2027-W01"),
        (Monthly(), "2026-12", 1, "2027-01"),
        (Monthly(), "2026-01", -120, "2016-01"),
        (Quarterly(), "2026-Q4", 1, "2027-Q1"),
        (Yearly(), "2026", -2025, "0001"),
    ],
)  # fmt: skip
def test_shift(partitioning: TimePartitioning, key: str, by: int, shifted: str) -> None:
    assert partitioning.shift(key, by) == shifted


def test_a_shift_over_decades_skips_each_hour_that_the_clocks_did() -> None:
    hours = Hourly(tz="Europe/Paris")
    keys = hours.keys("1980-01-01", "2059-12-31")
    assert hours.shift(keys[0], 600_000) == keys[600_000]
    assert hours.shift(keys[-1], -600_000) == keys[-600_001]


def test_nothing_comes_after_the_calendar() -> None:
    with pytest.raises(
        KeyRejected, match="no yearly key comes 8000 after '2026'; the calendar has"
    ):
        Yearly().shift("2026", 8000)
