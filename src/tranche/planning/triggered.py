"""The plan of a run that nobody asked for by hand: a script, and keys of it that are ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tranche.model.backfill import BackfillRequest
from tranche.model.condition import SCHEDULE
from tranche.model.pending import Pending
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.backfill import BackfillPlanner
from tranche.planning.graph import build_graph
from tranche.planning.payloads import event_payloads
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
    graph = build_graph(project.scripts)
    payloads = event_payloads(graph, script, rows, state)
    if rule is None:
        request = replace(_request(script, fired), payload=payloads.get(None))
        return build_plan(project, request, state, separates)
    keys = in_order(rule, [row.partition for row in rows if row.partition is not None])
    asked = BackfillRequest(target=script.name, at=fired, keys=keys, only=True)
    planner = BackfillPlanner(graph, asked, state, separates)
    planner.payloads = payloads
    # A fire asks for the keys that it looks back to itself; of data that has come nobody did.
    by_data = [row.partition for row in rows if row.partition and row.asked_by != (SCHEDULE,)]
    planner.add(script, in_order(rule, (*keys, *with_lookback(rule, by_data))), keys)
    return planner.plan(script.label, keys, {}, ()).plan


def _request(script: Script, fired: datetime) -> Request:
    return Request(target=script.name, fire_time=fired, only=True, scheduled=True)
