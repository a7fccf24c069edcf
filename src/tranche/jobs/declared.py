"""Jobs and tasks as their decorators declare them, before anything of it is checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tranche.errors import TaskMisused
from tranche.jobs.proxies import Given, Result

Function: TypeAlias = Callable[..., Any]

JOB = "__tranche_job__"
TASK = "__tranche_task__"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A function that is a step of jobs, and what its decorator says, as it was given."""

    function: Function
    name: str
    io: Any = None
    writes: Any = None
    key: Any = None
    append: Any = False
    history: Any = False
    track: Any = None
    deletes: Any = None
    at: Any = None
    on_schema_change: Any = None
    layout: Any = None
    tests: Any = ()
    reads: Any = ()
    partition_by: Any = ()
    all_partitions: Any = False
    retry: Any = None
    unknown: tuple[str, ...] = ()
    """Options that there are none of."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """A function whose body joins tasks, and what its decorator says, as it was given."""

    function: Function
    name: str
    partitioning: Any = None
    schedule: Any = None
    retry: Any = None
    limit: Any = None
    tags: Any = ()
    module: str | None = None
    """The file whose import has declared it."""
    unknown: tuple[str, ...] = ()
    """Options that there are none of."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A task that the body of a job calls, with what it hands to it."""

    task: Task
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    file: str
    line: int


@dataclass(slots=True, eq=False)
class Body:
    """What was found while the body of a job ran."""

    job: Job
    calls: list[Call] = field(default_factory=list)
    again: list[Call] = field(default_factory=list)
    """Calls of tasks that have been called before."""
    defined: list[Task] = field(default_factory=list)
    """Tasks that the body defines."""

    def call(self, task: Task, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Result:
        file, line = caller()
        call = Call(task, arguments, named, file, line)
        known = any(each.task.name == task.name for each in self.calls)
        (self.again if known else self.calls).append(call)
        return Result(self, task.name)


_BODY: ContextVar[Body | None] = ContextVar("tranche_body", default=None)
_DECLARED: ContextVar[list[Job] | None] = ContextVar("tranche_declared", default=None)


@contextmanager
def collecting() -> Iterator[list[Job]]:
    """The jobs that are declared meanwhile, by files that are imported to be read."""
    found: list[Job] = []
    token = _DECLARED.set(found)
    try:
        yield found
    finally:
        _DECLARED.reset(token)


def declare(job: Job) -> None:
    """Tells whoever collects jobs of one."""
    found = _DECLARED.get()
    if found is not None:
        found.append(job)


def define(task: Task) -> None:
    """Tells the body that is read, if there is one, of a task that it defines."""
    body = _BODY.get()
    if body is not None:
        body.defined.append(task)


def run_body(job: Job, arguments: Mapping[str, Given]) -> tuple[Body, BaseException | None]:
    """Runs the body of a job once, to see which tasks it calls; and what went wrong, if it did."""
    body = Body(job)
    token = _BODY.set(body)
    try:
        job.function(**arguments)
    except (Exception, SystemExit) as error:
        return body, error
    finally:
        _BODY.reset(token)
    return body, None


def called(task: Task, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What a call of a task gives: a proxy in the body of a job that is read, else what the
    function returns."""
    body = _BODY.get()
    if body is not None:
        return body.call(task, arguments, named)
    if _DECLARED.get() is not None:
        raise TaskMisused(
            f"the task {task.name!r} is called outside a job",
            "call it in the body of a function with @job",
        )
    return task.function(*arguments, **named)


def caller() -> tuple[str, int]:
    """The file and the line of the user's that called into this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "tranche.jobs."
    ):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def importing_file() -> str | None:
    """The file whose import goes on at the moment, the innermost of several."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return frame.f_code.co_filename
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None


def job_of(function: object) -> Job | None:
    """The job that a function was declared to be."""
    found = getattr(function, JOB, None)
    return found if isinstance(found, Job) else None
