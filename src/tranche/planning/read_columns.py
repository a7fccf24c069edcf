"""Which columns scripts read of what is upstream, as far as it is proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.columns import Columns, SchemaVersion
from tranche.model.lineage import ColumnsRead, columns_read
from tranche.model.script import Script
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.planning.graph import Graph
from tranche.planning.lineage import Read, managed_columns
from tranche.ports import PartitionReader

MOST_SETS = 4
"""How many sets of columns of an asset are digested at most; if more are read, none is."""
_VERSIONS = 8
"""How many versions of an asset's columns are looked at; what was before them is not known."""

Captured: TypeAlias = Mapping[AssetUri, Columns | None]


class ReadColumns:
    """The columns that scripts read, by the names that tables really had.

    What the text of a script upstream says of columns is of no use here: it may not have run yet.
    """

    def __init__(self, graph: Graph, read: Read) -> None:
        self.graph = graph
        self._read = read
        self._known: dict[tuple[object, ...], ColumnsRead | None] = {}
        """What was worked out, by script and columns."""

    def sets(self, asset: AssetUri, state: PartitionReader) -> tuple[frozenset[str], ...]:
        """The sets of columns that are read of an asset, each once; none if they are too many."""
        versions = Versions(state)
        found: dict[frozenset[str], None] = {}
        for script in self.graph.scripts.values():
            wholes = self._wholes(script)
            if asset not in wholes or script.asset is None:
                continue
            known = {each: versions.of(each)[:1] for each in wholes}
            names = self._of(
                script, asset, {k: v[0].columns if v else None for k, v in known.items()}
            )
            if names is not None:
                found[names] = None
        return tuple(found) if len(found) <= MOST_SETS else ()

    def of(
        self, script: Script, asset: AssetUri, since: datetime, versions: Versions
    ) -> frozenset[str] | None:
        """The columns that a script reads of an asset, and has read since a time; None if it is not
        certain that they are not all.

        A name may mean another column once a table has other columns, so that all versions of them
        since then must have led to the same.
        """
        wholes = self._wholes(script)
        if asset not in wholes:
            return None
        known = {each: versions.of(each) for each in wholes}
        if any(len(v) == _VERSIONS and v[-1].at > since for v in known.values()):
            return None
        found = {self._of(script, asset, captured) for captured in _since(known, since)}
        return found.pop() if len(found) == 1 else None

    def _wholes(self, script: Script) -> dict[AssetUri, None]:
        """What a script reads, with histories in the place of their current rows."""
        return dict.fromkeys(map(self._whole, script.reads))

    def _whole(self, asset: AssetUri) -> AssetUri:
        return self.graph.history_behind(asset) or asset

    def _of(self, script: Script, asset: AssetUri, captured: Captured) -> frozenset[str] | None:
        read = self._reads(script, captured)
        if read is None:
            return None
        names: set[str] = set()
        for each, some in read.items():
            if self._whole(each) != asset:
                continue
            if some is None:
                return None
            names |= some if each == asset else {*some, *HISTORY_COLUMNS}
        # Within a key, it is the same in all rows.
        return frozenset(names) - {PARTITION_COLUMN}

    def _reads(self, script: Script, captured: Captured) -> ColumnsRead | None:
        asked = script.name, script.fingerprint, tuple(captured.items())
        if asked not in self._known:

            def columns_of(named: AssetUri) -> Columns | None:
                columns = captured.get(self._whole(named))
                if columns is None:
                    return None
                producer = self.graph.producer(named)
                if producer is None:
                    # What programs write may have slices too.
                    return (*columns, (PARTITION_COLUMN, "string"))
                return (*columns, *managed_columns(producer))

            self._known[asked] = columns_read(self._read(script, columns_of))
        return self._known[asked]


class Versions:
    """The versions of the columns of assets, each looked up once."""

    def __init__(self, state: PartitionReader) -> None:
        self._state = state
        self._known: dict[AssetUri, Sequence[SchemaVersion]] = {}

    def of(self, asset: AssetUri) -> Sequence[SchemaVersion]:
        """The latest first."""
        if asset not in self._known:
            self._known[asset] = self._state.schemas(str(asset), limit=_VERSIONS)
        return self._known[asset]


def _since(
    versions: Mapping[AssetUri, Sequence[SchemaVersion]], since: datetime
) -> Iterator[Captured]:
    """The columns of tables at a time, and after each change of them since then."""
    times = {each.at for several in versions.values() for each in several if each.at > since}
    for at in (since, *sorted(times)):
        yield {
            asset: next((each.columns for each in several if each.at <= at), None)
            for asset, several in versions.items()
        }
