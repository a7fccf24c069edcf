"""Running from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tranche import service
from tranche.cli.output import Output, shown
from tranche.cli.progress import RunProgress, without
from tranche.cli.views import plan_view, run_view
from tranche.model.plan import Plan, Step
from tranche.model.project import Project
from tranche.ports import Engine, StateReader
from tranche.run.runner import RunResult


@contextmanager
def starting(
    project: Project, output: Output, *, noting: bool = False, archiving: bool = False
) -> Iterator[Engine]:
    """An engine; a spinner says so while Spark starts."""
    progress = RunProgress(output)
    with service.open_engine(
        project, debug=output.debug, noting=noting, archiving=archiving
    ) as engine:
        progress.say("starting Spark")
        try:
            engine.start()
        finally:
            progress.quiet()
        yield engine


def run_planned(
    project: Project,
    planned: Callable[[StateReader], Plan],
    output: Output,
    *,
    dry_run: bool,
    patience: float,
) -> bool:
    """Runs or prints a plan; says whether it went well."""
    with service.open_state(project, create=not dry_run) as store:
        plan = planned(store)
        if dry_run:
            _show_plan(plan, output)
            return all(step.verdict != "fail" for step in plan.steps)
        if all(step.verdict != "run" for step in plan.steps):
            # Nothing needs Spark, so nothing waits for it.
            with service.open_engine(project, debug=output.debug) as engine:
                result = service.run(plan, engine, store, progress=RunProgress(output))
        else:
            with starting(project, output, archiving=True) as engine:
                progress = RunProgress(output)
                result = service.run(plan, engine, store, progress=progress, patience=patience)
    _show_result(result, output)
    return result.status == "succeeded"


def _show_plan(plan: Plan, output: Output) -> None:
    if output.json:
        output.value(plan_view(plan))
        return
    for warning in plan.warnings:
        output.warn(warning)
    output.table(
        ("step", "partition", "strategy", "after", "what"),
        (
            (
                step.script.label,
                " … ".join(key or "" for key in dict.fromkeys((step.keys[0], step.keys[-1]))),
                step.strategy or "",
                ", ".join(plan.steps[position].script.name for position in step.needs),
                _what(step),
            )
            for step in plan.steps
        ),
    )


def _what(step: Step) -> str:
    if step.reason is not None:
        return f"{step.verdict}: {step.reason}"
    return f"{step.verdict}, {without(step)}" if step.provisional else step.verdict


def _show_result(result: RunResult, output: Output) -> None:
    if output.json:
        output.value(run_view(result))
        return
    for step in result.steps:
        if step.result is not None:
            output.rows(step.result)
    counts = [
        f"{sum(1 for step in result.steps if step.record.status == status)} {status}"
        for status in ("succeeded", "failed", "skipped", "cancelled")
        if any(step.record.status == status for step in result.steps)
    ]
    output.line(f"run {shown(result.id)} {result.status}: {', '.join(counts)}")
