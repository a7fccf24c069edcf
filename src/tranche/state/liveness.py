"""Which runs have a process that works on them.

A run lives as long as somebody holds a lock that the system itself takes back when its holder dies,
however that happens. The order of things makes it exact: a run is locked before it is recorded, and
its end is recorded before it is unlocked. So a run that is found unlocked, and that is *after that*
still recorded as running, has been abandoned.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Lives(Protocol):
    """The runs that one store keeps alive, and a look at those of others."""

    def take(self, run: str) -> bool:
        """Keeps a run alive; False if it is kept alive already, here or elsewhere."""
        ...

    def leave(self, run: str) -> None:
        """Keeps it alive no more, and so abandons it unless its end is recorded."""
        ...

    def end(self, run: str) -> None:
        """Keeps it alive no more, now that its end is recorded."""
        ...

    def renew(self) -> None:
        """Takes again what was lost without anybody's doing. It never fails."""
        ...

    def dead(self, runs: Sequence[str]) -> set[str]:
        """Those of the runs that nobody keeps alive at this moment."""
        ...

    def close(self) -> None:
        """Leaves all of them."""
        ...


def life_of_server(server: str) -> str:
    """The name by which a server is kept alive, among those of runs."""
    return f"server {server}"


class FileLives:
    """Locks on files beside a database that is a file itself.

    A lock's file is removed only once the run's end is recorded. Before that, two processes could
    each hold the lock of a file with that name; after that, it does not matter who holds what.
    """

    # A look at a run takes its lock for a moment, and must not pass for somebody who keeps it.
    _PATIENCE = 0.5

    def __init__(self, database: Path) -> None:
        self._database = database
        self._held: dict[str, BaseFileLock] = {}
        self._lock = threading.Lock()

    def take(self, run: str) -> bool:
        with self._lock:
            if run in self._held:
                return False
            file = self._file(run)
            file.parent.mkdir(exist_ok=True)
            lock = _locked(file, self._PATIENCE)
            if lock is not None:
                self._held[run] = lock
            return lock is not None

    def leave(self, run: str) -> None:
        with self._lock:
            if lock := self._held.pop(run, None):
                lock.release()

    def end(self, run: str) -> None:
        with self._lock:
            if lock := self._held.pop(run, None):
                with suppress(OSError):
                    self._file(run).unlink()
                lock.release()

    def renew(self) -> None:
        """Nothing to do: nobody can take a lock on a file away."""

    def dead(self, runs: Sequence[str]) -> set[str]:
        with self._lock:
            others = [run for run in runs if run not in self._held]
        return {run for run in others if self._is_free(self._file(run))}

    def close(self) -> None:
        with self._lock:
            for lock in self._held.values():
                lock.release()
            self._held.clear()

    def _file(self, run: str) -> Path:
        """Named by a hash: an id may be longer than a name of a file, and have any characters."""
        # However the database is reached, its locks are in one place.
        database = self._database.resolve()
        name = hashlib.sha256(run.encode()).hexdigest()[:32]
        return database.with_name(f"{database.name}.runs") / f"{name}.lock"

    def _is_free(self, file: Path) -> bool:
        # Locking makes the file, and looking must not make any.
        if not file.exists():
            return True
        try:
            lock = _locked(file, 0)
        except PermissionError:
            # Another user's. Who cannot lock it cannot take the run over either.
            return False
        if lock is None:
            return False
        lock.release()
        return True


def _locked(file: Path, patience: float) -> BaseFileLock | None:
    # Takes a while to import, and most commands begin no run.
    from filelock import FileLock, Timeout

    # Not of one thread: a run may be finished by another than the one that began it.
    lock = FileLock(file, timeout=patience, thread_local=False, poll_interval=0.01)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock
