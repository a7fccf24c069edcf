"""A file of jobs: imported once, and each of its jobs read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tranche.errors import Fault, Place, TrancheError
from tranche.jobs import registry
from tranche.jobs.declared import Job, collecting
from tranche.jobs.detecting import declared_names
from tranche.jobs.importing import imported
from tranche.jobs.scripts import JobRead, read_job
from tranche.jobs.source import Source, Sources
from tranche.model.script import Script
from tranche.script.lakes import Lakes

_JOBS = "__tranche_jobs__"


@dataclass(frozen=True, slots=True)
class JobsRead:
    """The scripts of a file of jobs, or its faults, all of them together."""

    scripts: tuple[Script, ...] = ()
    faults: tuple[Fault, ...] = ()
    names: tuple[str, ...] = ()
    """The names of its jobs and tasks, as far as they are known."""


def read_jobs(root: str, path: str, source: Source, lakes: Lakes) -> JobsRead:
    """Imports a file and reads its jobs. What the file prints goes to standard error."""
    try:
        jobs = _jobs(root, path)
    except TrancheError as error:
        place = error.place or Place(path, 1)
        return JobsRead(
            faults=(Fault(place, error.what, error.remedy),), names=declared_names(source)
        )
    file = str(Path(root, path).resolve())
    sources = Sources({file: source})
    with _quiet():
        read = [read_job(job, path, root, lakes, sources) for job in jobs]
    faults = {fault for each in read for fault in each.faults} | set(_same_names(path, read, jobs))
    names = tuple(dict.fromkeys(name for each in read for name in (each.name, *each.tasks)))
    if faults:
        return JobsRead(faults=tuple(sorted(faults)), names=names)
    registry.remember(root, read)
    return JobsRead(tuple(script for each in read for script in each.scripts), (), names)


def _jobs(root: str, path: str) -> list[Job]:
    """The jobs that a file has declared, when it was imported."""
    with collecting() as found, _quiet():
        module: ModuleType = imported(root, path)
    known: list[Job] | None = module.__dict__.get(_JOBS)
    if known is None:
        known = [job for job in found if job.module == module.__file__]
        module.__dict__[_JOBS] = known
    return known


def _same_names(path: str, read: list[JobRead], jobs: list[Job]) -> Iterator[Fault]:
    seen: set[str] = set()
    for each, job in zip(read, jobs, strict=True):
        if each.name in seen:
            line = job.function.__code__.co_firstlineno
            yield Fault(
                Place(path, line),
                f"a second job is called {each.name!r}",
                "rename one of them, or give it name=…",
            )
        seen.add(each.name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Standard output belongs to the command, not to files that are imported."""
    with redirect_stdout(sys.stderr):
        yield
