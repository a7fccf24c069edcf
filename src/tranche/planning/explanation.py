"""One step of a plan, explained: its key, its inputs and its statements."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from tranche.errors import UsageError
from tranche.model.explanation import Explanation, FilesView, KeyOrigin, SentStatement
from tranche.model.partitioning import time_of
from tranche.model.plan import Request, Step
from tranche.model.project import Project
from tranche.model.statement import FileHole, Statement, TableHole
from tranche.planning.graph import Graph, build_graph
from tranche.planning.plan import build_plan
from tranche.planning.resolve import resolve
from tranche.planning.targets import find_target
from tranche.ports import PartitionReader
from tranche.script.binding import (
    Values,
    bind,
    current_rows,
    file_path,
    files_view,
    quoted,
    values_of,
)


def explain_step(project: Project, request: Request, state: PartitionReader) -> Explanation:
    """What the target's own step would do; tables are named without the snapshots of a run."""
    graph = build_graph(project.scripts)
    target = find_target(project, graph, request.target)
    if target.upstream or len(target.scripts) != 1:
        raise UsageError(
            f"{request.target!r} names several steps, and one is explained at a time",
            "name a script or an asset",
        )
    plan = build_plan(project, replace(request, only=True, exact=True, scheduled=True), state)
    (step,) = plan.steps
    if step.is_range:
        raise UsageError(
            f"{step.script.label} would run for {len(step.slice)} keys, and one is explained at a"
            " time",
            f"give one with --partition, such as {step.slice[0].partition!r}",
        )
    runs = step.verdict == "run"
    return Explanation(
        request=request,
        step=step,
        key_from=_key_from(step, request),
        statements=_statements(graph, step) if runs else (),
        # Why it does not run, the step says itself.
        warnings=(*step.script.warnings, *(plan.warnings if runs else ())),
    )


def key_of(step: Step, request: Request) -> str | None:
    """The key that a step is about, also if it cannot run; None of a script without partitions."""
    rule = step.script.partitioning
    if step.partition is not None or rule is None:
        return step.partition
    found = resolve(rule, request).keys
    if len(found) != 1:
        raise UsageError(f"there is no one key of {step.script.label} to tell of")
    return found[0]


def _key_from(step: Step, request: Request) -> KeyOrigin | None:
    if step.partition is None:
        return None
    if request.partition is not None:
        return "given"
    if time_of(step.script.partitioning) is not None:
        return "time"
    return "payload" if request.payload is not None else "arguments"


def _statements(graph: Graph, step: Step) -> tuple[SentStatement, ...]:
    script = step.script
    every = [*script.setup, *([script.query] if script.query is not None else [])]
    values = values_of(step)
    numbers = count()
    return tuple(_sent(graph, statement, values, numbers) for statement in every)


def _sent(graph: Graph, statement: Statement, values: Values, numbers: count[int]) -> SentStatement:
    views: list[FilesView] = []

    def files(hole: FileHole) -> str:
        view = FilesView(
            files_view(next(numbers)), hole.format, file_path(hole, values), hole.options
        )
        views.append(view)
        return view.name

    bound = bind(statement, values, table=lambda hole: _table(graph, hole), files=files)
    return SentStatement(
        kind=statement.kind,
        line=statement.line,
        text=bound.text,
        parameters=tuple(bound.parameters.items()),
        files=tuple(views),
    )


def _table(graph: Graph, hole: TableHole) -> str:
    history = graph.history_behind(hole.table)
    if history is not None and (hole.pinned or hole.qualifies):
        return current_rows(hole, quoted(history))
    return quoted(hole.table)
