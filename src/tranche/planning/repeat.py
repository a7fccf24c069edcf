"""A past run once more, against what it read then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tranche.errors import UnknownTarget, UsageError
from tranche.model.asset import LakeTable
from tranche.model.plan import Plan, Request, Step
from tranche.model.project import Project
from tranche.model.run import Materialization, Run, StepRecord
from tranche.planning.plan import build_plan
from tranche.ports import StateReader

_LOG = 1_000
"""How many entries of a key are looked at, to find that of the run."""


def repeat_plan(project: Project, run: str, state: StateReader) -> Plan:
    """The steps that a run had, each with its key and the snapshots that it read."""
    past = state.run(run)
    if past is None:
        raise UnknownTarget(
            f"there is no run {run!r}", "tranche status ASSET --json names the run of each key"
        )
    records = state.steps(past.id)
    known = {record.script: record for record in records}
    if len(known) < len(records) or any(record.keys > 1 for record in records):
        raise UsageError(
            f"the run {past.id} was for several keys of an asset",
            "only runs for one key can be repeated: run each with --partition, or backfill them",
        )
    _check(project, past, tuple(known.values()))
    request = Request(
        target=past.target,
        fire_time=past.fire_time,
        partition=past.partition,
        payload=past.payload,
        arguments=past.arguments,
    )
    plan = build_plan(project, replace(request, exact=True, scheduled=True), state)
    kept = [step for step in plan.steps if step.script.name in known]
    places = {step.position: number for number, step in enumerate(kept)}
    warnings: list[str] = []
    steps = tuple(
        replace(
            _as_then(step, known[step.script.name], past, state, warnings),
            position=places[step.position],
            needs=tuple(places[need] for need in step.needs if need in places),
        )
        for step in kept
    )
    return replace(plan, request=request, steps=steps, warnings=(*plan.warnings, *warnings))


def _check(project: Project, past: Run, steps: Sequence[StepRecord]) -> None:
    for record in steps:
        what = record.asset or record.script
        if record.strategy in ("rollback", "copy"):
            raise UsageError(
                f"the run {past.id} took {what} back to a snapshot",
                "take it there again with tranche rollback",
            )
        if project.script(record.script) is None:
            raise UsageError(
                f"the run {past.id} made {what} by {record.script!r}, which is no script of the"
                " project now",
                "only what scripts make can be run again",
            )


def _as_then(
    step: Step, record: StepRecord, past: Run, state: StateReader, warnings: list[str]
) -> Step:
    label = step.script.label
    if step.verdict == "run" and step.partition != record.partition:
        raise UsageError(
            f"{label} would run for {step.partition!r} now, and the run {past.id} was for"
            f" {record.partition!r}",
            "its partitioning has changed since; run it with --partition instead",
        )
    entry = _entry(step, past, state)
    if entry is not None and entry.status == "succeeded" and not entry.fingerprint:
        raise UsageError(
            f"the run {past.id} wrote rows into {label} that a program gave it",
            "only what scripts make can be run again",
        )
    if entry is not None:
        # Its rows are those of then, whatever has come since.
        step = replace(
            step,
            slice=tuple(
                replace(key, provisional=entry.provisional, without=()) for key in step.slice
            ),
        )
    if not step.inputs:
        return step
    noted = {given.asset for given in entry.inputs if given.snapshot} if entry else set()
    if any(isinstance(i.asset, LakeTable) and str(i.asset) not in noted for i in step.inputs):
        warnings.append(f"{label} reads what is there now: the run {past.id} noted no snapshots")
    if entry is None:
        return step
    if entry.fingerprint != step.script.fingerprint:
        warnings.append(f"{step.script.path} has changed since the run {past.id}")
    pinned = tuple(given for given in entry.inputs if given.snapshot)
    return replace(step, pinned=pinned, pinned_at=entry.started_at if pinned else None)


def _entry(step: Step, past: Run, state: StateReader) -> Materialization | None:
    if step.script.asset is None:
        return None
    log = state.materializations(str(step.script.asset), step.partition, limit=_LOG)
    return next((entry for entry in log if entry.run == past.id), None)
