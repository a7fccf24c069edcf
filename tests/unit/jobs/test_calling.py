"""What a function gets, and what becomes of what it raises."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tranche import CurrentRun, Window, current_partition
from tranche.errors import ArgumentRejected, CodeFailed, Place, SourceMissing
from tranche.jobs.calling import Call, called
from tranche.model.asset import LakeTable
from tranche.model.code import Code, Injected, Injection, Loaded, Parameter, Passed, Value
from tranche.model.partitioning import Composite, Daily, Partitioning, Static

DAYS = Daily(tz="Europe/Paris")
FIRED = datetime(2026, 5, 17, 4, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


def call(
    *keys: str, rule: Partitioning | None = DAYS, given: dict[str, object] | None = None, **values: Value
) -> Call:  # fmt: skip
    parameters = tuple(Parameter(name, value) for name, value in values.items())
    return Call(
        code=Code(function="main", line=3, parameters=parameters),
        path="pipelines/s.py",
        keys=keys,
        partitioning=rule,
        fire_time=FIRED,
        run="r1",
        arguments=given or {},
    )


def no_spark() -> object:
    raise AssertionError("nobody wants Spark")


def no_rows(_: Loaded) -> object:
    raise AssertionError("nobody wants rows")


def returned(function: Callable[..., object], made: Call) -> Any:
    return called(function, made, spark=no_spark, load=no_rows)


@pytest.mark.parametrize(
    ("what", "keys", "expected"),
    [
        ("partition", ("2026-05-16",), "2026-05-16"),
        ("partition", (), None),
        ("partitions", ("2026-05-16", "2026-05-17"), ["2026-05-16", "2026-05-17"]),
        ("partitions", (), []),
        ("window", ("2026-03-29",), Window(datetime(2026, 3, 29, tzinfo=PARIS), datetime(2026, 3, 30, tzinfo=PARIS))),
        ("window", (), None),
        ("logical_date", ("2026-05-16",), datetime(2026, 5, 16, tzinfo=PARIS)),
        ("logical_date", (), None),
        ("run", (), CurrentRun("r1", FIRED)),
    ],
)  # fmt: skip
def test_injected(what: Injection, keys: tuple[str, ...], expected: object) -> None:
    assert returned(lambda x: x, call(*keys, x=Injected(what))) == expected


def test_the_window_of_several_dimensions_is_that_of_time() -> None:
    rule = Composite(region=Static(["eu"]), day=DAYS)
    found = returned(lambda w: w, call("eu|2026-03-29", rule=rule, w=Injected("window")))
    assert found.start == datetime(2026, 3, 29, tzinfo=PARIS)
    assert found.duration.total_seconds() == 23 * 3600


def test_spark_and_rows_are_asked_for_once_they_are_wanted() -> None:
    orders = Loaded(LakeTable("main", "orders"), "pandas")
    made = call("2026-05-16", spark=Injected("spark"), orders=orders)
    found = called(lambda spark, orders: (spark, orders), made, spark=lambda: "S", load=str)
    assert found == ("S", str(orders))


def test_arguments_and_fields() -> None:
    given = {"limit": 3, "tenant": {"id": 1}}
    made = call(given=given, limit=Passed("limit"), t=Passed("tenant", payload=True))
    assert returned(lambda limit, t: (limit, t), made) == (3, {"id": 1})
    optional = call(x=Passed("x", payload=True, required=False))
    assert returned(lambda x=7: x, optional) == 7


def test_what_is_missing_is_told() -> None:
    with pytest.raises(ArgumentRejected) as caught:
        returned(lambda x: x, call(x=Passed("x", payload=True)))
    assert str(caught.value) == (
        "pipelines/s.py:3: main takes 'x' from the payload, and the run has no such field; give one"
        " with --payload '{\"x\": …}', or give the parameter a default"
    )


def test_one_key_is_not_several() -> None:
    with pytest.raises(CodeFailed, match=r"takes one key, and was called for 2; let it take"):
        returned(lambda p: p, call("2026-05-16", "2026-05-17", p=Injected("partition")))


def test_code_further_down_knows_the_key() -> None:
    assert returned(current_partition, call("2026-05-16")) == "2026-05-16"


SCRIPT = """\
import json

def main(how):
    return [deeper, elsewhere, quits, silent, stops, ours, threads][how]()

def deeper():
    inner = lambda: {}["a"]
    return inner()

def elsewhere():
    return json.loads("{")

def quits():
    raise SystemExit(3)

def silent():
    raise ValueError

def stops():
    raise KeyboardInterrupt

def ours():
    from tranche.errors import SourceMissing
    raise SourceMissing("nothing is there", "make it")

def threads():
    raise ExceptionGroup("some", [ValueError("a\\nb")])
"""


@pytest.fixture
def main(tmp_path: Path) -> Callable[..., object]:
    names: dict[str, Any] = {}
    exec(compile(SCRIPT, str(tmp_path / "s.py"), "exec"), names)
    function: Callable[..., object] = names["main"]
    return function


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (0, "pipelines/s.py:7: main raised KeyError: 'a'; "),
        (1, "pipelines/s.py:11: main raised JSONDecodeError: Expecting property name enclosed in double quotes"),
        (2, "pipelines/s.py:14: main raised SystemExit: 3; "),
        (3, "pipelines/s.py:17: main raised ValueError; correct the code; --debug shows where it comes from"),
        (6, "pipelines/s.py:27: main raised ExceptionGroup: some (1 sub-exception); "),
    ],
)  # fmt: skip
def test_what_it_raises_is_located_at_its_own_deepest_line(
    how: int, message: str, main: Callable[..., object]
) -> None:
    made = call(given={"how": how}, how=Passed("how"))
    with pytest.raises(CodeFailed) as caught:
        returned(main, made)
    assert str(caught.value).startswith(message)
    assert caught.value.transient
    assert caught.value.__cause__ is not None


def test_interrupts_pass_and_our_own_errors_get_their_place(main: Callable[..., object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        returned(main, call(given={"how": 4}, how=Passed("how")))
    with pytest.raises(SourceMissing) as caught:
        returned(main, call(given={"how": 5}, how=Passed("how")))
    assert caught.value.place == Place("pipelines/s.py", 24)
    # Nothing stays behind of a call that failed.
    with pytest.raises(Exception, match="outside a run"):
        current_partition()
