"""Where nodes stand: to the right of what they are made of, none upon another."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tranche.planning.drawing import drawn

NAMES = [f"n{number}" for number in range(14)]
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40)


@given(EDGES, st.lists(st.sampled_from(["", "a", "b"]), min_size=14, max_size=14))
@settings(max_examples=200, deadline=None)
def test_each_node_has_a_place_of_its_own(edges: list[tuple[str, str]], groups: list[str]) -> None:
    spots = drawn(NAMES, edges, dict(zip(NAMES, groups, strict=True)))
    assert sorted(spots) == sorted(NAMES)
    for one, other in combinations(spots.values(), 2):
        assert one.layer != other.layer or abs(one.row - other.row) > 0.99
    assert min(spot.layer for spot in spots.values()) >= 0
    assert min(spot.row for spot in spots.values()) >= 0


@given(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_arrows_lead_to_the_right(numbers: list[tuple[int, int]]) -> None:
    edges = [(NAMES[min(pair)], NAMES[max(pair)]) for pair in numbers if pair[0] != pair[1]]
    spots = drawn(NAMES, edges, {})
    assert all(spots[source].layer < spots[target].layer for source, target in edges)


def test_parts_stand_below_each_other_and_the_rest_side_by_side() -> None:
    spots = drawn(["x", "a", "b", "c", "d", "y"], [("a", "b"), ("b", "c")], {})
    assert [spots[name].layer for name in "abc"] == [0, 1, 2]
    assert spots["x"].row == spots["d"].row == spots["y"].row > spots["c"].row
    assert [spots[name].layer for name in "xdy"] == [0, 1, 2]


def test_a_source_stands_beside_its_reader() -> None:
    spots = drawn(["a", "b", "c", "late"], [("a", "b"), ("b", "c"), ("late", "c")], {})
    assert spots["late"].layer == spots["b"].layer


def test_those_of_a_group_stand_together() -> None:
    names = [f"g{n % 2}_{n}" for n in range(10)]
    edges = [("root", name) for name in names]
    spots = drawn(["root", *names], edges, {name: name[:2] for name in names})
    order = sorted(names, key=lambda name: spots[name].row)
    assert [name[:2] for name in order] in (["g0"] * 5 + ["g1"] * 5, ["g1"] * 5 + ["g0"] * 5)
