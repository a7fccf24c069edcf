"""A step that is Python: which function runs, and what it is called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import AssetUri
from tranche.model.output import Output

Frame: TypeAlias = Literal["spark", "pandas", "polars", "lazy", "arrow"]
"""The kinds of frames that rows come in; "lazy" is Polars' LazyFrame."""
Injection: TypeAlias = Literal["spark", "partition", "partitions", "window", "logical_date", "run"]
"""What a function can ask for by the name of a parameter."""
JsonType: TypeAlias = Literal["str", "int", "float", "bool", "dict", "list"]
"""The types of Python that values of JSON have."""


@dataclass(frozen=True, slots=True)
class Injected:
    """Something of the run itself."""

    what: Injection


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument of the script, or a field of the payload that a run has."""

    argument: str
    payload: bool = False
    """Whether it is a field of the payload, which nothing declares."""
    required: bool = True
    """Whether the function has no default of its own for it."""
    type: JsonType | None = None
    """What the annotation says a field is, as far as payloads can tell; None for anything."""
    nullable: bool = True
    """Whether it may be null."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rows of an asset, as the parameter's annotation wants them."""

    asset: AssetUri
    frame: Frame = "spark"
    all_partitions: bool = False
    """Whether it gets all keys of the asset, not just those that its own keys are made of."""
    maker: str | None = None
    """The task that makes it, where it is a result that is handed over."""
    output: Output | None = None
    """How that keeps it."""


Value: TypeAlias = Injected | Passed | Loaded


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the function, and what it gets."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A function of a Python script; the file is imported only when it runs."""

    function: str
    """`main`, or `<job>.<task>`."""
    line: int
    parameters: tuple[Parameter, ...] = ()
    output: Output | None = None
    """How what it returns is kept; None of a script, which writes by itself."""

    @property
    def takes_ranges(self) -> bool:
        """Whether one call can handle several keys."""
        asked = {p.value.what for p in self.parameters if isinstance(p.value, Injected)}
        return "partitions" in asked and not asked & {"partition", "window", "logical_date"}

    @property
    def takes_payload(self) -> bool:
        """Whether payloads fill some of its parameters."""
        return any(isinstance(p.value, Passed) and p.value.payload for p in self.parameters)

    @property
    def wholes(self) -> frozenset[AssetUri]:
        """What it gets all keys of, and never some of them."""
        loaded = [p.value for p in self.parameters if isinstance(p.value, Loaded)]
        keyed = {value.asset for value in loaded if not value.all_partitions}
        return frozenset(value.asset for value in loaded if value.asset not in keyed)
