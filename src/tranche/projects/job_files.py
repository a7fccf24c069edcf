"""Files of jobs among the Python files of a project."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tranche.errors import Fault, Place
from tranche.model.project import Settings
from tranche.projects.secrets import without_secrets
from tranche.projects.text import read_text

if TYPE_CHECKING:
    from tranche.jobs.reading import JobsRead

_HEADER = re.compile(r"(?:[ \t]*(?:#.*)?\n)*?[ \t]*#[ \t]*pipeline[ \t]*(?:\n|$)")


def read_job_file(file: Path, path: str, settings: Settings) -> JobsRead | None:
    """The jobs of a file; None if it defines none, or if it cannot be read."""
    _, text, fault = read_text(file, path)
    if fault is not None or "tranche" not in text or "job" not in text:
        return None
    # Most projects have no jobs, and need not wait for what reads them.
    from tranche.jobs.detecting import declared_names, defines_jobs
    from tranche.jobs.reading import JobsRead, read_jobs
    from tranche.jobs.source import Source
    from tranche.script.lakes import Lakes

    source = Source(text.removeprefix("\ufeff"))
    try:
        if not defines_jobs(source):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    header = _HEADER.match(text)
    if header is not None:
        both = Fault(
            Place(path, header[0].rstrip("\n").count("\n") + 1),
            "the file says 'pipeline', and defines jobs",
            "remove the comment, or move the jobs to a file of their own",
        )
        return JobsRead(faults=(both,), names=declared_names(source))
    lakes = Lakes(frozenset(settings.lakes), settings.default_lake)
    read = read_jobs(settings.root, path, source, lakes)
    # What code of users raises may tell what only they should know.
    told = (replace(f, what=without_secrets(f.what, settings.secrets)) for f in read.faults)
    return replace(read, faults=tuple(told))
