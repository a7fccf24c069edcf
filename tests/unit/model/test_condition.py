"""Conditions: how they are joined and written, and what a key lacks by them."""

from __future__ import annotations

import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.errors import TriggerRejected
from tranche.model.asset import FileSet, LakeTable
from tranche.model.condition import (
    AllOf,
    AnyOf,
    Asset,
    Condition,
    OwnSchedule,
    all_of,
    any_of,
    askers,
    joined,
    joins,
    lacking,
)
from tranche.script.conditions import parse_condition

A, B, C, D = (Asset(f"lake://main/{name}") for name in "abcd")
SCHEDULE = OwnSchedule()
EVERYONE = (A, B, C, D, SCHEDULE)
NAMES = [each.name for each in EVERYONE]

conditions: st.SearchStrategy[Condition] = st.recursive(
    st.sampled_from(EVERYONE),
    lambda inner: st.builds(
        lambda join, parts: join(parts),
        st.sampled_from([all_of, any_of]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


def ways(condition: Condition) -> set[frozenset[str]]:
    """All sets of askers that fulfil a condition, each as small as the condition says it."""
    match condition:
        case AllOf(parts):
            return {frozenset().union(*each) for each in product(*map(ways, parts))}
        case AnyOf(parts):
            return set().union(*map(ways, parts))
        case asker:
            return {frozenset({asker.name})}


@given(conditions, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_a_key_lacks_nothing_if_a_way_that_was_asked_for_is_content(
    condition: Condition, asked: set[str], content: set[str]
) -> None:
    lacks = {name: [] if name in content else [f"{name} 1", f"{name} 2"] for name in NAMES}
    counting = [way for way in ways(condition) if way & asked]
    if not counting and isinstance(condition, AllOf):
        counting = list(ways(condition))
    expected = not counting or any(way <= content for way in counting)
    found = lacking(condition, asked, lacks)
    assert (found == []) is expected
    # What it lacks is enough: once that is there, it lacks nothing.
    there = content | {each.split()[0] for each in found}
    assert lacking(condition, asked, {n: [] if n in there else [n] for n in NAMES}) == []


@given(conditions, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_of_whom_nobody_can_say_anything_is_left_out(
    condition: Condition, asked: set[str], known: set[str]
) -> None:
    def kept(each: Condition) -> Condition | None:
        if isinstance(each, AllOf | AnyOf):
            parts = tuple(part for part in map(kept, each.parts) if part is not None)
            return type(each)(parts) if parts else None
        return each if each.name in known else None

    rest = kept(condition)
    lacks = {name: [name] for name in known}
    asked &= known
    found = lacking(condition, asked, lacks)
    if rest is None:
        assert found == []
    elif asked or isinstance(condition, AllOf) == isinstance(rest, AllOf):
        assert (found == []) == (lacking(rest, asked, lacks) == [])


@given(conditions)
def test_what_is_written_reads_back(condition: Condition) -> None:
    assert parse_condition(str(condition)) == condition
    assert pickle.loads(pickle.dumps(condition)) == condition


@given(st.text(min_size=1).map(lambda path: FileSet("file", f"/{path}")), conditions)
def test_any_address_reads_back(files: FileSet, other: Condition) -> None:
    condition = Asset(files) & other
    assert parse_condition(str(condition)) == condition


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (A, "lake://main/a"),
        ((A & B) | C, "(lake://main/a & lake://main/b) | lake://main/c"),
        (A & (B | C), "lake://main/a & (lake://main/b | lake://main/c)"),
        (A & B & C, "lake://main/a & lake://main/b & lake://main/c"),
        (A | (B | C), "lake://main/a | lake://main/b | lake://main/c"),
        (SCHEDULE & A, "schedule & lake://main/a"),
        (Asset("file:///a b(1).csv") | A, '"file:///a b(1).csv" | lake://main/a'),
    ],
)
def test_how_conditions_are_written(condition: Condition, text: str) -> None:
    assert str(condition) == text


def test_groups_say_nothing_twice() -> None:
    assert A & (B & C) == AllOf((A, B, C)) == AllOf((A, AllOf((B, C)), A))
    assert A & A == A == any_of([A])
    assert AnyOf((A, B, C)) == (A | B) | (B | C)
    assert Asset("ducklake://main/a") == A == Asset(LakeTable("main", "a"))
    assert hash(A & B) == hash(AllOf((A, B)))


def test_what_a_condition_names() -> None:
    condition = (A & (B | (C & D))) | SCHEDULE
    assert askers(condition) == (A, B, C, D, SCHEDULE)
    assert joins(condition) == (C & D, A & (B | (C & D)))
    assert joined(condition) == {"lake://main/a", "lake://main/b", "lake://main/c", "lake://main/d"}
    assert (askers(None), joins(None), joined(A | B)) == ((), (), frozenset())


LACKS = {A.name: ["a"], B.name: [], C.name: ["c 1", "c 2"], D.name: []}


@pytest.mark.parametrize(
    ("condition", "asked", "expected"),
    [
        (A | B, [A], ["a"]),
        (A | B, [B], []),
        (A | C, [A, C], ["a"]),
        (A & B, [B], ["a"]),
        (A & C, [A], ["a", "c 1", "c 2"]),
        ((A & B) | D, [B], ["a"]),
        ((A & B) | D, [B, D], []),
        ((A & B) | D, [D], []),
        # b has said nothing of the key, and d would be enough for it, had it asked.
        ((A | B) & D, [A], ["a"]),
        ((A | B) & D, [D], []),
        ((A | B) & D, [A, B], []),
        # Nobody who asked is named any more.
        (A | C, [SCHEDULE], []),
        (A, [], []),
        (A & B, [], ["a"]),
        # Of the schedule, nobody can say anything here.
        (SCHEDULE & B, [B], []),
        ((SCHEDULE | A) & B, [B], ["a"]),
    ],
)
def test_what_a_key_lacks(condition: Condition, asked: list[Asset], expected: list[str]) -> None:
    assert lacking(condition, [each.name for each in asked], LACKS) == expected


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Asset("orders"), "'orders' is no address; write lake://<lake>/<table>, file:///… or s3:///…"),
        (lambda: Asset(5), "5 is no address; write it as \"lake://<lake>/<table>\""),
        (lambda: AllOf(()), "the condition is empty; name an asset, as in Asset(\"lake://…\")"),
        (lambda: AnyOf(("lake://main/a",)), "'lake://main/a' is no condition; use assets, as in Asset(\"lake://main/orders\"), & and |"),
        (lambda: A and B, "a condition is neither true nor false; join assets by & and |, not by 'and' and 'or'"),
    ],
)  # fmt: skip
def test_what_is_no_condition(made: object, message: str) -> None:
    with pytest.raises(TriggerRejected) as caught:
        made()  # type: ignore[operator]
    assert str(caught.value) == message


def test_only_conditions_can_be_joined() -> None:
    for joined_ in (lambda: A & "lake://main/b", lambda: A | None):  # type: ignore[operator]
        with pytest.raises(TypeError):
            joined_()
