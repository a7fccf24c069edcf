"""One function per user action. Nothing here prints; callers bring engine, store and clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from tranche.errors import (
    NotPartitioned,
    NotPublished,
    ScriptFaults,
    StateError,
    UnknownSnapshot,
    UnknownTarget,
    UsageError,
)
from tranche.model.asset import BadAddress, LakeTable, parse_address
from tranche.model.columns import ColumnChange, SchemaVersion, column_change
from tranche.model.data_test import DataTestResult
from tranche.model.layout import SetLayout
from tranche.model.partitioning import Partitioning
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.rows import Rows
from tranche.model.run import Materialization, PartitionState
from tranche.model.script import Script
from tranche.model.strategy import History, SchemaPolicy, Strategy
from tranche.planning.available import not_built_yet
from tranche.planning.column_drift import dropped_columns, reads_of_others
from tranche.planning.given import given_plan, rollback_plan
from tranche.planning.graph import Graph, build_graph
from tranche.planning.plan import build_plan
from tranche.planning.repeat import repeat_plan
from tranche.planning.targets import find_target
from tranche.ports import Clock, Engine, PartitionReader, StateReader, StateStore
from tranche.project.config import environment, find_root, load_settings
from tranche.project.load import load_project
from tranche.run.runner import PATIENCE, Progress, RunResult, run_plan

_PAGE = 500
_CHECK_PATIENCE = 2.0
"""Seconds that a check waits for the state, which it can do without."""
_LOG = 100
"""How many attempts of a key are looked at."""


def now() -> datetime:
    """The clock of the outside world."""
    return datetime.now(UTC)


def open_project(start: Path, target: str | None = None) -> Project:
    """The project that a folder belongs to, read and checked."""
    root = find_root(start)
    return load_project(load_settings(root, target, environment()))


@contextmanager
def open_state(project: Project, *, create: bool) -> Iterator[StateStore]:
    from tranche.state.opening import open_store

    settings = project.settings
    store = open_store(settings.state_url, create=create, root=Path(settings.root))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_partitions(project: Project, *, timeout: float | None = None) -> Iterator[PartitionReader]:
    """Where keys and columns stand, and nothing else of the state: opened faster than all of it."""
    from tranche.state.opening import open_partitions as opened

    settings = project.settings
    patience = {} if timeout is None else {"timeout": timeout}
    reader = opened(settings.state_url, root=Path(settings.root), **patience)
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def open_engine(project: Project, *, debug: bool = False) -> Iterator[Engine]:
    # Spark is imported only by commands that touch data.
    from tranche.lake.engine import SparkEngine

    engine = SparkEngine(project.settings, debug=debug)
    try:
        yield engine
    finally:
        engine.close()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    scripts: tuple[Script, ...]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]


def check(project: Project) -> CheckReport:
    """The faults of all scripts, what this version cannot run yet, and what runs have shown."""
    warnings = [warning for script in project.scripts for warning in script.warnings]
    warnings += _dropped_columns(project)
    for script in project.scripts:
        missing = not_built_yet(script)
        if missing is not None:
            warnings.append(f"{script.path}: {missing}")
    return CheckReport(
        project.scripts,
        tuple(str(fault) for fault in project.faults),
        tuple(dict.fromkeys(warnings)),
    )


def _dropped_columns(project: Project) -> tuple[str, ...]:
    """What the state says about columns. A check is of scripts, so it does without one."""
    if not reads_of_others(project):
        return ()
    try:
        with open_partitions(project, timeout=_CHECK_PATIENCE) as state:
            return dropped_columns(project, state)
    except StateError as error:
        return (f"columns were not compared with those of past runs: {error}",)


def plan(project: Project, request: Request, state: StateReader) -> Plan:
    """What a run would do. Scripts with faults are left out, which the plan says."""
    built = build_plan(project, request, state)
    warnings = [warning for step in built.steps for warning in step.script.warnings]
    if project.broken:
        names = ", ".join(project.broken)
        warnings.append(f"left out, because they have faults: {names}; see 'tranche check'")
    return replace(built, warnings=(*warnings, *built.warnings))


def run(
    built: Plan,
    engine: Engine,
    store: StateStore,
    *,
    clock: Clock = now,
    progress: Progress | None = None,
    patience: float = PATIENCE,
) -> RunResult:
    return run_plan(built, engine, store, clock, progress=progress, patience=patience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Rows that somebody gives, and where they go."""

    table: LakeTable
    strategy: Strategy
    rows: object
    partition: str | None = None
    partitioning: Partitioning | None = None
    tests: tuple[str, ...] = ()
    layout: str | None = None
    on_schema_change: SchemaPolicy | None = None


