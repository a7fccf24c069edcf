"""A SQL script: its text becomes a value, or a list of faults."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot.tokenizer_core import Token

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.script import Annotations, Script
from tranche.model.strategy import CURRENT_SUFFIX, PARTITION_COLUMN, History
from tranche.script.annotations import read_header
from tranche.script.lakes import Lakes, unknown_lakes
from tranche.script.read import ScriptRead
from tranche.script.source import Source
from tranche.script.statements import Body, read_body
from tranche.script.tokens import comments, normalized, statements, tokenize


def read_sql_script(name: str, path: str, text: str, lakes: Lakes) -> ScriptRead:
    source = Source(path, normalized(text))
    tokens, complete = tokenize(source)
    found = comments(source, tokens)
    header = read_header(path, found.top, found.below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    annotations = header.annotations
    body = read_body(source, tokens, annotations, lakes) if complete else Body()
    faults = {*header.faults, *source.faults, *unknown_lakes(path, header, lakes)}
    if faults:
        return ScriptRead(None, tuple(sorted(faults)))
    reads = _unique([*body.reads, *annotations.reads])
    return ScriptRead(
        Script(
            name=name,
            path=path,
            language="sql",
            annotations=annotations,
            setup=tuple(body.setup),
            query=body.query,
            reads=reads,
            writes=_unique([*_made(annotations), *body.writes, *annotations.writes]),
            fingerprint=_fingerprint(source.text, reads, annotations, tokens),
            warnings=(*header.warnings, *source.warnings),
            columns=body.columns,
            columns_read=body.columns_read,
        )
    )


def _made(annotations: Annotations) -> list[AssetUri]:
    """The assets that the materialize line declares: a history comes with its current rows."""
    made = annotations.materialize
    if made is None:
        return []
    if isinstance(made.strategy, History) and isinstance(made.asset, LakeTable):
        return [made.asset, replace(made.asset, table=f"{made.asset.table}{CURRENT_SUFFIX}")]
    return [made.asset]


def _unique(assets: list[AssetUri]) -> tuple[AssetUri, ...]:
    return tuple(dict.fromkeys(assets))


def _fingerprint(
    text: str, reads: Sequence[AssetUri], annotations: Annotations, tokens: Sequence[Token]
) -> str:
    """What defines the rows of a slice: comments, bounds and tests do not."""
    made = annotations.materialize
    pieces = [
        PARTITION_COLUMN,
        annotations.dialect,
        _rule(annotations.partitioning),
        repr(made.strategy) if made else "",
        *(f"{a.name} {a.type} {a.default}" for a in annotations.arguments),
        # What a name means can change while the text stays.
        *sorted(map(str, reads)),
        *(_code(text, statement) for statement in statements(tokens)),
    ]
    return hashlib.sha256("\x1f".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _code(text: str, statement: list[Token]) -> str:
    """The user's own words, so that no parser's opinion of them goes in."""
    return "\x1e".join(text[token.start : token.end + 1] for token in statement)


def _rule(partitioning: Partitioning | None) -> str:
    match partitioning:
        case None:
            return ""
        case TimePartitioning():
            return f"{partitioning.kind} {partitioning.tz} {partitioning.pattern}"
        case Composite():
            return " | ".join(f"{name}: {_rule(rule)}" for name, rule in partitioning.dimensions)
        case Static() | Dynamic():
            # Which keys there are says nothing about the rows of one.
            return partitioning.kind
        case _:
            assert_never(partitioning)
