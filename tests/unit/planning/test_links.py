"""Keys that travel through mappings: who is fed, who waits, what is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tranche.errors import KeyRejected
from tranche.model.backfill import BackfillPlan, BackfillRequest, CatchupPlan
from tranche.model.plan import Plan, Step
from tranche.model.project import Project
from tranche.planning.backfill import plan_backfill
from tranche.planning.catchup import plan_catchup
from tranche.planning.deadlines import deadline_faults
from tranche.planning.graph import build_graph
from tranche.planning.links import mapping_faults
from tranche.script.schedules import moved
from tranche.testing import MemoryStore

PlanFor = Callable[..., Plan]
NEW_YORK = "America/New_York"
HOURS = f"partitioned hourly tz={NEW_YORK}; materialize lake://main/h"
DAYS = f"on lake://main/h; partitioned daily tz={NEW_YORK}; materialize lake://main/d :: SELECT * FROM h"
ROLLUP = {"h": HOURS, "d": DAYS}


def step(plan: Plan, name: str) -> Step:
    return next(step for step in plan.steps if step.script.name == name)


def hours(day: str) -> list[str]:
    return [f"{day}T{hour:02}" for hour in range(24)]


class TestFeeding:
    def test_a_rollup_waits_for_all_its_keys(self, plan: PlanFor, state: Any) -> None:
        found = step(plan(ROLLUP, "h", partition="2026-05-16T07"), "d")
        assert (found.verdict, found.keys) == ("skip", ("2026-05-16",))
        assert found.reason == (
            "it waits for lake://main/h 2026-05-16T00, lake://main/h 2026-05-16T01,"
            " lake://main/h 2026-05-16T02, lake://main/h 2026-05-16T03,"
            " lake://main/h 2026-05-16T04 and 18 more"
        )
        state.keys |= {("lake://main/h", hour) for hour in hours("2026-05-16")[:-1]}
        assert step(plan(ROLLUP, "h", partition="2026-05-16T07"), "d").verdict == "skip"
        found = step(plan(ROLLUP, "h", partition="2026-05-16T23"), "d")
        assert (found.verdict, found.keys) == ("run", ("2026-05-16",))

    @pytest.mark.parametrize(
        ("day", "count"), [("2026-03-08", 23), ("2026-11-01", 24), ("2026-05-16", 24)]
    )
    def test_over_clock_changes_it_waits_for_the_keys_that_the_day_has(
        self, day: str, count: int, plan: PlanFor, state: Any
    ) -> None:
        last = f"{day}T23"
        there = [hour for hour in hours(day) if hour not in ("2026-03-08T02", last)]
        assert len(there) == count - 1
        state.keys |= {("lake://main/h", hour) for hour in there[1:]}
        assert step(plan(ROLLUP, "h", partition=last), "d").verdict == "skip"
        state.keys.add(("lake://main/h", there[0]))
        found = step(plan(ROLLUP, "h", partition=last), "d")
        assert found.verdict == "run"
        assert [given.partition for given in found.inputs] == [*there, last]

    def test_who_asks_for_it_by_name_does_not_wait(self, plan: PlanFor) -> None:
        assert step(plan(ROLLUP, "d", partition="2026-05-16"), "d").verdict == "run"

    @pytest.mark.parametrize(
        ("wait", "there", "verdict"),
        [
            ("any", 0, "run"),
            ("3", 1, "skip"),
            ("3", 2, "run"),
            ("-2", 20, "skip"),
            ("-2", 21, "run"),
            ("all", 22, "skip"),
            ("all", 23, "run"),
            ("100", 23, "run"),
        ],
    )
    def test_how_much_must_be_there_can_be_said(
        self, wait: str, there: int, verdict: str, plan: PlanFor, state: Any
    ) -> None:
        texts = ROLLUP | {"d": DAYS.replace("main/h;", f"main/h wait={wait};")}
        state.keys |= {("lake://main/h", hour) for hour in hours("2026-05-16")[:there]}
        assert step(plan(texts, "h", partition="2026-05-16T23"), "d").verdict == verdict

    def test_a_month_feeds_its_days_at_once(self, plan: PlanFor) -> None:
        texts = {
            "m": "partitioned monthly; materialize lake://main/m",
            "d": 'on lake://main/m; partitioned daily start="2026-02-10"; materialize lake://main/d',
        }
        found = step(plan(texts, "m", fire_time=datetime(2026, 2, 11, tzinfo=UTC)), "d")
        assert found.keys == tuple(f"2026-02-{day}" for day in range(10, 29))
        # Whoever names the month has not named days that lie before the first.
        assert len(step(plan(texts, "m", partition="2026-02"), "d").keys) == 19
        found = step(plan(texts, "m", partition="2026-01"), "d")
        assert (found.verdict, found.reason) == (
            "skip",
            "it starts at 2026-02-10, and the run is for 2026-01-01",
        )

    def test_a_day_needs_the_last_ones(self, plan: PlanFor, state: Any) -> None:
        texts = {
            "a": 'partitioned daily start="2026-05-01"; materialize lake://main/a',
            "b": "on lake://main/a map=trailing(3); partitioned daily; materialize lake://main/b"
            " :: SELECT * FROM a",
        }
        # A rewritten day touches the days that look back to it, as far as those can run.
        state.keys |= {("lake://main/a", f"2026-05-0{day}") for day in (3, 4, 6)}
        found = plan(texts, "a", partition="2026-05-05")
        assert step(found, "b").keys == ("2026-05-05", "2026-05-06")
        assert found.warnings == (
            "lake://main/b 2026-05-07 does not run: it waits for lake://main/a 2026-05-07",
        )
        [first, second] = step(found, "b").slice
        assert [given.partition for given in first.inputs] == [f"2026-05-0{d}" for d in (3, 4, 5)]
        assert [given.partition for given in second.inputs] == [f"2026-05-0{d}" for d in (4, 5, 6)]
        # At the beginning there are fewer.
        found = plan(texts, "a", partition="2026-05-01")
        assert step(found, "b").keys == ("2026-05-01",)

    def test_keys_that_are_looked_back_to_wait_too(self, plan: PlanFor, state: Any) -> None:
        texts = ROLLUP | {"d": DAYS.replace("; materialize", " lookback=2; materialize")}
        for day in ("2026-05-16", "2026-05-15"):
            state.keys |= {("lake://main/h", hour) for hour in hours(day)}
        found = plan(texts, "h", partition="2026-05-16T07")
        assert step(found, "d").keys == ("2026-05-15", "2026-05-16")
        assert found.warnings[-1].startswith("lake://main/d 2026-05-14 does not run: it waits for")

    def test_the_day_before(self, plan: PlanFor) -> None:
        texts = {
            "a": "partitioned daily; materialize lake://main/a",
            "b": "on lake://main/a map=offset(-1); partitioned daily; materialize lake://main/b",
        }
        found = step(plan(texts, "a", partition="2026-05-05"), "b")
        assert found.keys == ("2026-05-06",)
        assert [(str(a.asset), a.partition) for a in found.slice[0].awaits] == [
            ("lake://main/a", "2026-05-05")
        ]

    def test_the_same_period_in_other_words(self, plan: PlanFor) -> None:
        texts = {
            "a": "partitioned weekly; materialize lake://main/a",
            "b": 'on lake://main/a; partitioned weekly format="%Y-%m-%d (W%V)"',
        }
        found = step(plan(texts, "a", partition="2026-W12"), "b")
        assert found.keys == ("2026-03-16 (W12)",)

    def test_what_feeds_every_key_starts_none(self, plan: PlanFor) -> None:
        texts = {
            "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
            "d": "on lake://main/r map=all; partitioned daily; materialize lake://main/d",
        }
        found = plan(texts, "r", partition="eu")
        assert step(found, "d").verdict == "skip"
        assert found.warnings == (
            "lake://main/d is skipped: map=all makes every key of it depend on lake://main/r, and"
            " says for none that it should run; run it with --only --partition, or backfill it",
        )

    def test_a_fixed_key_feeds_a_whole_table(self, plan: PlanFor) -> None:
        texts = {
            "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
            "w": "on lake://main/r map=fixed(eu); materialize lake://main/w :: SELECT * FROM r",
        }
        found = step(plan(texts, "r", partition="eu"), "w")
        assert (found.verdict, [given.partition for given in found.inputs]) == ("run", ["eu"])
        found = step(plan(texts, "r", partition="us"), "w")
        assert (found.verdict, found.reason) == ("skip", "it takes fixed(eu) of lake://main/r only")

    def test_an_and_over_different_periods(self, plan: PlanFor, state: Any) -> None:
        texts = {
            **ROLLUP,
            "x": f"partitioned daily tz={NEW_YORK}; materialize lake://main/x",
            "d": DAYS.replace("on lake", "on lake://main/x; trigger all; on lake"),
        }
        state.keys |= {("lake://main/h", hour) for hour in hours("2026-05-16")[1:]}
        found = step(plan(texts, "x", partition="2026-05-16"), "d")
        assert (found.verdict, found.reason) == (
            "skip",
            "it waits for lake://main/h 2026-05-16T00",
        )
        state.keys.add(("lake://main/h", "2026-05-16T00"))
        assert step(plan(texts, "x", partition="2026-05-16"), "d").verdict == "run"


class TestWithoutADeclaredPartitioning:
    @pytest.mark.parametrize(
        ("mapper", "key"),
        [
            ("start_of_hour", "2026-03-16T09"),
            ("start_of_day", "2026-03-16"),
            ("start_of_week", "2026-03-16 (W12)"),
            ("start_of_month", "2026-03"),
            ("start_of_quarter", "2026-Q1"),
            ("start_of_year", "2026"),
        ],
    )
    def test_keys_are_those_that_the_mapper_makes(
        self, mapper: str, key: str, plan: PlanFor
    ) -> None:
        texts = {
            "a": "partitioned hourly; materialize lake://main/a",
            "b": f"on lake://main/a map={mapper}; materialize lake://main/b"
            " :: SELECT '{partition}' AS k",
        }
        found = step(plan(texts, "a", partition="2026-03-16T09"), "b")
        assert (found.verdict, found.keys) == ("run", (key,))

    def test_allowed_keys(self, plan: PlanFor) -> None:
        texts = {
            "a": 'partitioned static keys="Sales,Finance,HR"; materialize lake://main/a',
            "b": "on lake://main/a map=allowed(Sales, Finance); materialize lake://main/b",
        }
        assert step(plan(texts, "a", partition="Sales"), "b").keys == ("Sales",)
        found = plan(texts, "a", partition="HR")
        assert [each.verdict for each in found.steps] == ["run", "fail"]
        assert found.steps[1].reason == (
            "lake://main/a feeds nothing of lake://main/b: 'HR' is not allowed; the keys are"
            " 'Sales', 'Finance'"
        )

    def test_a_chain_may_go_on_to_longer_periods(self, plan: PlanFor) -> None:
        texts = {
            "a": "partitioned hourly; materialize lake://main/a",
            "b": "on lake://main/a map=start_of_day; materialize lake://main/b",
            "c": "on lake://main/b map=start_of_week; materialize lake://main/c",
        }
        found = plan(texts, "a", partition="2026-03-18T09")
        assert [each.keys for each in found.steps] == [
            ("2026-03-18T09",),
            ("2026-03-18",),
            ("2026-03-16 (W12)",),
        ]


class TestDemanding:
    def test_a_key_asks_for_what_it_needs_upstream(self, plan: PlanFor) -> None:
        texts = {
            "a": "partitioned daily; materialize lake://main/a",
            "b": "on lake://main/a map=offset(-1); partitioned daily; materialize lake://main/b",
            "m": "on lake://main/b; partitioned monthly; materialize lake://main/m",
        }
        found = plan(texts, "+m", partition="2026-02")
        assert step(found, "m").keys == ("2026-02",)
        assert step(found, "b").keys == tuple(f"2026-02-{day:02}" for day in range(1, 29))
        assert step(found, "a").keys[0] == "2026-01-31"
        assert len(step(found, "a").keys) == 28

    def test_of_a_folder_each_goes_by_its_own_rule(self, plan: PlanFor) -> None:
        texts = {
            "f/a": "partitioned daily; materialize lake://main/a",
            "f/m": "on lake://main/a map=start_of_month; partitioned monthly",
        }
        found = plan(texts, "+f", partition="2026-02-01")
        assert [each.keys for each in found.steps] == [("2026-02-01",), ("2026-02",)]

    def test_a_wrong_key_is_that_of_the_target(self, plan: PlanFor) -> None:
        with pytest.raises(KeyRejected, match="'2026-02-01' is no monthly key"):
            plan(
                {
                    "a": "partitioned daily; materialize lake://main/a",
                    "m": "on lake://main/a; partitioned monthly; materialize lake://main/m",
                },
                "+m",
                partition="2026-02-01",
            )


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("on lake://main/d; partitioned hourly tz=UTC", "lake://main/d: daily in America/New_York keys feed hourly ones, and no mapping says how; choose map=start_of_hour, fan_out, all_before, all, last or fixed(…)"),
        ("on lake://main/r; partitioned daily", "lake://main/r: static keys feed daily ones, and no mapping says how; choose map=all, last or fixed(…)"),
        ("on lake://main/r", "lake://main/r: script has no partitions and lake://main/r has; write 'on lake://main/r map=all' to rebuild it from all of them, or map=last or map=fixed(…) for one of them"),
        ("on lake://main/r map=fixed(jp)", "lake://main/r: fixed(jp): 'jp' is no static key; the keys are 'us', 'eu'"),
        ("on lake://main/w map=rollup; partitioned daily", "lake://main/w: map=rollup maps keys, and lake://main/w has no partitions; leave map= out"),
        ("on lake://main/src map=start_of_day; partitioned monthly", "lake://main/src: map=start_of_day does not fit: from undeclared to monthly keys, and it makes daily keys; choose map=identity, start_of_month, all, last or fixed(…)"),
        ("on lake://main/src map=offset(-1)", "lake://main/src: map=offset(-1) makes keys, and script has no partitions; add a partitioned line, or leave map= out"),
        ("on lake://main/d map=start_of_day", "lake://main/d: its keys are in America/New_York, and those of script would be in UTC; add the line 'partitioned daily tz=\"America/New_York\"'"),
        ('trigger all; on lake://main/r map=allowed(us); on lake://main/r2 map=allowed(eu); partitioned static keys="us,eu"', "it waits for lake://main/r and lake://main/r2 together, and they feed no key in common; leave the 'trigger' line out, or change the mappers"),
        ('trigger lake://main/src | lake://main/r & lake://main/r2; on lake://main/r map=allowed(us); on lake://main/r2 map=allowed(eu); on lake://main/src; partitioned static keys="us,eu"', "it waits for lake://main/r and lake://main/r2 together, and they feed no key in common; join them by |, or change the mappers"),
        ('trigger lake://main/src & (lake://main/src2 | lake://main/r & lake://main/r2); on lake://main/r map=allowed(us); on lake://main/r2 map=allowed(eu); on lake://main/src map=allowed(us); on lake://main/src2; partitioned static keys="us,eu"', "it waits for lake://main/r and lake://main/r2 together, and they feed no key in common; join them by |, or change the mappers"),
        ('trigger all; on lake://main/r map=allowed(us); on lake://main/r2 map=allowed(eu); partitioned dynamic key="$.k"', "it waits for lake://main/r and lake://main/r2 together, and they feed no key in common; leave the 'trigger' line out, or change the mappers"),
    ],
)  # fmt: skip
def test_what_does_not_hang_together_is_a_fault(
    on: str, message: str, project: Callable[..., Project]
) -> None:
    texts = {
        "d": f"partitioned daily tz={NEW_YORK}; materialize lake://main/d",
        "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
        "r2": 'partitioned static keys="us,eu"; materialize lake://main/r2',
        "w": "materialize lake://main/w",
        "script": on,
    }
    faults = mapping_faults(build_graph(project(texts).scripts))
    assert [str(fault) for fault in faults] == [f"pipelines/script.sql:2: {message}"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("materialize lake://main/s", "lake://main/s has no partitions"),
        ('partitioned static keys="us"; materialize lake://main/s', "lake://main/s has static keys, which have no time"),
        ('partitioned dynamic key="$.k"', "script has dynamic keys, which have no time"),
        ('partitioned a: static keys="us" | b: dynamic key="$.k"', "script has composite keys, which have no time"),
    ],
)  # fmt: skip
def test_a_deadline_without_a_time_is_a_fault(
    text: str, what: str, project: Callable[..., Project]
) -> None:
    texts = {"script": f'{text}; on lake://main/src map=all deadline="06:00"'}
    faults = [str(fault) for fault in deadline_faults(project(texts).scripts)]
    line = len(texts["script"].split(";")) + 1
    assert faults == [
        f"pipelines/script.sql:{line}: lake://main/src: deadline= counts from the end of a key's"
        f" period, and {what}; leave deadline= out, or partition it by time, as in"
        " 'partitioned daily'"
    ]


@pytest.mark.parametrize(
    "text",
    [
        'on lake://main/src deadline="06:00"; partitioned monthly',
        'on lake://main/src map=start_of_day deadline="06:00"',
        'on lake://main/src deadline="06:00"; partitioned r: static keys="us" | day: daily',
    ],
)
def test_keys_of_time_may_have_a_deadline(text: str, project: Callable[..., Project]) -> None:
    assert list(deadline_faults(project({"script": text}).scripts)) == []


@pytest.mark.parametrize(
    "text",
    [
        "partitioned daily :: SELECT * FROM r",
        "on lake://main/src; partitioned daily",
        "on lake://main/src map=all",
        "on lake://main/w; partitioned daily",
        "on lake://main/r map=last",
        "on lake://main/src map=start_of_week",
        "trigger all; on lake://main/r; on lake://main/src map=allowed(us);"
        ' partitioned static keys="us,eu"',
        "trigger (lake://main/src | lake://main/r) & lake://main/r2; on lake://main/src;"
        " on lake://main/r map=allowed(us); on lake://main/r2 map=allowed(eu);"
        ' partitioned static keys="us,eu"',
        "trigger lake://main/r | lake://main/r2; on lake://main/r map=allowed(us);"
        ' on lake://main/r2 map=allowed(eu); partitioned static keys="us,eu"',
    ],
)
def test_what_hangs_together_or_need_not(text: str, project: Callable[..., Project]) -> None:
    texts = {
        "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
        "r2": 'partitioned static keys="us,eu"; materialize lake://main/r2',
        "w": "materialize lake://main/w",
        "script": text,
    }
    assert list(mapping_faults(build_graph(project(texts).scripts))) == []


NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
EITHER = {
    "a": 'partitioned daily start="2026-04-25"; materialize lake://main/a',
    "b": 'partitioned daily start="2026-05-01"; materialize lake://main/b',
    "x": 'partitioned daily start="2026-04-28" end="2026-04-28"; materialize lake://main/x',
    "z": "on lake://main/a; on lake://main/b; on lake://main/x; on lake://main/source;"
    " trigger lake://main/a & lake://main/b & lake://main/source | lake://main/x;"
    ' partitioned daily start="2026-04-20"; materialize lake://main/z',
}
MONTHS = {
    "d": 'partitioned daily start="2026-01-30"; materialize lake://main/d',
    "m": 'on lake://main/d; partitioned monthly start="2026-01"; materialize lake://main/m'
    " :: SELECT * FROM d",
}


class TestFilling:
    @pytest.fixture
    def backfill(self, project: Callable[..., Project]) -> Callable[..., BackfillPlan]:
        def planned(texts: dict[str, str], target: str, **given: Any) -> BackfillPlan:
            request = BackfillRequest(target=target, at=NOW, **given)
            return plan_backfill(project(texts), request, MemoryStore(), lambda _: None)

        return planned

    @pytest.fixture
    def catchup(self, project: Callable[..., Project]) -> Callable[..., CatchupPlan]:
        def planned(texts: dict[str, str]) -> CatchupPlan:
            request = BackfillRequest(target="", at=NOW)
            return plan_catchup(project(texts), request, MemoryStore(), lambda _: None, moved)

        return planned

    def test_months_follow_when_their_days_are_there(
        self, backfill: Callable[..., BackfillPlan]
    ) -> None:
        found = backfill(MONTHS, "d", start="2026-01-30", end="2026-03-30")
        assert step(found.plan, "m").keys == ("2026-01", "2026-02")
        assert found.warnings == (
            "lake://main/m 2026-03 cannot follow yet: it waits for lake://main/d 2026-03-31",
        )

    def test_days_follow_a_month(self, backfill: Callable[..., BackfillPlan]) -> None:
        texts = {
            "m": 'partitioned monthly start="2026-01"; materialize lake://main/m',
            "d": 'on lake://main/m; partitioned daily start="2026-02-27"; materialize lake://main/d',
        }
        found = backfill(texts, "m", start="2026-01", end="2026-02")
        assert step(found.plan, "d").keys == ("2026-02-27", "2026-02-28")

    def test_what_feeds_every_key_fills_none(self, backfill: Callable[..., BackfillPlan]) -> None:
        texts = {
            "r": 'partitioned static keys="us,eu"; materialize lake://main/r',
            "d": "on lake://main/r map=all; partitioned daily; materialize lake://main/d",
        }
        found = backfill(texts, "r")
        assert [each.script.name for each in found.plan.steps] == ["r"]
        assert found.warnings == (
            "lake://main/d does not follow: lake://main/r does not say which keys of lake://main/d"
            " to fill: map=all makes every key of it depend on each; backfill lake://main/d by"
            " itself",
        )

    def test_catching_up_goes_through_mappings(self, catchup: Callable[..., CatchupPlan]) -> None:
        found = catchup(MONTHS)
        keys = {caught.asset: caught.keys for caught in found.caught}
        assert (keys["lake://main/d"][0], keys["lake://main/d"][-1]) == ("2026-01-30", "2026-05-02")
        # April is complete with the days that are caught up with here.
        assert keys["lake://main/m"] == ("2026-01", "2026-02", "2026-03", "2026-04")

    def test_conditions_hold_for_those_that_follow(
        self, backfill: Callable[..., BackfillPlan]
    ) -> None:
        found = backfill(EITHER, "x")
        assert step(found.plan, "z").keys == ("2026-04-28",)
        found = backfill(EITHER, "a", start="2026-05-01", end="2026-05-02")
        assert [each.script.name for each in found.plan.steps] == ["a"]
        assert found.warnings == (
            "lake://main/z 2026-05-01 and 1 more keys cannot follow yet: it waits for"
            " lake://main/b 2026-05-01",
        )

    def test_catching_up_goes_by_conditions(self, catchup: Callable[..., CatchupPlan]) -> None:
        keys = {caught.asset: caught.keys for caught in catchup(EITHER).caught}
        # The days of a and b together, and those of x; by the source, nobody can tell.
        assert keys["lake://main/z"] == ("2026-04-28", "2026-05-01", "2026-05-02")
