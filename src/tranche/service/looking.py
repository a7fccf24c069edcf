"""What is there: keys, rows, findings, columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from tranche.errors import KeyRejected, NotPartitioned, SourceMissing, UsageError
from tranche.model.asset import LakeTable
from tranche.model.columns import ColumnChange, SchemaVersion, column_change
from tranche.model.data_test import DataTestResult
from tranche.model.layout import SetLayout
from tranche.model.partitioning import time_of
from tranche.model.project import Project
from tranche.model.run import Materialization, PartitionState
from tranche.model.script import Script
from tranche.model.snapshot import Preview, Snapshots
from tranche.model.statement import Statement
from tranche.model.strategy import History
from tranche.model.wanted import EVERYTHING, Wanted
from tranche.planning.board import Standing
from tranche.planning.graph import build_graph
from tranche.planning.grid import Grid, grid_of, standings_of
from tranche.planning.universe import check_order, keys_in
from tranche.ports import Clock, Engine, PartitionReader, StateReader
from tranche.service.assets import checked_key, find_asset, find_made
from tranche.service.lineage import read_columns
from tranche.service.opening import now

_PAGE = 500


_LOG = 100
"""How many attempts of a key are looked at."""


@dataclass(frozen=True, slots=True)
class AssetStatus:
    """How many keys of an asset stand where."""

    asset: str
    partitioning: str | None
    outcomes: dict[str, int]


def status(
    project: Project, state: PartitionReader, scripts: Sequence[Script] | None = None
) -> tuple[AssetStatus, ...]:
    """One line per asset, of some scripts or of all."""
    rules = {
        str(script.asset): script.partitioning.describe() if script.partitioning else None
        for script in (project.scripts if scripts is None else scripts)
        if script.asset is not None
    }
    outcomes = state.outcomes(tuple(rules))
    return tuple(AssetStatus(asset, rule, outcomes[asset]) for asset, rule in rules.items())


@dataclass(frozen=True, slots=True)
class PartitionPage:
    """Some keys of an asset with their state."""

    asset: str
    partitions: tuple[PartitionState, ...]
    more: bool


def partition_status(
    project: Project,
    state: PartitionReader,
    asset: str,
    *,
    limit: int,
    start: datetime | None = None,
    end: datetime | None = None,
    after: str | None = None,
) -> PartitionPage:
    """The keys of one asset as the ledger has them; of time, those that begin in [start, end).

    `after` is the last key of the page before.
    """
    name = str(find_made(project, asset, state))
    last = None if after is None else state.partition(name, after)
    if after is not None and last is None:
        raise UsageError(f"{name} has no key {after!r} that a page could end with")
    found = tuple(islice(_pages(state, name, limit + 1, start, end, last), limit + 1))
    return PartitionPage(name, found[:limit], more=len(found) > limit)


def standings(
    project: Project, state: StateReader, page: PartitionPage
) -> dict[str | None, Standing]:
    """Where the keys of a page stand, also whether they are stale or somebody is at them."""
    script = next((s for s in project.scripts if str(s.asset) == page.asset), None)
    return standings_of(script, page.partitions, state, read_columns(project))


def _pages(
    state: PartitionReader,
    asset: str,
    wanted: int,
    start: datetime | None,
    end: datetime | None,
    last: PartitionState | None,
) -> Iterator[PartitionState]:
    while True:
        page = state.partitions(asset, start=start, end=end, limit=min(_PAGE, wanted), after=last)
        yield from page
        if len(page) < min(_PAGE, wanted):
            return
        last = page[-1]


def key_bounds(
    project: Project,
    asset: str,
    state: PartitionReader,
    *,
    start: str | None = None,
    end: str | None = None,
) -> tuple[datetime | None, datetime | None]:
    """The instants from which and up to which keys begin that lie between two keys, or dates."""
    if start is None and end is None:
        return None, None
    name = str(find_made(project, asset, state))
    rule = next((s.partitioning for s in project.scripts if str(s.asset) == name), None)
    times = time_of(rule)
    if times is None:
        raise _no_time(name)
    try:
        check_order(times, start, end)
        since = None if start is None else keys_in(times, start)[0]
        until = None if end is None else keys_in(times, end)[-1]
    except KeyRejected as error:
        raise UsageError(error.what, error.remedy) from None
    return (
        None if since is None else times.ordinal(since),
        None if until is None else times.window(until).end_utc,
    )


def _no_time(asset: str) -> UsageError:
    return UsageError(
        f"{asset} has no keys of time, so that there is nothing between a start and an end",
        "leave --start and --end out",
    )


def grid(
    project: Project,
    asset: str,
    state: StateReader,
    *,
    start: str | None = None,
    end: str | None = None,
    whole: bool = False,
    stale: bool = True,
    clock: Clock = now,
) -> Grid | None:
    """Where all keys of an asset stand from one to another; None if its keys are not of time."""
    name = str(find_made(project, asset, state))
    script = next((s for s in project.scripts if str(s.asset) == name), None)
    rule = script.partitioning if script is not None else None
    found = None
    if script is not None and rule is not None:
        found = grid_of(
            script,
            rule,
            state,
            clock(),
            start=start,
            end=end,
            whole=whole,
            stale=stale,
            reads=read_columns(project),
        )
    if found is None and (start is not None or end is not None):
        raise _no_time(name)
    return found


def show(
    project: Project,
    engine: Engine,
    asset: str,
    partition: str | None,
    *,
    limit: int,
    snapshot: str | None = None,
    at: datetime | None = None,
    wanted: Wanted = EVERYTHING,
    state: PartitionReader | None = None,
) -> tuple[LakeTable, Preview]:
    """The first rows of a table, or of one slice of it, now or as readers saw it.

    With the state at hand, a table that is not there although it was made is told apart from one
    that has not been made yet.
    """
    table, key = preview_target(project, asset, partition)
    try:
        found = engine.preview(table, key, limit=limit, snapshot=snapshot, at=at, wanted=wanted)
    except SourceMissing as error:
        raise _gone(project, table, state) or error from None
    return table, found


def _gone(
    project: Project, table: LakeTable, state: PartitionReader | None
) -> SourceMissing | None:
    if state is None:
        return None
    name = str(build_graph(project.scripts).owner(table))
    made = state.outcomes([name])[name].get("succeeded")
    if not made:
        return None
    return SourceMissing(
        f"the ledger has {made:,} partitions of {name} that succeeded, and the table is gone"
        if made > 1
        else f"the ledger has a success of {name}, and the table is gone",
        "somebody dropped it, or its lake is another one now; a backfill with all keys makes it"
        " again",
    )


def snapshots(
    project: Project, engine: Engine, asset: str, *, limit: int
) -> tuple[LakeTable, Snapshots]:
    """The snapshots that readers of a table saw, latest first."""
    table = find_asset(project, asset)
    return table, engine.snapshots(table, limit=limit)


def preview_target(
    project: Project, asset: str, partition: str | None
) -> tuple[LakeTable, str | None]:
    """What `show` shows rows of, checked before Spark starts."""
    table, key = show_target(project, asset, partition)
    producer = build_graph(project.scripts).producer(table)
    made = producer.annotations.materialize if producer is not None else None
    if key is not None and made is not None and isinstance(made.strategy, History):
        raise NotPartitioned(
            f"{table} has versions, whose rows belong to no single partition",
            "leave --partition out, or ask for a time with tranche sql",
        )
    return table, key


def show_target(
    project: Project, asset: str, partition: str | None
) -> tuple[LakeTable, str | None]:
    """What `show` is about, checked before Spark starts."""
    table = find_asset(project, asset)
    if partition is None:
        return table, None
    producer = build_graph(project.scripts).producer(table)
    if producer is None:
        # What programs write has whatever keys they gave.
        return table, checked_key(partition)
    if producer.partitioning is None:
        raise NotPartitioned(f"{table} has no partitions", "leave --partition out")
    return table, producer.partitioning.validate(partition)


@dataclass(frozen=True, slots=True)
class Violations:
    """What data tests found in the latest attempt at a key in which they found anything."""

    asset: str
    partition: str | None
    entry: Materialization | None = None
    """The attempt; None if there is none."""
    tests: tuple[DataTestResult, ...] = ()
    since: Materialization | None = None
    """A later attempt, which passed them all."""


def violations(
    project: Project, state: StateReader, asset: str, partition: str | None
) -> Violations:
    """The rows that violated data tests, as they were kept."""
    table, key = show_target(project, asset, partition)
    producer = build_graph(project.scripts).producer(table)
    if key is None and producer is not None and producer.partitioning is not None:
        raise UsageError(
            f"{table} has partitions, and --violations shows those of one",
            f"name it with --partition; tranche status {table} lists those that failed",
        )
    # A history's current rows have no attempts of their own.
    name = str(producer.asset if producer is not None else table)
    log = state.materializations(name, key, limit=_LOG)
    for entry in log:
        if any(test.violations for test in entry.tests):
            since = log[0] if log[0] is not entry and log[0].status == "succeeded" else None
            return Violations(name, key, entry, tuple(state.violations(entry.id)), since)
    return Violations(name, key)


@dataclass(frozen=True, slots=True)
class ColumnsVersion:
    """The columns that an asset had from one run on, and how they differ from those before."""

    version: SchemaVersion
    change: ColumnChange | None
    """None for the first version."""


@dataclass(frozen=True, slots=True)
class ColumnsLog:
    """Versions of an asset's columns, latest first."""

    asset: str
    versions: tuple[ColumnsVersion, ...]
    more: bool


def columns_log(project: Project, state: PartitionReader, asset: str, *, limit: int) -> ColumnsLog:
    graph = build_graph(project.scripts)
    name = str(graph.owner(find_made(project, asset, state)))
    found = state.schemas(name, limit=limit + 1)
    versions = tuple(
        ColumnsVersion(
            version,
            column_change(found[number + 1].columns, version.columns)
            if number + 1 < len(found)
            else None,
        )
        for number, version in enumerate(found)
    )
    return ColumnsLog(name, versions[:limit], more=len(found) > limit)


def resolve_sql(project: Project, text: str) -> Statement | SetLayout:
    """A statement with the names of lakes resolved, before Spark starts."""
    from tranche.script.adhoc import resolved_statement
    from tranche.script.names import Lakes

    settings = project.settings
    return resolved_statement(text, Lakes(frozenset(settings.lakes), settings.default_lake))
