"""What a Python step needs to know of its plan and of exceptions, without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

from tranche.errors import Cancelled, CodeFailed, Place, StatementRejected, TrancheError
from tranche.jobs.calling import failed
from tranche.lakes.python import in_words, is_of_spark, mapped_keys
from tranche.model.asset import LakeTable
from tranche.model.code import Loaded
from tranche.model.plan import InputKey, SliceKey, Step
from tranche.model.script import Annotations, Script
from tranche.projects.config import parse_settings

ORDERS = LakeTable("main", "orders")


def step(*keys: str | None) -> Step:
    script = Script(name="s", path="s.py", language="python", annotations=Annotations())
    other = InputKey(LakeTable("main", "other"), None)
    inputs = (*(InputKey(ORDERS, key) for key in keys), other)
    return Step(position=0, script=script, slice=(SliceKey(inputs=inputs),))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(("a",), ["a"]), (("a", "b"), ["a", "b"]), ((None,), None), (("a", None), None), ((), None)],
)
def test_the_keys_of_an_asset_that_a_step_reads(
    keys: tuple[str | None, ...], expected: list[str] | None
) -> None:
    assert mapped_keys(step(*keys), Loaded(ORDERS)) == expected


def raised_in(module: str) -> Exception:
    """A connection that broke within a module."""
    names: dict[str, Any] = {"__name__": module}
    exec("def broken(): raise ConnectionRefusedError('no')", names)
    try:
        names["broken"]()
    except ConnectionError as error:
        return error
    raise AssertionError


def test_connections_of_others_are_not_those_of_spark() -> None:
    assert is_of_spark(raised_in("py4j.clientserver"))
    assert not is_of_spark(raised_in("urllib3.connection"))
    assert not is_of_spark(ConnectionError("made by hand"))
    assert not is_of_spark(ValueError("no"))


def told(cause: Exception, secret: str = "hunter2", *, debug: bool = False) -> TrancheError:
    settings = parse_settings("", Path("/p"), None, {})
    known: Any = SimpleNamespace(secrets=frozenset({secret}), root=settings.root)

    def act() -> None:
        raise failed(cause, Place("s.py", 3), "main") from cause

    with pytest.raises(TrancheError) as caught:
        in_words(act, known, debug=debug)
    return caught.value


def test_what_spark_said_is_told_as_such_and_secrets_are_not() -> None:
    error = told(AnalysisException("no such function; line 7 pos 2"))
    assert isinstance(error, StatementRejected)
    assert str(error) == "s.py:3: no such function; line 7 pos 2; correct the statement"
    stopped = told(PySparkException("Job 3 cancelled as part of cancellation of all jobs"))
    assert isinstance(stopped, Cancelled)
    plain = told(ValueError("the password is hunter2"))
    assert isinstance(plain, CodeFailed)
    assert "the password is ***" in str(plain)


def test_the_traceback_is_shown_to_who_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    told(raised_in("shop"))
    assert capsys.readouterr().err == ""
    told(raised_in("hunter2"), debug=True)
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "ConnectionRefusedError: no" in shown and "hunter2" not in shown
