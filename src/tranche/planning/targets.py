"""What a target names: a script, an asset, or a folder of scripts."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from tranche.errors import ScriptFaults, UnknownTarget
from tranche.model.asset import AssetUri, BadAddress, parse_address
from tranche.model.project import Project
from tranche.model.script import Script
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
    whole = text.rstrip("/") in (PIPELINES.rstrip("/"), ".")
    if not whole and not text.endswith("/"):
        script = name.removesuffix(".sql").removesuffix(".py")
        if script in graph.scripts:
            return (script,)
        if script in project.broken:
            raise _faults(project, [script])
    below = "" if whole else f"{name}/"
    inside = tuple(script for script in sorted(graph.scripts) if script.startswith(below))
    if inside:
        return inside
    broken = [script for script in project.broken if script.startswith(below)]
    if broken:
        raise _faults(project, broken)
    raise _unknown(graph, text, name)


def _faults(project: Project, names: list[str]) -> ScriptFaults:
    paths = {f"{PIPELINES}{name}{ending}" for name in names for ending in (".sql", ".py")}
    return ScriptFaults(fault for fault in project.faults if fault.place.path in paths)


def _unknown(graph: Graph, text: str, name: str) -> UnknownTarget:
    known = [*graph.scripts, *map(str, graph.producers)]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif known:
        hint = f"the scripts are {', '.join(sorted(graph.scripts)[:10])}"
    else:
        hint = f"there are no scripts in {PIPELINES} yet; a script begins with '-- pipeline'"
    return UnknownTarget(f"no script, asset or folder is called {text!r}", hint)


def _producer(graph: Graph, text: str) -> str:
    try:
        asset = parse_address(text)
    except BadAddress as error:
        raise UnknownTarget(str(error)) from None
    name = graph.producers.get(asset)
    if name is not None:
        return name
    near = get_close_matches(str(asset), map(str, graph.producers), n=1)
    readers = sorted(s.name for s in graph.scripts.values() if _reads(s, asset))
    if readers:
        hint = f"it is a source, read by {', '.join(readers)}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = "tranche graph shows the assets"
    raise UnknownTarget(f"no script makes {asset}", hint)


def _reads(script: Script, asset: AssetUri) -> bool:
    return asset in script.reads or any(on.asset == asset for on in script.triggers_on())
