"""Calendar cases with names: each window as the people who lived there would write it down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tranche.errors import KeyRejected
from tranche.model.partitioning import (
    Daily,
    Hourly,
    Monthly,
    Quarterly,
    TimePartitioning,
    Weekly,
    Yearly,
)

WITH_OFFSET = "%Y-%m-%dT%H%z"


@pytest.mark.parametrize(
    ("partitioning", "key", "start", "end"),
    [
        pytest.param(Daily(), "2026-05-01", "2026-05-01T00:00", "2026-05-02T00:00", id="UTC day"),
        pytest.param(
            Daily(tz="Europe/Paris"), "2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00",
            id="23 hours",
        ),
        pytest.param(
            Daily(tz="Europe/Paris"), "2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00",
            id="25 hours",
        ),
        pytest.param(
            Hourly(tz="Europe/Paris"), "2026-10-25T02", "2026-10-25T00:00", "2026-10-25T02:00",
            id="a repeated hour is one key",
        ),
        pytest.param(
            Hourly(tz="Europe/Paris", format=WITH_OFFSET), "2026-10-25T02+0200",
            "2026-10-25T00:00", "2026-10-25T01:00", id="or two with %z, the first",
        ),
        pytest.param(
            Hourly(tz="Europe/Paris", format=WITH_OFFSET), "2026-10-25T02+0100",
            "2026-10-25T01:00", "2026-10-25T02:00", id="or two with %z, the second",
        ),
        pytest.param(
            Hourly(tz="Australia/Lord_Howe"), "2026-04-05T01", "2026-04-04T14:00",
            "2026-04-04T15:30", id="half an hour comes twice on Lord Howe",
        ),
        pytest.param(
            Hourly(tz="Australia/Lord_Howe"), "2026-10-04T02", "2026-10-03T15:30",
            "2026-10-03T16:00", id="half an hour is skipped on Lord Howe",
        ),
        pytest.param(
            Hourly(tz="Australia/Lord_Howe", format=WITH_OFFSET), "2026-04-05T01+1030",
            "2026-04-04T15:00", "2026-04-04T15:30", id="and is a key of its own with %z",
        ),
        pytest.param(
            Daily(tz="Pacific/Apia"), "2011-12-29", "2011-12-29T10:00", "2011-12-30T10:00",
            id="Samoa before the day it skipped",
        ),
        pytest.param(
            Daily(tz="Pacific/Apia"), "2011-12-31", "2011-12-30T10:00", "2011-12-31T10:00",
            id="Samoa after the day it skipped",
        ),
        pytest.param(
            Weekly(tz="Pacific/Apia"), "2011-W52", "2011-12-26T10:00", "2012-01-01T10:00",
            id="a week of six days",
        ),
        pytest.param(
            Daily(tz="Pacific/Kwajalein"), "1993-08-20", "1993-08-20T12:00", "1993-08-21T12:00",
            id="Kwajalein before the day it skipped",
        ),
        pytest.param(
            Daily(tz="America/St_Johns"), "1995-10-28", "1995-10-28T02:30", "1995-10-29T02:30",
            id="clocks go back over midnight: the day ended at its first midnight",
        ),
        pytest.param(
            Daily(tz="America/St_Johns"), "1995-10-29", "1995-10-29T02:30", "1995-10-30T03:30",
            id="clocks go back over midnight: what is repeated belongs to the new day",
        ),
        pytest.param(
            Hourly(tz="America/St_Johns"), "1995-10-29T00", "1995-10-29T02:30",
            "1995-10-29T04:30", id="clocks go back over midnight: one hour of two",
        ),
        pytest.param(
            Daily(tz="America/Havana"), "2026-03-08", "2026-03-08T05:00", "2026-03-09T04:00",
            id="a day without midnight begins at one",
        ),
        pytest.param(
            Daily(tz="Asia/Beirut"), "2026-10-24", "2026-10-23T21:00", "2026-10-24T22:00",
            id="clocks go back at midnight: the day has not ended yet",
        ),
        pytest.param(
            Hourly(tz="Antarctica/Troll"), "2026-10-25T02", "2026-10-25T00:00",
            "2026-10-25T03:00", id="clocks go back by two hours",
        ),
        pytest.param(
            Hourly(tz="Asia/Kathmandu"), "2026-05-01T00", "2026-04-30T18:15", "2026-04-30T19:15",
            id="an offset of 5:45",
        ),
        pytest.param(
            Weekly(), "2026-W53", "2026-12-28T00:00", "2027-01-04T00:00", id="week 53",
        ),
        pytest.param(
            Weekly(format="%Y-%m-%d (W%V)"), "2026-03-16 (W12)", "2026-03-16T00:00",
            "2026-03-23T00:00", id="a week named by its Monday",
        ),
        pytest.param(
            Monthly(tz="America/New_York"), "2024-02", "2024-02-01T05:00", "2024-03-01T05:00",
            id="February of a leap year",
        ),
        pytest.param(
            Monthly(tz="Europe/Paris"), "2026-03", "2026-02-28T23:00", "2026-03-31T22:00",
            id="a month whose offset changes",
        ),
        pytest.param(
            Quarterly(), "2026-Q4", "2026-10-01T00:00", "2027-01-01T00:00", id="last quarter",
        ),
        pytest.param(
            Yearly(tz="Asia/Tokyo"), "2024", "2023-12-31T15:00", "2024-12-31T15:00", id="a year",
        ),
    ],
)  # fmt: skip
def test_window(partitioning: TimePartitioning, key: str, start: str, end: str) -> None:
    window = partitioning.window(key)
    first, after = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    assert (window.start_utc, window.end_utc) == (first, after)
    assert window.duration == after - first
    assert partitioning.ordinal(key) == first
    assert str(window.start.tzinfo) == partitioning.tz

    instant = timedelta(microseconds=1)
    assert partitioning.key_at(first) == partitioning.key_at(after - instant) == key
    assert partitioning.key_at(first - instant) == partitioning.previous(key) != key
    assert partitioning.key_at(after) == partitioning.next(key) != key
    for minutes in range(0, min(window.duration, timedelta(days=2)) // timedelta(minutes=1), 7):
        inside = first + timedelta(minutes=minutes)
        assert partitioning.key_at(inside) == key, inside
        assert inside in window
    assert first in window
    assert after - instant in window
    assert after not in window
    assert first - instant not in window


@pytest.mark.parametrize(
    ("partitioning", "key", "reason", "remedy"),
    [
        (
            Hourly(tz="Europe/Paris"),
            "2026-03-29T02",
            "the clocks of Europe/Paris skip it",
            "use '2026-03-29T01' or '2026-03-29T03'",
        ),
        (
            Daily(tz="Pacific/Apia"),
            "2011-12-30",
            "the clocks of Pacific/Apia skip it",
            "use '2011-12-29' or '2011-12-31'",
        ),
        (
            Daily(tz="Pacific/Kwajalein"),
            "1993-08-21",
            "the clocks of Pacific/Kwajalein skip it",
            "use '1993-08-20' or '1993-08-22'",
        ),
        (
            Hourly(tz="Antarctica/Troll"),
            "2026-03-29T01",
            "the clocks of Antarctica/Troll skip it",
            "use '2026-03-29T00' or '2026-03-29T03'",
        ),
        (
            Hourly(tz="Europe/Paris", format=WITH_OFFSET),
            "2026-07-01T10+0100",
            "the clocks of Europe/Paris have another offset then",
            "use '2026-07-01T10+0200'",
        ),
        (
            Hourly(tz="Europe/Paris", format=WITH_OFFSET),
            "2026-03-29T02+0100",
            "the clocks of Europe/Paris have another offset then",
            "use '2026-03-29T03+0200'",
        ),
    ],
)
def test_what_the_clocks_skip_is_no_key(
    partitioning: TimePartitioning, key: str, reason: str, remedy: str
) -> None:
    with pytest.raises(KeyRejected) as caught:
        partitioning.validate(key)
    assert str(caught.value) == f"{key!r} is no {partitioning.kind} key: {reason}; {remedy}"


def test_a_window_knows_which_of_two_equal_wall_times_it_means() -> None:
    hours = Hourly(tz="Europe/Paris", format=WITH_OFFSET)
    first, second = (hours.window(f"2026-10-25T02{offset}") for offset in ("+0200", "+0100"))
    assert first.start.replace(tzinfo=None) == second.start.replace(tzinfo=None)
    assert (first.start.fold, second.start.fold) == (0, 1)
    assert first.end.fold == 1
    assert first != second
    assert first.end_utc == second.start_utc
    assert second.start not in first
    assert second.start in second


def test_windows_are_equal_when_their_instants_are() -> None:
    assert Daily(tz="Etc/GMT").window("2026-05-01") == Daily().window("2026-05-01")
    assert len({Daily(tz="Etc/GMT").window("2026-05-01"), Daily().window("2026-05-01")}) == 1
    assert Daily(tz="Asia/Tokyo").window("2026-05-01") != Daily().window("2026-05-01")
    assert Daily().window("2026-05-01") != "2026-05-01"


def test_a_naive_datetime_belongs_to_no_window() -> None:
    with pytest.raises(ValueError, match="give an aware datetime"):
        _ = datetime(2026, 5, 1) in Daily().window("2026-05-01")
    with pytest.raises(ValueError, match="give an aware datetime"):
        Daily().key_at(datetime(2026, 5, 1))


@pytest.mark.parametrize(
    ("partitioning", "first", "last"),
    [
        (Daily(), "0001-01-01", "9999-12-30"),
        (Daily(tz="Asia/Tokyo"), "0001-01-02", "9999-12-30"),
        (Daily(tz="America/New_York"), "0001-01-01", "9999-12-30"),
        (Hourly(), "0001-01-01T00", "9999-12-31T22"),
        (Hourly(tz="Asia/Tokyo"), "0001-01-01T10", "9999-12-31T22"),
        (Hourly(tz="America/New_York"), "0001-01-01T00", "9999-12-31T17"),
        (Weekly(), "0001-W01", "9999-W51"),
        (Monthly(tz="America/New_York"), "0001-01", "9999-11"),
        (Yearly(tz="Asia/Tokyo"), "0002", "9998"),
        (Yearly(), "0001", "9998"),
    ],
)
def test_the_calendar_ends_where_datetimes_do(
    partitioning: TimePartitioning, first: str, last: str
) -> None:
    assert partitioning.window(first).duration > timedelta(0)
    assert partitioning.window(last).duration > timedelta(0)
    with pytest.raises(KeyRejected, match=f"no {partitioning.kind} key comes 1 before '{first}'"):
        partitioning.previous(first)
    with pytest.raises(KeyRejected, match=f"no {partitioning.kind} key comes 1 after '{last}'"):
        partitioning.next(last)
    assert partitioning.key_at(datetime.max.replace(tzinfo=UTC)) is None
    assert partitioning.previous(partitioning.next(first)) == first
    assert partitioning.next(partitioning.previous(last)) == last
