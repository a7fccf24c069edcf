"""From a request to steps: which, in what order, with which key, and why not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tranche.errors import (
    ArgumentRejected,
    KeyRejected,
    NotPartitioned,
    PayloadMissing,
    StaticKeyMissing,
    TrancheError,
    UnknownTarget,
)
from tranche.model.asset import FileSet, LakeTable
from tranche.model.plan import InputKey, Plan, Step

PlanFor = Callable[..., Plan]
DAY = "2026-05-16"
CHAIN = {
    "a": "partitioned daily; materialize lake://main/a",
    "b": "on lake://main/a; partitioned daily; materialize lake://main/b :: SELECT * FROM a",
    "c": "on lake://main/b; partitioned daily; materialize lake://main/c :: SELECT * FROM b, src",
}
DIAMOND = {
    **CHAIN,
    "c": "on lake://main/a; partitioned daily; materialize lake://main/c :: SELECT * FROM a",
    "d": "on lake://main/b; on lake://main/c; partitioned daily; materialize lake://main/d"
    " :: SELECT * FROM b, c",
    "reader": "partitioned daily; materialize lake://main/r :: SELECT * FROM d",
}


def told(plan: Plan) -> list[tuple[str, str, str | None]]:
    return [(step.script.name, step.verdict, step.partition) for step in plan.steps]


def names(plan: Plan) -> list[str]:
    return [step.script.name for step in plan.steps]


def only(plan: Plan, name: str) -> Step:
    return next(step for step in plan.steps if step.script.name == name)


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("a", {}, ["a", "b", "c", "d"]),
        ("a", {"only": True}, ["a"]),
        ("b", {}, ["b", "d"]),
        ("+b", {}, ["a", "b", "d"]),
        ("+d", {"only": True}, ["a", "b", "c", "d"]),
        ("+reader", {}, ["a", "b", "c", "d", "reader"]),
        (".", {}, ["a", "b", "c", "d", "reader"]),
        ("lake://main/c", {}, ["c", "d"]),
    ],
)
def test_steps_in_dependency_order(
    target: str, options: dict[str, Any], expected: list[str], plan: PlanFor
) -> None:
    found = plan(DIAMOND, target, **options)
    assert names(found) == expected
    assert [step.position for step in found.steps] == list(range(len(expected)))
    assert {step.partition for step in found.steps} == {DAY}
    assert found.warnings == ()


def test_a_diamond_runs_its_end_once_after_both_sides(plan: PlanFor) -> None:
    found = plan(DIAMOND, "a")
    assert [step.needs for step in found.steps] == [(), (0,), (0,), (1, 2)]


def test_steps_know_their_inputs_ordinal_and_strategy(plan: PlanFor) -> None:
    step = only(plan(CHAIN, "a"), "c")
    assert step.inputs == (
        InputKey(LakeTable("main", "b"), DAY),
        InputKey(LakeTable("main", "src"), None),
    )
    assert step.ordinal == datetime(2026, 5, 16, tzinfo=UTC)
    assert step.strategy == "replace"
    files = {"a": "partitioned daily :: SELECT * FROM read_json('x/' || '{partition}')"}
    assert plan(files, "a").steps[0].inputs == (InputKey(FileSet("file", "x/{partition}"), None),)


def test_a_chain_just_before_midnight_stays_on_one_key(plan: PlanFor) -> None:
    texts = {
        name: text.replace("daily", f"daily tz={zone}")
        for (name, text), zone in zip(
            CHAIN.items(), ("Europe/Paris", "UTC", "Asia/Tokyo"), strict=True
        )
    }
    fired = datetime(2026, 5, 16, 23, 59, 59, tzinfo=ZoneInfo("Europe/Paris"))
    assert told(plan(texts, "a", fire_time=fired)) == [(n, "run", DAY) for n in "abc"]


def test_an_explicit_key_goes_all_the_way_even_before_a_start(plan: PlanFor) -> None:
    texts = {name: text.replace("daily", "daily start=2026-05-01") for name, text in CHAIN.items()}
    assert told(plan(texts, "a", partition="2020-01-01")) == [
        (n, "run", "2020-01-01") for n in "abc"
    ]


def test_before_the_start_managed_steps_and_their_dependents_are_skipped(plan: PlanFor) -> None:
    texts = {**CHAIN, "a": CHAIN["a"].replace("daily", "daily start=2026-06-01")}
    found = plan(texts, "a")
    assert told(found) == [("a", "skip", None), ("b", "skip", None), ("c", "skip", None)]
    why = "it starts at 2026-06-01, and the run fired at 2026-05-16T12:00:00+00:00"
    assert [step.reason for step in found.steps] == [
        why, "lake://main/a is skipped", "lake://main/b is skipped",
    ]  # fmt: skip
    assert found.warnings == (f"lake://main/a is skipped: {why}",)


@pytest.mark.parametrize("bound", ["start=2026-06-01", "end=2026-05-01"])
def test_a_consumer_outside_its_bounds_is_skipped_alone(bound: str, plan: PlanFor) -> None:
    texts = {**CHAIN, "b": CHAIN["b"].replace("daily", f"daily {bound}")}
    found = plan(texts, "a")
    assert told(found) == [("a", "run", DAY), ("b", "skip", None), ("c", "skip", None)]
    side = bound.replace("=", "s at ")
    assert found.steps[1].reason == f"it {side}, and the run is for 2026-05-16"


@pytest.mark.parametrize("made", ["", "; materialize manual lake://main/a"])
def test_before_the_start_scripts_that_are_not_managed_run_without_a_key(
    made: str, plan: PlanFor
) -> None:
    found = plan({"a": f"partitioned daily start=2026-06-01{made}"}, "a")
    assert told(found) == [("a", "run", None)]
    label = "lake://main/a" if made else "a"
    assert found.warnings == (
        f"{label} runs without a partition: it starts at 2026-06-01,"
        " and the run fired at 2026-05-16T12:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("rule", "given", "error"),
    [
        ("daily", {"partition": "2026-5-1"}, KeyRejected),
        ("daily", {"partition": ""}, KeyRejected),
        ('static keys="us,eu"', {}, StaticKeyMissing),
        ('dynamic key="$.t"', {}, PayloadMissing),
    ],
)
def test_a_target_without_a_key_is_rejected(
    rule: str, given: dict[str, Any], error: type[TrancheError], plan: PlanFor
) -> None:
    with pytest.raises(error):
        plan({"a": f"partitioned {rule}"}, "a", **given)


def test_a_key_for_nothing_that_has_partitions(plan: PlanFor) -> None:
    with pytest.raises(NotPartitioned) as caught:
        plan({"a": "materialize lake://main/a"}, "a", partition=DAY)
    assert str(caught.value) == (
        "the key '2026-05-16' was given, and nothing that would run has partitions;"
        " leave --partition out, or add a partitioned line to the script"
    )


def test_dynamic_keys_travel(plan: PlanFor) -> None:
    texts = {name: text.replace("daily", 'dynamic key="$.t"') for name, text in CHAIN.items()}
    key = "x' OR '1'='1\n"
    assert told(plan(texts, "a", payload={"t": key})) == [(n, "run", key) for n in "abc"]
    assert told(plan(texts, "a", arguments={"t": "eu"})) == [(n, "run", "eu") for n in "abc"]


def consumer(annotation: str) -> dict[str, str]:
    return {
        "a": CHAIN["a"],
        "z": f"{annotation}; materialize lake://main/z",
        "y": "on lake://main/z",
    }


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        ("on lake://main/a", "lake://main/z has no partitions and lake://main/a has; write 'on lake://main/a map=all' to rebuild it from all of them, or map=last or map=fixed(…) for one of them"),
        ('on lake://main/a; partitioned static keys="us"', "daily keys feed static ones, and no mapping says how; choose map=all, last or fixed(…)"),
        ("on lake://main/a map=fan_out; partitioned monthly", "map=fan_out does not fit: from daily to monthly keys, and it goes from longer periods to shorter ones; choose map=start_of_month, rollup, all_before, all, last or fixed(…)"),
        ("on lake://main/a map=allowed(2026-01-01); partitioned daily", "lake://main/a feeds nothing of lake://main/z: '2026-05-16' is not allowed; the keys are '2026-01-01'"),
        ("on lake://main/a; partitioned daily; $x (int)", "pipelines/z.sql needs the argument $x (int); give it with --arg x=<value>"),
    ],
)  # fmt: skip
def test_a_consumer_that_cannot_work_is_its_own_failure(
    annotation: str, reason: str, plan: PlanFor
) -> None:
    found = plan(consumer(annotation), "a")
    assert told(found) == [("a", "run", DAY), ("z", "fail", None), ("y", "skip", None)]
    assert found.steps[1].reason == reason
    assert found.steps[2].reason == "lake://main/z cannot run"


def test_a_key_that_the_consumers_zone_skips_fails_the_consumer_only(plan: PlanFor) -> None:
    texts = {
        "a": "partitioned hourly; materialize lake://main/a",
        "b": "on lake://main/a map=identity; partitioned hourly tz=Europe/Paris",
    }
    found = plan(texts, "a", partition="2026-03-29T02")
    assert [step.verdict for step in found.steps] == ["run", "fail"]


def test_a_whole_table_takes_all_keys(plan: PlanFor) -> None:
    found = plan(consumer("on lake://main/a map=all"), "a")
    assert told(found) == [("a", "run", DAY), ("z", "run", None), ("y", "run", None)]


def test_a_table_without_partitions_triggers_the_key_of_the_fire_time(plan: PlanFor) -> None:
    texts = {"a": "materialize lake://main/a", "b": "on lake://main/a; partitioned daily"}
    assert told(plan(texts, "a")) == [("a", "run", None), ("b", "run", DAY)]


def test_two_keys_for_one_step(plan: PlanFor) -> None:
    texts = {
        "in/a": "partitioned daily tz=Asia/Tokyo; materialize lake://main/a",
        "in/b": "partitioned daily; materialize lake://main/b",
        "c": "on lake://main/a map=identity; on lake://main/b; partitioned daily;"
        " materialize lake://main/c",
    }
    late = datetime(2026, 5, 16, 20, tzinfo=UTC)
    found = plan(texts, "in", fire_time=late)
    assert only(found, "c").keys == ("2026-05-16", "2026-05-17")
    assert only(plan(texts, "in", fire_time=late, partition=DAY), "c").partition == DAY


def test_in_a_folder_one_that_cannot_run_does_not_stop_the_others(plan: PlanFor) -> None:
    texts = {"f/a": "partitioned daily", "f/s": 'partitioned static keys="us"'}
    assert told(plan(texts, "f")) == [("f/a", "run", DAY), ("f/s", "fail", None)]
    with pytest.raises(StaticKeyMissing):
        plan({"f/r": texts["f/s"], "f/s": texts["f/s"]}, "f")
    with pytest.raises(StaticKeyMissing):
        plan(texts, "f/s")


ALL = {
    **CHAIN,
    "o": "partitioned daily; materialize lake://main/o",
    "whole": "materialize lake://main/whole",
    "z": "on lake://main/a; on lake://main/o; on lake://main/whole; on lake://main/source; trigger all;"
    " partitioned daily; materialize lake://main/z",
}


def test_trigger_all_waits_for_the_others(plan: PlanFor, state: Any) -> None:
    step = only(plan(ALL, "a"), "z")
    assert (step.verdict, step.partition) == ("skip", DAY)
    assert step.reason == "it waits for lake://main/o 2026-05-16, lake://main/whole"
    state.keys |= {("lake://main/whole", None), ("lake://main/o", "2026-05-15")}
    assert only(plan(ALL, "a"), "z").reason == "it waits for lake://main/o 2026-05-16"
    state.keys.add(("lake://main/o", DAY))
    assert only(plan(ALL, "a"), "z").verdict == "run"


EITHER = {
    **{name: f"partitioned daily; materialize lake://main/{name}" for name in ("a", "b", "x")},
    "z": "on lake://main/a; on lake://main/b; on lake://main/x; on lake://main/source;"
    " trigger (lake://main/a & lake://main/b & lake://main/source) | lake://main/x;"
    " partitioned daily lookback=1; materialize lake://main/z",
}


def test_a_run_goes_by_the_condition(plan: PlanFor, state: Any) -> None:
    assert only(plan(EITHER, "x", exact=True), "z").verdict == "run"
    step = only(plan(EITHER, "a", exact=True), "z")
    assert (step.verdict, step.reason) == ("skip", "it waits for lake://main/b 2026-05-16")
    state.keys.add(("lake://main/x", DAY))
    assert only(plan(EITHER, "a"), "z").verdict == "skip"
    state.keys.add(("lake://main/b", DAY))
    # The day that it looks back to has to be there too, where it is one of several.
    found = plan(EITHER, "a")
    assert only(found, "z").keys == (DAY,)
    assert found.warnings == (
        "lake://main/z 2026-05-15 does not run: it waits for lake://main/a 2026-05-15,"
        " lake://main/b 2026-05-15",
    )
    assert only(plan(EITHER, "x"), "z").keys == ("2026-05-15", DAY)


def test_a_whole_table_goes_by_the_condition(plan: PlanFor, state: Any) -> None:
    texts = EITHER | {
        "z": "on lake://main/a map=all; on lake://main/b map=last; on lake://main/x map=fixed(2026-05-01);"
        " trigger lake://main/a & lake://main/b | lake://main/x; materialize lake://main/z"
    }
    assert only(plan(texts, "a"), "z").reason == "it waits for lake://main/b"
    assert only(plan(texts, "x"), "z").reason == "it takes fixed(2026-05-01) of lake://main/x only"
    assert only(plan(texts, "x", partition="2026-05-01"), "z").verdict == "run"
    state.keys.add(("lake://main/b", "2026-01-01"))
    assert only(plan(texts, "a"), "z").verdict == "run"


def test_trigger_all_counts_what_runs_in_the_same_plan(plan: PlanFor) -> None:
    found = plan(ALL, ".")
    assert only(found, "z").verdict == "run"
    assert only(plan(ALL, "z"), "z").verdict == "run"


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("string", "any 'text'", None),
        ("int", "-5", "5.0"),
        ("tinyint", "127", "128"),
        ("bigint", "9223372036854775807", "9223372036854775808"),
        ("double", "1.5e3", "much"),
        ("decimal(4,2)", "12.34", "123.4"),
        ("boolean", "TRUE", "yes"),
        ("date", "2026-05-16", "2026-13-01"),
        ("timestamp", "2026-05-16T09:30:00", "noon"),
    ],
)
def test_arguments_are_checked(type_: str, good: str, bad: str | None, plan: PlanFor) -> None:
    texts = {"a": f"$x ({type_}) :: SELECT $x"}
    assert plan(texts, "a", arguments={"x": good}).steps[0].arguments == (("x", good),)
    if bad is not None:
        with pytest.raises(ArgumentRejected) as caught:
            plan(texts, "a", arguments={"x": bad})
        assert str(caught.value).startswith(
            f"{bad!r} is no {type_} for $x of pipelines/a.sql; give "
        )


def test_arguments_that_are_missing_unknown_or_have_a_default(plan: PlanFor) -> None:
    texts = {"a": "$x (int); $y (int) = 5; $z (int) = null"}
    found = plan(texts, "a", arguments={"x": "1"}).steps[0].arguments
    assert found == (("x", "1"), ("y", "5"), ("z", None))
    with pytest.raises(ArgumentRejected) as caught:
        plan(texts, "a")
    assert (
        str(caught.value)
        == "pipelines/a.sql needs the argument $x (int); give it with --arg x=<value>"
    )
    with pytest.raises(ArgumentRejected) as caught:
        plan(texts, "a", arguments={"x": "1", "w": "2"})
    assert str(caught.value) == (
        "no step that would run takes the argument 'w'; the arguments are $x, $y, $z;"
        " declare one with '-- $w (<type>)'"
    )


def test_a_declared_partition_is_the_key(plan: PlanFor) -> None:
    texts = {"a": "partitioned daily; $partition (date)"}
    assert plan(texts, "a").steps[0].arguments == (("partition", DAY),)
    with pytest.raises(ArgumentRejected) as caught:
        plan(texts, "a", arguments={"partition": "2026-01-01"})
    assert str(caught.value) == ("the key is given as an argument; give it with --partition <key>")
    with pytest.raises(ArgumentRejected, match="'2026-05' is no date for"):
        plan({"a": "partitioned monthly; $partition (date)"}, "a")
    late = {"a": "partitioned daily start=2027-01-01; $partition (date) = 2020-01-01"}
    assert plan(late, "a").steps[0].arguments == (("partition", "2020-01-01"),)
    assert plan({"a": "$partition (string)"}, "a", arguments={"partition": "x"}).steps[0].arguments


LOOKING_BACK = {
    "a": 'partitioned daily start="2026-05-15" lookback=2; materialize lake://main/a',
    "b": "on lake://main/a; partitioned daily; materialize lake://main/b",
    "c": "on lake://main/b; partitioned daily lookback=1; materialize lake://main/c",
}


def keys(plan: Plan) -> list[tuple[str, ...]]:
    return [(step.script.name, *map(str, step.keys)) for step in plan.steps]


def test_a_run_covers_the_keys_before_it_too(plan: PlanFor) -> None:
    found = plan(LOOKING_BACK, "a", partition="2026-05-18")
    days = ("2026-05-16", "2026-05-17", "2026-05-18")
    assert keys(found) == [("a", *days), ("b", *days), ("c", "2026-05-15", *days)]
    assert [step.needs for step in found.steps] == [(), (0,), (1,)]


def test_but_none_before_the_first(plan: PlanFor) -> None:
    found = plan(LOOKING_BACK, "a", partition="2026-05-16", only=True)
    assert keys(found) == [("a", "2026-05-15", "2026-05-16")]


def test_exactly_one_key(plan: PlanFor) -> None:
    found = plan(LOOKING_BACK, "a", partition="2026-05-18", exact=True)
    assert keys(found) == [(name, "2026-05-18") for name in "abc"]


def test_keys_that_cannot_run_together_are_steps_of_their_own(plan: PlanFor) -> None:
    separates = lambda script: "it dices" if script.name == "b" else None  # noqa: E731
    found = plan(LOOKING_BACK, "a", partition="2026-05-16", separates=separates)
    assert keys(found) == [
        ("a", "2026-05-15", "2026-05-16"),
        ("b", "2026-05-15"),
        ("b", "2026-05-16"),
        ("c", "2026-05-14", "2026-05-15", "2026-05-16"),
    ]
    assert [step.needs for step in found.steps] == [(), (0,), (0,), (1, 2)]


def test_who_gives_no_key_is_told_which_one_it_is(plan: PlanFor) -> None:
    text = {"a": "partitioned daily lag=1; materialize lake://main/a"}
    found = plan(text, "a", scheduled=False)
    assert found.warnings == (
        "lake://main/a runs for 2026-05-15, the current period minus a lag of 1: no key was given",
    )
    assert plan(text, "a", scheduled=False, partition="2026-05-15").warnings == ()
    assert plan(text, "a").warnings == ()


def test_an_unknown_target(plan: PlanFor) -> None:
    with pytest.raises(UnknownTarget, match=r"did you mean 'lake://main/a'\?"):
        plan(CHAIN, "lake://main/aa")


def test_a_table_keeps_one_kind_of_key(plan: Callable[..., Plan], state: Any) -> None:
    state.keys.add(("lake://main/mix", "2026-01-01"))
    with pytest.raises(KeyRejected, match="holds '2026-01-01', which is no monthly key"):
        plan({"mix": "partitioned monthly; materialize lake://main/mix"}, "mix")
