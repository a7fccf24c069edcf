"""Which keys of a plan are provisional, and what they run without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from tranche.model.backfill import BackfillRequest
from tranche.model.event import Event
from tranche.model.plan import Plan, Request, Step
from tranche.planning.backfill import plan_backfill
from tranche.planning.plan import build_plan
from tranche.testing import MemoryStore

from .conftest import KnownState, project_of

PlanFor = Callable[..., Plan]
NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)
DAY = "2026-05-16"
ROLLUP = {
    "h": "partitioned hourly; materialize lake://main/h",
    "d": 'on lake://main/h deadline="06:00"; partitioned daily; materialize lake://main/d',
}
SOURCE = {
    "c": 'on lake://main/x deadline="06:00"; on lake://main/y; trigger all; partitioned daily;'
    " materialize lake://main/c"
}


def hours(*numbers: int) -> set[tuple[str, str | None]]:
    return {("lake://main/h", f"{DAY}T{hour:02}") for hour in numbers}


def without(step: Step) -> list[list[str]]:
    return [
        [" ".join(filter(None, (str(each.asset), each.partition))) for each in key.without]
        for key in step.slice
    ]


def step(plan: Plan, name: str) -> Step:
    return next(step for step in plan.steps if step.script.name == name)


def test_who_asks_by_name_does_not_wait_and_gets_a_provisional_key(
    plan: PlanFor, state: KnownState
) -> None:
    state.keys |= hours(*range(22))
    found = step(plan(ROLLUP, "d", partition=DAY), "d")
    assert found.verdict == "run"
    assert [key.provisional for key in found.slice] == [True]
    assert without(found) == [[f"lake://main/h {DAY}T22", f"lake://main/h {DAY}T23"]]


def test_what_the_plan_makes_is_there(plan: PlanFor, state: KnownState) -> None:
    state.keys |= hours(*range(23))
    found = step(plan(ROLLUP, "h", partition=f"{DAY}T23"), "d")
    assert (found.verdict, [key.provisional for key in found.slice]) == ("run", [False])


def test_a_run_from_upstream_waits_after_the_deadline_too(plan: PlanFor, state: KnownState) -> None:
    found = step(plan(ROLLUP, "h", partition=f"{DAY}T23", fire_time=NOON), "d")
    assert found.verdict == "skip"
    assert found.reason is not None
    assert found.reason.startswith(f"it waits for lake://main/h {DAY}T00")


@pytest.mark.parametrize(("wait", "there", "expected"), [(20, 19, True), (20, 20, False)])
def test_what_the_wait_policy_puts_up_with_is_not_missing(
    wait: int, there: int, expected: bool, plan: PlanFor, state: KnownState
) -> None:
    texts = ROLLUP | {"d": ROLLUP["d"].replace("deadline", f"wait={wait} deadline")}
    state.keys |= hours(*range(there))
    (key,) = step(plan(texts, "d", partition=DAY), "d").slice
    assert key.provisional is expected


def test_each_key_of_a_range_for_itself() -> None:
    texts = ROLLUP | {"d": ROLLUP["d"].replace("daily;", "daily lookback=1;")}
    state = KnownState(hours(*range(24)))
    request = Request(target="d", fire_time=NOON, partition="2026-05-17")
    (found,) = build_plan(project_of(texts), request, state).steps  # type: ignore[arg-type]
    assert [(key.partition, key.provisional) for key in found.slice] == [
        (DAY, False),
        ("2026-05-17", True),
    ]


def test_keys_of_a_backfill() -> None:
    request = BackfillRequest(target="d", at=NOON, keys=(DAY,), only=True)
    found = plan_backfill(project_of(ROLLUP), request, MemoryStore(), lambda _: None)
    (key,) = found.plan.steps[0].slice
    assert key.provisional
    assert len(key.without) == 24


def test_a_whole_table_and_any_key(plan: PlanFor) -> None:
    texts = {
        "w": "materialize lake://main/w",
        "d": "partitioned daily; materialize lake://main/d",
        "c": 'on lake://main/w deadline="06:00"; on lake://main/d map=all deadline="06:00";'
        " partitioned daily; materialize lake://main/c",
    }
    assert without(step(plan(texts, "c", partition=DAY), "c")) == [
        ["lake://main/w", "lake://main/d"]
    ]


class Nosy(KnownState):
    """Counts what it is asked for of a script's inputs."""

    asked = 0

    def standing(self, asset: str, keys: Sequence[str | None]) -> dict:  # type: ignore[type-arg]
        self.asked += 1
        return super().standing(asset, keys)


def test_scripts_without_a_deadline_cost_nothing() -> None:
    request = Request(target="d", fire_time=NOON, partition=DAY)
    texts = ROLLUP | {"d": ROLLUP["d"].replace(' deadline="06:00"', "")}
    state = Nosy()
    build_plan(project_of(texts), request, state)  # type: ignore[arg-type]
    assert state.asked == 0
    build_plan(project_of(ROLLUP), request, state)  # type: ignore[arg-type]
    assert state.asked == 1


def test_a_source_is_missing_until_one_of_its_events_told_of_the_key() -> None:
    store = MemoryStore()

    def missing() -> list[list[str]]:
        request = Request(target="c", fire_time=NOON, partition=DAY)
        plan = build_plan(project_of(SOURCE), request, store, events=store)
        return without(step(plan, "c"))

    # The other one has no deadline, and is not the business of this.
    assert missing() == [["lake://main/x"]]
    for number, key in enumerate(["2026-05-15", None, DAY]):
        event = Event(id=f"e{number}", asset="lake://main/x", partition=key, at=NOON)
        assert missing() == [["lake://main/x"]]
        store.emit(event)
    assert missing() == [[]]
    store.retract("e2", at=NOON)
    assert missing() == [["lake://main/x"]]


def test_a_source_is_waited_for_with_the_others_only() -> None:
    store = MemoryStore()
    texts = {"c": SOURCE["c"].replace("trigger all; ", "")}
    request = Request(target="c", fire_time=NOON, partition=DAY)
    plan = build_plan(project_of(texts), request, store, events=store)
    assert without(step(plan, "c")) == [[]]
