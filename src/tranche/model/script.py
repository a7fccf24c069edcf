"""A script: the file that defines a step, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.argument import Argument
from tranche.model.asset import AssetUri, ColumnRef, LakeTable
from tranche.model.code import Code
from tranche.model.condition import Condition, any_of
from tranche.model.data_test import DataTest
from tranche.model.layout import Transform
from tranche.model.partitioning import Partitioning
from tranche.model.statement import Statement
from tranche.model.strategy import Manual, Materialize
from tranche.model.trigger import OnAsset, Trigger, asker

Dialect: TypeAlias = Literal["spark", "duckdb"]
Language: TypeAlias = Literal["sql", "python"]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a column comes from, as the script declares it."""

    column: str
    sources: tuple[ColumnRef, ...]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a step is tried again, and after how many seconds."""

    times: int
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What the comment block at the top of a script says."""

    partitioning: Partitioning | None = None
    materialize: Materialize | None = None
    triggers: tuple[Trigger, ...] = ()
    condition: Condition | None = None
    """What of the triggers must be there; any of them unless it is given, None if there are none."""
    layout: tuple[Transform, ...] = ()
    data_tests: tuple[DataTest, ...] = ()
    lineage: tuple[Lineage, ...] = ()
    arguments: tuple[Argument, ...] = ()
    retry: Retry | None = None
    dialect: Dialect = "spark"
    reads: tuple[AssetUri, ...] = ()
    writes: tuple[AssetUri, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    """The line of each single annotation, by its word."""

    def __post_init__(self) -> None:
        if self.condition is None and self.triggers:
            object.__setattr__(self, "condition", any_of(map(asker, self.triggers)))

    def line(self, word: str) -> int:
        return dict(self.lines).get(word, 1)


@dataclass(frozen=True, slots=True)
class ViolationQuery:
    """A data test by script: the SELECT that returns the rows which violate it."""

    name: str
    """As the annotation names it."""
    path: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column of a table that the SELECT reads for certain."""

    table: LakeTable
    column: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One step's definition. `setup` runs first; `query` is the SELECT for one slice."""

    name: str
    path: str
    language: Language
    annotations: Annotations
    setup: tuple[Statement, ...] = ()
    query: Statement | None = None
    code: Code | None = None
    """The function that runs, where it is Python."""
    job: str | None = None
    """The job that it is a task of."""
    tags: tuple[str, ...] = ()
    """What people call it by, besides its name."""
    limit: int = 1
    """How many of its keys are run at once, where each is run by itself."""
    reads: tuple[AssetUri, ...] = ()
    writes: tuple[AssetUri, ...] = ()
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()
    violation_queries: tuple[ViolationQuery, ...] = ()
    """The data tests by script, each once."""
    columns: tuple[str, ...] | None = None
    """The names of the columns that the SELECT returns; None if the text alone does not tell."""
    columns_read: tuple[ColumnRead, ...] = ()
    """Not all that it reads, only those that the text tells for certain."""

    @property
    def partitioning(self) -> Partitioning | None:
        return self.annotations.partitioning

    @property
    def asset(self) -> AssetUri | None:
        """What it materializes."""
        return self.annotations.materialize.asset if self.annotations.materialize else None

    @property
    def managed(self) -> bool:
        """Whether Tranche writes the slice."""
        made = self.annotations.materialize
        return made is not None and not isinstance(made.strategy, Manual)

    @property
    def label(self) -> str:
        """How people know its step: by the asset, else by the script."""
        return str(self.asset) if self.asset else self.name

    def violation_query(self, name: str) -> ViolationQuery | None:
        return next((query for query in self.violation_queries if query.name == name), None)

    def triggers_on(self) -> tuple[OnAsset, ...]:
        return tuple(t for t in self.annotations.triggers if isinstance(t, OnAsset))
