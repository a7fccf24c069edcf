"""Runs, steps and plans as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.data_test import DataTestResult
from tranche.model.plan import Plan
from tranche.model.run import Run, StepRecord
from tranche.run.attempts import KeyOutcome, StepResult
from tranche.run.runner import RunResult
from tranche.views.plain import instant


def run_view(result: RunResult) -> dict[str, Any]:
    return {
        "run": result.id,
        "status": result.status,
        "steps": [step_view(step) for step in result.steps],
        "warnings": list(result.warnings),
    }


def step_view(step: StepResult) -> dict[str, Any]:
    record = step.record
    view: dict[str, Any] = {
        "script": record.script,
        "asset": record.asset,
        "partition": record.partition,
        "status": record.status,
        "strategy": record.strategy,
        "rows": record.rows,
        "snapshot": record.snapshot,
        "provisional": step.provisional,
        "tests": [test_view(test) for test in step.tests],
        "error": record.error,
    }
    if step.keys:
        view["partitions"] = [key_view(outcome) for outcome in step.keys]
    if step.result is not None:
        view["columns"] = [name for name, _ in step.result.columns]
        view["result"] = step.result.records()
        view["more"] = step.result.more
    return view


def key_view(outcome: KeyOutcome) -> dict[str, Any]:
    return {
        "partition": outcome.partition,
        "status": outcome.status,
        "rows": outcome.rows,
        "snapshot": outcome.snapshot,
        "provisional": outcome.provisional,
        "tests": [test_view(test) for test in outcome.tests],
        "error": outcome.error,
    }


def test_view(test: DataTestResult) -> dict[str, Any]:
    return {
        "test": test.test,
        "status": test.status,
        "severity": test.severity,
        "violations": test.violations,
    }


def plan_view(plan: Plan) -> dict[str, Any]:
    return {
        "target": plan.request.target,
        "fire_time": instant(plan.request.fire_time),
        "steps": [
            {
                "script": step.script.name,
                "asset": str(step.script.asset) if step.script.asset else None,
                "partition": step.partition,
                **({"partitions": list(step.keys)} if step.is_range else {}),
                "strategy": step.strategy,
                "needs": [plan.steps[position].script.name for position in step.needs],
                "provisional": step.provisional,
                "verdict": step.verdict,
                "reason": step.reason,
            }
            for step in plan.steps
        ],
        "warnings": list(plan.warnings),
    }


def recorded_run_view(run: Run) -> dict[str, Any]:
    """A run as the store has it, without its steps."""
    return {
        "run": run.id,
        "target": run.target,
        "status": run.status,
        "partition": run.partition,
        "arguments": dict(run.arguments),
        "fire_time": instant(run.fire_time),
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
        "error": run.error,
    }


def recorded_step_view(step: StepRecord) -> dict[str, Any]:
    """A step as the store has it."""
    return {
        "position": step.position,
        "script": step.script,
        "asset": step.asset,
        "partition": step.partition,
        "keys": step.keys,
        "status": step.status,
        "strategy": step.strategy,
        "rows": step.rows,
        "snapshot": step.snapshot,
        "started_at": instant(step.started_at),
        "finished_at": instant(step.finished_at),
        "error": step.error,
    }
