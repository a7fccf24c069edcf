"""The plan of a run that nobody asked for by hand: a script, and keys of it that are ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tranche.model.backfill import BackfillRequest
from tranche.model.pending import Pending
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.backfill import BackfillPlanner
from tranche.planning.graph import build_graph
from tranche.planning.plan import Separates, build_plan
from tranche.planning.universe import in_order, with_lookback
from tranche.ports import StateReader


def triggered_plan(
    project: Project,
    script: Script,
    rows: Sequence[Pending],
    state: StateReader,
    separates: Separates,
) -> Plan:
    """One script, without what is downstream of it: that hears of it by itself.

    All keys are built at once where the script allows for it.
    """
    fired = max(row.fire_time for row in rows)
    rule = script.partitioning
    if rule is None:
        return build_plan(project, _request(script, fired), state, separates)
    keys = in_order(rule, [row.partition for row in rows if row.partition is not None])
    request = BackfillRequest(target=script.name, at=fired, keys=keys, only=True)
    planner = BackfillPlanner(build_graph(project.scripts), request, state, separates)
    planner.check(script)
    planner.add(script, with_lookback(rule, keys), keys)
    return planner.plan(script.label, keys, {}, ()).plan


def _request(script: Script, fired: datetime) -> Request:
    return Request(target=script.name, fire_time=fired, only=True, scheduled=True)
