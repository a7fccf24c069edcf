"""Columns that a script reads and the script that used to make them does not make any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tranche.model.project import Project
from tranche.model.script import ColumnRead, Script
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.planning.graph import Graph, build_graph
from tranche.ports import PartitionReader

_VERSIONS = 50
"""How far back columns are remembered."""
_MANAGED = {PARTITION_COLUMN, *HISTORY_COLUMNS}


def reads_of_others(project: Project) -> bool:
    """Whether there is anything that the state would have to be asked about."""
    graph = build_graph(project.scripts)
    return any(True for script in project.scripts for _ in _reads(graph, script))


def dropped_columns(project: Project, state: PartitionReader) -> tuple[str, ...]:
    """A warning for each such column.

    A column that was never captured may come from elsewhere, so only those that the table once had
    are told. What a script makes now is what its SELECT says, or what it made last where the text
    does not tell.
    """
    graph = build_graph(project.scripts)

    @cache
    def made(name: str) -> tuple[frozenset[str], frozenset[str]]:
        return _made(graph.scripts[name], state)

    found: dict[tuple[str, str, str], str] = {}
    for script in project.scripts:
        for read, producer in sorted(_reads(graph, script), key=lambda pair: pair[0].line):
            before, now = made(producer.name)
            column = read.column.lower()
            if column in before and column not in now:
                found.setdefault(
                    (script.path, str(read.table), column),
                    f"{script.path}:{read.line}: reads {read.column} of {read.table}, which"
                    f" {producer.path} no longer makes; correct one of the two",
                )
    return tuple(found.values())


def _reads(graph: Graph, script: Script) -> Iterator[tuple[ColumnRead, Script]]:
    """The columns of tables that other scripts make by a SELECT."""
    for read in script.columns_read:
        producer = graph.producer(read.table)
        if producer is None or producer is script or not producer.managed:
            continue
        if read.column.lower() not in _MANAGED:
            yield read, producer


def _made(producer: Script, state: PartitionReader) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that it has ever made, as far as that is known, and those that it makes now."""
    versions = state.schemas(str(producer.asset), limit=_VERSIONS)
    names = [_names([name for name, _ in version.columns]) for version in versions]
    ever = frozenset[str]().union(*names)
    if producer.columns is not None:
        return ever, _names(producer.columns)
    return ever, names[0] if names else frozenset()


def _names(columns: Sequence[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in columns)
