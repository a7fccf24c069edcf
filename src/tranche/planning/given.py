"""Plans of one step that no script's query makes: rows are given, or a snapshot to go back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tranche.errors import KeyRejected, NotPartitioned, UnknownTarget
from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTest
from tranche.model.layout import Transform
from tranche.model.partitioning import Dynamic, Partitioning, TimePartitioning
from tranche.model.plan import Plan, Request, SliceKey, Step
from tranche.model.project import Project
from tranche.model.script import Annotations, Script
from tranche.model.strategy import History, Materialize, Replace, SchemaPolicy, Strategy
from tranche.planning.graph import build_graph

GIVEN = "given rows"
"""The name of the script that stands for rows which no script makes."""


def given_plan(
    project: Project,
    table: LakeTable,
    strategy: Strategy,
    *,
    fire_time: datetime,
    partition: str | None = None,
    partitioning: Partitioning | None = None,
    tests: Sequence[DataTest] = (),
    layout: Sequence[Transform] = (),
    on_schema_change: SchemaPolicy | None = None,
) -> Plan:
    """Writes rows that are given. What a script declares for the table holds for them too."""
    declared = declared_script(project, table)
    rule = _partitioning(table, declared, partitioning, partition)
    if rule is not None and partition is None:
        raise KeyRejected(f"{table} has partitions", "say which one with partition=")
    _check_history(table, strategy, rule)
    known = declared.annotations if declared is not None else Annotations()
    annotations = replace(
        known,
        partitioning=rule,
        materialize=Materialize(table, strategy, on_schema_change or _policy(declared)),
        data_tests=(*known.data_tests, *tests),
        layout=tuple(layout) or known.layout,
        triggers=(),
        retry=None,
    )
    script = replace(
        declared or Script(name=GIVEN, path=GIVEN, language="python", annotations=annotations),
        annotations=annotations,
        setup=(),
        query=None,
        code=None,
        reads=(),
        writes=(table,),
        # Nothing defines how these rows came about.
        fingerprint="",
    )
    key = rule.validate(partition) if rule is not None and partition is not None else None
    ordinal = rule.ordinal(key) if rule is not None and key is not None else None
    step = Step(position=0, script=script, slice=(SliceKey(partition=key, ordinal=ordinal),))
    request = Request(target=str(table), fire_time=fire_time, partition=key)
    return Plan(request=request, steps=(step,), scripts=project.scripts)


def rollback_plan(project: Project, table: LakeTable, snapshot: str, fire_time: datetime) -> Plan:
    """Makes a table what it was at a snapshot."""
    script = declared_script(project, table)
    if script is None:
        annotations = Annotations(materialize=Materialize(table, Replace()))
        script = Script(name=GIVEN, path=GIVEN, language="python", annotations=annotations)
    elif not script.managed:
        raise UnknownTarget(
            f"{script.path} writes {table} by itself, and Tranche does not manage it",
            "restore it with the format's own statements, as in tranche sql 'CALL …'",
        )
    step = Step(position=0, script=script, restores=snapshot)
    return Plan(request=Request(target=str(table), fire_time=fire_time), steps=(step,))


def copy_plan(project: Project, source: LakeTable, table: LakeTable, fire_time: datetime) -> Plan:
    """Makes a table of another one, with all that the ledger knows of it."""
    if source == table:
        raise UnknownTarget(f"{source} would become a copy of itself", "name another table")
    maker, script = declared_script(project, source), declared_script(project, table)
    annotations = Annotations(
        partitioning=None if maker is None else maker.partitioning,
        materialize=Materialize(table, Replace()),
    )
    step = Step(
        position=0,
        script=script or Script(name=GIVEN, path=GIVEN, language="python", annotations=annotations),
        copies=source,
    )
    return Plan(request=Request(target=str(table), fire_time=fire_time), steps=(step,))


def declared_script(project: Project, table: LakeTable) -> Script | None:
    """The script that makes a table, if the project has one."""
    graph = build_graph(project.scripts)
    script = graph.producer(table)
    if script is not None and script.asset != table:
        raise UnknownTarget(
            f"{table} shows the current rows of {script.asset}", f"write to {script.asset}"
        )
    return script


def _partitioning(
    table: LakeTable,
    declared: Script | None,
    given: Partitioning | None,
    partition: str | None,
) -> Partitioning | None:
    if declared is None:
        return given or (Dynamic("$.partition") if partition is not None else None)
    rule = declared.partitioning
    if given is not None and given != rule:
        raise KeyRejected(
            f"{declared.path} declares how {table} is partitioned", "leave partitioning= out"
        )
    if rule is None and partition is not None:
        raise NotPartitioned(f"{table} has no partitions", "leave partition= out")
    return rule


def _policy(declared: Script | None) -> SchemaPolicy | None:
    made = declared.annotations.materialize if declared is not None else None
    return made.on_schema_change if made is not None else None


def _check_history(table: LakeTable, strategy: Strategy, rule: Partitioning | None) -> None:
    if not isinstance(strategy, History):
        return
    if strategy.at == "partition" and not isinstance(rule, TimePartitioning):
        raise NotPartitioned(
            f"at='partition' takes the time from the key, and {table} has no keys of time",
            "give partitioning=Daily() and partition=, or name a column with at=",
        )
    if strategy.at is None and rule is not None:
        raise NotPartitioned(
            f"{table} has partitions, and a history takes them only with at='partition'",
            "give at='partition', or leave the partition out",
        )
