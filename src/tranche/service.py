"""One function per user action. Nothing here prints; callers bring engine, store and clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from tranche.errors import NotPartitioned, ScriptFaults, UnknownTarget
from tranche.model.asset import BadAddress, LakeTable, parse_address
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.rows import Rows
from tranche.model.run import PartitionState
from tranche.model.script import Script
from tranche.planning.available import not_built_yet
from tranche.planning.graph import Graph, build_graph
from tranche.planning.plan import build_plan
from tranche.planning.targets import find_target
from tranche.ports import Clock, Engine, PartitionReader, StateReader, StateStore
from tranche.project.config import environment, find_root, load_settings
from tranche.project.load import load_project
from tranche.run.runner import PATIENCE, Progress, RunResult, run_plan

_PAGE = 500


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
def open_partitions(project: Project) -> Iterator[PartitionReader]:
    """Where keys stand, and nothing else of the state: opened faster than all of it."""
    from tranche.state.opening import open_partitions as opened

    settings = project.settings
    reader = opened(settings.state_url, root=Path(settings.root))
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
    """The faults of all scripts, and what this version cannot run yet."""
    warnings = [warning for script in project.scripts for warning in script.warnings]
    for script in project.scripts:
        missing = not_built_yet(script)
        if missing is not None:
            warnings.append(f"{script.path}: {missing}")
    return CheckReport(
        project.scripts, tuple(str(fault) for fault in project.faults), tuple(warnings)
    )


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
    table, key = show_target(project, asset, partition)
    return table, engine.preview(table, key, limit=limit)


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


def resolve_sql(project: Project, text: str) -> str:
    """A statement with the names of lakes resolved, before Spark starts."""
    from tranche.script.adhoc import resolved_statement
    from tranche.script.names import Lakes

    settings = project.settings
    return resolved_statement(text, Lakes(frozenset(settings.lakes), settings.default_lake))
