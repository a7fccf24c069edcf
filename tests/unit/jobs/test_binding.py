"""What parameters get, compared with what Python itself would hand over."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche import Daily, job, task
from tranche.model.code import Injected, Loaded
from tranche.script.python_types import INJECTED
from tranche.testing.jobs import project_of

NAMES = ("a", "b", "c", "d")


def function(parameters: list[str]) -> Callable[..., Any]:
    made: dict[str, Any] = {}
    exec(f"def take({', '.join(parameters)}): return 1", made)
    return made["take"]  # type: ignore[no-any-return]


def bound(
    take: Callable[..., Any], positional: list[str], named: dict[str, str]
) -> dict[str, object]:
    """What each parameter gets: the name of a task, or of what the run has."""

    @job(partitioning=Daily())
    def sales() -> None:
        made = {name: task(name=f"make_{name}")(function([])) for name in NAMES}
        results = {name: each() for name, each in made.items()}
        task(take)(*(results[n] for n in positional), **{p: results[n] for p, n in named.items()})

    _, read = project_of(sales)
    script = next(script for script in read.scripts if script.name == "sales.take")
    assert script.code is not None
    found: dict[str, object] = {}
    for parameter in script.code.parameters:
        match parameter.value:
            case Loaded() as loaded:
                found[parameter.name] = str(loaded.asset).rpartition("make_")[2]
            case Injected(what):
                found[parameter.name] = what
    return found


@given(st.permutations(NAMES), st.integers(0, 4), st.permutations(NAMES), st.integers(0, 4))
def test_a_call_hands_over_what_python_would(
    parameters: list[str], taken: int, order: list[str], by_position: int
) -> None:
    parameters = parameters[:taken]
    take = function(parameters)
    positional = order[: min(by_position, taken)]
    left = parameters[len(positional) :]
    named = dict(zip(left, order[len(positional) :], strict=False))
    expected = inspect.signature(take).bind(*positional, **named).arguments
    assert bound(take, positional, named) == expected


@given(st.lists(st.sampled_from(INJECTED), unique=True), st.permutations(NAMES), st.data())
def test_what_the_run_fills_may_stand_anywhere(
    injected: list[str], names: list[str], data: st.DataObject
) -> None:
    parameters = list(names[:2])
    for each in injected:
        parameters.insert(data.draw(st.integers(0, len(parameters))), each)
    rest = [name for name in parameters if name not in injected]
    found = bound(function(parameters), ["a", "b"], {})
    assert found == {rest[0]: "a", rest[1]: "b", **{name: name for name in injected}}


@pytest.mark.parametrize("name", INJECTED)
def test_any_parameter_takes_a_result_whatever_it_is_called(name: str) -> None:
    assert bound(function([name]), ["a"], {}) == {name: "a"}
    assert bound(function(["x", name]), ["a"], {name: "b"}) == {"x": "a", name: "b"}
