"""What every store does alike with keys that runs make along with what is upstream of them."""

from __future__ import annotations

from dataclasses import replace

from tranche.model.pending import Reserved
from tranche.ports import StateStore

from .builders import NOON, ORDERS, a_run, a_step, an_entry
from .test_triggers import C, a_key, put

KEYS = (Reserved(C, "a"), Reserved(C, 'it\'s | "b"'), Reserved("whole", None))


def rows(store: StateStore) -> dict[tuple[str, str | None], tuple[str, str | None, bool]]:
    places = [*((key.consumer, key.partition) for key in KEYS), (ORDERS, "a")]
    return {row.place: (row.status, row.run, row.again) for row in store.pending(places)}


def test_they_are_kept_for_the_run_and_end_with_it(store: StateStore) -> None:
    assert store.begin_run(a_run(), [], KEYS) == {}
    assert set(rows(store).values()) == {("reserved", "r1", False)}
    # Nobody has asked for them, so nobody sees them.
    assert store.all_pending(limit=9) == []
    assert store.ready(limit=9) == []
    store.finish_run("r1", "failed", at=NOON)
    assert rows(store) == {}


def test_what_was_asked_for_before_is_looked_at_when_the_run_has_ended(store: StateStore) -> None:
    put(store, a_key("a", status="ready", asked_by=("x",)))
    store.begin_run(a_run(), [], KEYS)
    assert rows(store)[C, "a"] == ("reserved", "r1", True)
    assert store.claim(C, server="s", run="r2", limit=9) == []
    assert [row.partition for row in store.all_pending(limit=9)] == ["a"]
    store.finish_run("r1", "succeeded", at=NOON)
    assert rows(store) == {(C, "a"): ("waiting", None, False)}
    with store.turn() as turn:
        assert [row.asked_by for row in turn.due(NOON, limit=9)] == [("x",)]


def test_what_another_run_has_stays_with_it(store: StateStore) -> None:
    put(store, a_key("a", status="ready"))
    store.claim(C, server="s", run="r2", limit=9)
    assert store.begin_run(a_run(), [], KEYS) == {KEYS[0]: "r2"}
    assert rows(store)[C, "a"] == ("claimed", "r2", False)


def test_a_key_is_kept_no_more_once_it_is_made(store: StateStore) -> None:
    store.begin_run(a_run(), [a_step()], [Reserved(ORDERS, "a"), Reserved(C, "a")])
    store.finish_step(a_step(status="succeeded", finished_at=NOON), [an_entry("m1", "a")])
    assert set(rows(store)) == {(C, "a")}


def test_of_a_run_that_hands_over_those_wait_that_were_asked_for(store: StateStore) -> None:
    store.begin_run(a_run(), [], KEYS)
    (row,) = store.pending([(C, "a")])
    put(store, a_key("a", status=row.status, run=row.run, asked_by=("lake://main/up",)))
    store.finish_run("r1", "failed", at=NOON, hand_over=True)
    assert rows(store) == {(C, "a"): ("waiting", None, False)}


def test_one_that_was_tried_and_failed_has_had_its_turn(store: StateStore) -> None:
    store.begin_run(a_run(), [a_step()], [Reserved(ORDERS, "a"), Reserved(C, "a")])
    for row in store.pending([(ORDERS, "a"), (C, "a")]):
        put(store, replace(row, asked_by=("lake://main/up",)))
    failed = an_entry("m1", "a", status="failed")
    store.finish_step(a_step(status="failed", finished_at=NOON), [failed])
    store.finish_run("r1", "failed", at=NOON)
    # The other one was not even tried, say because something upstream had failed.
    assert rows(store) == {(C, "a"): ("waiting", None, False)}
