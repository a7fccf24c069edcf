"""Fires of schedules that are due, and their keys."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tranche.model.project import Project
from tranche.planning.firing import Due, due, next_fire, schedules_of
from tranche.script.schedules import moved

NOW = datetime(2026, 5, 16, 12, tzinfo=UTC)
DueFor = Callable[..., Due]


@pytest.fixture
def fires(project: Callable[..., Project]) -> DueFor:
    def found(text: str, since: datetime | None, now: datetime = NOW) -> Due:
        (script,) = project({"s": text}).scripts
        ((name, on),) = schedules_of(script)
        return due(script, name, on, since, now, moved)

    return found


def told(found: Due) -> list[tuple[str, tuple[str, ...]]]:
    return [(f"{fire.at.astimezone(UTC):%m-%dT%H:%M}", fire.keys) for fire in found.fires]


def test_one_that_nobody_has_looked_at_begins_now(fires: DueFor) -> None:
    found = fires('on schedule "0 6 * * *"; partitioned daily', None)
    assert (found.until, found.fires) == (NOW, ())


@pytest.mark.parametrize(
    ("text", "since", "expected"),
    [
        ("on schedule; partitioned daily", "05-15T00:00", [("05-16T00:00", ("2026-05-16",))]),
        (
            'on schedule; partitioned daily tz="Europe/Paris" lag=1',
            "05-15T12:00",
            [("05-15T22:00", ("2026-05-15",))],
        ),
        (
            'on schedule "0 6 * * *"; partitioned daily',
            "05-14T12:00",
            [("05-15T06:00", ("2026-05-15",)), ("05-16T06:00", ("2026-05-16",))],
        ),
        # Hourly, twelve steps before: the key of twelve hours ago.
        (
            'on schedule "0 * * * *" offset=-12; partitioned hourly',
            "05-16T11:00",
            [("05-16T12:00", ("2026-05-16T00",))],
        ),
        # The key is the time of the fire in the zone of the partitioning.
        (
            'on schedule "30 1 * * *" tz="America/New_York"; partitioned daily tz="Asia/Tokyo"',
            "05-16T00:00",
            [("05-16T05:30", ("2026-05-16",))],
        ),
        ('on schedule "0 6 * * *"', "05-16T00:00", [("05-16T06:00", ())]),
        (
            'on schedule "0 6 * * *"; partitioned static keys="us,eu"',
            "05-16T00:00",
            [("05-16T06:00", ("us", "eu"))],
        ),
        (
            'on schedule "0 6 * * *"; partitioned region: static keys="us,eu" | day: daily lag=1',
            "05-16T00:00",
            [("05-16T06:00", ("us|2026-05-15", "eu|2026-05-15"))],
        ),
        (
            'on schedule "0 6 * * 1-5"; partitioned daily gaps=collect lag=1',
            "05-08T12:00",
            [
                ("05-11T06:00", ("2026-05-08", "2026-05-09", "2026-05-10")),
                *(
                    (f"05-{day}T06:00", (f"2026-05-{day - 1}",))
                    for day in (12, 13, 14, 15)
                ),
            ],
        ),
        ('on schedule "0 6 * * *"; partitioned daily start="2027-01-01"', "05-16T00:00",
         [("05-16T06:00", ())]),
    ],
)  # fmt: skip
def test_fires_since_then(
    fires: DueFor, text: str, since: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    begun = datetime.strptime(f"2026-{since}", "%Y-%m-%dT%H:%M").replace(tzinfo=UTC)
    found = fires(text, begun)
    assert told(found) == expected
    assert found.until == NOW


@pytest.mark.parametrize(
    ("catchup", "now", "kept", "passed_over"),
    [
        ("all", NOW, 40, 0),
        ("latest", NOW, 1, 39),
        ("none", NOW, 0, 40),
        ("none", datetime(2026, 5, 16, 6, 0, 30, tzinfo=UTC), 1, 39),
    ],
)
def test_after_forty_days_away(
    fires: DueFor, catchup: str, now: datetime, kept: int, passed_over: int
) -> None:
    text = f'on schedule "0 6 * * *" catchup={catchup}; partitioned daily'
    found = fires(text, datetime(2026, 4, 6, 12, tzinfo=UTC), now)
    assert (len(found.fires), found.passed_over) == (kept, passed_over)
    if kept:
        assert found.fires[-1].keys == ("2026-05-16",)
    assert found.until == now


def test_very_many_are_for_several_turns(fires: DueFor) -> None:
    text = 'on schedule "* * * * *"; partitioned hourly'
    found = fires(text, NOW - timedelta(days=10))
    assert len(found.fires) == 10_000
    assert found.until == NOW - timedelta(days=10) + timedelta(minutes=10_000)
    rest = fires(text, found.until)
    assert (len(rest.fires), rest.until) == (14_400 - 10_000, NOW)


def test_when_it_fires_next(project: Callable[..., Project]) -> None:
    (script,) = project({"s": 'on schedule "0 6 * * *"; on schedule; partitioned daily'}).scripts
    found = [next_fire(script, on, NOW, moved) for _, on in schedules_of(script)]
    assert [f"{at:%dT%H}" for at in found] == ["17T06", "17T00"]
