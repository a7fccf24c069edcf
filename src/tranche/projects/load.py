"""Finds and reads the scripts of a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tranche.errors import Fault, Place
from tranche.model.project import Project, Settings
from tranche.model.script import Script
from tranche.planning.deadlines import deadline_faults
from tranche.planning.formats import format_faults
from tranche.planning.graph import build_graph, graph_faults
from tranche.planning.links import mapping_faults
from tranche.projects.cache import ScriptCache
from tranche.projects.config import PIPELINES
from tranche.projects.data_tests import with_data_tests
from tranche.projects.job_files import read_job_file
from tranche.projects.text import read_text
from tranche.script.read import ScriptRead


def load_project(settings: Settings) -> Project:
    """Reads every script; scripts with faults are left out and their faults listed together."""
    root = Path(settings.root)
    basis = f"{sorted(settings.lakes)} {settings.default_lake} {settings.dialect}"
    cache = ScriptCache(Path(settings.home) / "cache" / "scripts", basis)
    scripts: list[Script] = []
    faults: list[Fault] = []
    broken: set[str] = set()
    named: dict[str, str] = {}
    """The file of each job and task."""
    for file in _files(root):
        path = file.relative_to(root).as_posix()
        name = file.relative_to(root / PIPELINES).with_suffix("").as_posix()
        jobs = read_job_file(file, path, settings) if file.suffix == ".py" else None
        if jobs is not None:
            faults += jobs.faults
            scripts += jobs.scripts
            named |= dict.fromkeys((name, *jobs.names), path)
            broken |= {name, *jobs.names} if jobs.faults else set()
            continue
        read = _read(file, name, path, settings, cache)
        if read.faults:
            faults += read.faults
            broken.add(name)
        elif read.script is not None:
            scripts.append(read.script)
    tested = with_data_tests(scripts, settings, cache)
    scripts = tested.scripts
    cache.save()
    faults += tested.faults
    faults += _same_names(scripts)
    faults += graph_faults(scripts)
    faults += mapping_faults(build_graph(scripts))
    faults += deadline_faults(scripts)
    faults += format_faults(scripts, settings.lakes)
    paths = {fault.place.path for fault in faults}
    broken |= {script.name for script in scripts if script.path in paths}
    broken |= {name for name, path in named.items() if path in paths}
    sound = tuple(script for script in scripts if script.name not in broken)
    return Project(
        settings=replace(settings, task_formats=_task_formats(sound)),
        scripts=sound,
        faults=tuple(sorted(set(faults))),
        broken=tuple(sorted(broken)),
        broken_in={name: path for name, path in named.items() if name in broken},
    )


def _files(root: Path) -> list[Path]:
    folder = root / PIPELINES
    found = [p for ending in ("*.sql", "*.py") for p in folder.rglob(ending) if p.is_file()]
    return sorted(
        p for p in found if not any(part.startswith(".") for part in p.parts[len(root.parts) :])
    )


def _read(file: Path, name: str, path: str, settings: Settings, cache: ScriptCache) -> ScriptRead:
    raw, text, fault = read_text(file, path)
    if fault is not None:
        return ScriptRead(None, (fault,))
    key = cache.key(path, raw)
    known = cache.get(key)
    if isinstance(known, ScriptRead):
        return known
    try:
        read = _parsed(file.suffix, name, path, text, settings)
    except (RecursionError, MemoryError):
        deep = Fault(Place(path), "it is nested too deeply to be read", "write it flatter")
        read = ScriptRead(None, (deep,))
    cache.put(key, read)
    return read


def _parsed(suffix: str, name: str, path: str, text: str, settings: Settings) -> ScriptRead:
    # Parsers are imported only when something has to be parsed.
    from tranche.script.lakes import Lakes

    lakes = Lakes(frozenset(settings.lakes), settings.default_lake)
    if suffix == ".sql":
        from tranche.script.sql import read_sql_script

        return read_sql_script(name, path, text, lakes, settings.dialect)
    from tranche.script.python import read_python_script

    return read_python_script(name, path, text, lakes)


def _same_names(scripts: list[Script]) -> Iterator[Fault]:
    """A script's name is its path without the ending, so `a.py` beside `a.sql` has none of its own.

    Jobs have their names among those of scripts.
    """
    first: dict[str, Script] = {}
    for script in scripts:
        for name in dict.fromkeys((script.name, script.job or script.name)):
            other = first.setdefault(name, script)
            if other is script or (other.job == script.job == name and other.path == script.path):
                continue
            if script.job is None:
                what = f"the script {name!r} is {other.path} too"
                yield Fault(Place(script.path), what, "rename one of the two files")
            else:
                kind = "job" if name == script.job else "task"
                yield Fault(
                    Place(script.path, script.annotations.line("partitioned")),
                    f"the {kind} {name!r} has its name from {other.path} already",
                    "rename one of them, or give it name=…",
                )


def _task_formats(scripts: Iterable[Script]) -> frozenset[str]:
    """The formats in which tasks keep what they return."""
    kept = (script.code.output for script in scripts if script.code is not None)
    return frozenset(output.kind for output in kept if output is not None) & {"delta"}
