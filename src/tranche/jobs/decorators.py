"""`@job` and `@task`: both leave a function that can be called like any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, overload

from tranche.errors import TaskMisused
from tranche.jobs.cron import Cron
from tranche.jobs.declared import (
    JOB,
    TASK,
    Job,
    Task,
    called,
    declare,
    define,
    importing_file,
)
from tranche.jobs.io import IO, KnownIO
from tranche.model.condition import Condition
from tranche.model.partitioning import Partitioning
from tranche.model.script import Retry
from tranche.model.strategy import SchemaPolicy
from tranche.model.trigger import OnAssets

_P = ParamSpec("_P")
_R = TypeVar("_R")
Schedule: TypeAlias = Cron | OnAssets | Condition
Names: TypeAlias = str | Sequence[str]


@overload
def task(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...


@overload
def task(
    *,
    name: str | None = None,
    io: KnownIO | IO | None = None,
    writes: str | None = None,
    key: Names | None = None,
    append: bool = False,
    history: bool = False,
    track: Names | None = None,
    deletes: Literal["close"] | None = None,
    at: str | None = None,
    on_schema_change: SchemaPolicy | None = None,
    layout: str | None = None,
    tests: Names = (),
    reads: Names = (),
    partition_by: Names = (),
    all_partitions: bool = False,
    retry: int | Retry | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a function a step of jobs. In the body of a job, calling it says what it is made of;
    anywhere else it is the function.

    `writes` is the table that its rows enter, by `key`, `append` or `history` as in a materialize
    line; `io` keeps them elsewhere. Without both it is a table of the job in the default lake.
    """
    if function is None:
        return lambda decorated: _task(decorated, **options)
    return _task(function, **options)


def _task(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    io: Any = None,
    writes: Any = None,
    key: Any = None,
    append: Any = False,
    history: Any = False,
    track: Any = None,
    deletes: Any = None,
    at: Any = None,
    on_schema_change: Any = None,
    layout: Any = None,
    tests: Any = (),
    reads: Any = (),
    partition_by: Any = (),
    all_partitions: Any = False,
    retry: Any = None,
    **unknown: Any,
) -> Callable[..., Any]:
    _check("task", function)
    declared = Task(
        function=function,
        name=name or function.__name__,
        io=io,
        writes=writes,
        key=key,
        append=append,
        history=history,
        track=track,
        deletes=deletes,
        at=at,
        on_schema_change=on_schema_change,
        layout=layout,
        tests=tests,
        reads=reads,
        partition_by=partition_by,
        all_partitions=all_partitions,
        retry=retry,
        unknown=tuple(unknown),
    )
    define(declared)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return called(declared, arguments, named)

    setattr(call, TASK, declared)
    return call


@overload
def job(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...


@overload
def job(
    *,
    name: str | None = None,
    partitioning: Partitioning | None = None,
    schedule: Schedule | Sequence[Schedule] | None = None,
    retry: int | Retry | None = None,
    limit: int | None = None,
    tags: Names = (),
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def job(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a function a job: its body calls tasks, and so says which is made of which.

    Its parameters are the arguments of the job; tasks get them by name, or handed over in a call.
    `limit` is how many keys of a task run at once, where each is run by itself.
    """
    if function is None:
        return lambda decorated: _job(decorated, **options)
    return _job(function, **options)


def _job(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    partitioning: Any = None,
    schedule: Any = None,
    retry: Any = None,
    limit: Any = None,
    tags: Any = (),
    **unknown: Any,
) -> Callable[..., Any]:
    _check("job", function)
    declared = Job(
        function=function,
        name=name or function.__name__,
        partitioning=partitioning,
        schedule=schedule,
        retry=retry,
        limit=limit,
        tags=tags,
        module=importing_file(),
        unknown=tuple(unknown),
    )
    declare(declared)
    setattr(function, JOB, declared)
    return function


def _check(what: str, function: object) -> None:
    """Whatever is wrong with a function is told later; of anything else there is no line to tell."""
    if not callable(function) or not inspect.isfunction(inspect.unwrap(function)):
        raise TaskMisused(f"@{what} stands above {function!r}", "put it above a def")


__all__ = ["job", "task"]
