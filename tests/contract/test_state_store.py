"""What every store does alike: in memory, in SQLite and in PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tranche.errors import StateError
from tranche.model.run import Input, Outcome, PartitionState, Run, StepRecord
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
    record,
)


def pages(store: StateStore, limit: int, **bounds: Any) -> list[PartitionState]:
    found: list[PartitionState] = []
    while page := store.partitions(
        ORDERS, limit=limit, after=found[-1] if found else None, **bounds
    ):
        assert len(page) <= limit
        found += page
    return found


def keys(states: Sequence[PartitionState]) -> list[str | None]:
    return [state.partition for state in states]


class TestRuns:
    def test_a_run_comes_back_as_it_was(self, store: StateStore) -> None:
        run = a_run(
            status="succeeded",
            finished_at=NOON + SECOND,
            partition="2026-05-16",
            payload={"user": {"id": 7}},
            arguments={"since": "2026-01-01", "naïve": "'"},
            error="none really",
        )
        store.begin_run(run, [])
        assert store.run("r1") == run

    def test_an_unknown_run_is_none(self, store: StateStore) -> None:
        assert store.run("nobody") is None
        assert store.steps("nobody") == ()
        assert store.attempts("nobody") == ()

    def test_a_finished_run_has_its_outcome(self, store: StateStore) -> None:
        store.begin_run(a_run(), [])
        store.finish_run("r1", "failed", at=NOON + SECOND, error="step 0 failed")
        assert store.run("r1") == a_run(
            status="failed", finished_at=NOON + SECOND, error="step 0 failed"
        )

    def test_a_run_is_recorded_once(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        with pytest.raises(StateError, match="run 'r1' is recorded already"):
            store.begin_run(a_run(target="other"), [a_step(position=1)])
        assert store.run("r1") == a_run()
        assert store.steps("r1") == (a_step(),)

    def test_an_unknown_run_cannot_finish(self, store: StateStore) -> None:
        with pytest.raises(StateError, match="run 'r1' is not recorded"):
            store.finish_run("r1", "succeeded", at=NOON)

    @pytest.mark.parametrize("steps", [[a_step("r2")], [a_step(), a_step()]])
    def test_steps_belong_to_their_run(self, store: StateStore, steps: list[StepRecord]) -> None:
        with pytest.raises(ValueError):
            store.begin_run(a_run(), steps)
        assert store.run("r1") is None

    def test_the_latest_runs_come_first_in_pages(self, store: StateStore) -> None:
        for number in random.Random(1).sample(range(20), 20):
            # Four runs start at each moment.
            store.begin_run(a_run(f"r{number:02}", started_at=NOON + SECOND * (number // 4)), [])
        seen: list[str] = []
        while page := store.runs(limit=3, before=seen[-1] if seen else None):
            seen += [run.id for run in page]
        assert seen == [f"r{number:02}" for number in reversed(range(20))]

    def test_runs_by_how_they_ended_and_by_what_they_make(self, store: StateStore) -> None:
        for number in range(8):
            id = f"r{number}"
            made = ORDERS if number % 2 else "lake://main/other"
            steps = [a_step(id, place, asset=made) for place in (0, 1)]
            store.begin_run(a_run(id, started_at=NOON + SECOND * number), steps)
            if number < 6:
                store.finish_run(id, "failed" if number < 4 else "succeeded", at=NOON)

        def ids(runs: Sequence[Run]) -> list[str]:
            return [run.id for run in runs]

        assert ids(store.runs(limit=9, status="failed")) == ["r3", "r2", "r1", "r0"]
        assert ids(store.runs(limit=2, status="failed", before="r2")) == ["r1", "r0"]
        assert ids(store.runs(limit=9, status="running")) == ["r7", "r6"]
        assert ids(store.runs_of(ORDERS, limit=3)) == ["r7", "r5", "r3"]
        assert ids(store.runs_of(ORDERS, limit=3, before="r3")) == ["r1"]
        assert ids(store.runs_of(ORDERS, limit=3, status="failed")) == ["r3", "r1"]
        assert ids(store.runs_of(ORDERS, limit=3, status="failed", before="r3")) == ["r1"]
        assert store.runs_of(ORDERS, limit=3, status="cancelled") == ()
        assert store.runs_of("lake://main/nobody", limit=3) == ()

    def test_nothing_comes_before_an_unknown_run(self, store: StateStore) -> None:
        store.begin_run(a_run(), [])
        assert store.runs(limit=5, before="nobody") == ()

    def test_a_limit_of_none_and_less(self, store: StateStore) -> None:
        record(store, an_entry())
        assert store.runs(limit=0) == ()
        assert store.partitions(ORDERS, limit=0) == ()
        assert store.materializations(ORDERS, "2026-05-16", limit=0) == ()
        for ask in (
            lambda: store.runs(limit=-1),
            lambda: store.partitions(ORDERS, limit=-1),
            lambda: store.materializations(ORDERS, None, limit=-1),
        ):
            with pytest.raises(ValueError):
                ask()

    def test_what_a_caller_does_to_a_payload_stays_with_the_caller(self, store: StateStore) -> None:
        payload = {"keys": [1]}
        store.begin_run(a_run(payload=payload), [])
        payload["keys"].append(2)
        found = store.run("r1")
        assert found is not None
        found.payload["keys"].append(3)
        assert store.run("r1") == a_run(payload={"keys": [1]})


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"a": None},
        [],
        [None],
        "",
        "null",
        0,
        False,
        1.5,
        2**70,
        {"nested": [{"list": [1, [2, {"three": "drei"}]]}]},
        {"ключ": "🦆 \u0000 \ud800 ' \" \\ \n", "": "empty"},
    ],
)
def test_a_payload_comes_back_as_it_was(store: StateStore, payload: Any) -> None:
    store.begin_run(a_run(payload=payload), [])
    run = store.run("r1")
    assert run is not None
    assert run.payload == payload
    assert type(run.payload) is type(payload)


@pytest.mark.parametrize("payload", [float("nan"), [float("inf")], {"at": NOON}, {1, 2}])
def test_a_payload_that_is_not_json_is_refused(store: StateStore, payload: Any) -> None:
    with pytest.raises(ValueError):
        store.begin_run(a_run(payload=payload), [])


def test_a_payload_is_what_json_makes_of_it(store: StateStore) -> None:
    store.begin_run(a_run(payload={"pair": (1, 2), 3: "three"}), [])
    assert store.run("r1") == a_run(payload={"pair": [1, 2], "3": "three"})


class TestSteps:
    def test_steps_come_back_in_order(self, store: StateStore) -> None:
        steps = [
            a_step(position=10, asset=None, partition=None, strategy=None),
            a_step(position=2, ordinal=NOON, rows=2**40, snapshot="s", error="why"),
            a_step(position=0, started_at=NOON, finished_at=NOON + SECOND),
        ]
        store.begin_run(a_run(), steps)
        assert store.steps("r1") == tuple(reversed(steps))

    def test_an_attempt_makes_its_step_run(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(), a_step(position=1)])
        store.begin_attempt(an_attempt())
        assert store.attempts("r1") == (an_attempt(),)
        assert store.steps("r1") == (
            a_step(status="running", started_at=NOON + SECOND),
            a_step(position=1),
        )

    def test_a_step_that_is_tried_again_has_no_outcome_and_its_first_start(
        self, store: StateStore
    ) -> None:
        store.begin_run(a_run(), [a_step()])
        store.begin_attempt(an_attempt())
        store.finish_step(a_step(status="failed", error="boom", finished_at=NOON + 2 * SECOND))
        assert store.steps("r1")[0].started_at == NOON + SECOND
        store.begin_attempt(an_attempt("a2", number=2, started_at=NOON + 3 * SECOND))
        assert store.steps("r1") == (a_step(status="running", started_at=NOON + SECOND),)

    def test_a_finished_attempt_has_its_outcome(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(), a_step(position=1)])
        ended: dict[str, Any] = {
            "status": "failed",
            "finished_at": NOON + 2 * SECOND,
            "error": "boom",
        }
        tries = [
            an_attempt("z", number=1),
            an_attempt("y", number=2),
            an_attempt("x", position=1),
        ]
        for attempt in reversed(tries):
            store.begin_attempt(attempt)
        store.finish_attempt(replace(tries[0], **ended))
        assert store.attempts("r1") == (replace(tries[0], **ended), *tries[1:])

    def test_an_attempt_is_recorded_once(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        store.begin_attempt(an_attempt())
        for twin in (an_attempt(number=2), an_attempt("a2")):
            with pytest.raises(StateError, match="recorded already"):
                store.begin_attempt(twin)
        assert store.attempts("r1") == (an_attempt(),)

    def test_what_is_not_recorded_cannot_change(self, store: StateStore) -> None:
        store.begin_run(a_run(), [])
        with pytest.raises(StateError, match="step 0 of run 'r1' is not recorded"):
            store.begin_attempt(an_attempt())
        with pytest.raises(StateError, match="attempt 'a1' is not recorded"):
            store.finish_attempt(an_attempt())
        with pytest.raises(StateError, match="step 0 of run 'r1' is not recorded"):
            store.finish_step(a_step(), [an_entry()])
        assert store.materialization("m1") is None
        assert store.partition(ORDERS, "2026-05-16") is None

    def test_a_finished_step_has_its_outcome(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        done = a_step(
            status="succeeded",
            rows=12,
            snapshot="s1",
            started_at=NOON,
            finished_at=NOON + SECOND,
        )
        store.finish_step(done)
        store.finish_step(done)
        assert store.steps("r1") == (done,)

    def test_an_error_with_unstorable_characters_is_kept_readable(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step()])
        store.finish_step(
            a_step(status="failed", error="bad \x00 \ud800"), [a_failure("m1", error="\x00")]
        )
        assert store.steps("r1")[0].error == "bad \ufffd \ufffd"
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and state.error == "\ufffd"


class TestLedger:
    def test_an_entry_comes_back_as_it_was(self, store: StateStore) -> None:
        entry = an_entry(
            ordinal=NOON,
            rows=2**40,
            column_digests={"s1": ("c-1",), "s2": ("c-2", "snapshot 7")},
            inputs=(
                Input(asset="lake://main/raw", partition="it's", materialization="m0"),
                Input(asset="lake://main/raw", partition=None, snapshot="s0"),
            ),
            error="warned",
        )
        record(store, entry)
        assert store.materialization("m1") == entry
        assert store.materializations(ORDERS, "2026-05-16", limit=5) == (entry,)
        assert store.entries(["m1"]) == (entry,)

    def test_what_is_unknown_is_none(self, store: StateStore) -> None:
        assert store.materialization("m1") is None
        assert store.materializations(ORDERS, None, limit=5) == ()
        assert store.partition(ORDERS, None) is None
        assert store.partitions(ORDERS, limit=5) == ()
        assert store.outcomes([ORDERS]) == {ORDERS: {}}

    def test_a_success_moves_its_key(self, store: StateStore) -> None:
        record(store, an_entry(ordinal=NOON))
        assert store.partition(ORDERS, "2026-05-16") == PartitionState(
            asset=ORDERS,
            partition="2026-05-16",
            ordinal=NOON,
            status="succeeded",
            run="r1",
            at=NOON + SECOND,
            materialization="m1",
            rows=12,
            snapshot="s1",
            digest="d1",
            fingerprint="f1",
        )

    def test_a_first_failure_has_nothing_to_read(self, store: StateStore) -> None:
        record(store, a_failure("m1"))
        assert store.partition(ORDERS, "2026-05-16") == PartitionState(
            asset=ORDERS,
            partition="2026-05-16",
            ordinal=None,
            status="failed",
            run="r1",
            at=NOON + SECOND,
            error="boom",
        )

    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_a_failure_after_a_success_keeps_what_readers_see(
        self, store: StateStore, status: Outcome
    ) -> None:
        record(store, an_entry())
        before = store.partition(ORDERS, "2026-05-16")
        at = NOON + 5 * SECOND
        record(store, a_failure("m2", run="r2", fingerprint="f2", status=status, finished_at=at))
        assert before is not None
        assert store.partition(ORDERS, "2026-05-16") == replace(
            before, status=status, run="r2", at=at, error="boom"
        )

    def test_a_key_is_provisional_until_a_success_that_is_not(self, store: StateStore) -> None:
        def provisional() -> tuple[bool, bool, bool]:
            state = store.partition(ORDERS, "2026-05-16")
            (page,) = store.partitions(ORDERS, limit=5)
            standing = store.standing(ORDERS, ["2026-05-16"])["2026-05-16"]
            assert state is not None
            found = store.provisional(ORDERS, limit=5)
            assert found == ((state,) if state.provisional else ())
            return state.provisional, page.provisional, standing.provisional

        record(store, a_failure("m1", provisional=True))
        assert provisional() == (False, False, False)
        early = an_entry("m2", provisional=True, finished_at=NOON + 2 * SECOND)
        record(store, early)
        assert store.materialization("m2") == early
        assert provisional() == (True, True, True)
        # What failed changes nothing of what readers see.
        record(store, a_failure("m3", finished_at=NOON + 3 * SECOND))
        assert provisional() == (True, True, True)
        record(store, an_entry("m4", finished_at=NOON + 4 * SECOND))
        assert provisional() == (False, False, False)

    def test_a_success_after_a_failure_clears_the_error(self, store: StateStore) -> None:
        record(store, a_failure("m1"))
        record(store, an_entry("m2", rows=None, finished_at=NOON + 5 * SECOND))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None
        assert (state.status, state.error, state.materialization) == ("succeeded", None, "m2")

    def test_a_success_without_a_count_does_not_keep_the_count_before(
        self, store: StateStore
    ) -> None:
        record(store, an_entry("m1"), an_entry("m2", rows=None, digest=None))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None
        assert (state.materialization, state.rows, state.digest) == ("m2", None, None)

    def test_an_older_entry_does_not_move_its_key_back(self, store: StateStore) -> None:
        record(store, an_entry("new", finished_at=NOON + 5 * SECOND))
        now = store.partition(ORDERS, "2026-05-16")
        record(store, an_entry("old", rows=1), a_failure("older", finished_at=NOON))
        assert store.partition(ORDERS, "2026-05-16") == now
        log = store.materializations(ORDERS, "2026-05-16", limit=5)
        assert [entry.id for entry in log] == ["new", "old", "older"]

    def test_a_late_success_tells_what_readers_see_under_a_newer_failure(
        self, store: StateStore
    ) -> None:
        record(store, a_failure("bad", run="r9", finished_at=NOON + 5 * SECOND))
        record(store, an_entry("good"))
        record(store, an_entry("older", finished_at=NOON))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None
        assert (state.status, state.run, state.materialization) == ("failed", "r9", "good")
        assert (state.error, state.at) == ("boom", NOON + 5 * SECOND)

    def test_of_equal_times_the_later_write_wins(self, store: StateStore) -> None:
        record(store, an_entry("m1"), an_entry("m0", rows=1))
        record(store, an_entry("m2", rows=2))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and state.rows == 2
        log = store.materializations(ORDERS, "2026-05-16", limit=5)
        assert [entry.id for entry in log] == ["m2", "m0", "m1"]

    def test_an_entry_is_recorded_once(self, store: StateStore) -> None:
        first = an_entry("m1")
        record(store, first, replace(first, rows=99))
        record(store, an_entry("m2", rows=2))
        # Of the same time as m2, but not written now.
        record(store, first)
        assert [m.id for m in store.materializations(ORDERS, "2026-05-16", limit=5)] == ["m2", "m1"]
        assert store.materialization("m1") == first
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and state.materialization == "m2"

    def test_an_attempt_enters_a_key_once(self, store: StateStore) -> None:
        first = an_entry("m1", attempt="a1")
        twin = an_entry("m2", attempt="a1", rows=99, finished_at=NOON + 5 * SECOND)
        record(store, first, twin)
        record(store, twin)
        assert store.materialization("m2") is None
        assert store.materializations(ORDERS, "2026-05-16", limit=5) == (first,)
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and (state.materialization, state.rows) == ("m1", 12)
        others = [
            an_entry("m3", attempt="a2"),
            an_entry("m4", "2026-05-17", attempt="a1"),
            an_entry("m5", None, attempt="a1"),
            an_entry("m6", attempt="a1", asset="lake://main/other"),
        ]
        record(store, *others, replace(others[1], id="m7"))
        assert [store.materialization(entry.id) for entry in others] == others
        assert store.materialization("m7") is None

    def test_of_keys_entered_again_only_the_new_ones_are_entered(self, store: StateStore) -> None:
        entries = [an_entry(f"m{n}", f"k{n}", attempt="a1") for n in range(6)]
        record(store, *entries[::2])
        record(store, *(replace(entry, id=f"late {entry.id}") for entry in entries))
        found = [store.materializations(ORDERS, f"k{n}", limit=5) for n in range(6)]
        assert [[entry.id for entry in log] for log in found] == [
            ["m0"],
            ["late m1"],
            ["m2"],
            ["late m3"],
            ["m4"],
            ["late m5"],
        ]

    def test_the_log_of_a_key_is_limited_and_its_own(self, store: StateStore) -> None:
        record(
            store,
            *(an_entry(f"m{n}", finished_at=NOON + SECOND * n) for n in range(5)),
            an_entry("other key", "2026-05-17"),
            an_entry("no key", None),
            an_entry("other asset", asset="lake://main/other"),
        )
        log = store.materializations(ORDERS, "2026-05-16", limit=2)
        assert [entry.id for entry in log] == ["m4", "m3"]
        assert [m.id for m in store.materializations(ORDERS, None, limit=2)] == ["no key"]

    def test_an_asset_without_partitions_has_one_key(self, store: StateStore) -> None:
        record(store, an_entry("m1", None))
        record(store, an_entry("m2", None, finished_at=NOON + 5 * SECOND))
        state = store.partition(ORDERS, None)
        assert state is not None
        assert (state.partition, state.materialization) == (None, "m2")
        assert store.partitions(ORDERS, limit=5) == (state,)

    def test_outcomes_count_the_keys_of_the_asset(self, store: StateStore) -> None:
        record(
            store,
            *(an_entry(f"s{n}", f"k{n}") for n in range(3)),
            a_failure("f", partition="k0", finished_at=NOON + 5 * SECOND),
            a_failure("c", partition="c", status="cancelled"),
            a_failure("o", asset="lake://main/other"),
        )
        orders = {"succeeded": 2, "failed": 1, "cancelled": 1}
        assert store.outcomes([ORDERS]) == {ORDERS: orders}
        several = [ORDERS, "lake://main/other", "lake://main/none", ORDERS]
        assert store.outcomes(several) == {
            ORDERS: orders,
            "lake://main/other": {"failed": 1},
            "lake://main/none": {},
        }
        assert store.outcomes([]) == {}

    def test_many_keys_are_one_step(self, store: StateStore) -> None:
        entries = [an_entry(f"m{n}", f"k{n:04}", ordinal=NOON + n * SECOND) for n in range(2000)]
        record(store, *entries)
        assert store.outcomes([ORDERS]) == {ORDERS: {"succeeded": 2000}}
        assert store.partition(ORDERS, "k1999") is not None

    def test_the_ledger_does_not_need_the_run(self, store: StateStore) -> None:
        record(store, an_entry(run="gone", attempt="gone"))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and state.run == "gone"

    def test_it_lasts(self, new_store: Callable[[], StateStore]) -> None:
        first = new_store()
        record(first, an_entry())
        first.close()
        assert new_store().materialization("m1") == an_entry()


class TestPages:
    def test_ordinals_sort_first_then_keys_and_keys_without_ordinal_come_last(
        self, store: StateStore
    ) -> None:
        expected: list[tuple[datetime | None, str | None]] = []
        expected += [(NOON + SECOND * (n // 10), f"key {n:03}") for n in range(60)]
        expected += [(None, None)]
        expected += [(None, key) for key in sorted(["10", "9", "a", "B", "é", "~", "\U0001f986"])]
        entries = [
            an_entry(f"m{n}", key, ordinal=ordinal) for n, (ordinal, key) in enumerate(expected)
        ]
        random.Random(3).shuffle(entries)
        record(store, *entries, an_entry("other", asset="lake://main/other", ordinal=NOON))
        for limit in (1, 7, 60, 61, 1000):
            found = [(state.ordinal, state.partition) for state in pages(store, limit)]
            assert found == expected

    def test_bounds_are_half_open_and_leave_keys_without_ordinal_out(
        self, store: StateStore
    ) -> None:
        entries = [
            an_entry(f"m{n}{twin}", f"{n}{twin}", ordinal=NOON + n * SECOND)
            for n in range(10)
            for twin in "ab"
        ]
        record(store, *entries, an_entry("undated", "undated"))
        start, end = NOON + 3 * SECOND, NOON + 6 * SECOND
        inside = ["3a", "3b", "4a", "4b", "5a", "5b"]
        for limit in (1, 2, 3, 100):
            assert keys(pages(store, limit, start=start, end=end)) == inside
            assert keys(pages(store, limit, end=start))[-1] == "2b"
            assert keys(pages(store, limit, start=end))[0] == "6a"
            assert keys(pages(store, limit, start=end))[-1] == "9b"
        assert store.partitions(ORDERS, start=end, end=start, limit=9) == ()

    def test_a_page_may_go_on_from_outside_its_bounds(self, store: StateStore) -> None:
        record(store, *(an_entry(f"m{n}", f"{n}", ordinal=NOON + n * SECOND) for n in range(5)))
        record(store, an_entry("undated", "undated"))
        before, undated = store.partition(ORDERS, "0"), store.partition(ORDERS, "undated")
        page = store.partitions(ORDERS, start=NOON + 2 * SECOND, limit=9, after=before)
        assert keys(page) == ["2", "3", "4"]
        assert store.partitions(ORDERS, start=NOON, limit=9, after=undated) == ()

    def test_bounds_may_be_in_any_zone(self, store: StateStore) -> None:
        record(store, *(an_entry(f"m{n}", f"{n}", ordinal=NOON + n * SECOND) for n in range(3)))
        start = (NOON + SECOND).astimezone(ZoneInfo("Asia/Kathmandu"))
        assert keys(store.partitions(ORDERS, start=start, limit=9)) == ["1", "2"]

    def test_long_keys_with_one_beginning_sort_by_their_end(self, store: StateStore) -> None:
        expected = ["p" * 150 + f"{n:03}" for n in range(30)]
        entries = [an_entry(f"m{n}", key) for n, key in enumerate(expected)]
        dated = [an_entry(f"d{n}", "d" + key, ordinal=NOON) for n, key in enumerate(expected)]
        random.Random(5).shuffle(entries)
        record(store, *entries, *reversed(dated))
        assert keys(pages(store, 7)) == ["d" + key for key in expected] + expected

    def test_the_newest_keys_come_first(self, store: StateStore) -> None:
        entries = [an_entry(f"m{n}", f"{n}", ordinal=NOON + n * SECOND) for n in range(5)]
        record(store, *entries, an_entry("undated", "undated"))
        record(store, an_entry("u2", "b", asset="lake://main/u"))
        record(store, an_entry("u1", "a", asset="lake://main/u"))
        assert keys(store.newest(ORDERS, limit=3)) == ["4", "3", "2"]
        assert keys(store.newest("lake://main/u", limit=3)) == ["a", "b"]
        assert store.newest("lake://main/nobody", limit=3) == ()

    def test_a_new_ordinal_takes_the_place_of_the_old(self, store: StateStore) -> None:
        record(store, an_entry("m1", ordinal=None))
        record(store, an_entry("m2", ordinal=NOON, finished_at=NOON + 5 * SECOND))
        assert [state.ordinal for state in pages(store, 5)] == [NOON]


class TestKeys:
    def test_keys_are_data(self, store: StateStore) -> None:
        entries = [
            an_entry(f"m{n}", key, rows=n, inputs=(Input(asset=ORDERS, partition=key),))
            for n, key in enumerate(AWKWARD_KEYS)
        ]
        record(store, *entries)
        for n, key in enumerate(AWKWARD_KEYS):
            state = store.partition(ORDERS, key)
            assert state is not None
            assert (state.partition, state.rows) == (key, n)
            assert store.materializations(ORDERS, key, limit=5) == (entries[n],)
        assert keys(pages(store, 4)) == sorted(AWKWARD_KEYS)

    def test_a_key_is_not_a_pattern(self, store: StateStore) -> None:
        record(store, an_entry("m1", "abc"))
        for key in ("ABC", "a%", "abc ", "a_c", "*"):
            assert store.partition(ORDERS, key) is None
        assert store.partition(ORDERS.upper(), "abc") is None

    def test_runs_and_steps_take_awkward_keys(self, store: StateStore) -> None:
        for n, key in enumerate(AWKWARD_KEYS):
            step = a_step(f"r{n}", partition=key, script=key, error=key)
            store.begin_run(a_run(f"r{n}", partition=key, target=key, arguments={key: key}), [step])
            run = store.run(f"r{n}")
            assert run is not None
            assert (run.partition, run.target, run.arguments) == (key, key, {key: key})
            assert store.steps(f"r{n}") == (step,)

    @pytest.mark.parametrize("key", ["", "a\x00b", "\ud800", "k" * 1001])
    def test_a_key_that_cannot_be_kept_is_refused(self, store: StateStore, key: str) -> None:
        record(store)
        with pytest.raises(ValueError):
            store.finish_step(a_step(), [an_entry("m1"), an_entry("m2", key)])
        with pytest.raises(ValueError):
            store.partition(ORDERS, key)
        with pytest.raises(ValueError):
            store.materializations(ORDERS, key, limit=1)
        assert store.outcomes([ORDERS]) == {ORDERS: {}}

    def test_the_longest_asset_with_the_longest_key(self, store: StateStore) -> None:
        # Characters of four bytes each that do not compress: PostgreSQL's indexes have a limit.
        letters = random.Random(9)
        asset, key = (
            "".join(chr(letters.randrange(0x10000, 0x110000)) for _ in range(length))
            for length in (500, 1000)
        )
        attempt = asset[:200]
        record(store, an_entry("m1", key, asset=asset, ordinal=NOON, attempt=attempt))
        state = store.partition(asset, key)
        assert state is not None and state.partition == key
        store.begin_attempt(an_attempt(attempt), asset=asset, keys=[key])
        end = {"status": "succeeded", "finished_at": NOON}
        store.finish_step(a_step(asset=asset, **end), columns=((key, key),))
        assert [version.columns for version in store.schemas(asset, limit=5)] == [((key, key),)]


MOMENTS = [
    datetime(2026, 5, 16, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 5, 16, 12, 0, 0, 999_999, tzinfo=UTC),
    datetime(2026, 5, 16, 12, tzinfo=ZoneInfo("Asia/Kathmandu")),
    datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Paris")),
    datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris")),
    datetime(1850, 1, 1, tzinfo=ZoneInfo("Europe/Amsterdam")),
    datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-11, minutes=-7, seconds=-13))),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(999, 12, 31, 23, 59, 59, 5, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


class TestTimes:
    @pytest.mark.parametrize("moment", MOMENTS, ids=str)
    def test_times_come_back_equal_and_in_utc(self, store: StateStore, moment: datetime) -> None:
        store.begin_run(
            a_run(fire_time=moment, started_at=moment, finished_at=moment),
            [a_step(ordinal=moment, started_at=moment, finished_at=moment)],
        )
        store.begin_attempt(an_attempt(started_at=moment, finished_at=moment))
        entry = an_entry(ordinal=moment, started_at=moment, finished_at=moment)
        store.finish_step(a_step(ordinal=moment), [entry])
        run, step, attempt = store.run("r1"), store.steps("r1")[0], store.attempts("r1")[0]
        state, kept = store.partition(ORDERS, "2026-05-16"), store.materialization("m1")
        assert run is not None and state is not None and kept is not None
        found = [run.fire_time, run.started_at, run.finished_at]
        found += [step.ordinal, step.started_at]
        found += [attempt.started_at, attempt.finished_at]
        found += [state.ordinal, state.at, kept.ordinal, kept.started_at, kept.finished_at]
        for time in found:
            assert time is not None
            assert time == moment.astimezone(UTC)
            assert time.utcoffset() == timedelta(0)

    def test_times_sort_over_the_centuries(self, store: StateStore) -> None:
        moments = sorted({moment.astimezone(UTC) for moment in MOMENTS})
        entries = [an_entry(f"m{n}", f"{n}", ordinal=moment) for n, moment in enumerate(moments)]
        record(store, *reversed(entries))
        assert [state.ordinal for state in pages(store, 3)] == moments
        middle = moments[len(moments) // 2]
        assert [s.ordinal for s in pages(store, 3, start=middle)] == moments[len(moments) // 2 :]

    def test_a_microsecond_decides(self, store: StateStore) -> None:
        micro = timedelta(microseconds=1)
        record(store, an_entry("m1", finished_at=NOON + micro))
        record(store, an_entry("m2", finished_at=NOON))
        state = store.partition(ORDERS, "2026-05-16")
        assert state is not None and state.materialization == "m1"

    def test_a_time_without_zone_is_refused(self, store: StateStore) -> None:
        naive = datetime(2026, 5, 16)
        store.begin_run(a_run(), [a_step()])
        for attempt in (
            lambda: store.begin_run(a_run("r2", fire_time=naive), []),
            lambda: store.begin_run(a_run("r2"), [a_step("r2", ordinal=naive)]),
            lambda: store.finish_run("r1", "succeeded", at=naive),
            lambda: store.begin_attempt(an_attempt(started_at=naive)),
            lambda: store.finish_step(a_step(), [an_entry(ordinal=naive)]),
            lambda: store.partitions(ORDERS, start=naive, limit=1),
        ):
            with pytest.raises(ValueError, match="no time zone"):
                attempt()
        assert store.run("r2") is None

    def test_a_time_outside_the_calendar_is_refused(self, store: StateStore) -> None:
        early = datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))
        with pytest.raises(ValueError, match="outside the years"):
            store.begin_run(a_run(fire_time=early), [])


class TestThreads:
    def test_different_keys(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(position=n) for n in range(8)])

        def finish(thread: int) -> None:
            for n in range(10):
                entry = an_entry(f"m{thread}-{n}", f"{thread}-{n}", ordinal=NOON)
                store.finish_step(a_step(position=thread, status="succeeded"), [entry])

        in_threads(finish)
        assert store.outcomes([ORDERS]) == {ORDERS: {"succeeded": 80}}
        assert {step.status for step in store.steps("r1")} == {"succeeded"}

    def test_the_same_keys_in_different_orders(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(position=n) for n in range(8)])
        shared = [f"k{n}" for n in range(5)]

        def finish(thread: int) -> None:
            for n in range(5):
                at = NOON + SECOND * random.Random(thread * 100 + n).randrange(1000)
                entries = [
                    an_entry(f"{thread}-{n}-{key}", key, finished_at=at)
                    for key in random.Random(thread + n).sample(shared, 5)
                ]
                store.finish_step(a_step(position=thread, status="succeeded"), entries)

        in_threads(finish)
        for key in shared:
            log = store.materializations(ORDERS, key, limit=100)
            assert len(log) == 40
            state = store.partition(ORDERS, key)
            assert state is not None
            assert state.at == log[0].finished_at == max(entry.finished_at for entry in log)
            winner = store.materialization(state.materialization or "")
            assert winner is not None and winner.finished_at == state.at

    def test_one_entry_from_all_sides(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(position=n) for n in range(8)])
        in_threads(lambda thread: store.finish_step(a_step(position=thread), [an_entry()]))
        assert store.materializations(ORDERS, "2026-05-16", limit=10) == (an_entry(),)

    def test_the_keys_of_one_attempt_from_all_sides(self, store: StateStore) -> None:
        store.begin_run(a_run(), [a_step(position=n) for n in range(8)])
        many = 400

        def finish(thread: int) -> None:
            # In different orders, in which they must not wait for each other.
            shuffled = random.Random(thread).sample(range(many), many)
            entries = [an_entry(f"{thread}-{n}", f"k{n}", attempt="a1") for n in shuffled]
            store.finish_step(a_step(position=thread), entries)

        in_threads(finish)
        assert store.outcomes([ORDERS]) == {ORDERS: {"succeeded": many}}
        for n in range(0, many, 50):
            (entry,) = store.materializations(ORDERS, f"k{n}", limit=10)
            state = store.partition(ORDERS, f"k{n}")
            assert state is not None and state.materialization == entry.id

    def test_first_use_from_all_sides(self, store: StateStore) -> None:
        in_threads(lambda thread: store.begin_run(a_run(f"r{thread}"), []))
        assert len(store.runs(limit=10)) == 8
