"""The arguments of a job: the parameters of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tranche.jobs.declared import Job
from tranche.jobs.faults import Faults
from tranche.jobs.kinds import (
    ARGUMENT_TYPES,
    annotation_of,
    argument_type_of,
    text_of,
    type_of,
)
from tranche.jobs.source import Source, Sources
from tranche.model.argument import Argument, accepts, looks_like
from tranche.script.python_types import INJECTED


def parameters_of(job: Job) -> tuple[str, ...]:
    """The parameters that the body of a job can be called with, right or wrong."""
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    known = inspect.signature(job.function).parameters.values()
    return tuple(each.name for each in known if each.kind not in stars)


def arguments_of(job: Job, sources: Sources, faults: Faults) -> dict[str, Argument]:
    """The arguments that a job takes, by name."""
    found: dict[str, Argument] = {}
    known = sources.of(job.function)
    source = known[0] if known is not None else None
    for parameter in inspect.signature(job.function).parameters.values():
        name = parameter.name
        line = _line(job.function, name, sources)
        misuse = _misuse(parameter)
        if misuse is not None:
            faults.of(job.function, line, *misuse)
            continue
        argument = _argument(job, parameter, source, line, faults)
        if argument is not None:
            found[name] = argument
    return found


def check_taken(
    job: Job, arguments: Mapping[str, Argument], taken: Collection[str], faults: Faults
) -> None:
    """Each argument is of use to some task."""
    for name, argument in arguments.items():
        if name not in taken:
            faults.of(
                job.function,
                argument.line,
                f"no task of the job {job.name!r} takes the argument {name!r}",
                "give a task a parameter of that name, or remove it",
            )


def _misuse(parameter: inspect.Parameter) -> tuple[str, str] | None:
    name = parameter.name
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return f"a job takes arguments by name, and this one takes {parameter}", "name each"
    if parameter.kind is parameter.POSITIONAL_ONLY:
        return f"the argument {name!r} is taken by position only", "leave the / out"
    if name in INJECTED:
        return (
            f"the job has an argument {name!r}, which is what tasks get from the run",
            "call it otherwise; tasks take it by its name without the job's doing",
        )
    return None


def _argument(
    job: Job, parameter: inspect.Parameter, source: Source | None, line: int, faults: Faults
) -> Argument | None:
    name, default = parameter.name, parameter.default
    required = default is parameter.empty
    said = annotation_of(parameter, source)
    if said is not None:
        type_, shown = argument_type_of(said), said.text
    else:
        type_ = "string" if required or default is None else type_of(default)
        shown = type(default).__name__
    if type_ is None:
        what = f"the argument {name!r} of the job is of the type {shown}"
        faults.of(job.function, line, what, f"use {ARGUMENT_TYPES}")
        return None
    text = None if required or default is None else text_of(default)
    if not required and default is not None and (text is None or not accepts(type_, text)):
        what = f"the default {default!r} of the argument {name!r} is no {type_}"
        faults.of(job.function, line, what, f"give {looks_like(type_)}")
        return None
    return Argument(name, type_, text, required=required, line=line)


def _line(function: Callable[..., Any], name: str, sources: Sources) -> int:
    known = sources.of(function)
    if known is None:
        line: int = inspect.unwrap(function).__code__.co_firstlineno
        return line
    arguments = known[1].args
    several = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return next((each.lineno for each in several if each.arg == name), known[1].lineno)
