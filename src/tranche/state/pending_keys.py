"""Pending keys: asked for, given to runs, kept for them, and done. Each function works inside the
caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    cast,
    delete,
    func,
    or_,
    select,
    text,
    update,
)

from tranche.model.mapped_keys import Unlisted
from tranche.model.pending import Pending, PendingStatus, Ready, Reserved
from tranche.state.changes import insert_or
from tranche.state.keys import key_hash
from tranche.state.rows import columns, row_of
from tranche.state.tables import HELD, READY, partitions, pauses, pending, runs

_AT_ONCE = 500
"""How many values one question has at most."""
_ANEW: dict[str, Any] = {"status": "waiting", "server": None, "run": None, "again": False}
"""How a key is that somebody has to look at again."""

Place = tuple[str, str | None]


def put_pending(connection: Connection, rows: Sequence[Pending]) -> None:
    """Keys as they are from now on; one for each, however often it was asked for."""
    if not rows:
        return
    statement = insert_or(connection, pending)
    changes = {
        column.name: statement.excluded[column.name]
        for column in pending.c
        if column.name not in ("consumer", "partition", "partition_hash")
    }
    upsert = statement.on_conflict_do_update(
        index_elements=["consumer", "partition_hash"], set_=changes
    )
    ordered = sorted((_pending_row(row) for row in rows), key=lambda row: row["partition_hash"])
    connection.execute(upsert, ordered)


def drop_pending(connection: Connection, places: Iterable[Place]) -> None:
    for consumer, hashes in _by_consumer(places):
        connection.execute(
            delete(pending).where(
                pending.c.consumer == consumer, pending.c.partition_hash.in_(hashes)
            )
        )


def look_again(connection: Connection, consumer: str, which: Unlisted, at: datetime) -> None:
    """Has keys that wait looked at in the next turn."""
    bounds: list[ColumnElement[bool]] = []
    if which.since is not None:
        bounds.append(pending.c.ordinal >= which.since)
    if which.until is not None:
        bounds.append(pending.c.ordinal < which.until)
    connection.execute(
        update(pending)
        .where(pending.c.consumer == consumer, pending.c.status == "waiting", *bounds)
        .values(look_at=at)
    )


def pending_at(
    connection: Connection, places: Iterable[Place], *, locked: bool = False
) -> Iterator[Pending]:
    """These keys; locked, so that nobody changes them before this transaction has."""
    for consumer, hashes in _by_consumer(places):
        query = (
            _pending()
            .where(pending.c.consumer == consumer, pending.c.partition_hash.in_(hashes))
            .order_by(pending.c.partition_hash)
        )
        query = _locked(connection, query) if locked else query
        yield from map(_pending_of, connection.execute(query))


def due(connection: Connection, now: datetime, limit: int) -> list[Pending]:
    query = (
        _pending()
        .where(pending.c.look_at <= now, pending.c.status == "waiting")
        .order_by(pending.c.look_at)
        .limit(limit)
    )
    return [_pending_of(row) for row in connection.execute(_locked(connection, query))]


def all_pending(
    connection: Connection, consumer: str | None, limit: int, after: Place | None
) -> list[Pending]:
    """A page in order of script, then hash of the key, which any number of them can be paged by."""
    order = (pending.c.consumer, pending.c.partition_hash)
    # What is reserved and nobody has asked for is no concern of anybody but its run.
    asked = or_(pending.c.status != "reserved", pending.c.again)
    query = _pending().where(asked).order_by(*order).limit(limit)
    if consumer is not None:
        query = query.where(pending.c.consumer == consumer)
    if after is not None:
        last = (after[0], key_hash(after[1]))
        query = query.where((order[0] > last[0]) | and_(order[0] == last[0], order[1] > last[1]))
    return [_pending_of(row) for row in connection.execute(query)]


def pending_counts(connection: Connection) -> dict[PendingStatus, int]:
    query = select(pending.c.status, func.count()).group_by(pending.c.status)
    return {row[0]: row[1] for row in connection.execute(query)}


def ready(connection: Connection, limit: int) -> list[Ready]:
    since = func.min(pending.c.since)
    query = (
        select(pending.c.consumer, func.count(), since)
        .where(text(READY), ~_is_paused())
        .group_by(pending.c.consumer)
        .order_by(since)
        .limit(limit)
    )
    return [Ready(*row) for row in connection.execute(query)]


def claim(
    connection: Connection, consumer: str, server: str, run: str, limit: int
) -> list[Pending]:
    """Gives keys of a script that are ready to a run. Nobody else can have them then."""
    query = (
        _pending()
        .where(pending.c.consumer == consumer, text(READY), ~_is_paused())
        .order_by(pending.c.ordinal, pending.c.partition_hash)
        .limit(limit)
    )
    if connection.dialect.name != "sqlite":
        # Those that another one is just taking are left to it.
        query = query.with_for_update(skip_locked=True)
    found = [_pending_of(row) for row in connection.execute(query)]
    given = {"status": "claimed", "server": server, "run": run, "again": False}
    for name, hashes in _by_consumer(row.place for row in found):
        connection.execute(
            update(pending)
            .where(pending.c.consumer == name, pending.c.partition_hash.in_(hashes))
            .values(given)
        )
    return found


def settle(
    connection: Connection, run: str, at: datetime, keys: Iterable[Place] | None = None
) -> None:
    """Ends that keys are pending which a run was begun for; all of its own if none are named.

    Those that were asked for again since then wait anew.
    """
    mine = and_(text(HELD), pending.c.run == run)
    if connection.scalar(select(pending.c.run).where(mine).limit(1)) is None:
        return
    conditions: list[ColumnElement[bool]] = [mine]
    if keys is not None:
        conditions = [
            and_(mine, pending.c.consumer == consumer, pending.c.partition_hash.in_(hashes))
            for consumer, hashes in _by_consumer(keys)
        ]
    anew = _ANEW | {"look_at": at}
    for condition in conditions:
        connection.execute(update(pending).where(condition, pending.c.again).values(anew))
        connection.execute(delete(pending).where(condition))


def reserve(
    connection: Connection, run: str, at: datetime, reserved: Sequence[Reserved]
) -> dict[Reserved, str]:
    """Keeps keys for a run that makes them along with what is upstream.

    Those that are asked for already are looked at again when it has ended. Those that a run was
    begun for stay with that one, and are returned with it.
    """
    statement = insert_or(connection, pending)
    taken = {
        "status": "reserved",
        "run": statement.excluded.run,
        "server": None,
        "look_at": None,
        "again": True,
    }
    upsert = statement.on_conflict_do_update(
        index_elements=["consumer", "partition_hash"],
        set_=taken,
        where=or_(pending.c.status == "waiting", pending.c.status == "ready"),
    )
    rows = [
        _pending_row(
            Pending(
                consumer=key.consumer,
                partition=key.partition,
                ordinal=key.ordinal,
                status="reserved",
                since=at,
                fire_time=at,
                run=run,
            )
        )
        for key in reserved
    ]
    connection.execute(upsert, sorted(rows, key=lambda row: row["partition_hash"]))
    query = select(pending.c.consumer, pending.c.partition, pending.c.run).where(
        text("status = 'claimed'"),
        pending.c.consumer.in_(sorted({key.consumer for key in reserved})),
    )
    given = {(row.consumer, row.partition): row.run for row in connection.execute(query)}
    return {
        key: given[key.consumer, key.partition]
        for key in reserved
        if (key.consumer, key.partition) in given
    }


def unreserve(connection: Connection, run: str, at: datetime, *, tried: bool) -> None:
    """Keeps keys for a run no more that has not made them; those that were asked for wait anew.

    Those that it has tried, and that failed, have had their turn; unless its process is gone.
    """
    mine = and_(text(HELD), pending.c.status == "reserved", pending.c.run == run)
    if connection.scalar(select(pending.c.run).where(mine).limit(1)) is None:
        return
    if tried:
        failed = select(partitions.c.run).where(
            partitions.c.asset == pending.c.consumer,
            partitions.c.partition_hash == pending.c.partition_hash,
            partitions.c.run == run,
            partitions.c.status == "failed",
        )
        connection.execute(delete(pending).where(mine, ~pending.c.again, failed.exists()))
    asked = or_(pending.c.again, func.length(cast(pending.c.asked_by, Text)) > len("[]"))
    connection.execute(update(pending).where(mine, asked).values(_ANEW | {"look_at": at}))
    connection.execute(delete(pending).where(mine))


def give_back(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Lets others have keys that nobody runs any more."""
    # A run that has not ended may have made them: that is seen first.
    unended = select(runs.c.id).where(runs.c.id == pending.c.run, text("runs.status = 'running'"))
    found = connection.execute(
        update(pending)
        .where(text("pending.status = 'claimed'"), condition, ~unended.exists())
        .values(status="ready", server=None, run=None, again=False)
    )
    return found.rowcount


