"""Locks on files, which end with their process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

_HELD: dict[Path, tuple[FileLock, int]] = {}
_GUARDS: dict[Path, threading.Lock] = {}
_FIRST = threading.Lock()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """A lock that one thread of one process holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        yield


@contextmanager
def this_process_alone(path: Path) -> Iterator[None]:
    """A lock that the threads of one process hold together, and no two processes at a time."""
    with _FIRST:
        guard = _GUARDS.setdefault(path, threading.Lock())
    with guard:
        lock, holders = _HELD.get(path, (None, 0))
        if lock is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Whoever lets go of it may be another thread than the one that took it.
            lock = FileLock(path, thread_local=False)
            lock.acquire()
        _HELD[path] = lock, holders + 1
    try:
        yield
    finally:
        with guard:
            lock, holders = _HELD.pop(path)
            if holders > 1:
                _HELD[path] = lock, holders - 1
            else:
                lock.release()
