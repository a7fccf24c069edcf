"""Tokens. Each function works inside the caller's transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, update

from tranche.model.token import Token
from tranche.state.changes import insert_or
from tranche.state.rows import columns, row_of
from tranche.state.tables import tokens


def add(connection: Connection, token: Token) -> bool:
    """False if another one has its name."""
    statement = insert_or(connection, tokens).on_conflict_do_nothing()
    new = connection.execute(statement.returning(tokens.c.name), row_of(token))
    return new.first() is not None


def revoke(connection: Connection, name: str, at: datetime) -> bool:
    found = connection.execute(
        update(tokens)
        .where(tokens.c.name == name, tokens.c.revoked_at.is_(None))
        .values(revoked_at=at)
    )
    return found.rowcount == 1


def every(connection: Connection) -> list[Token]:
    query = select(*columns(tokens, Token)).order_by(tokens.c.created_at, tokens.c.name)
    return [Token(**row._asdict()) for row in connection.execute(query)]