def pause(connection: Connection, consumer: str, at: datetime) -> bool:
    statement = insert_or(connection, pauses).on_conflict_do_nothing()
    new = connection.execute(
        statement.returning(pauses.c.consumer), {"consumer": consumer, "at": at}
    )
    return new.first() is not None


def resume(connection: Connection, consumer: str) -> bool:
    return bool(connection.execute(delete(pauses).where(pauses.c.consumer == consumer)).rowcount)


def paused(connection: Connection) -> dict[str, datetime]:
    return {row.consumer: row.at for row in connection.execute(select(pauses))}


def _is_paused() -> ColumnElement[bool]:
    return select(pauses.c.consumer).where(pauses.c.consumer == pending.c.consumer).exists()


def servers_with_keys(connection: Connection) -> list[str]:
    query = select(pending.c.server).where(text(HELD)).distinct()
    return [server for server in connection.scalars(query) if server is not None]


def _pending() -> Select[Any]:
    return select(*columns(pending, Pending))


def _pending_of(row: Row[Any]) -> Pending:
    values = row._asdict()
    lists = {name: tuple(values[name]) for name in ("asked_by", "lacking")}
    return Pending(**{**values, **lists})


def _pending_row(row: Pending) -> dict[str, Any]:
    lists = {"asked_by": list(row.asked_by), "lacking": list(row.lacking)}
    return row_of(row) | lists | {"partition_hash": key_hash(row.partition)}


def _locked(connection: Connection, query: Select[Any]) -> Select[Any]:
    # SQLite has one writer at a time, and those who ask for this are it.
    return query if connection.dialect.name == "sqlite" else query.with_for_update()


def _by_consumer(places: Iterable[Place]) -> Iterator[tuple[str, list[str]]]:
    """The hashes of keys by their script, so many at a time as one question may have."""
    hashes: dict[str, list[str]] = {}
    for consumer, key in places:
        hashes.setdefault(consumer, []).append(key_hash(key))
    for consumer, several in sorted(hashes.items()):
        for start in range(0, len(several), _AT_ONCE):
            yield consumer, several[start : start + _AT_ONCE]
