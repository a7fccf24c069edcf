"""What a target names: a script, an asset, a job, a tag, or a folder of scripts."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from tranche.errors import ScriptFaults, UnknownTarget
from tranche.model.asset import AssetUri, BadAddress, is_address, parse_address
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.graph import Graph
from tranche.planning.key_verdict import listed

PIPELINES = "pipelines/"
TAG = "tag:"


@dataclass(frozen=True, slots=True)
class Target:
    """The scripts that a target names, and whether their upstreams are meant too."""

    scripts: tuple[str, ...]
    upstream: bool = False


def find_target(project: Project, graph: Graph, text: str) -> Target:
    upstream = text.startswith("+")
    return Target(_named(project, graph, text.removeprefix("+")), upstream)


def _named(project: Project, graph: Graph, text: str) -> tuple[str, ...]:
    if is_address(text):
        return (_producer(graph, text),)
    if text.startswith(TAG):
        return _tagged(graph, text)
    name = text.removeprefix("./").removeprefix(PIPELINES).rstrip("/")
    whole = text.rstrip("/") in (PIPELINES.rstrip("/"), ".")
    if not whole and not text.endswith("/"):
        script = name.removesuffix(".sql").removesuffix(".py")
        if script in graph.scripts:
            return (script,)
        several = _of_job(graph, name) or _of_file(graph, name)
        if several:
            return several
        if script in project.broken:
            raise _faults(project, [script])
    below = "" if whole else f"{name}/"
    inside = tuple(
        script.name
        for script in sorted(graph.scripts.values(), key=lambda each: each.name)
        if script.path.removeprefix(PIPELINES).startswith(below)
    )
    if inside:
        return inside
    broken = [
        script
        for script in project.broken
        if project.broken_in.get(script, f"{PIPELINES}{script}").startswith(f"{PIPELINES}{below}")
    ]
    if broken:
        raise _faults(project, broken)
    raise _unknown(graph, text, name)


def _faults(project: Project, names: list[str]) -> ScriptFaults:
    paths = {f"{PIPELINES}{name}{ending}" for name in names for ending in (".sql", ".py")}
    paths |= {project.broken_in[name] for name in names if name in project.broken_in}
    return ScriptFaults(fault for fault in project.faults if fault.place.path in paths)


def _unknown(graph: Graph, text: str, name: str) -> UnknownTarget:
    jobs = dict.fromkeys(script.job for script in graph.scripts.values() if script.job)
    known = [*graph.scripts, *jobs, *map(str, graph.producers)]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif known:
        hint = f"the scripts are {listed(sorted(graph.scripts))}"
    else:
        hint = f"there are no scripts in {PIPELINES} yet; a script begins with '-- pipeline'"
    return UnknownTarget(f"no script, job, asset or folder is called {text!r}", hint)


def _of_job(graph: Graph, name: str) -> tuple[str, ...]:
    """The tasks of a job."""
    return tuple(sorted(each.name for each in graph.scripts.values() if each.job == name))


def _of_file(graph: Graph, name: str) -> tuple[str, ...]:
    """The tasks of the jobs that a file has."""
    files = (f"{PIPELINES}{name}", f"{PIPELINES}{name}.py")
    return tuple(sorted(each.name for each in graph.scripts.values() if each.path in files))


def _tagged(graph: Graph, text: str) -> tuple[str, ...]:
    tag = text.removeprefix(TAG)
    found = tuple(sorted(each.name for each in graph.scripts.values() if tag in each.tags))
    if not found:
        known = sorted({tag for each in graph.scripts.values() for tag in each.tags})
        hint = f"the tags are {', '.join(known)}" if known else "no job has a tag"
        raise UnknownTarget(f"no job has the tag {tag!r}", hint)
    return found


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
