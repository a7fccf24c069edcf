"""From filters and files to partitions."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from operator import eq, ge, gt, le, lt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.lakes.periods import nearest
from tranche.lakes.predicates import Comparison, Predicate, read_predicate, split_filters
from tranche.lakes.pruning import FilesRead, Held, TableParts, partitions_read
from tranche.model.layout import TransformName

HOLDS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1), timezones=st.just(UTC))
EVERY = Held(partitions=10, files=30, bytes=300, largest=5)


def period(name: TransformName, moment: datetime) -> int:
    """As Iceberg's specification numbers them."""
    if name == "hour":
        return (moment - EPOCH) // timedelta(hours=1)
    if name == "day":
        return (moment - EPOCH) // timedelta(days=1)
    months = (moment.year - 1970) * 12 + moment.month - 1
    return months if name == "month" else moment.year - 1970


@given(
    name=st.sampled_from(("year", "month", "day", "hour")),
    comparison=st.sampled_from(tuple(HOLDS)),
    moment=MOMENTS,
    bound=MOMENTS,
)
def test_no_time_that_is_meant_is_in_a_period_that_is_not(
    name: TransformName, comparison: Comparison, moment: datetime, bound: datetime
) -> None:
    found = nearest(name, comparison, (bound - EPOCH) // timedelta(microseconds=1), days=False)
    assert found is not None
    if HOLDS[comparison](moment, bound):
        assert HOLDS[found[0]](period(name, moment), found[1])


@given(name=st.sampled_from(("year", "month", "day", "hour")), bound=MOMENTS)
def test_a_bound_between_two_periods_leaves_out_the_other(
    name: TransformName, bound: datetime
) -> None:
    start = {
        "hour": bound.replace(minute=0, second=0, microsecond=0),
        "day": bound.replace(hour=0, minute=0, second=0, microsecond=0),
        "month": bound.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
        "year": bound.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
    }[name]
    micros = (start - EPOCH) // timedelta(microseconds=1)
    assert nearest(name, "<", micros, days=False) == ("<=", period(name, start) - 1)
    assert nearest(name, ">=", micros, days=False) == (">=", period(name, start))


def test_days_and_what_is_beyond_the_calendar() -> None:
    days = (date(2026, 5, 16) - date(1970, 1, 1)).days
    assert nearest("day", "=", days, days=True) == ("=", days)
    assert nearest("month", "<", 10**12, days=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "a IS NOT NULL",
        "a != 1",
        "NOT (a = 1)",
        "(a = 1 OR a = 2)",
        "a LIKE 'x%'",
        "bucket(4, name) = 1",
        "a = 1.5",
        "k = 'x' OR '1'='1'",
        "a IN ()",
        "a b = 1",
    ],
)
def test_filters_that_are_not_understood_are_left_out(text: str) -> None:
    assert split_filters(text) == (text,)
    assert read_predicate(text) is None


def test_filters_that_are() -> None:
    assert split_filters("") == ()
    assert split_filters("a = 'x', b = 2") == ("a = 'x'", "b = 2")
    assert read_predicate("a = ''") == Predicate("a", "=", ("",))
    assert read_predicate("a < -5") == Predicate("a", "<", ("-5",))
    assert read_predicate("a IN (1, 2)") == Predicate("a", "=", ("1", "2"))


@pytest.mark.parametrize(
    ("read", "certain", "likely", "shown"),
    [
        (FilesRead(0, 0, 0), EVERY, EVERY, "0 of 10"),
        (FilesRead(30, 30, 300), EVERY, EVERY, "all 10"),
        # One file can only be of one partition.
        (FilesRead(1, 1, 10), EVERY, EVERY, "1 of 10"),
        (FilesRead(7, 7, 70), EVERY, EVERY, "at most 7 of 10"),
        (FilesRead(20, 20, 200), EVERY, EVERY, "at most 10 of 10"),
        # Some files of the only partition that can be meant.
        (FilesRead(2, 2, 20), Held(1, 5, 50, 5), Held(1, 5, 50, 5), "1 of 10"),
        # All files of those that are likely meant; the bytes say so too, or they do not.
        (FilesRead(6, 6, 60), EVERY, Held(2, 6, 60, 4), "2 of 10"),
        (FilesRead(6, 6, 61), EVERY, Held(2, 6, 60, 4), "at most 6 of 10"),
        # More was read than the filters allow, so they were misunderstood.
        (FilesRead(6, 6, 60), Held(1, 5, 50, 5), Held(1, 5, 50, 5), "at most 6 of 10"),
        (FilesRead(1, 3), EVERY, EVERY, "at most 3 of 10"),
        (FilesRead(1, 3), Held(1, 5, 50, 5), Held(1, 5, 50, 5), "1 of 10"),
        (FilesRead(0, 3), Held(1, 5, 50, 5), Held(1, 5, 50, 5), "at most 1 of 10"),
    ],
)
def test_partitions(read: FilesRead, certain: Held, likely: Held, shown: str) -> None:
    assert str(partitions_read(read, TableParts(True, EVERY, certain, likely))) == shown


def test_a_file_for_each_partition() -> None:
    each = Held(partitions=10, files=10, bytes=100, largest=1)
    assert str(partitions_read(FilesRead(4, 4, 44), TableParts(True, each, each, each))) == (
        "4 of 10"
    )
