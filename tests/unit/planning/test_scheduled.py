"""Which keys the runs of a schedule cover."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.model.partitioning import Daily, Hourly, Monthly, TimePartitioning, Weekly
from tranche.model.trigger import OnSchedule
from tranche.planning.scheduled import Schedule
from tranche.script.schedules import moved

WEEKDAYS = "0 6 * * 1-5"


def schedule(rule: TimePartitioning, cron: str | None = WEEKDAYS, **options: object) -> Schedule:
    return Schedule(rule, OnSchedule(cron, **options), moved)  # type: ignore[arg-type]


def fires(found: Schedule, start: datetime, end: datetime) -> list[datetime]:
    times = []
    at = found.moved(start - timedelta(microseconds=1), 1)
    while at < end:
        times.append(at)
        at = found.moved(at, 1)
    return times


@pytest.mark.parametrize(
    ("rule", "cron", "fire", "keys"),
    [
        pytest.param(
            Daily(gaps="collect"),
            WEEKDAYS,
            "2026-11-16T06:00Z",
            ["2026-11-14", "2026-11-15", "2026-11-16"],
            id="Monday has Saturday and Sunday",
        ),
        pytest.param(
            Daily(gaps="collect", lag=1),
            WEEKDAYS,
            "2026-11-16T06:00Z",
            ["2026-11-13", "2026-11-14", "2026-11-15"],
            id="of yesterday: Monday has Friday too, which no other fire was for",
        ),
        pytest.param(
            Daily(gaps="collect", lag=1),
            WEEKDAYS,
            "2026-11-17T06:00Z",
            ["2026-11-16"],
            id="Tuesday",
        ),
        pytest.param(Daily(lag=1), WEEKDAYS, "2026-11-16T06:00Z", ["2026-11-15"], id="no gaps"),
        pytest.param(
            Daily(gaps="collect", lookback=3),
            WEEKDAYS,
            "2026-11-16T06:00Z",
            ["2026-11-13", "2026-11-14", "2026-11-15", "2026-11-16"],
            id="it looks back from the key of the fire",
        ),
        pytest.param(
            Daily(gaps="collect", start="2026-11-15"),
            WEEKDAYS,
            "2026-11-16T06:00Z",
            ["2026-11-15", "2026-11-16"],
            id="never before the start",
        ),
        pytest.param(
            Weekly(gaps="collect", lag=1),
            "0 6 1 * *",
            "2026-11-01T06:00Z",
            ["2026-W40", "2026-W41", "2026-W42", "2026-W43"],
            id="weeks, once a month",
        ),
        pytest.param(
            Monthly(gaps="collect"), WEEKDAYS, "2026-11-16T06:00Z", ["2026-11"], id="same month"
        ),
        pytest.param(
            Hourly(gaps="collect", lag=1, tz="America/New_York"),
            "0 3 * * *",
            "2026-11-02T08:00Z",
            [
                *(f"2026-11-01T{hour:02}" for hour in range(3, 24)),
                *("2026-11-02T00", "2026-11-02T01", "2026-11-02T02"),
            ],
            id="hours of a day",
        ),
    ],
)
def test_the_keys_of_a_fire(rule: TimePartitioning, cron: str, fire: str, keys: list[str]) -> None:
    at = datetime.fromisoformat(fire.replace("Z", "+00:00"))
    assert schedule(rule, cron, tz=rule.tz).keys(at) == keys


def test_exact_leaves_lookback_and_gaps_out() -> None:
    found = schedule(Daily(gaps="collect", lag=1, lookback=2))
    assert found.keys(datetime(2026, 11, 16, 6, tzinfo=UTC), exact=True) == ["2026-11-15"]


def test_an_offset_counts_fires() -> None:
    found = schedule(Daily(gaps="collect"), offset=-1)
    # Monday's run is for Friday's, and Tuesday's for Monday's, with the weekend.
    assert found.keys(datetime(2026, 11, 16, 6, tzinfo=UTC)) == ["2026-11-13"]
    assert found.keys(datetime(2026, 11, 17, 6, tzinfo=UTC))[-1] == "2026-11-16"
    assert len(found.keys(datetime(2026, 11, 17, 6, tzinfo=UTC))) == 3


def test_without_a_cron_each_period_begins_with_a_fire() -> None:
    found = schedule(Daily(lag=1, gaps="collect", tz="Europe/Paris"), cron=None)
    (first, second) = fires(
        found, datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)
    )
    assert [str(first), str(second)] == ["2026-03-28 23:00:00+00:00", "2026-03-29 22:00:00+00:00"]
    assert found.keys(second) == ["2026-03-29"]


@settings(max_examples=25, deadline=None)
@given(
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]),
    cron=st.sampled_from(
        [WEEKDAYS, "30 2 * * *", "0 0 * * 1", "15 */7 * * *", "0 12 1,15 * *", "0 6,18 * * 2-4"]
    ),
    kind=st.sampled_from([Daily, Weekly, Monthly]),
    lag=st.integers(0, 3),
    offset=st.integers(-2, 0),
    day=st.dates(date(2025, 1, 1), date(2027, 12, 1)),
)
def test_every_key_is_in_a_run_and_none_is_forgotten(
    zone: str, cron: str, kind: type[TimePartitioning], lag: int, offset: int, day: date
) -> None:
    rule = kind(tz=zone, lag=lag, gaps="collect")
    found = schedule(rule, cron, tz=zone, offset=offset)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    times = fires(found, start, start + timedelta(days=35))
    covered = [key for at in times for key in found.keys(at)]
    first, last = found.key(times[0]), found.key(times[-1])
    expected = list(rule.keys(start=first, end=last))
    # Fires within one period are all for that period; every other key comes once.
    several = {found.key(at) for at in times}
    since = [key for key in covered if rule.ordinal(key) >= rule.ordinal(first)]
    assert list(dict.fromkeys(since)) == expected
    assert all(covered.count(key) == 1 for key in expected if key not in several)


def test_keys_are_given_to_the_fires_that_were_for_them() -> None:
    rule = Daily(lag=1, gaps="collect", tz="Europe/Berlin", start="2026-10-01")
    keys = list(rule.keys(start="2026-10-12", end="2026-11-08"))
    found = schedule(rule, tz="Europe/Berlin").fires_for(keys)
    assert [key for fire in found for key in fire.keys] == keys
    assert {fire.at.weekday() for fire in found} == {0, 1, 2, 3, 4}
    assert all(len(fire.keys) == (3 if fire.at.weekday() == 0 else 1) for fire in found)
    # Without gaps nobody is for the days before Saturday and Sunday.
    lone = schedule(Daily(lag=1, tz="Europe/Berlin"), tz="Europe/Berlin").fires_for(keys)
    assert len([key for fire in lone for key in fire.keys]) == 20
