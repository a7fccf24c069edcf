"""Data tests by script: their files are found and read for each script that names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from tranche.errors import Fault, Place
from tranche.model.data_test import DataTest, ScriptTest
from tranche.model.project import Settings
from tranche.model.script import Script, ViolationQuery
from tranche.projects.cache import ScriptCache
from tranche.projects.config import PIPELINES
from tranche.projects.text import read_text
from tranche.script.read import DataTestRead

RULES = ("unique", "not_null", "accepted_values", "relationships")


@dataclass(slots=True)
class Tested:
    """Scripts with the data tests that they name, and what is wrong with those."""

    scripts: list[Script] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def with_data_tests(scripts: Sequence[Script], settings: Settings, cache: ScriptCache) -> Tested:
    """Each script with its tests. One whose tests cannot be run has a fault at the line."""
    found = Tested()
    for script in scripts:
        queries: dict[str, ViolationQuery] = {}
        warnings: list[str] = []
        for test, name in _named(script):
            read = _read(name, script, settings, cache)
            if read is not None and read.query is not None:
                queries[name] = replace(read.query, name=name)
                warnings += [text for text in read.warnings if text not in warnings]
                continue
            found.faults += read.faults if read is not None else ()
            found.faults.append(_fault(script, test, name, read))
        found.scripts.append(
            replace(
                script,
                violation_queries=tuple(queries.values()),
                warnings=(*script.warnings, *warnings),
            )
            if queries
            else script
        )
    found.faults = list(dict.fromkeys(found.faults))
    return found


def _named(script: Script) -> Iterator[tuple[DataTest, str]]:
    for test in script.annotations.data_tests:
        if isinstance(test.rule, ScriptTest):
            yield test, test.rule.script


def _read(name: str, script: Script, settings: Settings, cache: ScriptCache) -> DataTestRead | None:
    """What the file says; None if there is none."""
    root = Path(settings.root)
    file = _file(root, name)
    if file is None:
        return None
    path = file.relative_to(root).as_posix()
    raw, text, fault = read_text(file, path)
    if fault is not None:
        return DataTestRead(None, (fault,))
    key = cache.key(f"{script.path}\x00{path}", _meaning(script) + raw)
    known = cache.get(key)
    if isinstance(known, DataTestRead):
        return known
    try:
        read = _parsed(name, path, text, script, settings)
    except (RecursionError, MemoryError):
        deep = Fault(Place(path), "it is nested too deeply to be read", "write it flatter")
        read = DataTestRead(None, (deep,))
    cache.put(key, read)
    return read


def _meaning(script: Script) -> bytes:
    """What the key and the arguments in a test depend on."""
    rule = script.partitioning.describe() if script.partitioning else ""
    names = [argument.name for argument in script.annotations.arguments]
    return f"{rule}\x00{names}\x00{script.annotations.dialect}\x00".encode("utf-8", "surrogatepass")


def _parsed(name: str, path: str, text: str, script: Script, settings: Settings) -> DataTestRead:
    # Parsers are imported only when something has to be parsed.
    from tranche.script.lakes import Lakes
    from tranche.script.violations import read_violation_query

    lakes = Lakes(frozenset(settings.lakes), settings.default_lake)
    return read_violation_query(name, path, text, script, lakes)


def _file(root: Path, name: str) -> Path | None:
    bare = name.removesuffix(".sql")
    if bare.startswith("/") or ".." in bare.split("/"):
        return None
    files = (folder / f"{bare}.sql" for folder in (root / PIPELINES, root))
    return next((file for file in files if file.is_file()), None)


def _fault(script: Script, test: DataTest, name: str, read: DataTestRead | None) -> Fault:
    place = Place(script.path, test.line)
    bare = name.removesuffix(".sql")
    if read is None:
        return Fault(place, f"no data test and no script is called {bare!r}", _instead(bare))
    if read.is_pipeline:
        return Fault(
            place,
            f"{bare!r} is a pipeline script, and a data test is one SELECT by itself",
            "name another file, or take the pipeline line out of that one",
        )
    where = _places(read.faults)
    return Fault(place, f"the data test {bare!r} has faults", f"correct {where}")


def _places(faults: Iterable[Fault]) -> str:
    return next(fault.place.path for fault in faults)


def _instead(name: str) -> str:
    near = get_close_matches(name, RULES, n=1)
    if near:
        return f"did you mean {near[0]!r}, which takes a column?"
    return f"make {PIPELINES}/{name}.sql, or use {', '.join(RULES)}"
