"""Backfills on the command line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tranche import service
from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.output import Output, counted, shown
from tranche.cli.running import starting
from tranche.errors import KeysTaken
from tranche.model.backfill import Backfill, BackfillPlan, BackfillRequest, Job
from tranche.model.project import Project
from tranche.ports import StateReader, StateStore
from tranche.service import backfilling
from tranche.views.backfills import (
    backfill_keys_view,
    backfill_plan_view,
    backfill_result_view,
    backfill_view,
)

_LISTED = 20
_AGAIN = 1.0
"""After how many seconds it is looked again whether others have ended."""


def run_backfill(
    project: Project,
    request: BackfillRequest,
    output: Output,
    *,
    dry_run: bool,
    patience: float,
    agreed: bool,
) -> bool:
    """Runs a backfill or prints what it would do; says whether it went well."""
    with service.open_state(project, create=not dry_run) as store:
        planned = _planned(project, request, store, output, agreed=agreed)
        if dry_run:
            _show_plan(planned, output)
            return True
        return _work_off(project, None, planned, store, output, patience=patience)


def begin_detached(
    project: Project,
    request: BackfillRequest,
    output: Output,
    *,
    agreed: bool,
    target: str | None,
    patience: float,
) -> None:
    """Records a backfill and leaves it to another process."""
    with service.open_state(project, create=True) as store:
        planned = _planned(project, request, store, output, agreed=agreed)
        for warning in planned.warnings:
            output.warn(warning)
        backfill = backfilling.begin(planned, store, status="waiting")
        if not planned.plan.steps:
            store.change_backfill(backfill.id, status="succeeded", at=service.now())
            output_detached(backfill.id, "succeeded", None, output)
            return
        log = backfilling.detach(backfill, project, target, patience=patience)
    output_detached(backfill.id, "waiting", str(log), output)


def resume_detached(
    project: Project, backfill: str, output: Output, *, target: str | None, patience: float
) -> None:
    with service.open_state(project, create=False) as store:
        found = backfilling.find(store, backfill)
        backfilling.check_resumable(found, store)
        backfilling.rest(project, found, store)
    log = backfilling.detach(found, project, target, patience=patience)
    output_detached(found.id, "waiting", str(log), output)


def output_detached(backfill: str, status: str, log: str | None, output: Output) -> None:
    if output.json:
        output.value({"backfill": backfill, "status": status, "log": log})
        return
    output.line(f"backfill {shown(backfill)} {status}")
    if log is not None:
        output.line(
            f"see how it goes with tranche backfill show {shown(backfill)}, or in {log}", "dim"
        )


def resume(
    project: Project, backfill: str, output: Output, *, dry_run: bool, patience: float
) -> bool:
    with service.open_state(project, create=False) as store:
        found = backfilling.find(store, backfill)
        backfilling.check_resumable(found, store)
        planned = backfilling.rest(project, found, store)
        if dry_run:
            # A key that was there before has not been done again yet.
            _show_plan(planned, output, missing="left to do")
            return True
        return _work_off(project, found, planned, store, output, patience=patience)


def cancel(project: Project, backfill: str, output: Output) -> None:
    with service.open_state(project, create=False) as store:
        found = backfilling.find(store, backfill)
        status = backfilling.cancel(found, store)
    if output.json:
        output.value({"backfill": found.id, "status": status})
    elif status == "cancelling":
        output.line(f"backfill {shown(found.id)} ends after the commit at hand")
    else:
        output.line(f"backfill {shown(found.id)} is cancelled")


def _planned(
    project: Project,
    request: BackfillRequest,
    store: StateReader,
    output: Output,
    *,
    agreed: bool,
) -> BackfillPlan:
    """The plan; where that was asked for, once nobody else is at its keys."""
    told: set[str] = set()
    while True:
        try:
            return backfilling.plan(project, request, store, agreed=agreed)
        except KeysTaken as taken:
            if request.overlap != "wait":
                raise
            if taken.backfill not in told:
                told.add(taken.backfill)
                output.warn(f"waiting for the backfill {taken.backfill}: {taken.what}")
            time.sleep(_AGAIN)
            request = replace(request, at=service.now())


def _work_off(
    project: Project,
    backfill: Backfill | None,
    planned: BackfillPlan,
    store: StateStore,
    output: Output,
    *,
    patience: float,
) -> bool:
    for warning in planned.warnings:
        output.warn(warning)
    if not planned.plan.steps:
        with service.open_engine(project, debug=output.debug) as engine:
            begun = backfill or backfilling.begin(planned, store)
            result = backfilling.run(begun, planned, engine, store)
    else:
        with (
            starting(project, output, archiving=True) as engine,
            BackfillProgress(output) as progress,
        ):
            begun = backfill or backfilling.begin(planned, store)
            result = backfilling.run(
                begun, planned, engine, store, tell=progress, patience=patience
            )
    return show_result(backfill_result_view(result), output)


def list_backfills(project: Project, output: Output) -> None:
    with service.open_state(project, create=False) as store:
        found = backfilling.latest(store, limit=_LISTED)
    if output.json:
        output.value({"backfills": [backfill_view(each, how) for each, how in found]})
        return
    if not found:
        output.line("there is no backfill yet")
        return
    output.table(
        ("backfill", "asset", "status", "begun"),
        (
            (each.id, each.asset, how, each.created_at.isoformat(timespec="seconds"))
            for each, how in found
        ),
    )


def show_backfill(project: Project, backfill: str, output: Output) -> None:
    with service.open_state(project, create=False) as store:
        found = backfilling.find(store, backfill)
        how = backfilling.how_it_stands(found, store)
        keys = backfilling.progress_of(found, store)
    if output.json:
        output.value(backfill_keys_view(found, how, keys))
        return
    counts: dict[str, int] = {}
    for status in keys.values():
        counts[status] = counts.get(status, 0) + 1
    standing = ", ".join(f"{number} {status}" for status, number in counts.items())
    output.line(f"backfill {shown(found.id)} of {found.asset}: {how}")
    output.line(f"{counted(len(keys), 'key')}: {standing}")
    if how in ("interrupted", "failed", "cancelled"):
        output.line(f"go on with tranche backfill resume {shown(found.id)}", "dim")


def _show_plan(planned: BackfillPlan, output: Output, *, missing: str = "missing") -> None:
    if output.json:
        output.value(backfill_plan_view(planned))
        return
    for warning in planned.warnings:
        output.warn(warning)
    standing = ", ".join(
        f"{number:,} {missing if why == 'missing' else why}"
        for why, number in planned.standing.items()
    )
    output.line(f"{planned.asset}: {standing or 'no keys'}")
    for asset, reasons in planned.stale.items():
        for reason, number in Counter(reasons.values()).most_common(_LISTED):
            output.line(f"{asset}: {counted(number, 'key')} stale, {reason}", "dim")
    show_jobs(planned.jobs, output)


def show_jobs(jobs: Sequence[Job], output: Output) -> None:
    output.table(
        ("asset", "keys", "from", "to", "how"),
        (
            (
                job.asset,
                len(job.keys),
                job.keys[0] or "",
                job.keys[-1] or "",
                "one job" if job.mode == "range" else f"key by key: {job.reason}",
            )
            for job in jobs
        ),
    )


def show_result(view: Mapping[str, Any], output: Output) -> bool:
    """Prints how a backfill ended; says whether it went well."""
    well = bool(view["status"] == "succeeded")
    if output.json:
        output.value(view)
        return well
    if well and view.get("run") is None:
        output.line(f"backfill {shown(view['backfill'])}: there is nothing to do")
        return well
    keys = [{"asset": view["asset"], **key} for key in view["partitions"]]
    show_outcomes([*keys, *view.get("downstream", ())], output)
    output.line(f"backfill {shown(view['backfill'])} {view['status']}")
    if not well:
        output.line(f"go on with tranche backfill resume {shown(view['backfill'])}", "dim")
    return well


def show_outcomes(keys: Iterable[Mapping[str, Any]], output: Output) -> None:
    """How many keys of each asset have ended how."""
    counts: Counter[tuple[str, str]] = Counter()
    provisional: Counter[str] = Counter()
    for key in keys:
        counts[key["asset"], key["status"]] += 1
        provisional[key["asset"]] += bool(key.get("provisional"))
    for (asset, status), number in counts.items():
        some = provisional[asset] if status == "succeeded" else 0
        told = f", {some:,} of them provisional" if some else ""
        output.line(f"{asset}: {counted(number, 'key')} {status}{told}")
