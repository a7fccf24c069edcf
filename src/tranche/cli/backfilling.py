"""Backfills on the command line."""

from __future__ import annotations

from typing import Any

from tranche import service
from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.output import Output, counted, instant, shown
from tranche.cli.running import starting
from tranche.cli.views import test_view
from tranche.model.backfill import Backfill, BackfillPlan, BackfillRequest
from tranche.model.project import Project
from tranche.ports import StateStore
from tranche.run.attempts import KeyOutcome
from tranche.service import backfilling
from tranche.service.backfilling import BackfillResult

_LISTED = 20


def run_backfill(
    project: Project,
    request: BackfillRequest,
    output: Output,
    *,
    dry_run: bool,
    wait: float,
    agreed: bool,
) -> bool:
    """Runs a backfill or prints what it would do; says whether it went well."""
    with service.open_state(project, create=not dry_run) as store:
        planned = backfilling.plan(project, request, store, agreed=agreed)
        if dry_run:
            _show_plan(planned, output)
            return True
        backfill = backfilling.begin(planned, store)
        return _work_off(project, backfill, planned, store, output, wait=wait)


def resume(project: Project, backfill: str, output: Output, *, wait: float) -> bool:
    with service.open_state(project, create=False) as store:
        found = backfilling.find(store, backfill)
        planned = backfilling.rest(project, found, store)
        return _work_off(project, found, planned, store, output, wait=wait)


def _work_off(
    project: Project,
    backfill: Backfill,
    planned: BackfillPlan,
    store: StateStore,
    output: Output,
    *,
    wait: float,
) -> bool:
    for warning in planned.warnings:
        output.warn(warning)
    if not planned.plan.steps:
        with service.open_engine(project, debug=output.debug) as engine:
            result = backfilling.run(backfill, planned, engine, store)
    else:
        with (
            starting(project, output, archiving=True) as engine,
            BackfillProgress(output, planned) as progress,
        ):
            result = backfilling.run(
                backfill, planned, engine, store, progress=progress, patience=wait
            )
    _show_result(result, output)
    return result.status == "succeeded"


def list_backfills(project: Project, output: Output) -> None:
    with service.open_state(project, create=False) as store:
        found = backfilling.latest(store, limit=_LISTED)
    if output.json:
        output.value({"backfills": [_backfill_view(each, how) for each, how in found]})
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
        view = _backfill_view(found, how)
        rows = [{"partition": key, "status": status} for key, status in keys.items()]
        output.value({**view, "partitions": rows})
        return
    counts: dict[str, int] = {}
    for status in keys.values():
        counts[status] = counts.get(status, 0) + 1
    standing = ", ".join(f"{number} {status}" for status, number in counts.items())
    output.line(f"backfill {shown(found.id)} of {found.asset}: {how}")
    output.line(f"{counted(len(keys), 'key')}: {standing}")
    if how in ("interrupted", "failed", "cancelled"):
        output.line(f"go on with tranche backfill resume {shown(found.id)}", "dim")


def _show_plan(planned: BackfillPlan, output: Output) -> None:
    if output.json:
        output.value(
            {
                "asset": planned.asset,
                "standing": dict(planned.standing),
                "partitions": list(planned.keys),
                "jobs": _jobs_view(planned),
                "warnings": list(planned.warnings),
            }
        )
        return
    for warning in planned.warnings:
        output.warn(warning)
    standing = ", ".join(f"{number:,} {why}" for why, number in planned.standing.items())
    output.line(f"{planned.asset}: {standing or 'no keys'}")
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
            for job in planned.jobs
        ),
    )


def _show_result(result: BackfillResult, output: Output) -> None:
    if output.json:
        output.value(
            {
                "backfill": result.id,
                "run": result.run.id if result.run is not None else None,
                "status": result.status,
                "partitions": [_key_view(outcome) for outcome in result.keys],
                "downstream": [
                    {"asset": asset, **_key_view(outcome)}
                    for asset, outcome in result.outcomes()
                    if asset != result.plan.asset
                ],
                "jobs": _jobs_view(result.plan),
                "warnings": [
                    *result.plan.warnings,
                    *(result.run.warnings if result.run is not None else ()),
                ],
            }
        )
        return
    if result.run is None:
        output.line(f"backfill {shown(result.id)}: there is nothing to do")
        return
    counts: dict[tuple[str, str], int] = {}
    for asset, outcome in result.outcomes():
        counts[asset, outcome.status] = counts.get((asset, outcome.status), 0) + 1
    for (asset, status), number in counts.items():
        output.line(f"{asset}: {counted(number, 'key')} {status}")
    output.line(f"backfill {shown(result.id)} {result.status}")
    if result.status != "succeeded":
        output.line(f"go on with tranche backfill resume {shown(result.id)}", "dim")


def _key_view(outcome: KeyOutcome) -> dict[str, Any]:
    return {
        "partition": outcome.partition,
        "status": outcome.status,
        "rows": outcome.rows,
        "snapshot": outcome.snapshot,
        "tests": [test_view(test) for test in outcome.tests],
        "error": outcome.error,
    }


def _jobs_view(planned: BackfillPlan) -> list[dict[str, Any]]:
    return [
        {"asset": job.asset, "keys": len(job.keys), "mode": job.mode, "reason": job.reason}
        for job in planned.jobs
    ]


def _backfill_view(backfill: Backfill, how: str) -> dict[str, Any]:
    return {
        "backfill": backfill.id,
        "asset": backfill.asset,
        "status": how,
        "created_at": instant(backfill.created_at),
        "finished_at": None if backfill.finished_at is None else instant(backfill.finished_at),
        "run": backfill.run,
    }
