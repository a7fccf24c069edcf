"""What runs tell while they work, as JSON and back: a server passes it on, a command draws it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from tranche.errors import TrancheError
from tranche.model.data_test import DataTestResult
from tranche.run.attempts import KeyOutcome
from tranche.run.feed import Ended, Told
from tranche.run.news import (
    GoesOneByOne,
    KeysFinished,
    News,
    RunStarted,
    StepFinished,
    StepName,
    StepRetried,
    StepStarted,
    StepWaits,
)
from tranche.run.reconcile import Recovered
from tranche.service.backfilling import BackfillResult
from tranche.views.backfills import backfill_result_view
from tranche.views.plain import error_view
from tranche.views.runs import key_view, run_view, test_view


def told_view(told: Told) -> tuple[str, dict[str, Any]]:
    """The name of something told, and what it says."""
    match told:
        case Ended():
            return "ended", _ended(told)
        case RunStarted():
            view = {"run": told.run, "keys": told.keys, "warnings": list(told.warnings)}
            return "run_started", view
        case Recovered():
            view = {"run": told.run, "status": told.status, "published": list(told.published)}
            return "recovered", view
        case StepStarted():
            return "step_started", {"step": _step(told.step)}
        case StepWaits():
            return "step_waits", {"step": _step(told.step), "run": told.run}
        case StepRetried():
            view = {"step": _step(told.step), "error": told.error, "delay": told.delay}
            return "step_retried", view
        case GoesOneByOne():
            return "goes_one_by_one", {"step": _step(told.step), "reason": told.reason}
        case KeysFinished():
            view = {"step": _step(told.step), "partitions": [key_view(key) for key in told.keys]}
            return "keys_finished", view
        case StepFinished():
            return "step_finished", {
                "step": _step(told.step),
                "status": told.status,
                "rows": told.rows,
                "error": told.error,
                "tests": [test_view(test) for test in told.tests],
                "partitions": [key_view(key) for key in told.keys],
                "provisional": told.provisional,
            }
        case _:
            assert_never(told)


def news_of(name: str, view: Mapping[str, Any]) -> News | None:
    """What was told, from its view; None for what this version does not know."""
    match name:
        case "run_started":
            return RunStarted(view["run"], view["keys"], tuple(view["warnings"]))
        case "recovered":
            return Recovered(view["run"], view["status"], tuple(view["published"]))
        case "step_started":
            return StepStarted(StepName(**view["step"]))
        case "step_waits":
            return StepWaits(StepName(**view["step"]), view["run"])
        case "step_retried":
            return StepRetried(StepName(**view["step"]), view["error"], view["delay"])
        case "goes_one_by_one":
            return GoesOneByOne(StepName(**view["step"]), view["reason"])
        case "keys_finished":
            return KeysFinished(StepName(**view["step"]), _keys(view))
        case "step_finished":
            return StepFinished(
                StepName(**view["step"]),
                view["status"],
                view["rows"],
                view["error"],
                tuple(_test(test) for test in view["tests"]),
                _keys(view),
                view.get("provisional"),
            )
        case _:
            return None


def _ended(told: Ended) -> dict[str, Any]:
    if isinstance(told.result, TrancheError):
        return error_view(told.result)
    if isinstance(told.about, BackfillResult):
        return backfill_result_view(told.about)
    return run_view(told.result)


def _step(step: StepName) -> dict[str, Any]:
    return {
        "position": step.position,
        "label": step.label,
        "first": step.first,
        "last": step.last,
        "keys": step.keys,
    }


def _keys(view: Mapping[str, Any]) -> tuple[KeyOutcome, ...]:
    return tuple(
        KeyOutcome(**{**key, "tests": tuple(_test(test) for test in key["tests"])})
        for key in view["partitions"]
    )


def _test(view: Mapping[str, Any]) -> DataTestResult:
    return DataTestResult(
        test=view["test"], severity=view["severity"], violations=view["violations"]
    )
