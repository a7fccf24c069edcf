"""Where columns come from, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from tranche.errors import ScriptFaults, UnknownTarget
from tranche.model.asset import AssetUri, BadAddress, LakeTable, is_address, parse_address
from tranche.model.columns import Columns
from tranche.model.lineage import Direction, Point, ScriptLineage, Trace
from tranche.model.project import Project
from tranche.planning.graph import Graph, build_graph
from tranche.planning.lineage import ProjectLineage
from tranche.planning.lineage_trace import trace
from tranche.planning.read_columns import ReadColumns
from tranche.planning.targets import find_target
from tranche.ports import PartitionReader
from tranche.script.lineages import lineage_of

_LIKELY = 0.5


def column_lineage(
    project: Project, state: PartitionReader, target: str, direction: Direction
) -> Trace:
    """What a column comes from, or what is made of it; of all columns of an asset, one step of it.

    A target is an asset, or `<asset>.<column>`.
    """
    known = project_lineage(project, state)
    start = _start(project, known, target)
    _check_column(known, start)
    return trace(known, start, direction, far=start.column is not None)


def both_ways(
    project: Project, state: PartitionReader, asset: str, column: str | None
) -> tuple[Trace, Trace]:
    """What a column comes from, and what is made of it; of all columns of an asset, one step."""
    known = project_lineage(project, state)
    start = Point(_start(project, known, asset).asset, column)
    _check_column(known, start)
    far = column is not None
    return trace(known, start, "up", far=far), trace(known, start, "down", far=far)


def traced_columns(project: Project, state: PartitionReader) -> dict[str, int]:
    """How many columns of each asset are known to come from others."""
    known = project_lineage(project, state)
    return {
        str(script.asset): sum(1 for column in known.of(script).columns if column.direct)
        for script in project.scripts
        if script.asset is not None
    }


def project_lineage(project: Project, state: PartitionReader) -> ProjectLineage:
    """The lineage of each script, with the columns that runs have left."""

    @cache
    def captured(asset: AssetUri) -> Columns | None:
        versions = state.schemas(str(asset), limit=1)
        return versions[0].columns if versions else None

    @cache
    def seen(script: str) -> ScriptLineage | None:
        made = graph.scripts[script]
        if made.code is None or made.asset is None:
            return None
        return state.traced(str(made.asset), made.fingerprint)

    graph = build_graph(project.scripts)
    return ProjectLineage(graph, captured, lineage_of, lambda script: seen(script.name))


def read_columns(project: Project) -> ReadColumns:
    """Which columns scripts read, worked out when it is asked for."""
    return ReadColumns(build_graph(project.scripts), lineage_of)


def _start(project: Project, known: ProjectLineage, target: str) -> Point:
    """What a text names: the longest part of it that is an asset, then a column and its fields."""
    cut = len(target)
    while cut > 0:
        asset = _asset(project, known.graph, target[:cut])
        if asset is not None:
            parts = tuple(target[cut + 1 :].split(".")) if cut < len(target) else ()
            if all(parts):
                return Point(asset, parts[0] if parts else None, parts[1:])
        cut = target.rfind(".", 0, cut)
    names = [str(asset) for asset in _assets(known.graph)]
    near = get_close_matches(target, names, n=1, cutoff=_LIKELY)
    hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the assets"
    raise UnknownTarget(f"{target!r} names no asset and no column of one", hint)


def _asset(project: Project, graph: Graph, text: str) -> AssetUri | None:
    """The asset that a text names: by its address, its table, or the script that makes it."""
    if is_address(text):
        try:
            asset = parse_address(text)
        except BadAddress:
            return None
        return asset if asset in _assets(graph) else None
    for asset in _assets(graph):
        if isinstance(asset, LakeTable) and text in _names(project, asset):
            return asset
    try:
        names = find_target(project, graph, text).scripts
    except (UnknownTarget, ScriptFaults):
        return None
    return graph.scripts[names[0]].asset if len(names) == 1 else None


def _names(project: Project, table: LakeTable) -> Iterator[str]:
    lake, schema, name = table.parts
    yield f"{lake}.{schema}.{name}"
    short = str(table).rpartition("/")[2]
    yield f"{lake}.{short}"
    if lake == project.settings.default_lake:
        yield short


def _assets(graph: Graph) -> dict[AssetUri, None]:
    """All that scripts make or read."""
    read = (asset for script in graph.scripts.values() for asset in script.reads)
    return dict.fromkeys((*graph.producers, *read))


def _check_column(known: ProjectLineage, start: Point) -> None:
    """A column that is not there, as far as the columns are known."""
    if start.column is None:
        return
    names = known.names(start.asset)
    wanted = start.column.lower()
    if known.is_open(start.asset) or any(name.lower() == wanted for name in names):
        return
    near = get_close_matches(wanted, [name.lower() for name in names], n=1, cutoff=_LIKELY)
    same = next((name for name in names if near and name.lower() == near[0]), None)
    hint = f"did you mean {same!r}?" if same else f"its columns are {', '.join(names)}"
    if known.columns_of(start.asset) is None:
        # Nobody knows the columns of a source; only those that scripts read can be told of.
        what = f"no script reads a column {start.column!r} of {start.asset}"
        raise UnknownTarget(what, hint if names else None)
    raise UnknownTarget(f"{start.asset} has no column {start.column!r}", hint)
