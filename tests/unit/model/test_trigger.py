"""Triggers as Python says them: the same values as those of annotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tranche import Asset, Identity, OnAssets, StartOfDay, StartOfWeek
from tranche.errors import MapperRejected, TrancheError, TriggerRejected
from tranche.model.condition import OwnSchedule
from tranche.model.trigger import OnAsset, Trigger
from tranche.script.annotations import CommentLine, read_header

A, B, C = (Asset(f"lake://main/{name}") for name in "abc")
ON = "on lake://main/{} map=start_of_day"


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        (["on lake://main/a"], OnAssets(A)),
        (["on lake://main/a", "on lake://main/b"], OnAssets(A | B)),
        (["on lake://main/a", "on lake://main/b", "trigger all"], OnAssets(A & B)),
        (
            [
                "on lake://main/a map=start_of_day wait=all",
                "on lake://main/b map=start_of_day",
                "on lake://main/c map=identity wait=-2",
                "trigger (lake://main/a & lake://main/b) | lake://main/c",
                "partitioned daily",
            ],
            OnAssets(
                (A & B) | C,
                map={"ducklake://main/c": Identity()},
                default=StartOfDay(),
                wait={A: "all", "lake://main/c": -2},
            ),
        ),
        (
            [ON.format("a"), ON.format("b"), "trigger lake://main/a and lake://main/b"],
            OnAssets(A & B, map={A: StartOfDay(), B: StartOfDay()}),
        ),
        (["on lake://main/a wait=3"], OnAssets(A, wait=3)),
    ],
)
def test_python_and_annotations_say_the_same(lines: list[str], given: OnAssets) -> None:
    numbered = enumerate(["pipeline", *lines], 1)
    header = read_header("s.sql", [CommentLine(number, text) for number, text in numbered], [])
    assert header.faults == []
    without_lines: list[Trigger] = [replace(on, line=0) for on in header.annotations.triggers]
    assert given.triggers == tuple(without_lines)
    assert given.condition == header.annotations.condition


def test_it_is_a_value() -> None:
    one = OnAssets(A & B, map={A: StartOfDay()})
    assert one == OnAssets(A & B, map={"lake://main/a": StartOfDay()})
    assert hash(one) == hash(OnAssets(A & B, map={A: StartOfDay()}))
    assert one.triggers == (OnAsset(A.uri, StartOfDay()), OnAsset(B.uri))


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: OnAssets(A, map={B: StartOfDay()}), TriggerRejected, "map names lake://main/b, and the condition does not; its assets are lake://main/a"),
        (lambda: OnAssets(A, wait={B: "all"}), TriggerRejected, "wait names lake://main/b, and the condition does not; its assets are lake://main/a"),
        (lambda: OnAssets(A, map={"b": StartOfDay()}), TriggerRejected, "'b' is no address; write lake://<lake>/<table>, file:///… or s3:///…"),
        (lambda: OnAssets(A, map={A: StartOfDay(), "lake://main/a": StartOfWeek()}), TriggerRejected, "map names lake://main/a twice; name it once"),
        (lambda: OnAssets(A, map={A: StartOfDay}), MapperRejected, "StartOfDay is no mapper; use one such as StartOfDay()"),
        (lambda: OnAssets(A, default="start_of_day"), MapperRejected, "'start_of_day' is no mapper; use one such as StartOfDay()"),
        (lambda: OnAssets(None), TriggerRejected, "None is no condition; use assets, as in Asset(\"lake://main/orders\"), & and |"),
        (lambda: OnAssets("lake://main/a"), TriggerRejected, "'lake://main/a' is no condition; use assets, as in Asset(\"lake://main/orders\"), & and |"),
        (lambda: OnAssets(A & OwnSchedule()), TriggerRejected, "OnAssets is over assets, and a schedule is none; leave it out"),
        (lambda: OnAssets(A, wait=0), TriggerRejected, "wait=0 says nothing; use \"any\", \"all\", or a number that is not 0"),
        (lambda: OnAssets(A, wait=True), TriggerRejected, "wait=True says nothing; use \"any\", \"all\", or a number that is not 0"),
        (lambda: OnAssets(A, wait={A: "some"}), TriggerRejected, "wait='some' says nothing; use \"any\", \"all\", or a number that is not 0"),
    ],
)  # fmt: skip
def test_what_cannot_trigger(
    made: Callable[[], object], error: type[TrancheError], message: str
) -> None:
    with pytest.raises(error) as caught:
        made()
    assert str(caught.value) == message
