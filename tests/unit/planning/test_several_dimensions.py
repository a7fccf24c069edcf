"""Keys of several dimensions: what runs, what is filled, what follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tranche.errors import KeyRejected, TrancheError, UsageError
from tranche.model.backfill import BackfillPlan, BackfillRequest
from tranche.model.plan import Plan, Step
from tranche.model.project import Project
from tranche.planning.backfill import plan_backfill
from tranche.planning.catchup import plan_catchup
from tranche.script.schedules import moved
from tranche.testing import MemoryStore

PlanFor = Callable[..., Plan]
NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
SALES = {
    "s": 'partitioned day: daily start="2026-04-29" | region: static keys="us,eu";'
    " materialize lake://main/s",
    "m": 'on lake://main/s; partitioned month: monthly | region: static keys="us,eu";'
    " materialize lake://main/m :: SELECT * FROM s",
    "w": "on lake://main/s map=all; materialize lake://main/w",
}


def step(plan: Plan, name: str) -> Step:
    return next(step for step in plan.steps if step.script.name == name)


def test_a_run_is_for_all_keys_of_what_nobody_named(plan: PlanFor) -> None:
    found = plan(SALES, "s", scheduled=False)
    assert step(found, "s").keys == ("2026-05-16|us", "2026-05-16|eu")
    assert found.warnings[0] == (
        "lake://main/s runs for 2026-05-16|us, 2026-05-16|eu, the current period: no key was given"
    )
    found = plan(SALES, "s", partition="region=eu", scheduled=False)
    assert step(found, "s").keys == ("2026-05-16|eu",)
    assert found.warnings[0].startswith("lake://main/s runs for 2026-05-16|eu, the current period")
    found = plan(SALES, "s", partition="day=2026-05-01", scheduled=False)
    assert not any("the current period" in warning for warning in found.warnings)


def test_a_key_outside_the_bounds_of_a_dimension(plan: PlanFor) -> None:
    early = datetime(2026, 4, 1, tzinfo=UTC)
    found = step(plan(SALES, "s", fire_time=early), "s")
    assert (found.verdict, found.reason) == (
        "skip",
        "day: it starts at 2026-04-29, and the run fired at 2026-04-01T00:00:00+00:00",
    )
    assert step(plan(SALES, "s", partition="2026-04-01|eu"), "s").verdict == "run"


def test_lookback_is_that_of_its_dimension(plan: PlanFor) -> None:
    texts = {
        "s": 'partitioned region: static keys="us,eu" | day: daily start="2026-05-15" lookback=2;'
        " materialize lake://main/s"
    }
    assert step(plan(texts, "s", partition="eu|2026-05-16"), "s").keys == (
        "eu|2026-05-15",
        "eu|2026-05-16",
    )


def test_mappings_go_segment_by_segment(plan: PlanFor, state: Any) -> None:
    state.keys |= {("lake://main/s", f"2026-04-{day}|eu") for day in (29,)}
    found = step(plan(SALES, "s", partition="2026-04-30|eu"), "m")
    assert (found.verdict, found.keys) == ("run", ("2026-04|eu",))
    assert [given.partition for given in found.inputs] == ["2026-04-29|eu", "2026-04-30|eu"]
    # The other region lacks a day.
    found = step(plan(SALES, "s", partition="2026-04-30|us"), "m")
    assert (found.verdict, found.reason) == ("skip", "it waits for lake://main/s 2026-04-29|us")


def test_what_is_upstream_runs_for_what_was_asked_alone(plan: PlanFor) -> None:
    texts = {
        "d": "partitioned daily; materialize lake://main/d",
        "s": 'on lake://main/d; partitioned day: daily | region: static keys="us,eu";'
        " materialize lake://main/s",
    }
    found = plan(texts, "+s", partition="2026-05-01|eu")
    assert [each.keys for each in found.steps] == [("2026-05-01",), ("2026-05-01|eu",)]
    # The other way round all that a day feeds runs.
    found = plan(texts, "d", partition="2026-05-01")
    assert step(found, "s").keys == ("2026-05-01|us", "2026-05-01|eu")


def test_a_wrong_key_says_which_segment(plan: PlanFor) -> None:
    with pytest.raises(KeyRejected, match="region: 'jp' is no static key"):
        plan(SALES, "s", partition="2026-05-01|jp")


@pytest.fixture
def backfill(project: Callable[..., Project]) -> Callable[..., BackfillPlan]:
    def planned(texts: dict[str, str], target: str, **given: Any) -> BackfillPlan:
        request = BackfillRequest(target=target, at=NOW, **given)
        return plan_backfill(project(texts), request, MemoryStore(), lambda _: None)

    return planned


TENANTS = {
    "t": 'partitioned day: daily start="2026-05-01" | tenant: dynamic key="$.t";'
    " materialize lake://main/t"
}


@pytest.mark.parametrize(
    ("texts", "target", "given", "keys"),
    [
        (SALES, "s", {"start": "2026-05-02"}, ("2026-05-02|us", "2026-05-02|eu")),
        (
            SALES,
            "s",
            {"start": "2026-04-29", "end": "2026-04-30", "dimensions": {"region": ("eu",)}},
            ("2026-04-29|eu", "2026-04-30|eu"),
        ),
        (SALES, "s", {"dimensions": {"day": ("2026-01-01",)}}, ("2026-01-01|us", "2026-01-01|eu")),
        (SALES, "s", {"keys": ("2026-05-01|eu",)}, ("2026-05-01|eu",)),
        (
            TENANTS,
            "t",
            {"dimensions": {"tenant": ("x", "a|b")}},
            ("2026-05-01|x", "2026-05-01|a\\|b", "2026-05-02|x", "2026-05-02|a\\|b"),
        ),
    ],
)
def test_a_range_of_several_dimensions(
    backfill: Callable[..., BackfillPlan],
    texts: dict[str, str],
    target: str,
    given: dict[str, Any],
    keys: tuple[str, ...],
) -> None:
    assert backfill(texts, target, **given, only=True).keys == keys


@pytest.mark.parametrize(
    ("texts", "target", "given", "message"),
    [
        (TENANTS, "t", {}, "the keys of tenant come from payloads, and nobody knows them beforehand; name them with --in tenant=a,b,c"),
        (SALES, "s", {"dimensions": {"zone": ("x",)}}, "there is no dimension 'zone'; the dimensions are day, region"),
        (SALES, "s", {"dimensions": {"region": ("jp",)}}, "'jp' is no static key; the keys are 'us', 'eu'"),
        (SALES, "s", {"start": "2026-05-01", "dimensions": {"day": ("2026-05-01",)}}, "a start or an end was given, and no dimension of time is left for it; leave --start and --end out"),
        (SALES, "s", {"keys": ("2026-05-01|eu",), "dimensions": {"region": ("us",)}}, "keys and a range were given; give --keys, or --start and --end"),
        ({"d": "partitioned daily; materialize lake://main/d"}, "d", {"dimensions": {"region": ("us",)}}, "--in chooses keys of a dimension, and there is just one; use --keys"),
    ],
)  # fmt: skip
def test_a_range_that_cannot_be(
    backfill: Callable[..., BackfillPlan],
    texts: dict[str, str],
    target: str,
    given: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(TrancheError) as caught:
        backfill(texts, target, **given)
    assert isinstance(caught.value, UsageError)
    assert str(caught.value) == message


def test_what_is_downstream_follows(backfill: Callable[..., BackfillPlan]) -> None:
    found = backfill(SALES, "s", start="2026-04-29", end="2026-04-30")
    assert step(found.plan, "m").keys == ("2026-04|us", "2026-04|eu")
    assert step(found.plan, "w").keys == (None,)


def test_catching_up(project: Callable[..., Project]) -> None:
    request = BackfillRequest(target="", at=NOW)
    found = plan_catchup(project(SALES | TENANTS), request, MemoryStore(), lambda _: None, moved)
    keys = {caught.asset: caught.keys for caught in found.caught}
    assert len(keys["lake://main/s"]) == 2 * 4
    assert "lake://main/t" not in keys
    # Without a start nobody knows the first month.
    assert any("lake://main/m is passed over" in warning for warning in found.warnings)
