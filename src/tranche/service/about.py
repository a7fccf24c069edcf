"""One asset: who makes it, how it stands, and what is going on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tranche.model.asset import AssetUri
from tranche.model.backfill import Backfill
from tranche.model.data_test import DataTestResult
from tranche.model.project import Project
from tranche.model.run import Materialization, PartitionState
from tranche.model.script import Script
from tranche.planning.active import alive
from tranche.planning.firing import next_fire, schedules_of
from tranche.planning.graph import Graph, build_graph
from tranche.planning.stale import stale_assets
from tranche.ports import Clock, StateReader
from tranche.service.assets import checked_key, find_made
from tranche.service.lineage import read_columns
from tranche.service.opening import now
from tranche.service.overview import Standing, running_assets, standing_of

_LOOKED_AT = 3
_BACKFILLS = 200
_LOG = 50
"""How many attempts of a key are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A schedule of a script, and when it fires next."""

    script: Script
    line: str
    next: datetime
    paused_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """An asset at one glance."""

    asset: str
    script: Script | None
    """None if no script makes it, or none any more."""
    standing: Standing
    outcomes: Mapping[str, int]
    latest: PartitionState | None
    reads: tuple[str, ...]
    read_by: tuple[str, ...]
    schedules: tuple[Scheduled, ...]
    paused_since: datetime | None
    backfills: tuple[Backfill, ...]
    """Those that have not ended, without their keys."""
    current: str | None
    """The key of now, if it follows from the time alone."""


def about(project: Project, asset: str, state: StateReader, *, clock: Clock = now) -> About:
    at = clock()
    graph = build_graph(project.scripts)
    source = _source(graph, asset)
    if source is not None:
        return _about_source(project, graph, source)
    name, script = _found(project, asset, state)
    outcomes = state.outcomes([name])[name]
    newest = state.newest(name, limit=_LOOKED_AT)
    pairs = [(script, each) for each in newest] if script is not None else []
    paused = state.paused()
    stale = stale_assets(pairs, state, read_columns(project))
    return About(
        asset=name,
        script=script,
        standing=standing_of(name, outcomes, running_assets(state), stale),
        outcomes=outcomes,
        latest=max(newest, key=lambda each: each.at, default=None),
        reads=() if script is None else tuple(map(str, script.reads)),
        read_by=_read_by(project, graph, name, script),
        schedules=() if script is None else tuple(_scheduled(script, at, paused)),
        paused_since=None if script is None else paused.get(script.label),
        backfills=tuple(
            each
            for each in state.backfills(limit=_BACKFILLS, unfinished=True)
            if each.asset == name and alive(each, state)
        ),
        current=_current(script, at),
    )


def _source(graph: Graph, text: str) -> AssetUri | None:
    """What an address means that scripts read or wait for and none makes."""
    read = (each for one in graph.scripts.values() for each in (*one.reads, *_awaited(one)))
    return next((each for each in read if str(each) == text and graph.producer(each) is None), None)


def _about_source(project: Project, graph: Graph, source: AssetUri) -> About:
    return About(
        asset=str(source),
        script=None,
        standing="source",
        outcomes={},
        latest=None,
        reads=(),
        read_by=_read_by(project, graph, str(source), None),
        schedules=(),
        paused_since=None,
        backfills=(),
        current=None,
    )


def _read_by(project: Project, graph: Graph, name: str, script: Script | None) -> tuple[str, ...]:
    return tuple(
        other.label
        for other in project.scripts
        if other is not script
        and any(str(graph.owner(each)) == name for each in (*other.reads, *_awaited(other)))
    )


def schedules(project: Project, state: StateReader, *, clock: Clock = now) -> tuple[Scheduled, ...]:
    """All schedules, the next to fire first."""
    at, paused = clock(), state.paused()
    found = [each for script in project.scripts for each in _scheduled(script, at, paused)]
    return tuple(sorted(found, key=lambda each: (each.next, each.script.name)))


def key_log(
    project: Project, asset: str, partition: str | None, state: StateReader
) -> tuple[str, PartitionState | None, Sequence[Materialization]]:
    """Where a key stands, and the latest attempts at it."""
    name, _ = _found(project, asset, state)
    key = None if partition is None else checked_key(partition)
    return name, state.partition(name, key), state.materializations(name, key, limit=_LOG)


@dataclass(frozen=True, slots=True)
class TestedKey:
    """What data tests said of the latest attempt at a key that had any."""

    partition: str | None
    at: datetime
    run: str
    tests: tuple[DataTestResult, ...]


def tested_keys(
    project: Project, asset: str, state: StateReader, *, limit: int
) -> tuple[str, tuple[TestedKey, ...]]:
    """The latest keys with what data tests found in them, the latest key first."""
    name, _ = _found(project, asset, state)
    newest = state.newest(name, limit=limit)
    done = [
        each.materialization
        for each in newest
        if each.status == "succeeded" and each.materialization is not None
    ]
    entries = {entry.partition: entry for entry in state.entries(done)}
    for each in newest:
        if each.status != "succeeded":
            # What it has of tests is in the log only: readers see what was before.
            log = state.materializations(name, each.partition, limit=1)
            entries |= {entry.partition: entry for entry in log}
    found = (entries.get(each.partition) for each in newest)
    return name, tuple(
        TestedKey(entry.partition, entry.finished_at, entry.run, entry.tests)
        for entry in found
        if entry is not None
    )


def _found(project: Project, asset: str, state: StateReader) -> tuple[str, Script | None]:
    graph = build_graph(project.scripts)
    made: AssetUri = graph.owner(find_made(project, asset, state))
    return str(made), graph.producer(made)


def _awaited(script: Script) -> tuple[AssetUri, ...]:
    return tuple(trigger.asset for trigger in script.triggers_on())


def _scheduled(script: Script, at: datetime, paused: Mapping[str, datetime]) -> Sequence[Scheduled]:
    from tranche.script.schedules import moved

    return [
        Scheduled(
            script=script,
            line=on.describe(),
            next=next_fire(script, on, at, moved),
            paused_since=paused.get(script.label),
        )
        for _, on in schedules_of(script)
    ]


def _current(script: Script | None, at: datetime) -> str | None:
    from tranche.model.partitioning import TimePartitioning
    from tranche.planning.universe import last_complete

    rule = script.partitioning if script is not None else None
    return last_complete(rule, at) if isinstance(rule, TimePartitioning) else None
