"""The statements of a script, cut at the places where values and names go in.

A statement keeps the user's own text. What Tranche puts in stands as holes between the pieces of
text, so that at run time nothing has to be parsed and no value is ever spliced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import LakeTable


@dataclass(frozen=True, slots=True)
class Text:
    """The user's own text."""

    text: str


@dataclass(frozen=True, slots=True)
class KeyHole:
    """Where the key goes, or one dimension of it."""

    dimension: str | None = None
    position: int = 0
    """Which of the dimensions it is."""


@dataclass(frozen=True, slots=True)
class ArgumentHole:
    """Where an argument goes."""

    name: str


@dataclass(frozen=True, slots=True)
class TableHole:
    """Where the identifier of a lake's table goes."""

    table: LakeTable
    pinned: bool = True
    """Whether it is read at the snapshot that the table had when the step started."""
    alias: str | None = None
    """What its columns are called by when the text gives it no other name."""
    qualifies: bool = False
    """Whether it stands before a column, which it belongs to."""


PathPart: TypeAlias = Text | KeyHole | ArgumentHole


@dataclass(frozen=True, slots=True)
class FileHole:
    """Where the rows of files go: `read_json('data/' || '{partition}' || '.json')`."""

    format: Literal["json", "csv", "parquet"]
    path: tuple[PathPart, ...]
    options: tuple[tuple[str, str], ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class SliceHole:
    """Where the name of the rows under test goes, in a data test."""


Use: TypeAlias = Literal["beside", "instead", "band"]
"""Beside the comparison, in its place, or the band that its column lies in."""


@dataclass(frozen=True, slots=True)
class ImpliedHole:
    """Where goes what a comparison with the key says of all keys together."""

    comparison: Comparison
    use: Use = "beside"
    number: int = 0
    """Which of the statement's comparisons it is; others may look the same and mean other rows."""


Part: TypeAlias = Text | KeyHole | ArgumentHole | TableHole | FileHole | SliceHole | ImpliedHole

Operator: TypeAlias = Literal["=", ">", ">=", "<", "<="]


@dataclass(frozen=True, slots=True)
class Limit:
    """One side of a comparison: an operator, and what is made of the key alone."""

    operator: Operator
    value: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is made of columns alone, beside what is made of the key alone."""

    column: tuple[Part, ...]
    limits: tuple[Limit, ...]


StatementKind: TypeAlias = Literal["select", "setup", "other"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, ready to be bound."""

    kind: StatementKind
    parts: tuple[Part, ...]
    line: int

    def tables(self) -> Iterator[TableHole]:
        return (part for part in self.parts if isinstance(part, TableHole))

    def files(self) -> Iterator[FileHole]:
        return (part for part in self.parts if isinstance(part, FileHole))
