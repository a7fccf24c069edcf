"""The right store for a command."""

from __future__ import annotations

from pathlib import Path

from tranche.ports import StateStore
from tranche.state.memory import MemoryStore
from tranche.state.sql_store import DEFAULT_TIMEOUT, SqlStore


def open_store(
    url: str, *, create: bool, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
) -> StateStore:
    """The store at a state url, opened, so that one that cannot be used is known at once.

    With `create=False`, for commands that only read, a database that is not there is not made:
    the store is an empty one in memory, and nothing that is written to it stays.
    """
    store = SqlStore(url, root=root, timeout=timeout)
    try:
        if not create and not store.exists():
            store.close()
            return MemoryStore()
        store.open()
    except BaseException:
        store.close()
        raise
    return store
