"""When crons fire, also where the clock is moved."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tranche.script.schedules import fire_after, fire_before, moved

NEW_YORK = "America/New_York"


def some(cron: str, tz: str, at: str, number: int) -> list[str]:
    fire, found = datetime.fromisoformat(at), []
    for _ in range(abs(number)):
        fire = (fire_after if number > 0 else fire_before)(cron, tz, fire)
        found.append(fire.isoformat(timespec="minutes"))
    return found


@pytest.mark.parametrize(
    ("cron", "tz", "at", "expected"),
    [
        pytest.param(
            "0 6 * * 1-5",
            "UTC",
            "2026-11-13T06:00+00:00",
            ["2026-11-16T06:00+00:00", "2026-11-17T06:00+00:00"],
            id="over a weekend",
        ),
        pytest.param(
            "30 2 * * *",
            NEW_YORK,
            "2026-03-07T03:00-05:00",
            ["2026-03-08T03:30-04:00", "2026-03-09T02:30-04:00"],
            id="a time that is left out comes later",
        ),
        pytest.param(
            "30 1 * * *",
            NEW_YORK,
            "2026-10-31T12:00-04:00",
            ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
            id="a time that comes twice fires once",
        ),
        pytest.param(
            "0 * * * *",
            NEW_YORK,
            "2026-11-01T00:00-04:00",
            ["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"],
            id="every hour goes on by the hour",
        ),
        pytest.param(
            "@hourly",
            NEW_YORK,
            "2026-03-08T01:00-05:00",
            ["2026-03-08T03:00-04:00", "2026-03-08T04:00-04:00"],
            id="every hour, with one left out",
        ),
        pytest.param(
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00-10:00",
            ["2011-12-31T12:00+14:00", "2012-01-01T12:00+14:00"],
            id="a day that was left out",
        ),
    ],
)
def test_fires_one_after_the_other(cron: str, tz: str, at: str, expected: list[str]) -> None:
    assert some(cron, tz, at, len(expected)) == expected
    # The same way back.
    back = some(cron, tz, expected[-1], -(len(expected) - 1))
    assert back == expected[-2::-1]


def test_so_many_fires_away() -> None:
    at = datetime(2026, 11, 16, 6, tzinfo=UTC)
    assert moved("0 6 * * 1-5", "UTC", at, -2) == datetime(2026, 11, 12, 6, tzinfo=UTC)
    assert moved("0 6 * * 1-5", "UTC", at, 0) == at
    assert moved("0 6 * * 1-5", "UTC", at, 5) == datetime(2026, 11, 23, 6, tzinfo=UTC)
