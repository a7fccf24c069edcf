"""Looking after tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from tranche.model.asset import LakeTable
from tranche.model.project import Project
from tranche.planning.graph import build_graph
from tranche.ports import Clock, Engine, Maintained, PartitionReader, StateReader, Upkeep
from tranche.service.assets import find_asset
from tranche.service.opening import now

_LEFT = timedelta(days=3)
"""How old files must be that no snapshot has, before upkeep takes them for left over."""


def maintain(
    project: Project,
    engine: Engine,
    state: StateReader,
    assets: Sequence[LakeTable],
    *,
    retention: timedelta | None = None,
    clock: Clock = now,
) -> Iterator[Maintained]:
    """Looks after tables, one after the other. What the ledger names since then stays."""
    for table in assets:
        at = clock()
        length = project.settings.lakes[table.lake].retention if retention is None else retention
        upkeep = Upkeep(
            before=at - length,
            needed=frozenset(state.used(str(table), since=at - length)),
            running=frozenset(run.id for run in state.running()),
            left_before=at - _LEFT,
        )
        yield from engine.maintain(table, upkeep)


def managed_tables(project: Project, state: PartitionReader, asset: str | None) -> list[LakeTable]:
    """The tables that upkeep is for: one, or all that runs have made."""
    if asset is not None:
        graph = build_graph(project.scripts)
        found = graph.owner(find_asset(project, asset, state))
        return [found] if isinstance(found, LakeTable) else []
    tables = [
        script.asset
        for script in project.scripts
        if script.managed and isinstance(script.asset, LakeTable)
    ]
    outcomes = state.outcomes([str(table) for table in tables])
    return [table for table in tables if outcomes[str(table)]]
