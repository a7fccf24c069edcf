"""What stands for rows and columns over a row of writes, against the rows themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tranche.model.digest import Digests, Seen, compared, digest_of_snapshot, same_sets, set_id

Rows = tuple[tuple[int, int], ...]
SETS = {set_id({"a"}): (0,), set_id({"b"}): (1,), set_id(()): ()}
VALUES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=2).map(tuple)
SOME = st.sets(st.sampled_from(sorted(SETS)))


def picked(rows: Rows, places: tuple[int, ...]) -> str:
    values = sorted(tuple(row[place] for place in places) for row in rows)
    return f"{len(rows)}-{places}{values}"


def seen(rows: Rows, sets: set[str]) -> Seen:
    return Seen(len(rows), picked(rows, (0, 1)), {each: picked(rows, SETS[each]) for each in sets})


@st.composite
def writes(draw: st.DrawFn) -> list[tuple[Rows, Digests]]:
    """Rows with what stands for them, as writers note it: each write knows the one before, wants
    to know of some sets, may not be looked at, and may find what was there before gone."""
    log: list[tuple[Rows, Digests]] = []
    for number, rows in enumerate(draw(st.lists(VALUES, min_size=2, max_size=6))):
        digests = Digests()
        if log and draw(st.booleans()):
            before, held = log[-1]
            sets, gone = draw(SOME), draw(st.booleans())
            then = None if gone else seen(before, set(SETS))
            digests = compared(seen(rows, sets), held, len(before), lambda then=then: then)
        stands = digests.rows or digest_of_snapshot(str(number))
        log.append((rows, Digests(stands, digests.columns)))
    return log


@given(writes())
def test_what_is_said_to_be_the_same_is(log: list[tuple[Rows, Digests]]) -> None:
    for rows, digests in log:
        for others, after in log:
            if digests.rows == after.rows:
                assert sorted(rows) == sorted(others)
            for each in same_sets(digests, after):
                assert picked(rows, SETS[each]) == picked(others, SETS[each])


@given(st.lists(VALUES, min_size=2, max_size=6))
def test_what_stays_the_same_is_known_to(several: list[Rows]) -> None:
    log = [(several[0], Digests("snapshot 0"))]
    for rows in several[1:]:
        before, held = log[-1]
        then = seen(before, set(SETS))
        found = compared(seen(rows, set(SETS)), held, len(before), lambda then=then: then)
        log.append((rows, found))
        for each, places in SETS.items():
            if picked(rows, places) == picked(before, places) and held.rows != found.rows:
                assert each in same_sets(held, found)


def test_rows_that_could_not_be_told_are_others() -> None:
    found = compared(Seen(2, None), Digests("snapshot 1"), 2, lambda: Seen(2, None))
    assert found == Digests(None)


def test_rows_of_then_are_not_gone_over_in_vain() -> None:
    def never() -> Seen:
        raise AssertionError

    a = set_id({"a"})
    known = Digests("2-r", {a: ("2-a", "snapshot 1")})
    # Their digests are known, or they are not as many.
    found = compared(Seen(2, "2-s", {a: "2-a"}), known, 2, never)
    assert found == Digests("2-s", {a: ("2-a", "snapshot 1")})
    assert compared(Seen(2, "2-s", {a: "2-b"}), known, 2, never).columns == {a: ("2-b",)}
    assert compared(Seen(3, "3-s", {a: "3-a"}), Digests("snapshot 1"), 2, never).rows == "3-s"