def write(
    project: Project,
    engine: Engine,
    store: StateStore,
    given: Given,
    *,
    clock: Clock = now,
    patience: float = PATIENCE,
) -> RunResult:
    """Writes rows as a run of one step. What is not published raises."""
    from tranche.script.data_tests import parse_data_test
    from tranche.script.materialize import parse_layout
    from tranche.script.words import Malformed

    try:
        tests = [parse_data_test(text, line) for line, text in enumerate(given.tests, 1)]
        layout = parse_layout(given.layout) if given.layout else ()
    except Malformed as error:
        raise UsageError(error.what, error.remedy) from None
    built = given_plan(
        project,
        given.table,
        given.strategy,
        fire_time=clock(),
        partition=given.partition,
        partitioning=given.partitioning,
        tests=tests,
        layout=layout,
        on_schema_change=given.on_schema_change,
    )
    result = run_plan(built, engine, store, clock, patience=patience, rows={0: given.rows})
    if result.status != "succeeded":
        failed = result.steps[0]
        raise NotPublished(failed.record.error or result.status, tests=failed.tests)
    return result


def rollback(project: Project, asset: str, snapshot: str, *, clock: Clock = now) -> Plan:
    """What going back to a snapshot would do."""
    if not snapshot.isdigit():
        raise UnknownSnapshot(
            f"{snapshot!r} is no snapshot, which is a number",
            f"tranche show {asset} --snapshots lists them",
        )
    return rollback_plan(project, find_asset(project, asset), snapshot, clock())


def repeat(project: Project, run: str, state: StateReader) -> Plan:
    """What running a past run again would do, against what it read then."""
    return repeat_plan(project, run, state)


@dataclass(frozen=True, slots=True)
class AssetStatus:
    """How many keys of an asset stand where."""

    asset: str
    partitioning: str | None
    outcomes: dict[str, int]


def status(project: Project, state: PartitionReader) -> tuple[AssetStatus, ...]:
    """One line per asset."""
    rules = {
        str(script.asset): script.partitioning.describe() if script.partitioning else None
        for script in project.scripts
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
    project: Project, state: PartitionReader, asset: str, *, limit: int
) -> PartitionPage:
    """The keys of one asset as the ledger has them."""
    name = str(find_asset(project, asset))
    found = tuple(islice(_pages(state, name, limit + 1), limit + 1))
    return PartitionPage(name, found[:limit], more=len(found) > limit)


def _pages(state: PartitionReader, asset: str, wanted: int) -> Iterator[PartitionState]:
    last: PartitionState | None = None
    while True:
        page = state.partitions(asset, limit=min(_PAGE, wanted), after=last)
        yield from page
        if len(page) < min(_PAGE, wanted):
            return
        last = page[-1]


def find_asset(project: Project, text: str) -> LakeTable:
    """The table that an address, a name or a script means."""
    graph = build_graph(project.scripts)
    known = {str(asset): asset for asset in graph.producers if isinstance(asset, LakeTable)}
    if "://" in text:
        try:
            asset = parse_address(text)
        except BadAddress as error:
            raise UnknownTarget(str(error)) from None
        if asset in graph.producers and isinstance(asset, LakeTable):
            return asset
    else:
        script = _script(project, graph, text)
        if script is not None and isinstance(script.asset, LakeTable):
            return script.asset
        for table in known.values():
            if text in (table.table, f"{table.lake}.{table.table}", ".".join(table.parts)):
                return table
    near = get_close_matches(text, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the assets"
    raise UnknownTarget(f"no script of this project makes {text!r}", hint)


def _script(project: Project, graph: Graph, text: str) -> Script | None:
    try:
        names = find_target(project, graph, text).scripts
    except (UnknownTarget, ScriptFaults):
        return None
    return graph.scripts[names[0]] if len(names) == 1 else None


def show(
    project: Project, engine: Engine, asset: str, partition: str | None, *, limit: int
) -> tuple[LakeTable, Rows]:
    """The first rows of a table, or of one slice of it."""
    table, key = preview_target(project, asset, partition)
    return table, engine.preview(table, key, limit=limit)


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
    partitioning = producer.partitioning if producer is not None else None
    if partitioning is None:
        raise NotPartitioned(f"{table} has no partitions", "leave --partition out")
    return table, partitioning.validate(partition)


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
    name = str(graph.owner(find_asset(project, asset)))
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


def resolve_sql(project: Project, text: str) -> str | SetLayout:
    """A statement with the names of lakes resolved, before Spark starts."""
    from tranche.script.adhoc import resolved_statement
    from tranche.script.names import Lakes

    settings = project.settings
    return resolved_statement(text, Lakes(frozenset(settings.lakes), settings.default_lake))
