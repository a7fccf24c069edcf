"""Which runs have a process that works on them, as PostgreSQL knows it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from tranche.state.advisory import lock_number

_TAKE = text("SELECT pg_try_advisory_lock(:lock)")
_LEAVE = text("SELECT pg_advisory_unlock(:lock)")
_LEAVE_ALL = text("SELECT pg_advisory_unlock_all()")
# A number of 64 bits is shown in two halves, and the third column tells that it is such a number.
_HELD = text(
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# The session is idle for as long as a run takes, which nobody may hold against it; and when its
# machine is gone without a word, the server finds out within about a minute, not in two hours.
# Asked for by name: an older server does not know all of them.
_SETTINGS = {
    "idle_session_timeout": "0",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
_SET = text("SELECT set_config(name, :value, false) FROM pg_settings WHERE name = :name")


class SessionLives:
    """Advisory locks of one connection that is used for nothing else: they end when it does.

    The connection is opened for the first run. When it is lost, the runs are taken again with a new
    one at the next write to the store; in between, others may find them abandoned.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._kept: set[str] = set()
        self._locked: set[str] = set()
        """Those of the kept runs that the connection holds."""
        self._lock = threading.Lock()

    def take(self, run: str) -> bool:
        with self._lock:
            if run in self._kept:
                return False
            connection = self._session()
            # A session may take its own lock again, so only a run that is not kept is asked for.
            if not _asked(connection, run):
                return False
            self._kept.add(run)
            self._locked.add(run)
            return True

    def leave(self, run: str) -> None:
        with self._lock:
            self._kept.discard(run)
            if run not in self._locked or self._connection is None:
                return
            self._locked.discard(run)
            try:
                self._connection.execute(_LEAVE, {"lock": lock_number("run", run)})
            except SQLAlchemyError:
                self._drop()

    def end(self, run: str) -> None:
        self.leave(run)

    def renew(self) -> None:
        with self._lock:
            if self._kept:
                # Whoever writes next to a server that is gone, hears of it then.
                with suppress(SQLAlchemyError):
                    self._session()

    def dead(self, runs: Sequence[str]) -> set[str]:
        self.renew()
        with self._lock:
            kept = set(self._kept)
        with self._engine.connect() as connection:
            held = set(connection.scalars(_HELD))
        return {run for run in runs if run not in kept and lock_number("run", run) not in held}

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            if self._connection is not None and self._locked:
                # The server hears of a closed connection a little later than those who look next.
                with suppress(SQLAlchemyError):
                    self._connection.execute(_LEAVE_ALL)
            self._drop()

    def _session(self) -> Connection:
        """The connection, found working, with the locks that it should have."""
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT 1"))
            except SQLAlchemyError:
                self._drop()
        if self._connection is None:
            self._connection = self._connected()
        for run in self._kept - self._locked:
            if _asked(self._connection, run):
                self._locked.add(run)
        return self._connection

    def _connected(self) -> Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            # Out of the pool, which would hand it to others and close it when it likes.
            connection.detach()
            for name, value in _SETTINGS.items():
                connection.execute(_SET, {"name": name, "value": value})
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        self._locked.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()


def _asked(connection: Connection, run: str) -> bool:
    return bool(connection.scalar(_TAKE, {"lock": lock_number("run", run)}))
