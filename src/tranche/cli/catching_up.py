"""Catch-up on the command line."""

from __future__ import annotations

from tranche import service
from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.backfilling import show_jobs, show_outcomes
from tranche.cli.output import Output, counted, shown
from tranche.cli.running import starting
from tranche.model.backfill import BackfillRequest, CatchupPlan
from tranche.model.project import Project
from tranche.service import catching_up
from tranche.service.catching_up import CatchupResult
from tranche.views.backfills import catchup_plan_view, catchup_result_view


def catch_up(
    project: Project,
    request: BackfillRequest,
    output: Output,
    *,
    dry_run: bool,
    patience: float,
    agreed: bool,
) -> bool:
    """Fills what is missing or prints what that is; says whether it went well."""
    with service.open_state(project, create=not dry_run) as store:
        planned = catching_up.plan_catchup(project, request, store, agreed=agreed)
        if dry_run:
            _show_plan(planned, output)
            return True
        for warning in planned.warnings:
            output.warn(warning)
        if not planned.plan.steps:
            result = CatchupResult(planned, None)
        else:
            with (
                starting(project, output, archiving=True) as engine,
                BackfillProgress(output) as progress,
            ):
                result = catching_up.catch_up(
                    planned, engine, store, tell=progress, patience=patience
                )
    _show_result(result, output)
    return result.run is None or result.run.status == "succeeded"


def _show_plan(planned: CatchupPlan, output: Output) -> None:
    if output.json:
        output.value(catchup_plan_view(planned))
        return
    for warning in planned.warnings:
        output.warn(warning)
    for caught in planned.caught:
        standing = [f"{number:,} {why}" for why, number in caught.standing.items()]
        standing += [f"{caught.active:,} that somebody is at"] if caught.active else []
        standing += [f"{caught.waiting:,} with nothing upstream yet"] if caught.waiting else []
        output.line(f"{caught.asset}: {', '.join(standing) or 'no keys'}")
        if caught.fires:
            output.table(
                ("fired", "keys", "from", "to"),
                ((at, len(keys), keys[0], keys[-1]) for at, keys in caught.fires),
            )
    if planned.jobs:
        show_jobs(planned.jobs, output)
    else:
        output.line("nothing is missing")


def _show_result(result: CatchupResult, output: Output) -> None:
    run = result.run
    view = catchup_result_view(result)
    if output.json:
        output.value(view)
        return
    if run is None:
        output.line("nothing is missing")
        return
    show_outcomes(view["partitions"], output)
    done = sum(key["status"] == "succeeded" for key in view["partitions"])
    output.line(f"run {shown(run.id)} {run.status}: {counted(done, 'key')} filled")
