"""What a target names: a script, an asset, or a folder of scripts."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from tranche.errors import ScriptFaults, UnknownTarget
from tranche.model.asset import BadAddress, parse_address
from tranche.model.project import Project
from tranche.planning.graph import Graph

PIPELINES = "pipelines/"


@dataclass(frozen=True, slots=True)
class Target:
    """The scripts that a target names, and whether their upstreams are meant too."""

    scripts: tuple[str, ...]
    upstream: bool = False


def find_target(project: Project, graph: Graph, text: str) -> Target:
    upstream = text.startswith("+")
    return Target(_named(project, graph, text.removeprefix("+")), upstream)


def _named(project: Project, graph: Graph, text: str) -> tuple[str, ...]:
    if "://" in text:
        return (_producer(graph, text),)
    name = text.removeprefix("./").removeprefix(PIPELINES).rstrip("/")
    for ending in (".sql", ".py"):
        name = name.removesuffix(ending)
    if name in graph.scripts:
        return (name,)
    if name in project.broken:
        raise ScriptFaults(fault for fault in project.faults if _is_of(fault.place.path, name))
    whole = text.rstrip("/") in (PIPELINES.rstrip("/"), ".")
    inside = tuple(s for s in sorted(graph.scripts) if whole or s.startswith(f"{name}/"))
    if inside:
        return inside
    known = [*graph.scripts, *map(str, graph.producers)]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif known:
        hint = f"the scripts are {', '.join(sorted(graph.scripts)[:10])}"
    else:
        hint = f"there are no scripts in {PIPELINES} yet; a script begins with '-- pipeline'"
    raise UnknownTarget(f"no script, asset or folder is called {text!r}", hint)


def _producer(graph: Graph, text: str) -> str:
    try:
        asset = parse_address(text)
    except BadAddress as error:
        raise UnknownTarget(str(error)) from None
    name = graph.producers.get(asset)
    if name is not None:
        return name
    near = get_close_matches(str(asset), map(str, graph.producers), n=1)
    readers = sorted(s.name for s in graph.scripts.values() if asset in s.reads)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif readers:
        hint = f"it is a source, read by {', '.join(readers)}"
    else:
        hint = "tranche graph shows the assets"
    raise UnknownTarget(f"no script makes {asset}", hint)


def _is_of(path: str, name: str) -> bool:
    return path.removeprefix(PIPELINES).rpartition(".")[0] == name
