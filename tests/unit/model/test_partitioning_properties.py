"""What holds in every time zone, mostly tried where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.model.partitioning import (
    Daily,
    Hourly,
    Monthly,
    Quarterly,
    TimePartitioning,
    Weekly,
    Yearly,
)
from tranche.model.partitioning_zone import segments, to_datetime, to_instant

KINDS: list[tuple[type[TimePartitioning], str | None]] = [
    (Hourly, None),
    (Hourly, "%Y-%m-%dT%H%z"),
    (Hourly, "%z %H %j/%Y"),
    (Daily, None),
    (Daily, "%G-%V-%u"),
    (Weekly, None),
    (Weekly, "%Y-%m-%d"),
    (Monthly, None),
    (Quarterly, None),
    (Yearly, None),
]
# localtime is whatever the machine is set to, and no name of the database.
ZONES = sorted(available_timezones() - {"localtime"})
#: Clocks that go back over midnight or by more than an hour, skip days, move by half an hour.
ODD_ZONES = [
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kwajalein",
]
SECOND = timedelta(seconds=1)
NEAR: st.SearchStrategy[int] = st.sampled_from([-7200, -3601, -1, 0, 1, 1800, 3599, 3600, 7200])
DAYS: st.SearchStrategy[int] = st.sampled_from([-86_400, 0, 0, 0, 86_400])
# Each example is cheap; the first look at a zone's year is not, and no example is a slow one.
some = settings(max_examples=200, deadline=None)


@st.composite
def moments(draw: st.DrawFn, first: int = 1900, last: int = 2099) -> tuple[str, datetime]:
    """A zone and an instant, near a change of its clocks if it has one within a year."""
    tz = draw(st.sampled_from(ZONES) | st.sampled_from(ODD_ZONES))
    moment = to_instant(datetime(draw(st.integers(first, last)), 1, 1, tzinfo=UTC))
    changes = [each.begin for each in segments(tz, moment, moment + 366 * 86_400)[1:]]
    mostly = draw(st.integers(0, 4)) > 0
    if changes and mostly:
        moment = draw(st.sampled_from(changes))
        moment += draw(NEAR) + draw(DAYS)
    else:
        moment += draw(st.integers(0, 366 * 86_400))
    return tz, to_datetime(moment, "UTC")


@st.composite
def places(draw: st.DrawFn) -> tuple[TimePartitioning, datetime]:
    """A partitioning and an instant."""
    tz, moment = draw(moments())
    kind, pattern = draw(st.sampled_from(KINDS))
    return kind(tz=tz, format=pattern), moment


def key_of(partitioning: TimePartitioning, moment: datetime) -> str:
    key = partitioning.key_at(moment)
    assert key is not None
    return key


@some
@given(places())
def test_windows_tile(place: tuple[TimePartitioning, datetime]) -> None:
    partitioning, moment = place
    key = key_of(partitioning, moment)
    window = partitioning.window(key)
    assert window.start_utc < window.end_utc
    assert partitioning.window(partitioning.next(key)).start_utc == window.end_utc
    assert partitioning.window(partitioning.previous(key)).end_utc == window.start_utc


@some
@given(places(), st.timedeltas(timedelta(days=-2), timedelta(days=2)))
def test_a_window_holds_the_instants_of_its_key(
    place: tuple[TimePartitioning, datetime], away: timedelta
) -> None:
    partitioning, moment = place
    key = key_of(partitioning, moment)
    window = partitioning.window(key)
    assert moment in window
    tick = timedelta(microseconds=1)
    for other in (
        window.start_utc - tick,
        window.start_utc,
        window.end_utc - tick,
        window.end_utc,
        moment + away,
    ):
        assert (other in window) == (partitioning.key_at(other) == key), other


@some
@given(places())
def test_next_and_previous_are_inverse(place: tuple[TimePartitioning, datetime]) -> None:
    partitioning, moment = place
    key = key_of(partitioning, moment)
    assert partitioning.previous(partitioning.next(key)) == key
    assert partitioning.next(partitioning.previous(key)) == key
    assert partitioning.ordinal(partitioning.next(key)) > partitioning.ordinal(key)


@some
@given(places())
def test_a_key_is_its_label_rendered(place: tuple[TimePartitioning, datetime]) -> None:
    partitioning, moment = place
    key = key_of(partitioning, moment)
    assert partitioning.validate(key) == key
    label = partitioning.parse(key)
    assert label.tzinfo is None
    pattern = partitioning.pattern.replace("%q", str((label.month + 2) // 3))
    if "%z" not in pattern:
        assert label.strftime(pattern) == key
    else:
        assert moment.astimezone(ZoneInfo(partitioning.tz)).strftime(pattern) == key


@some
@given(moments(first=1975), st.sampled_from([Hourly, Daily, Weekly, Monthly]))
def test_a_key_is_the_latest_that_the_clock_has_shown(
    place: tuple[str, datetime], kind: type[TimePartitioning]
) -> None:
    # By brute force: the clock is read each minute of two days. Offsets were whole minutes by
    # then, so that no reading falls between two of them.
    tz, moment = place
    moment = moment.replace(second=0)
    zone = ZoneInfo(tz)
    partitioning = kind(tz=tz)
    readings = (
        (moment - timedelta(minutes=ago)).astimezone(zone).replace(tzinfo=None)
        for ago in range(2 * 24 * 60)
    )
    assert partitioning.key_at(moment) == max(readings).strftime(partitioning.pattern)


@some
@given(places(), st.integers(1, 30), st.integers(0, 30))
def test_a_range_is_what_walking_gives(
    place: tuple[TimePartitioning, datetime], ahead: int, behind: int
) -> None:
    partitioning, moment = place
    key = key_of(partitioning, moment)
    walked = [key]
    for _ in range(behind):
        walked.insert(0, partitioning.previous(walked[0]))
    for _ in range(ahead):
        walked.append(partitioning.next(walked[-1]))

    keys = partitioning.keys(walked[0], walked[-1])
    assert list(keys) == walked
    assert len(keys) == len(walked)
    assert [keys[i] for i in range(-len(walked), 0)] == walked
    assert list(keys[behind:]) == walked[behind:]
    assert keys[behind:] == partitioning.keys(key, walked[-1])
    assert keys[: behind + 1] == partitioning.keys(walked[0], key)
    assert all(each in keys for each in walked)
    assert partitioning.previous(walked[0]) not in keys
    assert partitioning.next(walked[-1]) not in keys
    assert partitioning.shift(key, ahead) == walked[-1]
    assert partitioning.shift(key, -behind) == walked[0]


@some
@given(places())
def test_the_last_complete_key_is_over_at_now(place: tuple[TimePartitioning, datetime]) -> None:
    partitioning, now = place
    current = key_of(partitioning, now)
    keys = partitioning.keys(partitioning.shift(current, -3), now=now)
    assert keys[-1] == partitioning.previous(current)
    assert partitioning.window(keys[-1]).end_utc <= now
    assert len(keys) == 3


@some
@given(moments())
def test_the_hours_of_a_day_fill_it(place: tuple[str, datetime]) -> None:
    tz, moment = place
    day = key_of(Daily(tz=tz), moment)
    window = Daily(tz=tz).window(day)
    hours = Hourly(tz=tz)
    keys = list(hours.keys(day, day))
    spans = [hours.window(key) for key in keys]
    assert spans[0].start_utc == window.start_utc
    assert spans[-1].end_utc == window.end_utc
    assert all(a.end_utc == b.start_utc for a, b in pairwise(spans))


def test_every_zone_tiles_around_the_changes_of_one_year() -> None:
    since, until = (to_instant(datetime(year, 1, 1, tzinfo=UTC)) for year in (2024, 2025))
    for tz in ZONES:
        days, hours = Daily(tz=tz), Hourly(tz=tz)
        for change in islice(segments(tz, since, until), 1, None):
            moment = to_datetime(change.begin, "UTC")
            for partitioning in (days, hours):
                key = key_of(partitioning, moment - SECOND)
                following = partitioning.next(key)
                window = partitioning.window(key)
                assert window.end_utc == partitioning.window(following).start_utc
                assert moment - SECOND in window
