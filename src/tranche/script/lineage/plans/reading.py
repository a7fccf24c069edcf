"""A frame's columns, from what EXPLAIN says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tranche.model.asset import AssetUri
from tranche.model.lineage import ColumnLineage, ScriptLineage, Unknown
from tranche.script.lineage.plans.nodes import NODES
from tranche.script.lineage.plans.reader import Reader
from tranche.script.lineage.plans.text import Unreadable, analysed, attributes, physical
from tranche.script.lineage.results import column_lineage, in_order, told

_SCAN = re.compile(
    r"FileScan \w+ \[(?P<columns>[^\]]*)\].*?"
    r" Location: \w+\(\d+ paths\)\[(?P<paths>.*?)\](?:, PartitionFilters|$)",
    re.MULTILINE,
)
_MOST = 20_000
"""How many columns may go into others or have a say, for what is found to be worth keeping."""
_DEEP = Unknown("the plan of the frame is nested too deeply to be read")


@dataclass(frozen=True, slots=True)
class Assets:
    """What the names and paths in a plan stand for."""

    table: Callable[[tuple[str, ...]], AssetUri | None]
    """The table that has a name."""
    files: Callable[[str], AssetUri | None]
    """The files that lie at a path."""
    aliases: Mapping[str, AssetUri]
    """What was given to the code, by the alias that it was given under."""


@dataclass(frozen=True, slots=True)
class PlanRead:
    """What was read from a plan."""

    lineage: ScriptLineage
    placeless: bool = False
    """Whether it scans files of which only the physical plan tells where they lie."""


def read_plan(text: str, columns: Sequence[str], assets: Assets) -> PlanRead:
    """Where these columns of a frame come from; what the plan does not tell is said.

    The text is what `EXPLAIN EXTENDED` answers, of a view of the frame or of a SELECT from one.
    """
    known = _Known(assets, _places(physical(text), assets.files))
    reader = Reader(known, NODES)
    try:
        found = reader.given(analysed(text))
    except Unreadable as error:
        return PlanRead(nothing_known(columns, f"the plan of the frame cannot be read: {error}"))
    except RecursionError:
        return PlanRead(nothing_known(columns, _DEEP.what))
    if found.closed is not None or [c.name for c in found.columns] != list(columns):
        what = found.closed.what if found.closed else "the plan has other columns than the frame"
        lineage = nothing_known(columns, what, tuple(reader.tables))
        return PlanRead(lineage, reader.placeless)
    tables = tuple(reader.tables)
    if sum(len(value.direct) + len(value.indirect) for value in found.values()) > _MOST:
        what = f"more than {_MOST:,} columns go into others, or have a say"
        return PlanRead(nothing_known(columns, what, tables))
    lineage = ScriptLineage(
        columns=tuple(column_lineage(each.name, each.value) for each in found.columns),
        rows=in_order(found.rows),
        unknown=told(found.unknown),
        tables=tables,
    )
    return PlanRead(lineage, reader.placeless)


def nothing_known(
    columns: Sequence[str], what: str, tables: tuple[AssetUri, ...] = ()
) -> ScriptLineage:
    lost = (Unknown(what),)
    each = tuple(ColumnLineage(name, unknown=lost) for name in columns)
    return ScriptLineage(columns=each, unknown=lost, tables=tables)


@dataclass(frozen=True, slots=True)
class _Known:
    assets: Assets
    places: Mapping[int, AssetUri]

    def named(self, name: tuple[str, ...]) -> AssetUri | None:
        if len(name) == 1:
            return self.assets.aliases.get(name[0])
        return self.assets.table(name)

    def numbered(self, numbers: frozenset[int]) -> AssetUri | None:
        found = {self.places[number] for number in numbers if number in self.places}
        return found.pop() if len(found) == 1 else None


def _places(text: str, files: Callable[[str], AssetUri | None]) -> dict[int, AssetUri]:
    """The files that the scans of a physical plan read, by the numbers of their columns."""
    found: dict[int, AssetUri] = {}
    for scan in _SCAN.finditer(text):
        assets = {files(path) for path in scan["paths"].split(", ")}
        asset = assets.pop() if len(assets) == 1 else None
        if asset is None:
            continue
        try:
            named = attributes(scan["columns"], ",")
        except Unreadable:
            continue
        found |= {number: asset for _, number in named}
    return found
