"""A SQL script: its text becomes a value, or a list of faults."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from sqlglot.tokenizer_core import Token

from tranche.errors import Fault, Place
from tranche.model.asset import AssetUri, LakeTable
from tranche.model.data_test import Relationship
from tranche.model.partitioning import TimePartitioning
from tranche.model.script import Annotations, Script
from tranche.model.strategy import PARTITION_COLUMN, History
from tranche.script.annotations import Header, read_header
from tranche.script.names import Lakes
from tranche.script.read import ScriptRead
from tranche.script.statements import read_body
from tranche.script.tokens import comments, normalized, tokenize


def read_sql_script(name: str, path: str, source: str, lakes: Lakes) -> ScriptRead:
    text = normalized(source)
    tokens, broken = tokenize(path, text)
    if broken is not None:
        return ScriptRead(None, (broken,))
    found = comments(text, tokens)
    header = read_header(path, found.top, found.below)
    if not header.marked and not header.faults:
        return ScriptRead(None)
    body = read_body(path, text, tokens, header.annotations, lakes)
    faults = [*header.faults, *body.faults, *_lake_faults(path, header, lakes)]
    if faults:
        return ScriptRead(None, tuple(sorted(set(faults))))
    annotations = header.annotations
    made = _made(annotations)
    return ScriptRead(
        Script(
            name=name,
            path=path,
            language="sql",
            annotations=annotations,
            setup=tuple(body.setup),
            query=body.query,
            reads=_unique([*body.reads, *annotations.reads]),
            writes=_unique([*made, *body.writes, *annotations.writes]),
            fingerprint=_fingerprint(annotations, tokens),
            warnings=tuple(header.warnings),
        )
    )


def _made(annotations: Annotations) -> list[AssetUri]:
    """The assets that the materialize line declares: a history comes with its current rows."""
    made = annotations.materialize
    if made is None:
        return []
    if isinstance(made.strategy, History) and isinstance(made.asset, LakeTable):
        return [made.asset, replace(made.asset, table=f"{made.asset.table}_current")]
    return [made.asset]


def _unique(assets: list[AssetUri]) -> tuple[AssetUri, ...]:
    return tuple(dict.fromkeys(assets))


def _lake_faults(path: str, header: Header, lakes: Lakes) -> list[Fault]:
    """Addresses of lakes that the project does not have."""
    annotations = header.annotations
    named: list[tuple[AssetUri, int]] = []
    if annotations.materialize is not None:
        named.append((annotations.materialize.asset, annotations.line("materialize")))
    for trigger in annotations.triggers:
        asset = getattr(trigger, "asset", None)
        if asset is not None:
            named.append((asset, trigger.line))
    for test in annotations.data_tests:
        if isinstance(test.rule, Relationship):
            named.append((test.rule.target.asset, test.line))
    known = ", ".join(sorted(lakes.names))
    return [
        Fault(Place(path, line), f"unknown lake {asset.lake!r}", f"the lakes are {known}")
        for asset, line in named
        if isinstance(asset, LakeTable) and asset.lake not in lakes.names
    ]


def _fingerprint(annotations: Annotations, tokens: Sequence[Token]) -> str:
    """What defines the rows of a slice: comments, bounds and tests do not."""
    partitioning = annotations.partitioning
    if isinstance(partitioning, TimePartitioning):
        rule = f"{partitioning.kind} {partitioning.tz} {partitioning.pattern}"
    else:
        rule = partitioning.describe() if partitioning is not None else ""
    made = annotations.materialize
    pieces = [
        PARTITION_COLUMN,
        annotations.dialect,
        rule,
        repr(made.strategy) if made else "",
        *(f"{a.name} {a.type} {a.default}" for a in annotations.arguments),
        *(f"{token.token_type.name} {token.text}" for token in tokens),
    ]
    return hashlib.sha256("\x1f".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()[:32]
