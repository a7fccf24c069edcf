"""Columns across scripts: what each is made of, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.columns import Columns
from tranche.model.lineage import (
    ColumnLineage,
    Kind,
    Origin,
    ScriptLineage,
    SourceColumn,
)
from tranche.model.script import Script
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN, History
from tranche.planning.graph import Graph

ColumnsOf: TypeAlias = Callable[[AssetUri], Columns | None]
Read: TypeAlias = Callable[[Script, ColumnsOf], ScriptLineage]
"""How the text of a script is read, with the columns of the tables that it names."""
Seen: TypeAlias = Callable[[Script], ScriptLineage | None]
"""What was seen of a script that is Python when it ran; None if nothing was."""


class ProjectLineage:
    """The lineage of each script of a project, worked out when it is asked for."""

    def __init__(
        self, graph: Graph, captured: ColumnsOf, read: Read, seen: Seen = lambda script: None
    ) -> None:
        self.graph = graph
        self._captured = captured
        self._read = read
        self._seen = seen
        self._known: dict[str, ScriptLineage] = {}
        self._columns: dict[AssetUri, Columns | None] = {}
        self._readers: dict[AssetUri, list[Script]] | None = None

    def of(self, script: Script) -> ScriptLineage:
        """What the text of a script and its `column` lines say; of Python, what was seen of it."""
        waiting = [script]
        while waiting:
            at = waiting[-1]
            # Scripts that only a star makes the columns of come first, however many in a row.
            before = [] if at.name in self._known else list(self._needed(at))
            fresh = [other for other in before if other not in waiting]
            if fresh:
                waiting += fresh
                continue
            waiting.pop()
            if at.name not in self._known:
                self._known[at.name] = self._worked_out(at)
        return self._known[script.name]

    def columns_of(self, asset: AssetUri) -> Columns | None:
        """The columns of an asset with their types, as its script makes them, or as they were
        captured where the script does not tell; None if nobody knows them."""
        if asset not in self._columns:
            self._columns[asset] = self._columns_of(asset)
        return self._columns[asset]

    def names(self, asset: AssetUri) -> tuple[str, ...]:
        """The columns of an asset: those that are known, or else those that somebody reads."""
        columns = self.columns_of(asset)
        if columns is not None:
            return tuple(name for name, _ in columns)
        producer = self.graph.producer(asset)
        found: dict[str, str] = {}
        for column in self.of(producer).columns if producer is not None else ():
            found.setdefault(column.column.lower(), column.column)
        for script in self.readers(asset):
            for source in sources_of(self.of(script)):
                if self.whole(source.asset) == self.whole(asset):
                    found.setdefault(source.column.lower(), source.column)
        return tuple(found.values())

    def is_open(self, asset: AssetUri) -> bool:
        """Whether a script may make columns of it that nobody knows."""
        return self.graph.producer(asset) is not None and self.columns_of(asset) is None

    def readers(self, asset: AssetUri) -> Sequence[Script]:
        """The scripts that read an asset, or say that a column comes from it."""
        if self._readers is None:
            self._readers = {}
            for script in self.graph.scripts.values():
                said = [ref.asset for line in script.annotations.lineage for ref in line.sources]
                seen = self._seen(script)
                scanned = () if seen is None else seen.tables
                for each in dict.fromkeys(map(self.whole, (*script.reads, *said, *scanned))):
                    self._readers.setdefault(each, []).append(script)
        return self._readers.get(self.whole(asset), ())

    def _needed(self, script: Script) -> Iterator[Script]:
        for asset in script.reads:
            producer = self._silent(asset)
            if producer is not None and producer is not script:
                yield producer

    def _silent(self, asset: AssetUri) -> Script | None:
        """The script of an asset, if its columns are known only once it was traced."""
        producer = self.graph.producer(asset)
        if producer is None or not producer.managed or producer.query is None:
            return None
        known = producer.columns is not None or producer.name in self._known
        return None if known or self.captured(asset) is not None else producer

    def _worked_out(self, script: Script) -> ScriptLineage:
        found = self._read(script, self.columns_of)
        for asset in script.writes:
            self._columns.pop(asset, None)
        if script.query is None and script.asset is not None:
            seen = self._seen(script)
            if seen is not None:
                tables = tuple(dict.fromkeys((*seen.tables, *script.reads)))
                found = replace(seen, tables=tables)
            found = replace(found, columns=(*found.columns, *self._untold(script, found)))
        return declared(found, script)

    def _untold(self, script: Script, found: ScriptLineage) -> Iterator[ColumnLineage]:
        """The columns that a script has made, of which nothing else is known."""
        told = {column.column.lower() for column in found.columns}
        for name, _ in (self.captured(script.asset) if script.asset else None) or ():
            if name.lower() not in told:
                yield ColumnLineage(name, unknown=found.unknown)

    def captured(self, asset: AssetUri) -> Columns | None:
        """The columns as runs have left them."""
        return self._captured(self.whole(asset))

    def whole(self, asset: AssetUri) -> AssetUri:
        """The asset itself; of the current rows of a history, the history."""
        return self.graph.history_behind(asset) or asset

    def _columns_of(self, asset: AssetUri) -> Columns | None:
        producer = self.graph.producer(asset)
        captured = self.captured(asset)
        if producer is None:
            # What programs write may have slices too.
            return None if captured is None else (*captured, (PARTITION_COLUMN, "string"))
        names = producer.columns if producer.managed else None
        known = self._known.get(producer.name)
        if names is None and captured is None and known is not None and not known.passed:
            names = tuple(column.column for column in known.columns) if known.complete else None
        if names is None and captured is None:
            return None
        types = {name.lower(): type_ for name, type_ in captured or ()}
        columns = captured or ()
        if names is not None:
            columns = tuple((name, types.get(name.lower(), "")) for name in names)
        return (*columns, *managed_columns(producer))


def managed_columns(script: Script) -> Columns:
    """The columns that Tranche adds."""
    made = script.annotations.materialize
    if made is not None and isinstance(made.strategy, History):
        return tuple((name, "") for name in HISTORY_COLUMNS)
    return () if script.partitioning is None else ((PARTITION_COLUMN, "string"),)


def declared(found: ScriptLineage, script: Script) -> ScriptLineage:
    """What was found, but for the columns of which a `column` line says where they come from."""
    said: dict[str, tuple[str, list[SourceColumn]]] = {}
    for line in script.annotations.lineage:
        sources = [SourceColumn(ref.asset, ref.column) for ref in line.sources]
        said.setdefault(line.column.lower(), (line.column, []))[1].extend(sources)
    if not said:
        return found
    columns = [
        _said(column, said.pop(column.column.lower(), (column.column, []))[1])
        for column in found.columns
    ]
    columns += [_said(ColumnLineage(name), sources) for name, sources in said.values()]
    return replace(found, columns=tuple(columns))


def _said(column: ColumnLineage, sources: list[SourceColumn]) -> ColumnLineage:
    if not sources:
        return column
    kinds: dict[tuple[AssetUri, str], Kind] = {
        (origin.source.asset, origin.source.column.lower()): origin.kind for origin in column.direct
    }
    direct = tuple(
        Origin(source, kinds.get((source.asset, source.column.lower()), "expression"), True)
        for source in dict.fromkeys(sources)
    )
    return replace(column, direct=direct, unknown=())


def sources_of(found: ScriptLineage) -> Iterator[SourceColumn]:
    for column in found.columns:
        yield from (origin.source for origin in column.direct)
        yield from (influence.source for influence in column.indirect)
    yield from (influence.source for influence in found.rows)
