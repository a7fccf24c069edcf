"""Events, how far they have been looked at, and those of which scripts can make nothing.

Each function works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, select, update

from tranche.model.event import Event
from tranche.model.pending import Rejected
from tranche.state.changes import insert_or
from tranche.state.keys import key_hash
from tranche.state.rows import columns, row_of
from tranche.state.tables import events, materializations, rejections, turns

LOG = "log of materializations"
EVENTS = "events from outside"
_SCHEDULE = "schedule "
_MISSED = {LOG: "missed of the log by ", EVENTS: "missed of the events by "}
"""Before the name of a script that has faults: how far it has heard of both."""


def add_event(connection: Connection, event: Event) -> None:
    row = {
        "id": event.id,
        "asset": event.asset,
        "partition": event.partition,
        "partition_hash": key_hash(event.partition),
        "at": event.at,
        "payload": event.payload,
        "retracted_at": event.retracted_at,
    }
    connection.execute(events.insert(), row)


def latest_seqs(connection: Connection) -> dict[str, int]:
    """The last entry of the log, and the last event."""
    return {
        LOG: connection.scalar(select(func.max(materializations.c.seq))) or 0,
        EVENTS: connection.scalar(select(func.max(events.c.seq))) or 0,
    }


def handled_seqs(connection: Connection) -> dict[str, int]:
    """How far turns have come; nothing before the first of them."""
    rows = connection.execute(select(turns.c.name, turns.c.seq).where(turns.c.seq.is_not(None)))
    return {row.name: row.seq for row in rows}


def fired(connection: Connection) -> dict[str, datetime]:
    rows = connection.execute(select(turns.c.name, turns.c.until).where(turns.c.until.is_not(None)))
    return {name.removeprefix(_SCHEDULE): until for name, until in rows}


def move_turns(
    connection: Connection, seqs: Mapping[str, int], until: Mapping[str, datetime]
) -> None:
    rows: list[dict[str, Any]]
    rows = [{"name": name, "seq": seq, "until": None} for name, seq in seqs.items()]
    rows += [{"name": f"{_SCHEDULE}{name}", "seq": None, "until": at} for name, at in until.items()]
    if not rows:
        return
    statement = insert_or(connection, turns)
    moved = {name: statement.excluded[name] for name in ("seq", "until")}
    connection.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_=moved),
        sorted(rows, key=lambda row: str(row["name"])),
    )


def missed(seqs: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """How far scripts with faults had come when they fell out."""
    found: dict[str, dict[str, int]] = {}
    for name, seq in seqs.items():
        for of, prefix in _MISSED.items():
            if name.startswith(prefix):
                found.setdefault(name.removeprefix(prefix), {})[of] = seq
    return found


def missed_names(script: str, seqs: Mapping[str, int]) -> dict[str, int]:
    return {f"{prefix}{script}": seqs.get(of, 0) for of, prefix in _MISSED.items()}


def forget_missed(connection: Connection, script: str) -> None:
    names = list(missed_names(script, {}))
    connection.execute(delete(turns).where(turns.c.name.in_(names)))


def published(connection: Connection, after: int, upto: int, limit: int) -> list[tuple[int, Event]]:
    """Slices that runs have published, as events, in the order in which they were recorded."""
    entry = materializations.c
    query = (
        select(
            entry.seq,
            entry.id,
            entry.asset,
            entry.partition,
            entry.finished_at,
            entry.run,
            entry.snapshot,
            entry.digest,
        )
        .where(entry.seq > after, entry.seq <= upto, entry.status == "succeeded")
        .order_by(entry.seq)
        .limit(limit)
    )
    return [(row.seq, _published(row)) for row in connection.execute(query)]


def said(connection: Connection, after: int, upto: int, limit: int) -> list[tuple[int, Event]]:
    """Events from outside, in the order in which they came."""
    query = (
        _events()
        .where(events.c.seq > after, events.c.seq <= upto, events.c.retracted_at.is_(None))
        .order_by(events.c.seq)
        .limit(limit)
    )
    return [(row.seq, _said(row)) for row in connection.execute(query)]


def latest_said(
    connection: Connection, asset: str | None, limit: int, before: str | None = None
) -> list[Event]:
    query = _events().order_by(events.c.seq.desc()).limit(limit)
    if asset is not None:
        query = query.where(events.c.asset == asset)
    if before is not None:
        last = select(events.c.seq).where(events.c.id == before).scalar_subquery()
        query = query.where(events.c.seq < last)
    return [_said(row) for row in connection.execute(query)]


def said_by_id(connection: Connection, event: str) -> Event | None:
    row = connection.execute(_events().where(events.c.id == event)).one_or_none()
    return None if row is None else _said(row)


def retract(connection: Connection, event: str, at: datetime) -> bool:
    found = connection.execute(
        update(events)
        .where(events.c.id == event, events.c.retracted_at.is_(None))
        .values(retracted_at=at)
    )
    return found.rowcount == 1


def reject(connection: Connection, rejected: Sequence[Rejected]) -> None:
    if rejected:
        statement = insert_or(connection, rejections).on_conflict_do_nothing()
        connection.execute(statement, [row_of(each) for each in rejected])


def latest_rejected(connection: Connection, consumer: str | None, limit: int) -> list[Rejected]:
    query = select(*columns(rejections, Rejected)).order_by(rejections.c.at.desc()).limit(limit)
    if consumer is not None:
        query = query.where(rejections.c.consumer == consumer)
    return [Rejected(**row._asdict()) for row in connection.execute(query)]


def _events() -> Select[Any]:
    return select(
        events.c.seq,
        events.c.id,
        events.c.asset,
        events.c.partition,
        events.c.at,
        events.c.payload,
        events.c.retracted_at,
    )


def _said(row: Row[Any]) -> Event:
    values = row._asdict()
    values.pop("seq")
    return Event(**values)


def _published(row: Any) -> Event:
    return Event(
        id=row.id,
        asset=row.asset,
        partition=row.partition,
        at=row.finished_at,
        run=row.run,
        materialization=row.id,
        snapshot=row.snapshot,
        digest=row.digest,
    )
