"""What each parameter of a task gets: from the call in the job's body, the run, or its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from tranche.jobs.declared import Body, Call
from tranche.jobs.kinds import annotation_of, frame_of, listed, misfit, unlike_argument
from tranche.jobs.proxies import Whole, argument_of, result_of
from tranche.jobs.source import Source
from tranche.model.asset import AssetUri
from tranche.model.code import Injected, Loaded, Parameter, Passed, Value
from tranche.model.condition import Asset
from tranche.model.partitioning import Partitioning, time_of
from tranche.script.python_names import FRAME_NAMES
from tranche.script.python_types import INJECTED

Tell: TypeAlias = Callable[[str, str], None]
"""Takes what is wrong and what to do."""

_ORDINARY = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The parameters of a task, and the tasks that it is made of."""

    parameters: tuple[Parameter, ...]
    upstream: tuple[str, ...]
    """The tasks whose results it takes, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One call of a task, and all that its parameters could get."""

    body: Body
    call: Call
    assets: Mapping[str, AssetUri]
    """What each task of the job before it makes."""
    arguments: Mapping[str, str]
    """The arguments of the job, and the type of each."""
    partitioning: Partitioning | None
    source: Source | None
    at_call: Tell
    """Told of what is wrong with the call."""
    at_task: Tell
    """Told of what is wrong with the function."""

    def bound(self) -> Bound:
        name = self.call.task.name
        signature = inspect.signature(self.call.task.function)
        known: dict[str, inspect.Parameter] = {}
        for parameter in signature.parameters.values():
            if parameter.kind in _ORDINARY:
                known[parameter.name] = parameter
            else:
                self.at_task(
                    f"the task {name!r} takes {_starred(parameter)}, and nobody could say what that"
                    " gets",
                    "name each parameter",
                )
        handed = self.handed(known, complete=len(known) == len(signature.parameters))
        found: list[Parameter] = []
        upstream: dict[str, None] = {}
        for parameter in known.values():
            value: Value | None
            if parameter.name in handed:
                value = self.value(parameter, handed[parameter.name], upstream)
            else:
                value = self.by_name(parameter)
            if value is not None:
                found.append(Parameter(parameter.name, value))
        return Bound(parameters=tuple(found), upstream=tuple(upstream))

    def handed(self, known: Mapping[str, inspect.Parameter], *, complete: bool) -> dict[str, Any]:
        """What the call hands over, by parameter; `complete` if these are all that there are.

        By position, parameters that the run fills by their names are passed over, as long as there
        are others to take what is handed over.
        """
        name, given = self.call.task.name, self.call.arguments
        positional = [
            p.name
            for p in known.values()
            if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and p.name not in self.call.named
        ]
        free = [each for each in positional if each not in INJECTED]
        taking = free if len(given) <= len(free) else positional
        if len(given) > len(taking) and complete:
            many = "1 value" if len(given) == 1 else f"{len(given)} values"
            self.at_call(
                f"the task {name!r} is called with {many}, and takes {len(taking) or 'none'}",
                "leave some out, or add parameters to it",
            )
        found = dict(zip(taking, given, strict=False))
        for parameter, value in self.call.named.items():
            if parameter not in known:
                near = get_close_matches(parameter, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else listed("it takes", known)
                self.at_call(f"the task {name!r} has no parameter {parameter!r}", hint)
            found[parameter] = value
        return found

    def value(
        self, parameter: inspect.Parameter, given: Any, upstream: dict[str, None]
    ) -> Loaded | Passed | None:
        """What a parameter gets that the call hands something to."""
        argument = argument_of(given)
        if argument is not None:
            if argument not in self.arguments:
                self.at_call(
                    f"{argument!r} is an argument of another job", "use one of this job's own"
                )
                return None
            return self.passed(parameter, argument)
        whole = isinstance(given, Whole)
        inner = given.of if isinstance(given, Whole) else given
        result = result_of(inner)
        if result is None and not isinstance(inner, Asset):
            self.at_call(
                f"the parameter {parameter.name!r} is handed {_kind(given)}, and tasks take results"
                " of tasks",
                "make it a default of the parameter, or an argument of the job",
            )
            return None
        if result is not None and result[0] is not self.body:
            self.at_call(
                f"the result of the task {result[1]!r} is one of another job",
                "call the task in this job too, or read what it writes:"
                f' {self.call.task.name}(Asset("…"))',
            )
            return None
        if result is not None and result[1] not in self.assets:
            return None
        asset = self.assets[result[1]] if result is not None else inner.uri
        if result is not None:
            upstream[result[1]] = None
        frame = frame_of(annotation_of(parameter, self.source))
        if frame is None:
            self.at_task(
                f"the parameter {parameter.name!r} takes rows, and is annotated as"
                f" {_shown(parameter)}",
                f"annotate it as {FRAME_NAMES}, or not at all",
            )
            return None
        return Loaded(asset, frame, whole or bool(self.call.task.all_partitions))

    def passed(self, parameter: inspect.Parameter, argument: str) -> Passed:
        type_ = self.arguments[argument]
        wanted = unlike_argument(type_, annotation_of(parameter, self.source))
        if wanted is not None:
            self.at_task(
                f"the parameter {parameter.name!r} gets the argument {argument!r}, which is of the"
                f" type {wanted}, and is annotated as {_shown(parameter)}",
                f"annotate it as {wanted}, or change the type of the job's argument",
            )
        return Passed(argument)

    def by_name(self, parameter: inspect.Parameter) -> Injected | Passed | None:
        """What a parameter gets that the call says nothing of."""
        name = parameter.name
        what = next((each for each in INJECTED if each == name), None)
        has_default = parameter.default is not inspect.Parameter.empty
        if what is not None:
            wanted = misfit(what, annotation_of(parameter, self.source))
            if wanted is not None:
                self.at_task(
                    f"the parameter {name!r} is filled by the run with a {wanted}, and is annotated"
                    f" as {_shown(parameter)}",
                    f"annotate it as {wanted}, or call it otherwise",
                )
                return None
            nothing = has_default and not parameter.default
            there = self.is_there(name, has_default=has_default, nothing=nothing)
            return Injected(what) if there else None
        if name in self.arguments:
            return self.passed(parameter, name)
        if has_default:
            if result_of(parameter.default) or argument_of(parameter.default):
                self.at_task(
                    f"the default of the parameter {name!r} is not known yet while the job is read",
                    f"hand it over in the call: {self.call.task.name}({name}=…)",
                )
            return None
        task = self.call.task.name
        possible = [*INJECTED, *self.arguments]
        near = get_close_matches(name, possible, n=1)
        hint = f"did you mean {near[0]!r}? Or " if near else ""
        own = listed("arguments of the job are", self.arguments) if self.arguments else ""
        self.at_call(
            f"nothing says what the parameter {name!r} of the task {task!r} gets",
            f"{hint}hand it the result of a task in this call; by name there are"
            f" {', '.join(INJECTED)}{f'; {own}' if own else ''}",
        )
        return None

    def is_there(self, name: str, *, has_default: bool, nothing: bool) -> bool:
        """Whether the run has what a parameter asks for by its name; `nothing` if its default is."""
        task = self.call.task.name
        if name in ("partition", "partitions", "window", "logical_date"):
            if self.partitioning is None:
                if name in ("partition", "partitions") and nothing:
                    # A backfill may name keys.
                    return True
                if not has_default:
                    self.at_task(
                        f"the task {task!r} takes {name!r}, and its job has no partitions",
                        "add partitioning=… to the job, or leave the parameter out",
                    )
                return False
            if name in ("window", "logical_date") and time_of(self.partitioning) is None:
                self.at_task(
                    f"the task {task!r} takes {name!r}, and {self.partitioning.kind} keys have no"
                    " time",
                    "take partition instead",
                )
                return False
        return True


def _shown(parameter: inspect.Parameter) -> str:
    return inspect.formatannotation(parameter.annotation)


def _starred(parameter: inspect.Parameter) -> str:
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        return f"{parameter.name!r} by position only"
    return str(parameter.replace(annotation=inspect.Parameter.empty))


def _kind(value: object) -> str:
    return f"a value of the type {type(value).__name__}"
