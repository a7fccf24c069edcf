"""The functions and IOs behind the scripts of jobs, in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from tranche.errors import CodeFailed, Place
from tranche.jobs.declared import Task
from tranche.jobs.scripts import JobRead
from tranche.model.script import Script

_KEPT = 4
"""How many versions of a task are known: what runs keeps the one that it began with."""
_LOCK = threading.Lock()
_TASKS: dict[tuple[str, str], dict[str, Task]] = {}
"""The latest versions of each task, by project and script, each by its fingerprint."""


def remember(root: str, jobs: Iterable[JobRead]) -> None:
    """Keeps the functions of jobs that were read."""
    with _LOCK:
        for job in jobs:
            for script in job.scripts:
                versions = _TASKS.setdefault((root, script.name), {})
                versions.pop(script.fingerprint, None)
                versions[script.fingerprint] = job.functions[script.name]
                while len(versions) > _KEPT:
                    del versions[next(iter(versions))]


def task_of(script: Script, root: str) -> Task:
    """The task behind a script that was loaded in this process."""
    with _LOCK:
        found = _TASKS.get((root, script.name), {}).get(script.fingerprint)
    if found is None:
        line = script.code.line if script.code is not None else None
        raise CodeFailed(
            f"the task {script.name!r} is not there as it was when the project was loaded",
            "run it again",
            place=Place(script.path, line),
        )
    return found


def function_of(script: Script, root: str) -> Callable[..., Any]:
    """The function that a script of a job runs."""
    return task_of(script, root).function


def io_of(script: Script, root: str) -> Any:
    """The IO that keeps what a script of a job returns; None if it is a table of a lake."""
    return task_of(script, root).io
