"""A turn of a scheduler on a database: what it asks, and what it changes, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from tranche.model.event import Event
from tranche.model.pending import Decisions, Pending
from tranche.state import heard, pending_keys
from tranche.state.heard import EVENTS, LOG

if TYPE_CHECKING:
    from tranche.state.sql_reader import SqlReader


class SqlTurn:
    """A TriggerReader whose decisions can be carried out. Only one turn is taken at a time."""

    def __init__(self, store: SqlReader, connection: Connection, upto: Mapping[str, int]) -> None:
        self._store = store
        self._connection = connection
        self._upto = upto
        """How far the log and the events go that everybody can see."""
        self._handled = dict(heard.handled_seqs(connection))
        self._before = dict(self._handled)
        """How far the turn before had come."""
        self._moved: dict[str, int] = {}
        self._caught_up: dict[str, dict[str, int]] = {}
        """How far scripts have come that were mended."""

    def __getattr__(self, name: str) -> Any:
        # Whatever else is asked, is asked of the store itself.
        return getattr(self._store, name)

    def news(self, *, limit: int) -> Sequence[Event]:
        # In the first turn ever, what runs have published until then has asked for nothing; but
        # whoever has recorded an event meant something by it.
        self._handled.setdefault(LOG, self._upto[LOG])
        found: list[Event] = []
        for name, ask in ((LOG, heard.published), (EVENTS, heard.said)):
            after, upto = self._handled.get(name, 0), self._upto[name]
            rows = ask(self._connection, after, upto, limit)
            self._moved[name] = upto if len(rows) < limit else rows[-1][0]
            found += (event for _, event in rows)
        return sorted(found, key=lambda event: event.at)

    def missed(self) -> Sequence[str]:
        return sorted(heard.missed(self._handled))

    def missed_by(self, script: str, *, limit: int) -> Sequence[Event]:
        marks = heard.missed(self._handled)[script]
        found: list[Event] = []
        left: dict[str, int] = {}
        for name, ask in ((LOG, heard.published), (EVENTS, heard.said)):
            # What came after the turn before, this one tells it like everybody.
            upto = self._before.get(name, 0)
            rows = ask(self._connection, marks.get(name, 0), upto, limit)
            left[name] = upto if len(rows) < limit else rows[-1][0]
            found += (event for _, event in rows)
        self._caught_up[script] = left
        return sorted(found, key=lambda event: event.at)

    def fired(self) -> Mapping[str, datetime]:
        return heard.fired(self._connection)

    def due(self, now: datetime, *, limit: int) -> Sequence[Pending]:
        return pending_keys.due(self._connection, now, limit)

    def pending(self, places: Sequence[tuple[str, str | None]]) -> Sequence[Pending]:
        return list(pending_keys.pending_at(self._connection, places, locked=True))

    def apply(self, decisions: Decisions, at: datetime) -> None:
        """Carries out what the turn has led to."""
        connection = self._connection
        pending_keys.put_pending(connection, decisions.pending)
        pending_keys.drop_pending(connection, decisions.dropped)
        for released in decisions.released:
            pending_keys.look_again(connection, released.consumer, released.which, at)
        heard.reject(connection, decisions.rejected)
        moved = dict(self._moved)
        for script in decisions.fallen:
            moved |= heard.missed_names(script, self._handled)
        for script in decisions.mended:
            left = self._caught_up.get(script)
            if left is None or left == {name: self._before.get(name, 0) for name in (LOG, EVENTS)}:
                heard.forget_missed(connection, script)
            else:
                moved |= heard.missed_names(script, left)
        heard.move_turns(connection, moved, decisions.fired)
