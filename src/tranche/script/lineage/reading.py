"""A script's statements as trees again: names are what they are when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.columns import Columns
from tranche.model.lineage import Unknown
from tranche.model.script import Script
from tranche.model.statement import FileHole, Statement
from tranche.script.binding import Values, bind, files_view, quoted
from tranche.script.holes import file_asset
from tranche.script.lineage.types import columns_of_schema
from tranche.script.lineage.words import misread
from tranche.script.parsing import Unparsed, parse
from tranche.script.tokens import SPARK


@dataclass(frozen=True, slots=True)
class Read:
    """A statement as a tree; None if it cannot be read."""

    statement: Statement
    tree: exp.Expr | None
    misread: tuple[Unknown, ...] = ()
    """Words that may be columns and that the tree has not as such."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All statements of a script, with what the names in them stand for."""

    statements: tuple[Read, ...]
    lake_tables: Mapping[tuple[str, ...], LakeTable]
    files: Mapping[str, tuple[AssetUri, Columns | None]]


def read(script: Script) -> Reading:
    """The statements with whole names of tables, and names for files.

    The key and the arguments are markers in them, as Spark gets them, so that they are literals
    whatever they are.
    """
    files: dict[str, tuple[AssetUri, Columns | None]] = {}

    def named(hole: FileHole) -> str:
        name = files_view(len(files))
        files[name] = file_asset(hole), _columns(hole)
        return name

    statements = (*script.setup, *((script.query,) if script.query is not None else ()))
    values = _values(script)
    found: list[Read] = []
    for statement in statements:
        bound = bind(
            statement, values, table=lambda hole: quoted(hole.table), files=named, literals=False
        )
        found.append(_read(statement, bound.text))
    tables = {
        hole.table.parts: hole.table for statement in statements for hole in statement.tables()
    }
    return Reading(tuple(found), tables, files)


def _values(script: Script) -> Values:
    """Any values: what they are does not matter."""
    arguments = script.annotations.arguments
    return Values(
        "|".join(["key"] * 16),
        {argument.name: "" for argument in arguments},
        {argument.name: argument.type for argument in arguments},
    )


def _read(statement: Statement, text: str) -> Read:
    try:
        tokens: list[Token] = list(SPARK.tokenize(text))
        tree = parse(tokens, text)
    except (SqlglotError, Unparsed):
        return Read(statement, None)
    return Read(statement, tree, tuple(misread(tokens, tree, statement.line)))


def _columns(hole: FileHole) -> Columns | None:
    schemas = [value for name, value in hole.options if name.lower() == "schema"]
    return columns_of_schema(schemas[-1]) if schemas else None
