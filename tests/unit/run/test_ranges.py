"""Slices of several keys: each key comes to an end of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from tranche.errors import (
    EngineUnavailable,
    KeysFailed,
    RangeRefused,
    RowsRejected,
    StatementFailed,
    StatementRejected,
)
from tranche.model.backfill import BackfillRequest
from tranche.model.plan import Step
from tranche.planning.backfill import plan_backfill
from tranche.ports import Work
from tranche.run.reconcile import reconcile
from tranche.run.runner import RunResult, run_plan
from tranche.testing import MemoryEngine, MemoryTrial

from .processes import Killed, Processes
from .test_runner import CHAIN, START, Bench

DAYS = tuple(f"2026-05-{day:02}" for day in range(1, 9))


class Breaking(MemoryEngine):
    """Breaks for some keys, as a cast would that only they have."""

    def __init__(self, breaks: Callable[[Step], Exception | None]) -> None:
        super().__init__()
        self.breaks = breaks
        self.started = 0
        self.tried: list[tuple[str | None, ...]] = []

    def revive(self) -> None:
        self.started += 1

    def attempt(self, work: Work) -> Any:
        self.tried.append(work.step.keys)
        error = self.breaks(work.step)
        if error is not None:
            raise error
        return super().attempt(work)


def bad(*keys: str) -> Callable[[Step], Exception | None]:
    def breaks(step: Step) -> Exception | None:
        found = [key for key in step.keys if key in keys]
        return StatementFailed(f"cannot cast {found[0]}") if found else None

    return breaks


def filled(
    engine: MemoryEngine,
    target: str = "a",
    keys: Sequence[str] = DAYS,
    texts: dict[str, str] = CHAIN,
    **request: Any,
) -> tuple[RunResult, Bench]:
    bench = Bench(texts)
    bench.engine = engine
    asked = BackfillRequest(target=target, at=START, keys=tuple(keys), **{"only": True, **request})
    planned = plan_backfill(bench.project, asked, bench.store, lambda _: None)
    return run_plan(planned.plan, engine, bench.store, bench.clock, sleep=bench.slept.append), bench


def told(result: RunResult, number: int = 0) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for outcome in result.steps[number].keys:
        found.setdefault(outcome.status, []).append(str(outcome.partition))
    return found


def test_all_keys_at_once() -> None:
    engine = Breaking(bad())
    result, bench = filled(engine)
    assert told(result) == {"succeeded": list(DAYS)}
    assert engine.tried == [DAYS]
    states = bench.store.standing("lake://main/a", DAYS)
    assert {state.status for state in states.values()} == {"succeeded"}
    assert len({state.snapshot for state in states.values()}) == 1


def test_those_that_break_it_are_found_by_halving() -> None:
    engine = Breaking(bad(DAYS[2], DAYS[7]))
    result, bench = filled(engine)
    assert told(result) == {
        "failed": [DAYS[2], DAYS[7]],
        "succeeded": [day for day in DAYS if day not in (DAYS[2], DAYS[7])],
    }
    assert result.status == "failed"
    assert [o.error for o in result.steps[0].keys if o.status == "failed"] == [
        f"cannot cast {DAYS[2]}",
        f"cannot cast {DAYS[7]}",
    ]
    tried = [key for keys in engine.tried for key in keys]
    assert len(engine.tried) < len(DAYS) * 2 and tried.count(DAYS[0]) <= 4
    failed = bench.store.partition("lake://main/a", DAYS[2])
    assert failed is not None and failed.status == "failed"


def test_each_key_is_entered_once() -> None:
    _, bench = filled(Breaking(bad(DAYS[4])))
    logs = [bench.store.materializations("lake://main/a", day, limit=9) for day in DAYS]
    assert [len(log) for log in logs] == [1] * len(DAYS)


def test_a_statement_that_is_wrong_is_not_tried_for_each_key() -> None:
    engine = Breaking(lambda _: StatementRejected("no such column", "correct the statement"))
    result, _ = filled(engine)
    assert told(result) == {"failed": list(DAYS)}
    assert len(engine.tried) == 1


def test_keys_that_are_known_to_be_bad_are_taken_out() -> None:
    def breaks(step: Step) -> Exception | None:
        if DAYS[1] not in step.keys:
            return None
        return KeysFailed({DAYS[1]: RowsRejected("two rows have the key 7")})

    engine = Breaking(breaks)
    result, _ = filled(engine)
    assert told(result)["failed"] == [DAYS[1]]
    assert engine.tried == [DAYS, (DAYS[0], *DAYS[2:])]


def test_what_cannot_be_asked_together_is_asked_one_by_one() -> None:
    engine = Breaking(lambda s: RangeRefused("it rolls dice") if s.is_range else None)
    result, _ = filled(engine)
    assert told(result) == {"succeeded": list(DAYS)}
    assert engine.tried == [DAYS, *((day,) for day in DAYS)]
    assert result.warnings == ("lake://main/a goes key by key: it rolls dice",)


def test_one_by_one_it_stops_between_keys() -> None:
    engine = Breaking(lambda s: RangeRefused("it rolls dice") if s.is_range else None)
    bench = Bench(CHAIN)
    asked = BackfillRequest(target="a", at=START, keys=DAYS, only=True)
    planned = plan_backfill(bench.project, asked, bench.store, lambda _: None)
    after_two = {"stop": lambda: len(engine.tried) == 3}
    result = run_plan(planned.plan, engine, bench.store, bench.clock, **after_two)
    assert result.status == "cancelled"
    assert told(result) == {"succeeded": list(DAYS[:2]), "cancelled": list(DAYS[2:])}


def test_an_engine_that_died_starts_anew_with_less() -> None:
    engine = Breaking(lambda s: EngineUnavailable("gone") if len(s.slice) > 2 else None)
    result, _ = filled(engine)
    assert told(result) == {"succeeded": list(DAYS)}
    assert engine.started == 3
    assert [len(keys) for keys in engine.tried] == [8, 4, 2, 2, 4, 2, 2]


def test_an_engine_that_does_not_start_again_fails_its_keys() -> None:
    class Dead(Breaking):
        def revive(self) -> None:
            raise EngineUnavailable("no Java")

    result, bench = filled(Dead(lambda _: EngineUnavailable("gone")))
    assert told(result) == {"failed": list(DAYS)}
    assert result.steps[0].keys[0].error == "gone; and it did not start again: no Java"
    run = bench.store.run(result.id)
    assert run is not None and run.status == "failed"


def test_downstream_of_a_failed_key_is_skipped_for_that_key_only() -> None:
    def breaks(step: Step) -> Exception | None:
        return bad(DAYS[3])(step) if step.script.name == "a" else None

    result, bench = filled(Breaking(breaks), only=False)
    assert [step.record.script for step in result.steps] == ["a", "b", "other", "c"]
    for number in (1, 2, 3):
        assert told(result, number)["skipped"] == [DAYS[3]]
        assert len(told(result, number)["succeeded"]) == len(DAYS) - 1
    skipped = next(o for o in result.steps[1].keys if o.status == "skipped")
    assert skipped.error == "lake://main/a failed"
    assert bench.store.partition("lake://main/b", DAYS[3]) is None


@pytest.mark.parametrize(
    "how", [{"one_by_one": True}, {"most_keys": 7}, {"most_keys": 3}], ids=["each", "7", "3"]
)
def test_so_it_is_where_the_keys_are_steps_of_their_own(how: dict[str, Any]) -> None:
    def breaks(step: Step) -> Exception | None:
        return bad(DAYS[7])(step) if step.script.name == "a" else None

    result, _ = filled(Breaking(breaks), only=False, **how)
    ended: dict[str, dict[str | None, str]] = {}
    for step in result.steps:
        keys = {outcome.partition: outcome.status for outcome in step.keys}
        own = {step.record.partition: str(step.record.status)}
        ended.setdefault(step.record.script, {}).update(keys or own)
    expected = {day: "skipped" if day == DAYS[7] else "succeeded" for day in DAYS}
    assert ended == {
        "a": {**expected, DAYS[7]: "failed"},
        **dict.fromkeys(("b", "other", "c"), expected),
    }


def test_chunks_come_one_after_the_other() -> None:
    engine = Breaking(bad())
    result, _ = filled(engine, most_keys=3)
    assert engine.tried == [DAYS[:3], DAYS[3:6], DAYS[6:]]
    assert len(result.steps) == 3


def test_an_interruption_cancels_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Breaking(bad())
    publish = MemoryTrial.publish

    def pressed(trial: MemoryTrial, leave_out: frozenset[str] = frozenset()) -> Any:
        if DAYS[3] in trial.work.step.keys:
            raise KeyboardInterrupt
        return publish(trial, leave_out)

    monkeypatch.setattr(MemoryTrial, "publish", pressed)
    result, bench = filled(engine, most_keys=3)
    assert result.status == "cancelled"
    assert [step.record.status for step in result.steps] == ["succeeded", "cancelled", "cancelled"]
    assert bench.store.partition("lake://main/a", DAYS[7]) is None


def test_now_is_the_requests() -> None:
    result, bench = filled(Breaking(bad()))
    run = bench.store.run(result.id)
    assert run is not None
    assert run.fire_time == START
    assert isinstance(run.started_at, datetime)


class TestKilled:
    """The process ends in the middle; the next one asks the tables."""

    @pytest.mark.parametrize("moment", ["staging", "publishing", "published"])
    def test_each_key_is_told_of(self, moment: str) -> None:
        bench = Processes(CHAIN)
        bench.engine.fails("a", moment, Killed())
        asked = BackfillRequest(target="a", at=START, keys=DAYS, only=True)
        planned = plan_backfill(bench.project, asked, bench.store, lambda _: None)
        with pytest.raises(Killed):
            run_plan(planned.plan, bench.engine, bench.store, bench.clock, sleep=bench.sleep)
        run = bench.store.runs(limit=1)[0].id
        bench.store.process_ends(run)
        reconcile(bench.store.abandoned(), bench.engine, bench.store, bench.clock, bench.sleep)
        states = bench.store.partitions("lake://main/a", limit=99)
        # Before it was noted what it would be, nothing is known to have been tried.
        ended = {"staging": [], "publishing": ["failed"] * 8, "published": ["succeeded"] * 8}
        assert [state.status for state in states] == ended[moment]
        assert all(state.partition in DAYS for state in states)
        ended_as = "succeeded" if moment == "published" else "failed"
        assert [step.status for step in bench.store.steps(run)] == [ended_as]

    @pytest.mark.parametrize("moment", ["staging", "publishing"])
    def test_keys_that_were_done_before_stay_done(self, moment: str) -> None:
        bench = Processes(CHAIN)
        number = 0

        def happens() -> None:
            nonlocal number
            number += 1
            if number == 1 and moment == "staging":
                raise StatementFailed("too much at once")
            if number == (3 if moment == "staging" else 2):
                raise Killed

        if moment == "publishing":
            bench.engine.happens["a", "staging"] = halved()
        bench.engine.happens["a", moment] = happens
        asked = BackfillRequest(target="a", at=START, keys=DAYS, only=True)
        planned = plan_backfill(bench.project, asked, bench.store, lambda _: None)
        with pytest.raises(Killed):
            run_plan(planned.plan, bench.engine, bench.store, bench.clock, sleep=bench.sleep)
        bench.store.process_ends(bench.store.runs(limit=1)[0].id)
        reconcile(bench.store.abandoned(), bench.engine, bench.store, bench.clock, bench.sleep)
        states = bench.store.standing("lake://main/a", DAYS)
        assert [states[day].status for day in DAYS[:4]] == ["succeeded"] * 4
        assert all(states[day].status == "failed" for day in DAYS[4:] if day in states)


def halved() -> Callable[[], None]:
    """Breaks the first time, so that a slice is halved."""
    calls: list[int] = []

    def happens() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise StatementFailed("too much at once")

    return happens


@pytest.mark.parametrize(
    ("consumer", "skipped"),
    [
        ("-- on lake://main/a map=offset(-1)\n-- partitioned daily", ["2026-05-04"]),
        ("-- on lake://main/a map=trailing(2)\n-- partitioned daily", ["2026-05-03", "2026-05-04"]),
        ("-- on lake://main/a\n-- partitioned daily format=%Y%m%d", ["20260503"]),
        # Whatever the others are, a month lacks one of its days.
        ("-- on lake://main/a map=start_of_month\n-- partitioned monthly", ["2026-05"]),
    ],
)
@pytest.mark.parametrize("query", ["SELECT 1 AS x", "SELECT x FROM a"])
def test_keys_are_stopped_by_what_they_are_made_of(
    consumer: str, skipped: list[str], query: str
) -> None:
    texts = {
        "a": '-- pipeline\n-- partitioned daily start="2026-05-01"\n'
        "-- materialize lake://main/a\nSELECT 1 AS x",
        "z": f"-- pipeline\n{consumer}\n-- materialize lake://main/z\n{query}",
    }
    breaks = bad("2026-05-03")
    engine = Breaking(lambda step: breaks(step) if step.script.name == "a" else None)
    result, _ = filled(engine, texts=texts, only=False)
    found = told(result, 1)
    if not found:
        assert result.steps[1].record.status == "skipped"
        assert skipped == ["2026-05"]
        return
    assert found["skipped"] == skipped
    assert len(found["succeeded"]) == len(DAYS) - len(skipped)
