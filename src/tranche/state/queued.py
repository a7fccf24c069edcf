"""Backfills that wait for a server. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select, text, update

from tranche.state.tables import backfills, runs


def take(connection: Connection, backfill: str, server: str, run: str) -> bool:
    """Gives a backfill that waits to a server; of several that try, one has it."""
    found = connection.execute(
        update(backfills)
        .where(backfills.c.id == backfill, backfills.c.status == "queued")
        .values(status="running", server=server, run=run, finished_at=None)
    )
    return found.rowcount == 1


def servers_with_backfills(connection: Connection) -> list[str]:
    query = (
        select(backfills.c.server)
        .where(backfills.c.status.in_(("running", "cancelling")), backfills.c.server.is_not(None))
        .distinct()
    )
    return list(connection.scalars(query))


def put_back(connection: Connection, servers: Sequence[str]) -> int:
    """Lets others have the backfills of servers that are gone; one that was to end has ended."""
    unended = select(runs.c.id).where(runs.c.id == backfills.c.run, text("runs.status = 'running'"))
    theirs = (backfills.c.server.in_(servers), ~unended.exists())
    ended = connection.execute(
        update(backfills)
        .where(*theirs, backfills.c.status == "cancelling")
        .values(status="cancelled", server=None)
    )
    queued = connection.execute(
        update(backfills)
        .where(*theirs, backfills.c.status == "running")
        .values(status="queued", server=None)
    )
    return ended.rowcount + queued.rowcount
