"""The questions to the database. Each is answered from an index, however long the ledger is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Tuple,
    extract,
    func,
    literal,
    select,
    text,
    tuple_,
)

from tranche.model.backfill import UNFINISHED, Backfill
from tranche.model.columns import SchemaVersion
from tranche.model.run import (
    Attempt,
    Claim,
    Materialization,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.state.keys import key_hash, key_head
from tranche.state.rows import columns
from tranche.state.tables import (
    PROVISIONAL,
    RUNNING,
    attempts,
    backfills,
    claims,
    lineages,
    materializations,
    partitions,
    parts,
    runs,
    schemas,
    staged,
    steps,
    uses,
    violations,
)

_KEY_ORDER = (partitions.c.partition_head, partitions.c.partition)
"""The same as the order by key alone, but its first part is in an index."""


def run_by_id(run: str) -> Select[Any]:
    return select(*columns(runs, Run)).where(runs.c.id == run)


def latest_runs(limit: int, before: Run | None, status: RunStatus | None) -> Select[Any]:
    order = (runs.c.started_at, runs.c.id)
    query = select(*columns(runs, Run)).order_by(*(column.desc() for column in order)).limit(limit)
    if status is not None:
        query = query.where(runs.c.status == status)
    if before is None:
        return query
    return query.where(tuple_(*order) < _bound(order, before.started_at, before.id))


def runs_with(asset: str, limit: int, before: str | None, status: RunStatus | None) -> Select[Any]:
    """Runs by a step of theirs. Their ids have the order in which they began."""
    own = select(steps.c.run).distinct().where(steps.c.asset == asset)
    if status is not None:
        own = own.join(runs, runs.c.id == steps.c.run).where(runs.c.status == status)
    if before is not None:
        own = own.where(steps.c.run < before)
    latest = own.order_by(steps.c.run.desc()).limit(limit).subquery()
    query = select(*columns(runs, Run)).join(latest, runs.c.id == latest.c.run)
    return query.order_by(runs.c.id.desc())


def running_runs() -> Select[Any]:
    query = select(*columns(runs, Run)).where(text(RUNNING))
    return query.order_by(runs.c.started_at, runs.c.id)


def status_of(run: str) -> Select[Any]:
    return select(runs.c.status).where(runs.c.id == run)


def steps_of(run: str) -> Select[Any]:
    query = select(*columns(steps, StepRecord)).where(steps.c.run == run)
    return query.order_by(steps.c.position)


def attempts_of(run: str) -> Select[Any]:
    query = select(*columns(attempts, Attempt)).where(attempts.c.run == run)
    return query.order_by(attempts.c.position, attempts.c.number)


def backfill_by_id(backfill: str) -> Select[Any]:
    return select(*columns(backfills, Backfill)).where(backfills.c.id == backfill)


def backfill_status_of(backfill: str) -> Select[Any]:
    return select(backfills.c.status).where(backfills.c.id == backfill)


def latest_backfills(limit: int, *, unfinished: bool) -> Select[Any]:
    """Without their keys, which may be many."""
    told = [column for column in columns(backfills, Backfill) if column.name != "keys"]
    order = (backfills.c.created_at.desc(), backfills.c.id.desc())
    query = select(*told).order_by(*order).limit(limit)
    return query.where(backfills.c.status.in_(UNFINISHED)) if unfinished else query


def claims_on(asset: str, limit: int, hashes: Sequence[str] | None = None) -> Select[Any]:
    query = select(*columns(claims, Claim)).where(claims.c.asset == asset)
    if hashes is not None:
        query = query.where(claims.c.partition_hash.in_(hashes))
    return query.order_by(claims.c.partition).limit(limit)


def staged_by(attempt: str) -> Select[Any]:
    return select(staged.c.materializations).where(staged.c.attempt == attempt)


def claims_of_others(attempt: str, asset: str, hashes: Sequence[str] | None) -> Select[Any]:
    """Claims on an asset, on all of its keys or on those with these hashes."""
    query = select(*columns(claims, Claim)).where(
        claims.c.asset == asset, claims.c.attempt != attempt
    )
    if hashes is not None:
        query = query.where(claims.c.partition_hash.in_(hashes))
    return query.order_by(claims.c.partition_hash)


def partition_of(asset: str, key: str | None) -> Select[Any]:
    return select(*columns(partitions, PartitionState)).where(
        partitions.c.asset == asset, partitions.c.partition_hash == key_hash(key)
    )


def partitions_of(asset: str, hashes: Sequence[str]) -> Select[Any]:
    return select(*columns(partitions, PartitionState)).where(
        partitions.c.asset == asset, partitions.c.partition_hash.in_(hashes)
    )


def parts_of(asset: str, keys: Sequence[str]) -> Select[Any]:
    """The parts of keys, which are given by their hashes."""
    return select(parts.c.partition, parts.c.part).where(
        parts.c.asset == asset, parts.c.partition_hash.in_(keys)
    )


def holders_of(asset: str, hashes: Sequence[str]) -> Select[Any]:
    """The keys that have these parts, both by their hashes."""
    return select(parts.c.part_hash, parts.c.partition_hash).where(
        parts.c.asset == asset, parts.c.part_hash.in_(hashes)
    )


def provisional_of(asset: str, limit: int) -> Select[Any]:
    return (
        select(*columns(partitions, PartitionState))
        .where(partitions.c.asset == asset, text(PROVISIONAL))
        .limit(limit)
    )


def statuses_of(asset: str, start: datetime, end: datetime, but: str | None) -> Select[Any]:
    query = select(partitions.c.partition, partitions.c.status).where(
        partitions.c.asset == asset, partitions.c.ordinal >= start, partitions.c.ordinal < end
    )
    return query if but is None else query.where(partitions.c.status != but)


def tallies_of(asset: str, start: datetime, end: datetime) -> Select[Any]:
    """The database goes through the keys, so that however many they are, few rows come back."""
    at, status = partitions.c.ordinal, partitions.c.status
    year, month = extract("year", at), extract("month", at)
    length = func.length(partitions.c.partition)
    return (
        select(
            year.label("year"),
            month.label("month"),
            status,
            func.count().label("keys"),
            func.min(at).label("first"),
            func.max(at).label("last"),
            func.min(length).label("shortest"),
            func.max(length).label("longest"),
        )
        .where(partitions.c.asset == asset, at >= start, at < end)
        .group_by(year, month, status)
        .order_by(year, month, status)
    )


def dated_partitions(
    asset: str,
    start: datetime | None,
    end: datetime | None,
    after: PartitionState | None,
    limit: int,
) -> Select[Any]:
    """The keys with an ordinal. The databases disagree on where those without one are sorted."""
    ordinal = partitions.c.ordinal
    order = (ordinal, *_KEY_ORDER)
    query = select(*columns(partitions, PartitionState)).where(partitions.c.asset == asset)
    # One lower bound, so that the index is entered there, not at the looser of two.
    if (
        after is not None
        and after.ordinal is not None
        and (start is None or after.ordinal >= start)
    ):
        key = after.partition
        query = query.where(tuple_(*order) > _bound(order, after.ordinal, key_head(key), key))
    elif start is not None:
        query = query.where(ordinal >= start)
    else:
        query = query.where(ordinal.is_not(None))
    if end is not None:
        query = query.where(ordinal < end)
    return query.order_by(*order).limit(limit)


def newest_partitions(asset: str, limit: int) -> Select[Any]:
    ordinal = partitions.c.ordinal
    order = (ordinal.desc(), *(column.desc() for column in _KEY_ORDER))
    query = select(*columns(partitions, PartitionState)).where(
        partitions.c.asset == asset, ordinal.is_not(None)
    )
    return query.order_by(*order).limit(limit)


def undated_partitions(asset: str, after: PartitionState | None, limit: int) -> Select[Any]:
    """The keys without an ordinal, which sort as text."""
    query = select(*columns(partitions, PartitionState)).where(
        partitions.c.asset == asset, partitions.c.ordinal.is_(None)
    )
    if after is not None and after.ordinal is None:
        key = after.partition
        query = query.where(tuple_(*_KEY_ORDER) > _bound(_KEY_ORDER, key_head(key), key))
    # By ordinal too, all NULL: without it PostgreSQL does not see that its index has this order.
    return query.order_by(partitions.c.ordinal, *_KEY_ORDER).limit(limit)


def outcomes_of(assets: Sequence[str]) -> Select[Any]:
    asset, status = partitions.c.asset, partitions.c.status
    return select(asset, status, func.count()).where(asset.in_(assets)).group_by(asset, status)


def materializations_by_id(ids: Sequence[str]) -> Select[Any]:
    return select(*columns(materializations, Materialization)).where(materializations.c.id.in_(ids))


def materialization_by_id(materialization: str) -> Select[Any]:
    return select(*columns(materializations, Materialization)).where(
        materializations.c.id == materialization
    )


def log_of(asset: str, key: str | None, limit: int) -> Select[Any]:
    return (
        select(*columns(materializations, Materialization))
        .where(
            materializations.c.asset == asset,
            materializations.c.partition_hash == key_hash(key),
        )
        .order_by(materializations.c.finished_at.desc(), materializations.c.seq.desc())
        .limit(limit)
    )


def tests_of_entry(materialization: str) -> Select[Any]:
    return select(materializations.c.tests).where(materializations.c.id == materialization)


def samples_of_entry(materialization: str) -> Select[Any]:
    return select(violations.c.position, violations.c.sample).where(
        violations.c.materialization == materialization
    )


def snapshots_used(asset: str, since: datetime) -> Select[Any]:
    query = select(uses.c.snapshot).where(uses.c.asset == asset, uses.c.at >= since)
    return query.order_by(uses.c.snapshot)


def schemas_of(asset: str, limit: int) -> Select[Any]:
    query = select(*columns(schemas, SchemaVersion)).where(schemas.c.asset == asset)
    return query.order_by(schemas.c.version.desc()).limit(limit)


def lineage_of(asset: str, fingerprint: str) -> Select[Any]:
    return select(lineages.c.lineage).where(
        lineages.c.asset == asset, lineages.c.fingerprint == fingerprint
    )


def _bound(order: tuple[ColumnElement[Any], ...], *values: Any) -> Tuple:
    """The place in an order where a page ended, each value bound with its column's type."""
    pairs = zip(order, values, strict=True)
    return tuple_(*(literal(value, column.type) for column, value in pairs))
