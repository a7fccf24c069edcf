"""Composite partitionings: several dimensions, one key."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.errors import KeyRejected, PartitioningError
from tranche.model.partitioning import Composite, Daily, Dynamic, Static

REGIONS = Static(["us", "eu"])
SALES = Composite((("day", Daily()), ("region", REGIONS)))
TENANTS = Composite((("tenant", Dynamic("$.tenant")), ("user", Dynamic("$.user"))))


def test_a_key_has_a_segment_for_each_dimension() -> None:
    assert SALES.kind == "composite"
    assert SALES.example() == "2026-05-01|us"
    assert SALES.validate("2026-05-01|eu") == "2026-05-01|eu"
    assert SALES.parse("2026-05-01|eu") == ("2026-05-01", "eu")
    assert SALES.ordinal("2026-05-01|eu") == datetime(2026, 5, 1, tzinfo=UTC)
    assert TENANTS.ordinal("a|b") is None
    assert SALES.join(["2026-05-01", "eu"]) == "2026-05-01|eu"
    assert SALES.describe() == 'day: daily | region: static keys="us,eu"'


def test_composite_partitionings_are_values() -> None:
    assert Composite([("day", Daily()), ("region", REGIONS)]) == SALES
    assert hash(Composite([("day", Daily()), ("region", REGIONS)])) == hash(SALES)
    assert Composite([("region", REGIONS), ("day", Daily())]) != SALES
    assert pickle.loads(pickle.dumps(SALES)) == SALES


@pytest.mark.parametrize(
    ("segments", "key"),
    [
        (("a", "b"), "a|b"),
        (("a|b", "c"), r"a\|b|c"),
        (("a\\", "|"), r"a\\|\|"),
        (("a", "b\\|c"), r"a|b\\\|c"),
    ],
)
def test_a_bar_within_a_segment_is_escaped(segments: tuple[str, ...], key: str) -> None:
    assert TENANTS.join(segments) == key
    assert TENANTS.split(key) == segments


@given(st.tuples(st.text("a|\\é"), st.text("a|\\é")))
def test_join_and_split_are_inverse(segments: tuple[str, str]) -> None:
    assert TENANTS.split(TENANTS.join(segments)) == segments


@given(st.text("a|\\"))
def test_a_key_has_one_spelling(key: str) -> None:
    try:
        segments = TENANTS.split(key)
    except KeyRejected:
        return
    assert TENANTS.join(segments) == key


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "2026-05-01",
            "'2026-05-01' is no composite key: it has 1 of 2 segments; "
            "its keys look like '2026-05-01|us'",
        ),
        (
            "2026-05-01|us|x",
            "'2026-05-01|us|x' is no composite key: it has 3 of 2 segments; "
            "its keys look like '2026-05-01|us'",
        ),
        (
            "2026-05-01|u\\s",
            r"'2026-05-01|u\\s' is no composite key: "
            "a backslash stands before a | or a backslash only; its keys look like '2026-05-01|us'",
        ),
        (
            "2026-05-01|us\\",
            r"'2026-05-01|us\\' is no composite key: "
            "a backslash stands before a | or a backslash only; its keys look like '2026-05-01|us'",
        ),
        (
            "",
            "'' is no composite key: it has 1 of 2 segments; its keys look like '2026-05-01|us'",
        ),
        (
            None,
            "None is no composite key: a key is text; its keys look like '2026-05-01|us'",
        ),
        (
            "2026-5-1|us",
            "in '2026-5-1|us', day: '2026-5-1' is no daily key; its keys look like '2026-05-01'",
        ),
        (
            "2026-05-01|",
            "in '2026-05-01|', region: '' is no static key; the keys are 'us', 'eu'",
        ),
    ],
)
def test_what_is_no_key_is_rejected_with_one(key: str, message: str) -> None:
    for action in (SALES.validate, SALES.parse, SALES.ordinal):
        with pytest.raises(KeyRejected) as caught:
            action(key)
        assert str(caught.value) == message


def test_segments_are_texts_and_as_many_as_dimensions() -> None:
    with pytest.raises(KeyRejected, match="it has 1 of 2 segments"):
        SALES.join(["2026-05-01"])
    with pytest.raises(KeyRejected, match="a segment is text"):
        SALES.join(["2026-05-01", 5])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        (
            [("day", Daily())],
            "a composite partitioning needs two dimensions, and this has 1; "
            "use the one as it is, or add another",
        ),
        ([], "a composite partitioning needs two dimensions, and this has 0; "),
        (
            [("day", Daily()), ("day", REGIONS)],
            "two dimensions are named 'day'; give each its own name",
        ),
        (
            [("day", Daily()), ("my region", REGIONS)],
            "'my region' cannot name a dimension; "
            "use letters, digits and underscores, such as 'region'",
        ),
        ([("day", Daily()), ("", REGIONS)], "'' cannot name a dimension; "),
        ([("day", Daily()), (5, REGIONS)], "5 cannot name a dimension; "),
        (
            [("day", Daily()), ("more", SALES)],
            "dimension 'more' is composite itself; put all dimensions side by side",
        ),
        (
            [("day", Daily()), ("region", "us")],
            "dimension 'region' is 'us', which is no partitioning; use Daily(), Static([…]) or the",
        ),
    ],
)
def test_dimensions_that_make_no_keys_are_explained(
    dimensions: list[tuple[str, Daily]], message: str
) -> None:
    with pytest.raises(PartitioningError) as caught:
        Composite(dimensions)
    assert str(caught.value).startswith(message)
