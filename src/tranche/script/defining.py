"""What scripts of all languages have in common: what they make, and what defines a slice's rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.partitioning import (
    Composite,
    Dynamic,
    Partitioning,
    Static,
    TimePartitioning,
)
from tranche.model.script import Annotations
from tranche.model.strategy import CURRENT_SUFFIX, PARTITION_COLUMN, History


def made_assets(annotations: Annotations) -> list[AssetUri]:
    """The assets that the materialize line declares: a history comes with its current rows."""
    made = annotations.materialize
    if made is None:
        return []
    if isinstance(made.strategy, History) and isinstance(made.asset, LakeTable):
        return [made.asset, replace(made.asset, table=f"{made.asset.table}{CURRENT_SUFFIX}")]
    return [made.asset]


def unique(assets: Iterable[AssetUri]) -> tuple[AssetUri, ...]:
    return tuple(dict.fromkeys(assets))


def fingerprint(annotations: Annotations, reads: Iterable[AssetUri], code: Iterable[str]) -> str:
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
        *code,
    ]
    return hashlib.sha256("\x1f".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()[:32]


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
