"""Which asset a text means."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tranche.errors import KeyRejected, ScriptFaults, UnknownTarget
from tranche.model.asset import AssetUri, BadAddress, LakeTable, is_address, parse_address
from tranche.model.partitioning_text import shown, unstorable
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.graph import Graph, build_graph
from tranche.planning.targets import find_target
from tranche.ports import PartitionReader
from tranche.state.checks import LONGEST_ASSET

_LIKELY = 0.8
"""How alike two names are if one of them is a mistake for the other."""

_STANDING = "tranche status shows where its keys stand"


def find_job(project: Project, text: str) -> tuple[Script, ...]:
    """The tasks of a job of that name; none if there is no such job."""
    return tuple(script for script in project.scripts if script.job == text)


def find_asset(project: Project, text: str, state: PartitionReader | None = None) -> LakeTable:
    """The table that an address, a name or a script means.

    The address of a table that no script makes is taken if the ledger knows it, for which `state`
    is asked; without it, who looks at the table will see whether it is there.
    """
    graph = build_graph(project.scripts)
    known = {str(asset): asset for asset in graph.producers if isinstance(asset, LakeTable)}
    if is_address(text):
        try:
            asset = parse_address(text)
        except BadAddress as error:
            raise UnknownTarget(str(error)) from None
        if isinstance(asset, LakeTable) and (
            asset in graph.producers or _is_written(project, asset, known.values(), state)
        ):
            return asset
        if asset in graph.producers:
            raise UnknownTarget(f"{asset} is no table of a lake", _STANDING)
    else:
        script = _script(project, graph, text)
        if script is not None and isinstance(script.asset, LakeTable):
            return script.asset
        if script is not None and script.asset is not None:
            raise UnknownTarget(
                f"{text!r} makes {script.asset}, which is no table of a lake", _STANDING
            )
        for table in known.values():
            if text in (table.table, f"{table.lake}.{table.table}", ".".join(table.parts)):
                return table
    near = get_close_matches(text, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else "tranche graph shows the assets"
    raise UnknownTarget(f"no script of this project makes {text!r}", hint)


def find_made(project: Project, text: str, state: PartitionReader | None = None) -> AssetUri:
    """The same where files will do, of which the ledger tells too."""
    graph = build_graph(project.scripts)
    if is_address(text):
        try:
            asset = parse_address(text)
        except BadAddress as error:
            raise UnknownTarget(str(error)) from None
        if asset in graph.producers:
            return asset
    else:
        script = _script(project, graph, text)
        if script is not None and script.asset is not None:
            return script.asset
    return find_asset(project, text, state)


def checked_key(text: str) -> str:
    """A key that a ledger may have, whatever it is the key of."""
    if reason := unstorable(text) if text else "it is empty":
        raise KeyRejected(
            f"{shown(text)} is no key: {reason}", "tranche status lists those there are"
        )
    return text


def _is_written(
    project: Project, table: LakeTable, known: Iterable[LakeTable], state: PartitionReader | None
) -> bool:
    """Whether it may be a table that programs write."""
    # A name that no state could keep is in none.
    if table.lake not in project.settings.lakes or len(str(table)) > LONGEST_ASSET:
        return False
    if state is not None:
        return bool(state.outcomes([str(table)])[str(table)])
    names = [other.table for other in known]
    return not get_close_matches(table.table, names, n=1, cutoff=_LIKELY)


def _script(project: Project, graph: Graph, text: str) -> Script | None:
    try:
        names = find_target(project, graph, text).scripts
    except (UnknownTarget, ScriptFaults):
        return None
    return graph.scripts[names[0]] if len(names) == 1 else None
