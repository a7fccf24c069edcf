"""What every store does alike with events and pending keys."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tranche.errors import StateError
from tranche.model.event import Event
from tranche.model.mapped_keys import Unlisted
from tranche.model.pending import Decisions, Pending, Rejected, Released
from tranche.model.run import RunStatus
from tranche.ports import StateStore

from .builders import (
    AWKWARD_KEYS,
    NOON,
    ORDERS,
    SECOND,
    a_run,
    a_step,
    an_entry,
    in_threads,
    record,
)
from .conftest import NewStore

C = "lake://main/consumer"


def an_event(id: str = "e1", partition: str | None = "2026-05-16", **changes: Any) -> Event:
    event = Event(id=id, asset="lake://main/source", partition=partition, at=NOON)
    return replace(event, **changes)


def a_key(partition: str | None = "2026-05-16", **changes: Any) -> Pending:
    key = Pending(consumer=C, partition=partition, since=NOON, fire_time=NOON)
    return replace(key, **changes)


def put(store: StateStore, *rows: Pending) -> None:
    with store.turn() as turn:
        turn.apply(Decisions(pending=rows), NOON)


def begin(store: StateStore) -> None:
    """The first turn, before which nothing has asked for anything."""
    heard(store)


def heard(store: StateStore, limit: int = 100) -> list[str]:
    with store.turn() as turn:
        events = turn.news(limit=limit)
        turn.apply(Decisions(handled=tuple(event.id for event in events)), NOON)
    return [event.id for event in events]


class TestEvents:
    def test_come_back_as_they_were(self, store: StateStore) -> None:
        event = an_event(payload={"rows": [1, 2.5, None], "who": "o'neill"})
        store.emit(event)
        store.emit(an_event("e2", None, asset=ORDERS))
        assert store.events(limit=9) == [an_event("e2", None, asset=ORDERS), event]
        assert store.events("lake://main/source", limit=9) == [event]
        assert [each.id for each in store.events(limit=1)] == ["e2"]
        with pytest.raises(StateError, match="event 'e1' is recorded already"):
            store.emit(event)

    def test_keys_of_any_kind(self, store: StateStore) -> None:
        for number, key in enumerate(AWKWARD_KEYS):
            store.emit(an_event(f"e{number}", key))
        assert [e.partition for e in store.events(limit=99)] == AWKWARD_KEYS[::-1]

    def test_are_heard_once(self, store: StateStore) -> None:
        record(store, an_entry("m1"))
        store.emit(an_event("e1"))
        store.emit(an_event("e2", at=NOON + SECOND))
        # What was published before the first turn asks for nothing.
        assert heard(store) == ["e1", "e2"]
        assert heard(store) == []
        store.emit(an_event("e3"))
        assert heard(store) == ["e3"]

    def test_what_a_run_publishes_is_one_too(self, store: StateStore) -> None:
        begin(store)
        entry = an_entry("m1", "a", digest="d", snapshot="7")
        record(store, entry, replace(an_entry("m2", "b"), status="failed"))
        with store.turn() as turn:
            (event,) = turn.news(limit=9)
        assert (event.id, event.asset, event.partition) == ("m1", ORDERS, "a")
        assert (event.run, event.materialization, event.snapshot) == (entry.run, "m1", "7")
        assert (event.digest, event.at) == ("d", entry.finished_at)
        # Nothing was decided, so that it is still to be heard.
        assert heard(store) == ["m1"]
        assert heard(store) == []

    def test_more_than_one_turn_takes(self, store: StateStore) -> None:
        begin(store)
        for number in range(5):
            store.emit(an_event(f"e{number}", at=NOON + number * SECOND))
        assert [heard(store, 2) for _ in range(4)] == [["e0", "e1"], ["e2", "e3"], ["e4"], []]

    def test_can_be_taken_back(self, store: StateStore) -> None:
        begin(store)
        store.emit(an_event())
        assert store.retract("e1", at=NOON + SECOND)
        assert not store.retract("e1", at=NOON)
        assert not store.retract("e9", at=NOON)
        assert store.events(limit=9)[0].retracted_at == NOON + SECOND
        assert heard(store) == []

    def test_none_is_lost_among_many_writers(self, new_store: NewStore) -> None:
        store = new_store()
        begin(store)
        found: list[str] = []

        def work(number: int) -> None:
            if number == 0:
                for _ in range(15):
                    found.extend(heard(store))
                return
            own = new_store()
            for each in range(10):
                own.emit(an_event(f"e{number}-{each}"))

        in_threads(work)
        found.extend(heard(store))
        assert sorted(found) == sorted(f"e{n}-{each}" for n in range(1, 8) for each in range(10))


class TestTurns:
    def test_carry_everything_out_or_nothing(self, store: StateStore) -> None:
        begin(store)
        store.emit(an_event())

        def broken() -> None:
            with store.turn() as turn:
                turn.news(limit=9)
                decisions = Decisions(handled=("e1",), pending=(a_key(),), fired={"s": NOON})
                turn.apply(decisions, NOON)
                raise RuntimeError("the machine stops")

        with pytest.raises(RuntimeError):
            broken()
        assert store.all_pending(limit=9) == []
        with store.turn() as turn:
            assert turn.fired() == {}
        assert heard(store) == ["e1"]

    def test_know_when_schedules_were_looked_at(self, store: StateStore) -> None:
        with store.turn() as turn:
            turn.apply(Decisions(fired={"a 0 6 * * *": NOON, "b": NOON}), NOON)
        with store.turn() as turn:
            turn.apply(Decisions(fired={"b": NOON + SECOND}), NOON)
        with store.turn() as turn:
            assert turn.fired() == {"a 0 6 * * *": NOON, "b": NOON + SECOND}

    def test_ask_the_ledger_too(self, store: StateStore) -> None:
        record(store, an_entry("m1", "a"))
        with store.turn() as turn:
            assert turn.standing(ORDERS, ["a"])["a"].materialization == "m1"


class TestPending:
    def test_there_is_one_of_each(self, store: StateStore) -> None:
        row = a_key(
            ordinal=NOON,
            asked_by=("lake://main/a", "schedule"),
            lacking=("lake://main/b it's",),
            look_at=NOON + SECOND,
        )
        put(store, row, a_key("b"), a_key(None))
        put(store, replace(row, lacking=()))
        with store.turn() as turn:
            found = turn.pending([(C, "2026-05-16"), (C, "missing"), (C, None), ("other", None)])
        assert sorted(found, key=repr) == sorted([replace(row, lacking=()), a_key(None)], key=repr)
        assert len(store.all_pending(limit=9)) == 3

    def test_keys_of_any_kind_by_the_page(self, store: StateStore) -> None:
        put(store, *(a_key(key) for key in AWKWARD_KEYS), a_key("x", consumer="other"))
        found: list[Pending] = []
        while page := store.all_pending(C, limit=4, after=found[-1].place if found else None):
            found += page
        assert sorted(row.partition or "" for row in found) == sorted(AWKWARD_KEYS)
        assert len(store.all_pending(limit=99)) == len(AWKWARD_KEYS) + 1

    def test_those_that_are_due(self, store: StateStore) -> None:
        put(
            store,
            a_key("later", look_at=NOON + 2 * SECOND),
            a_key("now", look_at=NOON),
            a_key("never"),
            a_key("ready", look_at=NOON, status="ready"),
        )
        with store.turn() as turn:
            assert [row.partition for row in turn.due(NOON + SECOND, limit=9)] == ["now"]
            assert [row.partition for row in turn.due(NOON + 9 * SECOND, limit=1)] == ["now"]

    def test_are_released_and_dropped(self, store: StateStore) -> None:
        put(store, a_key("a"), a_key("b"), a_key("c", consumer="other"))
        with store.turn() as turn:
            turn.apply(Decisions(dropped=((C, "b"),), released=(Released(C, Unlisted()),)), NOON)
            assert [row.partition for row in turn.due(NOON, limit=9)] == ["a"]
        assert {row.partition for row in store.all_pending(limit=9)} == {"a", "c"}

    def test_who_has_keys_that_are_ready(self, store: StateStore) -> None:
        put(
            store,
            a_key("a", status="ready", since=NOON + SECOND),
            a_key("b", status="ready", since=NOON + 2 * SECOND),
            a_key("c", consumer="other", status="ready"),
            a_key("d", consumer="waits"),
        )
        found = [(each.consumer, each.keys, each.since) for each in store.ready(limit=9)]
        assert found == [("other", 1, NOON), (C, 2, NOON + SECOND)]


class TestClaims:
    def ready(self, store: StateStore, *keys: str | None) -> None:
        put(store, *(a_key(key, status="ready") for key in keys))

    def test_a_key_is_given_once(self, store: StateStore) -> None:
        self.ready(store, "a", "b", "c")
        first = store.claim(C, server="s", run="r1", limit=2)
        second = store.claim(C, server="s", run="r2", limit=9)
        assert sorted(str(row.partition) for row in (*first, *second)) == ["a", "b", "c"]
        assert store.claim(C, server="s", run="r3", limit=9) == []
        assert store.ready(limit=9) == []

    def test_the_earliest_first(self, store: StateStore) -> None:
        day = timedelta(days=1)
        put(
            store,
            *(a_key(str(n), status="ready", ordinal=NOON + n * day) for n in (3, 1, 2)),
        )
        found = store.claim(C, server="s", run="r", limit=2)
        assert [row.partition for row in found] == ["1", "2"]

    def test_by_one_of_many_who_try(self, new_store: NewStore) -> None:
        store = new_store()
        self.ready(store, *(f"k{n}" for n in range(40)))
        found: list[str | None] = []

        def take(number: int) -> None:
            own = new_store()
            while rows := own.claim(C, server="s", run=f"r{number}", limit=3):
                found.extend(row.partition for row in rows)

        in_threads(take)
        assert sorted(map(str, found)) == sorted(f"k{n}" for n in range(40))

    def test_what_a_run_has_made_is_pending_no_more(self, store: StateStore) -> None:
        for number, key in enumerate("abcd"):
            put(store, a_key(key, consumer=ORDERS, status="ready", ordinal=NOON + number * SECOND))
        store.begin_run(a_run(), [a_step()])
        store.claim(ORDERS, server="s", run="r1", limit=3)
        failed = replace(an_entry("m2", "b"), status="failed")
        store.finish_step(
            a_step(status="succeeded", finished_at=NOON), [an_entry("m1", "a"), failed]
        )
        left = {row.partition: row.status for row in store.all_pending(limit=9)}
        # What failed may be tried again, as long as the run goes on.
        assert left == {"b": "claimed", "c": "claimed", "d": "ready"}
        store.finish_run("r1", "failed", at=NOON)
        assert {row.partition for row in store.all_pending(limit=9)} == {"d"}

    def test_what_was_asked_for_again_waits_anew(self, store: StateStore) -> None:
        put(store, a_key("a", consumer=ORDERS, status="ready"))
        store.begin_run(a_run(), [a_step()])
        (row,) = store.claim(ORDERS, server="s", run="r1", limit=3)
        claimed = replace(row, status="claimed", server="s", run="r1", again=True)
        put(store, claimed)
        store.finish_step(a_step(status="succeeded", finished_at=NOON), [an_entry("m1", "a")])
        (left,) = store.all_pending(limit=9)
        assert (left.status, left.again, left.run) == ("waiting", False, None)
        with store.turn() as turn:
            assert [each.partition for each in turn.due(NOON, limit=9)] == ["a"]

    @pytest.mark.parametrize("status", ["cancelled", "failed"])
    def test_a_run_that_could_not_make_them_gives_them_back(
        self, store: StateStore, status: RunStatus
    ) -> None:
        self.ready(store, "a")
        store.begin_run(a_run(), [])
        store.claim(C, server="s", run="r1", limit=3)
        store.finish_run("r1", status, at=NOON, hand_over=True)
        assert [row.status for row in store.all_pending(limit=9)] == ["ready"]

    def test_so_does_a_server_that_is_gone(self, new_store: NewStore, kind: str) -> None:
        store, other = new_store(), new_store()
        self.ready(store, "a", "b")
        other.serve("theirs")
        if kind != "memory":
            store.serve("ours")
            store.claim(C, server="ours", run="r1", limit=1)
        other.claim(C, server="theirs", run="r2", limit=1)
        assert store.give_back() == 0
        other.close()
        assert store.give_back() == 1
        rows = {row.server: row.status for row in store.all_pending(limit=9)}
        assert rows == {None: "ready"} | ({} if kind == "memory" else {"ours": "claimed"})

    def test_a_server_is_there_once(self, store: StateStore) -> None:
        store.serve("s")
        with pytest.raises(StateError, match="server 's' is there already"):
            store.serve("s")
        self.ready(store, "a")
        store.claim(C, server="s", run="r", limit=1)
        store.leave("s")
        assert store.give_back() == 1
        store.serve("s")


def test_keys_of_a_script_that_is_paused_wait(store: StateStore) -> None:
    put(store, a_key("a", status="ready"), a_key("b", consumer="other", status="ready"))
    assert store.pause(C, at=NOON)
    assert not store.pause(C, at=NOON + SECOND)
    assert store.paused() == {C: NOON}
    assert [each.consumer for each in store.ready(limit=9)] == ["other"]
    assert store.claim(C, server="s", run="r", limit=9) == []
    assert store.resume(C)
    assert not store.resume(C)
    assert len(store.claim(C, server="s", run="r", limit=9)) == 1


def test_what_scripts_cannot_take_is_kept(store: StateStore) -> None:
    first, second = (
        Rejected(C, "e1", "it's no key", NOON),
        Rejected("o", "e1", "nor", NOON + SECOND),
    )
    for _ in range(2):
        with store.turn() as turn:
            turn.apply(Decisions(rejected=(first, second)), NOON)
    assert store.rejected(limit=9) == [second, first]
    assert store.rejected(C, limit=9) == [first]


def test_keys_are_asked_for_one_by_one(store: StateStore) -> None:
    rows = [a_key(key, asked_by=("a", "b"), lacking=("x",)) for key in (*AWKWARD_KEYS, None)]
    put(store, *rows)
    for row in rows:
        assert store.pending([row.place]) == [row]
    assert store.pending([(C, "another"), ("another", rows[0].partition)]) == []


def test_a_script_with_faults_hears_later_of_what_it_missed(store: StateStore) -> None:
    begin(store)
    store.emit(an_event("e1"))
    heard(store)
    with store.turn() as turn:
        assert turn.missed() == []
        turn.news(limit=9)
        turn.apply(Decisions(fallen=("a/b 'c'",)), NOON)
    for number in (2, 3, 4):
        store.emit(an_event(f"e{number}"))
    record(store, an_entry("m1", "a"))
    assert set(heard(store)) == {"e2", "e3", "e4", "m1"}
    with store.turn() as turn:
        assert turn.missed() == ["a/b 'c'"]
        turn.news(limit=9)
        found = turn.missed_by("a/b 'c'", limit=9)
        assert {event.id for event in found} == {"e2", "e3", "e4", "m1"}
        turn.apply(Decisions(mended=("a/b 'c'",)), NOON)
    with store.turn() as turn:
        assert turn.missed() == []


def test_it_hears_of_it_bit_by_bit(store: StateStore, kind: str) -> None:
    begin(store)
    with store.turn() as turn:
        turn.news(limit=9)
        turn.apply(Decisions(fallen=("x",)), NOON)
    for number in range(5):
        store.emit(an_event(f"e{number}"))
    heard(store)
    if kind == "memory":
        # It hears of all at once there.
        return
    found: list[str] = []
    while True:
        with store.turn() as turn:
            if not turn.missed():
                break
            turn.news(limit=9)
            found += (event.id for event in turn.missed_by("x", limit=2))
            turn.apply(Decisions(mended=("x",)), NOON)
    assert found == [f"e{number}" for number in range(5)]
