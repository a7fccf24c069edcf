"""Backfills and catch-up as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tranche.model.backfill import Backfill, BackfillPlan, CatchupPlan, Job
from tranche.service.backfilling import BackfillResult, jobs_done, key_outcomes
from tranche.service.catching_up import CatchupResult
from tranche.views.plain import instant
from tranche.views.runs import key_view


def backfill_plan_view(planned: BackfillPlan) -> dict[str, Any]:
    return {
        "asset": planned.asset,
        "standing": dict(planned.standing),
        "partitions": list(planned.keys),
        "jobs": jobs_view(planned.jobs),
        "stale": {asset: dict(why) for asset, why in planned.stale.items()},
        "warnings": list(planned.warnings),
    }


def backfill_result_view(result: BackfillResult) -> dict[str, Any]:
    return {
        "backfill": result.id,
        "asset": result.plan.asset,
        "run": result.run.id if result.run is not None else None,
        "status": result.status,
        "partitions": [key_view(outcome) for outcome in result.keys],
        "downstream": [
            {"asset": asset, **key_view(outcome)}
            for asset, outcome in result.outcomes()
            if asset != result.plan.asset
        ],
        "jobs": jobs_view(result.jobs),
        "warnings": [
            *result.plan.warnings,
            *(result.run.warnings if result.run is not None else ()),
        ],
    }


def backfill_view(backfill: Backfill, how: str) -> dict[str, Any]:
    return {
        "backfill": backfill.id,
        "asset": backfill.asset,
        "status": how,
        "created_at": instant(backfill.created_at),
        "finished_at": None if backfill.finished_at is None else instant(backfill.finished_at),
        "run": backfill.run,
    }


def backfill_keys_view(backfill: Backfill, how: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """A backfill with where each of its keys stands."""
    rows = [{"partition": key, "status": status} for key, status in keys.items()]
    return {**backfill_view(backfill, how), "partitions": rows}


def catchup_plan_view(planned: CatchupPlan) -> dict[str, Any]:
    return {
        "assets": [
            {
                "asset": caught.asset,
                "standing": dict(caught.standing),
                "active": caught.active,
                "waiting": caught.waiting,
                "partitions": list(caught.keys),
                "fires": [{"at": at, "partitions": list(keys)} for at, keys in caught.fires],
            }
            for caught in planned.caught
        ],
        "jobs": jobs_view(planned.jobs),
        "warnings": list(planned.warnings),
    }


def catchup_result_view(result: CatchupResult) -> dict[str, Any]:
    run = result.run
    return {
        "run": run.id if run is not None else None,
        "status": run.status if run is not None else "succeeded",
        "partitions": [
            {"asset": asset, **key_view(outcome)} for asset, outcome in key_outcomes(run)
        ],
        "jobs": jobs_view(jobs_done(result.plan.jobs, run)),
        "warnings": [
            *result.plan.warnings,
            *(run.warnings if run is not None else ()),
        ],
    }


def jobs_view(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    return [
        {"asset": job.asset, "keys": len(job.keys), "mode": job.mode, "reason": job.reason}
        for job in jobs
    ]
