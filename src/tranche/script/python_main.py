"""`main` of a Python script: which parameters it has, and what each of them gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, get_args

from tranche.errors import Fault, Place
from tranche.model.argument import Argument
from tranche.model.asset import AssetUri, JobTask, LakeTable
from tranche.model.code import (
    Code,
    Injected,
    Injection,
    JsonType,
    Loaded,
    Parameter,
    Passed,
    Value,
)
from tranche.model.partitioning import Composite, Dynamic, Partitioning, time_of
from tranche.model.script import Annotations
from tranche.model.strategy import Manual
from tranche.model.trigger import OnAsset
from tranche.script.python_names import (
    ANYTHING,
    FRAME_NAMES,
    FRAMES,
    Annotation,
    PythonNames,
    in_scope,
)
from tranche.script.python_types import INJECTED, KNOWN, TYPES, WRITTEN, argument_types

MAIN = "main"
_OF_PAYLOADS: Final[Mapping[str, JsonType]] = {name: name for name in get_args(JsonType)}
"""What annotations can say of fields."""
FILE_ENDINGS: Final = ("json", "csv", "parquet")


@dataclass(slots=True)
class MainReader:
    """Reads one function; each parameter gets a value, or a fault."""

    path: str
    names: PythonNames
    annotations: Annotations
    faults: list[Fault] = field(default_factory=list)

    def read(self, tree: ast.Module, header_line: int) -> Code | None:
        found = [
            each
            for each in tree.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == MAIN
        ]
        if not found:
            self.fault(
                header_line,
                f"the script has no function {MAIN}",
                f"define it at the top level, as in def {MAIN}(partition: str)",
            )
            return None
        function = found[-1]
        if isinstance(function, ast.AsyncFunctionDef):
            self.fault(
                function.lineno,
                f"{MAIN} is async, and nothing would await it",
                f"write def {MAIN}, and use asyncio.run within it",
            )
            return None
        parameters = tuple(self.parameters(function))
        made = self.annotations.materialize
        if made is not None and not isinstance(made.strategy, Manual):
            self.check_returned(function)
        return Code(function=MAIN, line=function.lineno, parameters=parameters)

    def check_returned(self, function: ast.FunctionDef) -> None:
        """Its rows are to be written, so it must return some. A decorator may see to that."""
        said = self.names.annotation(function.returns)
        within = list(in_scope(function))
        if said is not None and (said.text == "None" or said.name in KNOWN - set(FRAMES)):
            what = f"{MAIN} returns {said.text}, and its rows are to be written"
        elif any(isinstance(each, ast.Yield | ast.YieldFrom) for each in within):
            what = f"{MAIN} yields its rows, and they are written as one frame"
        elif not function.decorator_list and not any(
            isinstance(each, ast.Return) and each.value is not None for each in within
        ):
            what = f"{MAIN} returns nothing, and its rows are to be written"
        else:
            return
        self.fault(
            function.lineno,
            what,
            "return a frame; or write by yourself, with materialize manual <address>",
        )

    def parameters(self, function: ast.FunctionDef) -> Iterator[Parameter]:
        given = function.args
        for each in given.posonlyargs:
            self.fault(
                each.lineno,
                f"{MAIN} takes {each.arg!r} by position only, and is called by names",
                "remove the / behind it",
            )
        ordinary = [*given.posonlyargs, *given.args]
        without = len(ordinary) - len(given.defaults)
        defaults = [n >= without for n in range(len(ordinary))]
        defaults += [default is not None for default in given.kw_defaults]
        for each, optional in zip((*ordinary, *given.kwonlyargs), defaults, strict=True):
            value = self.value(each, optional=optional)
            if value is not None:
                yield Parameter(each.arg, value)

    def value(self, parameter: ast.arg, *, optional: bool) -> Value | None:
        name, said = parameter.arg, self.names.annotation(parameter.annotation)
        for argument in self.annotations.arguments:
            if argument.name == name:
                return self.argument(parameter, argument, said)
        for what in INJECTED:
            if what == name:
                return self.injected(parameter, what, said)
        assets = self.assets().get(name, [])
        if len(assets) > 1:
            self.fault(
                parameter.lineno,
                f"{MAIN} takes {name!r}, which could be {' or '.join(map(str, assets))}",
                "take spark instead, and read them with it",
            )
            return None
        if assets:
            return self.loaded(parameter, assets[0], said)
        if self.is_field(name, said):
            return Passed(
                name,
                payload=True,
                required=not optional,
                type=None if said is None else _OF_PAYLOADS.get(said.name or ""),
                nullable=optional or said is None or said.nullable,
            )
        self.fault(parameter.lineno, f"{MAIN} takes {name!r}, which nothing fills", self.hint(name))
        return None

    def argument(self, parameter: ast.arg, argument: Argument, said: Annotation | None) -> Value:
        accepted = argument_types(argument.type)
        what = f"${argument.name} ({argument.type})"
        self.check(parameter, said, frozenset(accepted), what, accepted[0])
        return Passed(argument.name)

    def injected(self, parameter: ast.arg, what: Injection, said: Annotation | None) -> Value:
        rule = self.annotations.partitioning
        if rule is None and what not in ("spark", "run"):
            self.fault(
                parameter.lineno,
                f"{MAIN} takes {what!r}, and the script has no partitions",
                "add a partitioned line, or leave the parameter out",
            )
        elif what in ("window", "logical_date") and time_of(rule) is None and rule is not None:
            self.fault(
                parameter.lineno,
                f"{MAIN} takes {what!r}, and {rule.kind} keys have no time",
                "take partition instead",
            )
        self.check(parameter, said, TYPES[what], what, WRITTEN[what])
        if what == "partitions" and said is not None and said.item in KNOWN - {"str"}:
            self.mistyped(parameter, said, what, WRITTEN[what])
        return Injected(what)

    def loaded(self, parameter: ast.arg, asset: AssetUri, said: Annotation | None) -> Value | None:
        if said is None or said.name in ANYTHING:
            return Loaded(asset)
        frame = said.frame
        if frame is None:
            self.fault(
                parameter.lineno,
                f"{MAIN} takes the rows of {asset} as {said.text}, which is no frame",
                f"use {FRAME_NAMES}, as they are imported, or leave the type out for Spark's",
            )
            return None
        return Loaded(asset, frame)

    def check(
        self,
        parameter: ast.arg,
        said: Annotation | None,
        accepted: frozenset[str],
        what: str,
        written: str,
    ) -> None:
        """A type that is known to be another one is a fault; one that is not known may be right."""
        if said is not None and said.name in KNOWN and said.name not in accepted:
            self.mistyped(parameter, said, what, written)

    def mistyped(self, parameter: ast.arg, said: Annotation, what: str, written: str) -> None:
        right = written.removeprefix("datetime.").removeprefix("decimal.")
        self.fault(
            parameter.lineno,
            f"{MAIN} takes {parameter.arg!r} as {said.text}, and {what} is no {said.text}",
            f"write {parameter.arg}: {right}",
        )

    def is_field(self, name: str, said: Annotation | None) -> bool:
        """Whether payloads fill a parameter, as far as the header tells.

        Runs of a script with dynamic keys have one. What `on` lines name may have one with it: there
        the type has to say that the parameter is no table whose line is missing.
        """
        if said is not None and said.frame is not None:
            return False
        if _is_dynamic(self.annotations.partitioning):
            return not self.near(name)
        asked = any(isinstance(trigger, OnAsset) for trigger in self.annotations.triggers)
        return asked and said is not None and said.name in _OF_PAYLOADS and not self.near(name)

    def near(self, name: str) -> list[str]:
        """Names that it may be a mistake for."""
        return get_close_matches(name, self.known(), n=1, cutoff=0.85)

    def known(self) -> list[str]:
        arguments = [argument.name for argument in self.annotations.arguments]
        return [*INJECTED, *arguments, *self.assets()]

    def hint(self, name: str) -> str:
        near = get_close_matches(name, self.known(), n=1, cutoff=0.7)
        could = f"it could be {', '.join(self.known())}"
        declare = f"or declare it, with '# ${name} (<type>)' or '# reads lake://<lake>/{name}'"
        return f"did you mean {near[0]!r}? {could}; {declare}" if near else f"{could}; {declare}"

    def assets(self) -> dict[str, list[AssetUri]]:
        """What the header reads, by the name that a parameter can have for it."""
        awaited = [on.asset for on in self.annotations.triggers if isinstance(on, OnAsset)]
        found: dict[str, list[AssetUri]] = {}
        for asset in dict.fromkeys((*awaited, *self.annotations.reads)):
            name = parameter_name(asset)
            if name is not None:
                found.setdefault(name, []).append(asset)
        return found

    def fault(self, line: int, what: str, remedy: str) -> None:
        self.faults.append(Fault(Place(self.path, line), what, remedy))


def parameter_name(asset: AssetUri) -> str | None:
    """What a parameter is called that gets the rows of an asset; None if it cannot be.

    >>> from tranche.model.asset import parse_address
    >>> parameter_name(parse_address("lake://main/raw.orders"))
    'orders'
    >>> parameter_name(parse_address("s3:///raw/{partition}/items.json"))
    'items'
    """
    if isinstance(asset, LakeTable):
        name = asset.table
    elif isinstance(asset, JobTask):
        return None
    else:
        name, dot, ending = asset.path.rpartition("/")[2].rpartition(".")
        if not dot or ending not in FILE_ENDINGS:
            return None
    name = name.replace("-", "_")
    return name if name.isidentifier() else None


def _is_dynamic(rule: Partitioning | None) -> bool:
    rules = rule.rules if isinstance(rule, Composite) else (rule,)
    return any(isinstance(each, Dynamic) for each in rules)
