"""What a run would do, and runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tranche.errors import NotPublished, UnknownSnapshot, UsageError
from tranche.model.asset import BadAddress, LakeTable, parse_address
from tranche.model.data_test import ScriptTest
from tranche.model.partitioning import Partitioning
from tranche.model.plan import Plan, Request
from tranche.model.project import Project
from tranche.model.strategy import SchemaPolicy, Strategy
from tranche.planning.given import copy_plan, given_plan, rollback_plan
from tranche.planning.plan import build_plan
from tranche.planning.repeat import repeat_plan
from tranche.ports import Clock, Engine, StateReader, StateStore
from tranche.run.news import Tell, nobody
from tranche.run.runner import PATIENCE, RunResult, run_plan
from tranche.service.assets import find_asset
from tranche.service.opening import now


def plan(project: Project, request: Request, state: StateReader, *, clock: Clock = now) -> Plan:
    """What a run would do. Scripts with faults are left out, which the plan says."""
    made_at = clock()
    # It reads SQL, which commands that do not need it should not wait for.
    from tranche.script.ranges.ranged import only_key_by_key

    built = build_plan(project, request, state, only_key_by_key, events=state)
    warnings = [warning for step in built.steps for warning in step.script.warnings]
    if project.broken:
        names = ", ".join(project.broken)
        warnings.append(f"left out, because they have faults: {names}; see 'tranche check'")
    return replace(built, warnings=(*warnings, *built.warnings), made_at=made_at)


def run(
    built: Plan,
    engine: Engine,
    store: StateStore,
    *,
    clock: Clock = now,
    tell: Tell = nobody,
    patience: float = PATIENCE,
) -> RunResult:
    return run_plan(built, engine, store, clock, tell=tell, patience=patience)


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
    named = [test for test in tests if isinstance(test.rule, ScriptTest)]
    if named:
        raise UsageError(
            f"no data test is called {str(named[0])!r}",
            "use unique, not_null, accepted_values or relationships; tests by script belong to"
            " scripts",
        )
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


def copy(project: Project, source: str, table: str, *, clock: Clock = now) -> Plan:
    """What copying a table to another one, maybe of another format, would do."""
    tables = [_table(project, text) for text in (source, table)]
    return copy_plan(project, tables[0], tables[1], clock())


def _table(project: Project, text: str) -> LakeTable:
    try:
        found = parse_address(text)
    except BadAddress as error:
        raise UsageError(str(error)) from None
    if not isinstance(found, LakeTable):
        raise UsageError(f"{text} is no table of a lake", "write lake://<lake>/<table>")
    if found.lake not in project.settings.lakes:
        known = ", ".join(project.settings.lakes)
        raise UsageError(f"the project has no lake {found.lake!r}", f"its lakes are {known}")
    return found


def repeat(project: Project, run: str, state: StateReader) -> Plan:
    """What running a past run again would do, against what it read then."""
    return repeat_plan(project, run, state)
