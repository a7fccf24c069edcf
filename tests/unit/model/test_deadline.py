"""Deadlines: the first moment with a time of day, once a key's window is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.model.deadline import deadline
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dynamic,
    Hourly,
    Monthly,
    Partitioning,
    Static,
    Weekly,
)

NEW_YORK = Daily(tz="America/New_York")
TOLD_APART = Hourly(tz="America/New_York", format="%Y-%m-%dT%H%z")
SEVERAL = Composite(region=Static(["us", "eu"]), day=Daily(tz="Europe/Paris"))


@pytest.mark.parametrize(
    ("rule", "key", "at", "expected"),
    [
        (Daily(), "2026-05-16", "06:00", "2026-05-17T06:00:00+00:00"),
        (Daily(), "2026-05-16", "00:00", "2026-05-17T00:00:00+00:00"),
        (Daily(), "2026-05-16", "23:59", "2026-05-17T23:59:00+00:00"),
        (Daily(tz="Europe/Paris"), "2026-05-16", "06:00", "2026-05-17T06:00:00+02:00"),
        (Daily(tz="Asia/Kathmandu"), "2026-05-16", "06:00", "2026-05-17T06:00:00+05:45"),
        (Hourly(), "2026-05-16T05", "06:00", "2026-05-16T06:00:00+00:00"),
        (Hourly(), "2026-05-16T06", "06:00", "2026-05-17T06:00:00+00:00"),
        (Weekly(), "2026-W53", "06:00", "2027-01-04T06:00:00+00:00"),
        (Monthly(), "2026-05", "06:00", "2026-06-01T06:00:00+00:00"),
        # The clock skips 02:00 to 03:00 on the 8th of March.
        (NEW_YORK, "2026-03-07", "01:59", "2026-03-08T01:59:00-05:00"),
        (NEW_YORK, "2026-03-07", "02:00", "2026-03-08T03:00:00-04:00"),
        (NEW_YORK, "2026-03-07", "02:30", "2026-03-08T03:00:00-04:00"),
        (NEW_YORK, "2026-03-07", "03:00", "2026-03-08T03:00:00-04:00"),
        (NEW_YORK, "2026-03-08", "02:30", "2026-03-09T02:30:00-04:00"),
        # It shows 01:00 to 02:00 twice on the 1st of November.
        (NEW_YORK, "2026-10-31", "01:30", "2026-11-01T01:30:00-04:00"),
        (NEW_YORK, "2026-10-31", "02:00", "2026-11-01T02:00:00-05:00"),
        (TOLD_APART, "2026-11-01T00-0400", "01:30", "2026-11-01T01:30:00-04:00"),
        (TOLD_APART, "2026-11-01T01-0400", "01:30", "2026-11-01T01:30:00-05:00"),
        (TOLD_APART, "2026-11-01T01-0500", "01:30", "2026-11-02T01:30:00-05:00"),
        # The clock skips the first hour of the 4th of November, so that the day begins at one.
        (Daily(tz="America/Sao_Paulo"), "2018-11-03", "00:30", "2018-11-04T01:00:00-02:00"),
        # It skips the last half hour of a day and the first of the next.
        (Daily(tz="America/Toronto"), "1919-03-30", "23:45", "1919-03-31T00:30:00-04:00"),
        # It skips the whole of the 30th.
        (Daily(tz="Pacific/Apia"), "2011-12-29", "06:00", "2011-12-31T00:00:00+14:00"),
        (SEVERAL, "us|2026-05-16", "06:00", "2026-05-17T06:00:00+02:00"),
    ],
)
def test_the_first_such_time_after_the_window(
    rule: Partitioning, key: str, at: str, expected: str
) -> None:
    found = deadline(rule, key, at)
    assert found is not None
    assert found.isoformat() == expected


@pytest.mark.parametrize("rule", [None, Static(["us"]), Dynamic(key="$.k")])
def test_keys_without_a_time_have_none(rule: Partitioning | None) -> None:
    assert deadline(rule, "us", "06:00") is None


def test_the_calendar_has_an_end() -> None:
    assert deadline(Hourly(), "9999-12-31T22", "06:00") is None


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["America/New_York", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),
    st.times(),
)
def test_minute_by_minute_it_is_the_same(tz: str, day: datetime, time: object) -> None:
    at = f"{time:%H:%M}"
    rule = Daily(tz=tz)
    key = f"{day:%Y-%m-%d}"
    found = deadline(rule, key, at)
    assert found is not None
    moment = rule.window(key).end_utc
    before = None
    while True:
        # A clock that jumps over a time shows a later one for the first time.
        reads = f"{moment.astimezone(ZoneInfo(tz)):%H:%M}"
        if reads == at or (before is not None and before < at < reads):
            break
        before = reads
        moment += timedelta(minutes=1)
    assert found.astimezone(UTC) == moment
