"""Time zones: their names, and the second at which their offsets change."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tranche.errors import UnknownTimeZone
from tranche.model.partitioning_zone import (
    DAY,
    END,
    first_reach,
    highest_wall,
    segments,
    time_zone,
    to_datetime,
    to_instant,
)


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return to_instant(datetime(year, month, day, hour, minute, second, tzinfo=UTC))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("Europe/Pariss", "use 'Europe/Paris'"),
        ("europe/paris", "use 'Europe/Paris'"),
        ("America/New York", "use 'America/New_York'"),
        ("utc", "use 'UTC'"),
        ("tokyo", "use 'Asia/Tokyo'"),
        ("", "use an IANA name such as 'Europe/Paris'"),
        ("../../etc/passwd", "use an IANA name such as 'Europe/Paris'"),
        ("/usr/share/zoneinfo/UTC", "use an IANA name"),
        ("localtime", "use an IANA name"),
        ("right/Europe/Paris", "use 'Europe/Paris'"),
        ("UTC\0", "use 'UTC'"),
        ("+02:00", "use "),
        ("Europe/", "use "),
        ("Europe", "use "),
    ],
)
def test_a_name_that_is_not_in_the_database_is_unknown(name: str, remedy: str) -> None:
    with pytest.raises(UnknownTimeZone) as caught:
        time_zone(name)
    assert caught.value.what == f"unknown time zone {name!r}"
    assert caught.value.remedy is not None
    assert caught.value.remedy.startswith(remedy)


@pytest.mark.parametrize("name", [None, 3, ["UTC"], b"UTC", UTC])
def test_something_that_is_no_text_is_no_zone(name: object) -> None:
    with pytest.raises(UnknownTimeZone):
        time_zone(name)  # type: ignore[arg-type]


def test_offsets_change_at_the_second_the_law_says() -> None:
    year = segments("Europe/Paris", utc(2026, 1, 1), utc(2027, 1, 1))
    assert [(each.begin, each.offset) for each in year] == [
        (utc(2026, 1, 1), 3600),
        (utc(2026, 3, 29, 1), 7200),
        (utc(2026, 10, 25, 1), 3600),
    ]
    assert [each.end for each in year] == [*(each.begin for each in year[1:]), utc(2027, 1, 1)]


def test_local_mean_time_has_seconds() -> None:
    around = segments("Europe/Paris", utc(1911, 3, 10), utc(1911, 3, 12))
    assert [each.offset for each in around] == [561, 0]
    assert around[1].begin == utc(1911, 3, 10, 23, 50, 39)


def test_a_zone_with_one_offset_has_one_segment() -> None:
    assert segments("Etc/GMT+5", 0, END) == [(0, END, -5 * 3600)]


@pytest.mark.parametrize("tz", ["Africa/Freetown", "Asia/Gaza", "Africa/Casablanca", "UTC"])
@pytest.mark.parametrize("year", [1939, 2024])
def test_segments_agree_with_zoneinfo_every_quarter_of_an_hour(tz: str, year: int) -> None:
    zone = ZoneInfo(tz)
    since, until = utc(year, 1, 1), utc(year + 1, 1, 1)
    for begin, end, offset in segments(tz, since, until):
        first, last = to_datetime(begin, tz), to_datetime(end - 1, tz)
        assert first.utcoffset() == last.utcoffset() == timedelta(seconds=offset)
        assert begin == since or to_datetime(begin - 1, tz).utcoffset() != first.utcoffset()
        moment = datetime.min.replace(tzinfo=UTC) + timedelta(seconds=begin)
        while to_instant(moment) < end:
            assert moment.astimezone(zone).utcoffset() == first.utcoffset(), moment
            moment += timedelta(minutes=15)


def test_a_wall_that_is_skipped_is_reached_at_the_jump() -> None:
    half_past_two = utc(2026, 3, 29, 2, 30)
    assert first_reach("Europe/Paris", half_past_two) == utc(2026, 3, 29, 1)


def test_a_wall_that_comes_twice_is_reached_the_first_time() -> None:
    half_past_two = utc(2026, 10, 25, 2, 30)
    assert first_reach("Europe/Paris", half_past_two) == utc(2026, 10, 25, 0, 30)


def test_the_highest_wall_stands_still_while_a_clock_repeats_an_hour() -> None:
    before, after = utc(2026, 10, 25, 0, 59, 59), utc(2026, 10, 25, 1, 30)
    assert highest_wall("Europe/Paris", before) == utc(2026, 10, 25, 2, 59, 59)
    assert highest_wall("Europe/Paris", after) == utc(2026, 10, 25, 2, 59, 59)
    assert highest_wall("Europe/Paris", after + 1800) == utc(2026, 10, 25, 3)


def test_instants_count_from_year_1_and_drop_fractions() -> None:
    assert to_instant(datetime(1, 1, 2, 0, 0, 0, 999_999, tzinfo=UTC)) == DAY
    assert to_instant(datetime.max.replace(tzinfo=UTC)) == END - 1
    east = ZoneInfo("Asia/Tokyo")
    assert to_instant(datetime(1, 1, 1, tzinfo=east)) < 0, "before year 1 in UTC, and no overflow"


def test_a_naive_datetime_is_no_instant() -> None:
    with pytest.raises(ValueError, match="has no time zone; give an aware datetime"):
        to_instant(datetime(2026, 5, 1))


@pytest.mark.parametrize(
    "name", ["Europe/Paris", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo", "UTC"]
)
def test_offsets_far_away_are_those_of_the_zone(name: str) -> None:
    zone = ZoneInfo(name)
    for year in (2, 1582, 1799, 1800, 1801, 2399, 2400, 2401, 2799, 2800, 2803, 9998):
        for begin, end, offset in segments(name, utc(year, 1, 1), utc(year + 1, 1, 1)):
            for instant in (begin, (begin + end) // 2, end - 1):
                moment = datetime.min.replace(tzinfo=UTC) + timedelta(seconds=instant)
                assert moment.astimezone(zone).utcoffset() == timedelta(seconds=offset), moment


@pytest.mark.parametrize("name", ["America/Sao_Paulo", "Australia/Lord_Howe"])
def test_all_there_is_takes_no_looking_at_each_day(name: str) -> None:
    # Somebody writes 9999-12-31 for an end, or asks a server for it.
    began = time.process_time()
    assert segments(name, utc(1, 1, 3), END)
    assert time.process_time() - began < 4
