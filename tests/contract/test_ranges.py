"""What every store does alike with many keys at once, and with backfills."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tranche.errors import StateError
from tranche.model.backfill import Backfill
from tranche.ports import StateStore

from .builders import AWKWARD_KEYS, NOON, ORDERS, a_failure, an_entry, record

DAY = timedelta(days=1)


def a_backfill(id: str = "b1", **changes: object) -> Backfill:
    backfill = Backfill(
        id=id,
        target="orders",
        asset=ORDERS,
        status="running",
        created_at=NOON,
        keys=("2026-05-01", "o'neill | x"),
        options={"every": True, "most_keys": 3},
    )
    return replace(backfill, **changes)  # type: ignore[arg-type]


class TestManyKeys:
    def test_where_keys_stand(self, store: StateStore) -> None:
        record(store, an_entry("m1", "a"), a_failure("m2", partition="b"))
        found = store.standing(ORDERS, ["b", "missing", "a"])
        assert {key: state.status for key, state in found.items()} == {
            "a": "succeeded",
            "b": "failed",
        }
        assert store.standing("lake://main/other", ["a"]) == {}

    def test_more_than_a_question_can_name(self, store: StateStore) -> None:
        keys = [f"k{number}" for number in range(1_200)]
        record(store, *(an_entry(f"m{n}", key) for n, key in enumerate(keys)))
        assert set(store.standing(ORDERS, keys)) == set(keys)
        assert len(store.entries([f"m{n}" for n in range(1_200)])) == 1_200

    def test_keys_of_any_kind(self, store: StateStore) -> None:
        record(store, *(an_entry(f"m{n}", key) for n, key in enumerate(AWKWARD_KEYS)))
        assert set(store.standing(ORDERS, AWKWARD_KEYS)) == set(AWKWARD_KEYS)

    def test_the_one_key_of_a_whole_table(self, store: StateStore) -> None:
        record(store, an_entry("m1", None))
        assert store.standing(ORDERS, [None])[None].materialization == "m1"

    def test_entries_by_their_ids(self, store: StateStore) -> None:
        record(store, an_entry("m1", "a", seconds=1.5), an_entry("m2", "b"))
        found = {entry.id: entry for entry in store.entries(["m2", "m1", "m9"])}
        assert set(found) == {"m1", "m2"}
        assert found["m1"] == store.materialization("m1")
        assert (found["m1"].seconds, found["m2"].seconds) == (1.5, None)

    def test_how_keys_of_a_time_ended(self, store: StateStore) -> None:
        entries = [
            an_entry("m1", "d1", ordinal=NOON),
            a_failure("m2", partition="d2", ordinal=NOON + DAY),
            an_entry("m3", "d3", ordinal=NOON + 2 * DAY),
            an_entry("m4", "none"),
        ]
        record(store, *entries)
        assert store.statuses(ORDERS, start=NOON, end=NOON + 2 * DAY) == {
            "d1": "succeeded",
            "d2": "failed",
        }

    def test_how_keys_of_a_time_ended_but_for_some(self, store: StateStore) -> None:
        record(
            store,
            an_entry("m1", "d1", ordinal=NOON),
            a_failure("m2", partition="d2", ordinal=NOON + DAY),
        )
        found = store.statuses(ORDERS, start=NOON, end=NOON + 2 * DAY, but="succeeded")
        assert found == {"d2": "failed"}

    def test_keys_of_a_time_counted_by_month(self, store: StateStore) -> None:
        noons = [NOON + number * DAY for number in range(40)]
        entries = [
            a_failure(f"m{n}", partition=f"d{n}", ordinal=at)
            if n == 3
            else an_entry(f"m{n}", f"d{n}", ordinal=at)
            for n, at in enumerate(noons)
        ]
        record(store, *entries, an_entry("m99", "none"))
        found = store.tallies(ORDERS, start=NOON, end=NOON + 99 * DAY)
        months = list(dict.fromkeys((at.year, at.month) for at in noons))
        assert [(each.month, each.status) for each in found] == [
            (months[0], "failed"),
            *((month, "succeeded") for month in months),
        ]
        of_first = [at for at in noons if (at.year, at.month) == months[0]]
        assert (found[0].keys, found[0].first, found[0].last) == (1, noons[3], noons[3])
        assert (found[1].keys, found[1].first) == (len(of_first) - 1, NOON)
        assert (found[-1].last, found[-1].longest) == (noons[-1], 3)
        assert (found[1].shortest, found[1].longest) == (2, 3)
        assert sum(each.keys for each in found) == 40
        assert store.tallies("lake://main/other", start=NOON, end=NOON + DAY) == ()


class TestBackfills:
    def test_they_come_back_as_they_were(self, store: StateStore) -> None:
        store.begin_backfill(a_backfill())
        assert store.backfill("b1") == a_backfill()
        assert store.backfill("b2") is None

    def test_only_once(self, store: StateStore) -> None:
        store.begin_backfill(a_backfill())
        with pytest.raises(StateError):
            store.begin_backfill(a_backfill())

    def test_the_latest_first_without_their_keys(self, store: StateStore) -> None:
        for number in range(3):
            store.begin_backfill(a_backfill(f"b{number}", created_at=NOON + number * DAY))
        found = store.backfills(limit=2)
        assert [each.id for each in found] == ["b2", "b1"]
        assert all(each.keys == () for each in found)

    def test_those_that_have_not_ended(self, store: StateStore) -> None:
        for number, status in enumerate(("waiting", "succeeded", "cancelling", "failed")):
            when = NOON + number * DAY
            store.begin_backfill(a_backfill(f"b{number}", created_at=when, status=status))
        found = store.backfills(limit=9, unfinished=True)
        assert [each.id for each in found] == ["b2", "b0"]

    def test_where_one_stands(self, store: StateStore) -> None:
        store.begin_backfill(a_backfill())
        store.change_backfill("b1", status="running", run="r1")
        store.change_backfill("b1", status="failed", at=NOON + DAY)
        found = store.backfill("b1")
        assert found is not None
        assert (found.status, found.run, found.finished_at) == ("failed", "r1", NOON + DAY)

    def test_one_that_is_not_there(self, store: StateStore) -> None:
        with pytest.raises(StateError):
            store.change_backfill("b9", status="failed")
