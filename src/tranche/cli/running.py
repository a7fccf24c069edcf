"""Running from the command line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from tranche import service
from tranche.cli.output import Output, shown
from tranche.cli.progress import RunProgress
from tranche.cli.remote import Remote, run_remotely
from tranche.model.plan import Plan, Step
from tranche.model.project import Project
from tranche.model.rows import Rows
from tranche.ports import Engine, StateReader
from tranche.run.news import without
from tranche.views.runs import plan_view, run_view


@contextmanager
def starting(
    project: Project, output: Output, *, noting: bool = False, archiving: bool = False
) -> Iterator[Engine]:
    """An engine; a spinner says so while Spark starts.

    With JSON, what code of users prints goes where notes go.
    """
    progress = RunProgress(output)
    aside = redirect_stdout(sys.stderr) if output.json else nullcontext()
    with (
        aside,
        service.open_engine(
            project, debug=output.debug, noting=noting, archiving=archiving
        ) as engine,
    ):
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
    patience: float,
    dry_run: bool,
) -> bool:
    """Runs a plan, or prints it in a dry run; says whether it went well, or would."""
    if dry_run:
        return _show_planned(project, planned, output)
    with service.open_state(project, create=True) as store:
        plan = planned(store)
        if all(step.verdict != "run" for step in plan.steps):
            # Nothing needs Spark, so nothing waits for it.
            with service.open_engine(project, debug=output.debug) as engine:
                result = service.run(plan, engine, store, tell=RunProgress(output))
        else:
            with starting(project, output, archiving=True) as engine:
                progress = RunProgress(output)
                result = service.run(plan, engine, store, tell=progress, patience=patience)
    return show_run(run_view(result), output)


def run_by(remote: Remote, body: Mapping[str, Any], output: Output) -> bool:
    """Has a server run something; says whether it went well."""
    progress = RunProgress(output)
    try:
        view = run_remotely(remote, body, progress)
    finally:
        progress.quiet()
    return show_run(view, output)


def _show_planned(project: Project, planned: Callable[[StateReader], Plan], output: Output) -> bool:
    """Prints a plan; says whether all of it could run."""
    with service.open_state(project, create=False) as store:
        plan = planned(store)
    _show_plan(plan, output)
    return all(step.verdict != "fail" for step in plan.steps)


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
                ", ".join(dict.fromkeys(plan.steps[n].script.name for n in step.needs)),
                _what(step),
            )
            for step in plan.steps
        ),
    )


def _what(step: Step) -> str:
    if step.reason is not None:
        return f"{step.verdict}: {step.reason}"
    return f"{step.verdict}, {without(step)}" if step.provisional else step.verdict


def show_run(view: Mapping[str, Any], output: Output) -> bool:
    """Prints how a run ended; says whether it went well."""
    if output.json:
        output.value(view)
    else:
        for step in view["steps"]:
            if step.get("result") is not None:
                rows = tuple(tuple(record.values()) for record in step["result"])
                columns = tuple((name, "") for name in step["columns"])
                output.rows(Rows(columns, rows, step["more"]))
        statuses = Counter(step["status"] for step in view["steps"])
        counts = [
            f"{statuses[status]} {status}"
            for status in ("succeeded", "failed", "skipped", "cancelled")
            if statuses[status]
        ]
        output.line(f"run {shown(view['run'])} {view['status']}: {', '.join(counts)}")
    return bool(view["status"] == "succeeded")
