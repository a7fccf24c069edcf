"""How every store keeps runs apart: claims on keys, what is staged, and whose process has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tranche.errors import StateError
from tranche.model.data_test import DataTestResult
from tranche.model.rows import Rows
from tranche.model.run import Claim, Input
from tranche.ports import StateStore

from .builders import (
    AWKWARD_KEYS,
    NOON,
    ORDERS,
    SECOND,
    a_failure,
    a_run,
    a_step,
    an_attempt,
    an_entry,
    in_threads,
)

OTHER = "lake://main/other"


def a_claim(partition: str | None, attempt: str = "a1", **changes: Any) -> Claim:
    claim = Claim(asset=ORDERS, partition=partition, run="r1", attempt=attempt, at=NOON + SECOND)
    return replace(claim, **changes)


@pytest.fixture
def begun(store: StateStore) -> StateStore:
    """A store with a run of many steps."""
    store.begin_run(a_run(), [a_step(position=n) for n in range(10)])
    return store


def begin(
    store: StateStore,
    position: int,
    keys: Sequence[str | None],
    asset: str | None = ORDERS,
) -> Sequence[Claim]:
    """An attempt of the step at that position, with the id `a<position>`."""
    attempt = an_attempt(f"a{position}", position=position)
    return store.begin_attempt(attempt, asset=asset, keys=keys)


class TestClaims:
    def test_others_cannot_claim_what_is_claimed(self, begun: StateStore) -> None:
        assert begin(begun, 1, ["k1", "k2"]) == ()
        assert begin(begun, 2, ["k3", "k2", "k1"]) == (a_claim("k1"), a_claim("k2"))
        assert begin(begun, 2, ["k2"]) == (a_claim("k2"),)
        assert begin(begun, 2, ["k3"]) == ()

    def test_who_cannot_claim_everything_changes_nothing(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1"])
        before = begun.steps("r1")
        assert begin(begun, 2, ["k1", "k2"]) == (a_claim("k1"),)
        assert begun.steps("r1") == before
        assert [attempt.id for attempt in begun.attempts("r1")] == ["a1"]
        with pytest.raises(StateError, match="not recorded"):
            begun.finish_attempt(an_attempt("a2"))
        assert begin(begun, 3, ["k2"]) == ()

    def test_who_claims_begins(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1"])
        assert begun.attempts("r1") == (an_attempt(position=1),)
        assert begun.steps("r1")[1].status == "running"

    def test_none_is_all_keys(self, begun: StateStore) -> None:
        assert begin(begun, 1, [None]) == ()
        assert begin(begun, 2, ["k1"]) == (a_claim(None),)
        assert begin(begun, 2, [None]) == (a_claim(None),)
        begun.finish_attempt(an_attempt("a1", status="failed"))
        assert begin(begun, 2, ["k2", "k1"]) == ()
        expected = (a_claim("k1", "a2"), a_claim("k2", "a2"))
        assert begin(begun, 3, [None]) == expected
        assert begin(begun, 3, ["k9", None]) == expected
        assert begin(begun, 3, ["k9"]) == ()

    def test_who_is_at_a_key(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1", "k2"])
        begin(begun, 2, [None], OTHER)
        assert begun.claims(ORDERS, limit=9) == (a_claim("k1"), a_claim("k2"))
        assert begun.claims(ORDERS, limit=9, keys=["k2", None]) == (a_claim("k2"),)
        assert begun.claims(OTHER, limit=9, keys=["k2", None]) == (
            a_claim(None, "a2", asset=OTHER),
        )
        assert begun.claims(ORDERS, limit=9, keys=["k3"]) == ()
        assert begun.claims(ORDERS, limit=9, keys=[]) == ()

    def test_each_asset_has_its_own(self, begun: StateStore) -> None:
        assert begin(begun, 1, [None]) == ()
        assert begin(begun, 2, [None], OTHER) == ()
        assert begin(begun, 3, ["k1"], OTHER) == (a_claim(None, "a2", asset=OTHER),)

    def test_nothing_is_claimed(self, begun: StateStore) -> None:
        assert begin(begun, 1, []) == ()
        assert begin(begun, 2, [None, "k1"], asset=None) == ()
        assert begin(begun, 3, [None]) == ()
        assert begin(begun, 4, []) == ()
        assert begin(begun, 5, ["k1"], asset=None) == ()

    def test_a_key_that_is_given_twice_counts_once(self, begun: StateStore) -> None:
        assert begin(begun, 1, ["k1", "k1", "k2", "k1"]) == ()
        assert begin(begun, 2, ["k1", "k1"]) == (a_claim("k1"),)
        assert begin(begun, 3, [None, None], OTHER) == ()

    def test_all_keys_and_one_of_them(self, begun: StateStore) -> None:
        assert begin(begun, 1, [None, "k1"]) == ()
        assert begin(begun, 2, ["k1"]) == (a_claim(None), a_claim("k1"))

    def test_claims_end_with_the_attempt(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1", "k2"])
        begin(begun, 2, ["k3"])
        begun.finish_attempt(an_attempt("a1", status="failed", finished_at=NOON))
        assert begin(begun, 3, ["k1", "k2", "k3"]) == (a_claim("k3", "a2"),)
        assert begin(begun, 3, ["k1"]) == ()

    def test_claims_end_with_the_step_of_the_attempt(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1"])
        done = a_step(position=1, status="succeeded")
        begun.finish_step(done)
        assert begin(begun, 2, ["k1"]) == (a_claim("k1"),)
        with pytest.raises(StateError):
            begun.finish_step(replace(done, position=99), attempt=an_attempt("a1"))
        assert begin(begun, 2, ["k1"]) == (a_claim("k1"),)
        begun.finish_step(done, [an_entry()], attempt=an_attempt("a1", status="succeeded"))
        assert begin(begun, 2, ["k1"]) == ()

    def test_an_attempt_that_cannot_begin_claims_nothing(self, begun: StateStore) -> None:
        begin(begun, 1, ["k1"])
        for attempt in (an_attempt("a1", position=1), an_attempt("new", position=99)):
            with pytest.raises(StateError):
                begun.begin_attempt(attempt, asset=ORDERS, keys=["k2"])
        assert begin(begun, 2, ["k2"]) == ()

    def test_keys_are_data(self, begun: StateStore) -> None:
        assert begin(begun, 1, AWKWARD_KEYS) == ()
        for key in AWKWARD_KEYS:
            assert begin(begun, 2, [key]) == (a_claim(key),)
        assert begin(begun, 2, ["IT'S", "%", "it's "]) == ()

    @pytest.mark.parametrize("key", ["", "a\x00b", "\ud800", "k" * 1001])
    def test_a_key_that_cannot_be_kept_is_refused(self, begun: StateStore, key: str) -> None:
        with pytest.raises(ValueError):
            begin(begun, 1, ["k1", key])
        assert begin(begun, 2, ["k1"]) == ()

    def test_thousands_of_keys(self, begun: StateStore) -> None:
        keys = [f"k{n}" for n in range(5000)]
        assert begin(begun, 1, keys) == ()
        assert begin(begun, 2, [f"other {n}" for n in range(5000)]) == ()
        assert begin(begun, 3, [*(f"new {n}" for n in range(5000)), "k4999"]) == (a_claim("k4999"),)
        for wanted in (keys, [None]):
            found = begin(begun, 3, wanted)
            assert len(found) == 20
            assert {claim.attempt for claim in found} <= {"a1", "a2"}
        begun.finish_attempt(an_attempt("a1", status="failed"))
        assert begin(begun, 3, keys) == ()

    def test_of_many_at_once_one_gets_the_key(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        first.begin_run(a_run(), [a_step(position=n) for n in range(8)])
        for round in range(5):

            def claim(thread: int, round: int = round) -> Sequence[Claim]:
                attempt = an_attempt(f"{round}-{thread}", position=thread, number=round)
                # Some want all keys, and some others beside the one.
                keys = [None] if thread % 4 == 0 else [f"{thread}", "shared", f"{thread}-b"]
                return new_store().begin_attempt(attempt, asset=ORDERS, keys=keys)

            found = in_threads(claim)
            winners = [thread for thread, claims in enumerate(found) if not claims]
            assert len(winners) == 1
            winner = f"{round}-{winners[0]}"
            assert {claim.attempt for claims in found for claim in claims} == {winner}
            first.finish_attempt(an_attempt(winner, status="failed"))

    def test_different_keys_at_once_all_get_theirs(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        first = new_store()
        first.begin_run(a_run(), [a_step(position=n) for n in range(8)])

        def claim(thread: int) -> Sequence[Claim]:
            store = new_store()
            keys = [f"{thread}-{n}" for n in range(600)]
            return begin(store, thread, keys)

        assert in_threads(claim) == [()] * 8


class TestStaged:
    def test_what_was_staged_comes_back(self, begun: StateStore) -> None:
        begin(begun, 1, [])
        entries = (
            an_entry("m1", "it's", attempt="a1", ordinal=NOON, rows=2**40),
            an_entry("m2", None, attempt="a1", inputs=(Input(asset=OTHER, snapshot="s0"),)),
            an_entry("m5", "k5", attempt="a1", provisional=True),
            an_entry("m6", "k6", attempt="a1", column_digests={"s": ("c-1", "snapshot 7")}),
            a_failure("m3", partition="🦆", attempt="a1"),
            an_entry("m4", "k4", attempt="a1", tests=(DataTestResult(test="t", severity="warn"),)),
        )
        begun.stage("a1", entries)
        assert begun.staged("a1") == entries
        assert begun.materialization("m1") is None
        assert begun.partitions(ORDERS, limit=5) == ()

    def test_samples_are_not_staged(self, begun: StateStore) -> None:
        begin(begun, 1, [])
        sample = Rows((("a", "int"),), ((1,),))
        result = DataTestResult(test="t", violations=3, sample=sample)
        begun.stage("a1", [an_entry(tests=(result,))])
        assert begun.staged("a1") == (an_entry(tests=(replace(result, sample=None),)),)

    def test_the_latest_counts(self, begun: StateStore) -> None:
        begin(begun, 1, [])
        begin(begun, 2, [])
        begun.stage("a1", [an_entry("m1"), an_entry("m2")])
        begun.stage("a2", [an_entry("m4")])
        begun.stage("a1", [an_entry("m3")])
        assert begun.staged("a1") == (an_entry("m3"),)
        begun.stage("a1", [])
        assert begun.staged("a1") == ()
        assert begun.staged("a2") == (an_entry("m4"),)

    def test_it_outlives_the_process(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        first.begin_run(a_run(), [a_step()])
        first.begin_attempt(an_attempt(), asset=ORDERS, keys=["k"])
        entries = tuple(an_entry(f"m{n}", f"k{n}", attempt="a1") for n in range(1000))
        first.stage("a1", entries)
        first.close()
        other = new_store()
        assert other.staged("a1") == entries
        assert other.adopt("r1")
        ended = an_attempt(status="succeeded", finished_at=NOON)
        other.finish_step(a_step(status="succeeded"), other.staged("a1"), attempt=ended)
        assert other.outcomes([ORDERS]) == {ORDERS: {"succeeded": 1000}}

    def test_an_unknown_attempt(self, begun: StateStore) -> None:
        with pytest.raises(StateError, match="attempt 'a1' is not recorded"):
            begun.stage("a1", [an_entry()])
        assert begun.staged("a1") == ()


class TestLives:
    def test_a_run_lives_with_its_store(self, new_store: Callable[[], StateStore]) -> None:
        first, other = new_store(), new_store()
        first.begin_run(a_run(), [])
        assert first.abandoned() == ()
        assert other.abandoned() == ()
        first.close()
        assert other.abandoned() == (a_run(),)
        assert new_store().abandoned() == (a_run(),)

    def test_a_run_that_has_ended_is_not_abandoned(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        first = new_store()
        first.begin_run(a_run(), [])
        first.begin_run(a_run("born dead", status="failed"), [])
        first.finish_run("r1", "failed", at=NOON)
        assert first.abandoned() == ()
        first.close()
        assert new_store().abandoned() == ()

    def test_the_oldest_comes_first(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        runs = [a_run(f"r{n}", started_at=NOON + SECOND * (n // 2)) for n in range(6)]
        for run in reversed(runs):
            first.begin_run(run, [])
        first.finish_run("r3", "succeeded", at=NOON)
        first.close()
        other = new_store()
        other.begin_run(a_run("living"), [])
        assert other.abandoned() == (*runs[:3], *runs[4:])

    def test_who_adopts_a_run_has_it(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        first.begin_run(a_run(), [a_step()])
        first.close()
        second, third = new_store(), new_store()
        assert second.adopt("r1")
        assert second.abandoned() == third.abandoned() == ()
        assert not third.adopt("r1")
        assert not second.adopt("r1")
        second.begin_attempt(an_attempt())
        second.finish_run("r1", "failed", at=NOON + SECOND, error="its process was killed")
        assert third.run("r1") == a_run(
            status="failed", finished_at=NOON + SECOND, error="its process was killed"
        )
        second.close()
        assert third.abandoned() == ()
        assert not third.adopt("r1")

    def test_an_adopted_run_can_be_abandoned_again(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        for _ in range(3):
            store = new_store()
            if store.run("r1") is None:
                store.begin_run(a_run(), [])
            else:
                assert store.abandoned() == (a_run(),)
                assert store.adopt("r1")
            store.close()
        assert new_store().abandoned() == (a_run(),)

    def test_what_cannot_be_adopted(self, new_store: Callable[[], StateStore]) -> None:
        first, other = new_store(), new_store()
        first.begin_run(a_run("living"), [])
        first.begin_run(a_run("ended"), [])
        first.finish_run("ended", "succeeded", at=NOON)
        for store in (first, other):
            assert not store.adopt("living")
            assert not store.adopt("ended")
            assert not store.adopt("nobody")
        with pytest.raises(ValueError):
            other.adopt("")

    def test_a_run_that_was_ended_by_others(self, new_store: Callable[[], StateStore]) -> None:
        first, other = new_store(), new_store()
        first.begin_run(a_run(), [])
        other.finish_run("r1", "cancelled", at=NOON)
        assert first.abandoned() == other.abandoned() == ()
        first.finish_run("r1", "cancelled", at=NOON)
        first.close()
        assert not other.adopt("r1")

    def test_recording_a_run_twice_does_not_revive_it(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        first, other = new_store(), new_store()
        first.begin_run(a_run(), [])
        with pytest.raises(StateError, match="recorded already"):
            other.begin_run(a_run(), [])
        assert other.abandoned() == ()
        first.close()
        with pytest.raises(StateError, match="recorded already"):
            other.begin_run(a_run(), [])
        assert other.abandoned() == (a_run(),)
        assert new_store().adopt("r1")

    def test_a_store_that_was_closed_can_begin_again(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        store = new_store()
        store.begin_run(a_run("r1"), [])
        store.close()
        store.begin_run(a_run("r2"), [])
        assert new_store().abandoned() == (a_run("r1"),)
        assert store.adopt("r1")
        assert new_store().abandoned() == ()

    def test_any_id(self, new_store: Callable[[], StateStore]) -> None:
        ids = ["../../up", "a/b\\c", "NUL", ".", "r1", "R1", "🦆" * 200, "'; --", "x" * 200]
        first = new_store()
        for id in ids:
            first.begin_run(a_run(id), [])
        assert new_store().abandoned() == ()
        first.close()
        other = new_store()
        assert {run.id for run in other.abandoned()} == set(ids)
        assert all(other.adopt(id) for id in ids)
        for id in ids:
            other.finish_run(id, "failed", at=NOON)
        assert other.abandoned() == ()

    def test_of_many_adopters_one_wins(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        first.begin_run(a_run(), [])
        first.close()
        stores = [new_store() for _ in range(8)]

        def adopt(thread: int) -> bool:
            found = stores[thread].abandoned()
            return stores[thread].adopt("r1") if found else False

        assert in_threads(adopt).count(True) == 1

    def test_looking_keeps_nobody_from_adopting(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        runs = [f"r{n}" for n in range(10)]
        for run in runs:
            first.begin_run(a_run(run), [])
        first.close()
        adopter = new_store()

        def work(thread: int) -> list[bool]:
            if thread == 0:
                return [adopter.adopt(run) for run in runs]
            store = new_store()
            for _ in range(10):
                store.abandoned()
            return []

        assert in_threads(work)[0] == [True] * 10
        assert new_store().abandoned() == ()

    def test_runs_begin_and_end_while_others_look(
        self, new_store: Callable[[], StateStore]
    ) -> None:
        first = new_store()
        first.begin_run(a_run("first"), [])

        def work(thread: int) -> list[str]:
            store = new_store()
            if thread % 2:
                return [run.id for _ in range(30) for run in store.abandoned()]
            for n in range(10):
                store.begin_run(a_run(f"{thread}-{n}"), [])
                store.finish_run(f"{thread}-{n}", "succeeded", at=NOON)
            return []

        assert in_threads(work) == [[]] * 8
