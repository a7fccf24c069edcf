"""The right store for a command."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TypeVar

from tranche.ports import PartitionReader, StateStore, StoryReader
from tranche.state.memory import MemoryStore
from tranche.state.sqlite_file import DEFAULT_TIMEOUT, is_sqlite, sqlite_file
from tranche.state.sqlite_partitions import SqlitePartitions
from tranche.state.sqlite_story import SqliteStory

_Reader = TypeVar("_Reader", bound=SqlitePartitions)


def open_store(
    url: str, *, create: bool, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
) -> StateStore:
    """The store at a state url, opened, so that one that cannot be used is known at once.

    With `create=False`, for commands that only read, a database that is not there is not made:
    the store is an empty one in memory, and nothing that is written to it stays.
    """
    # SQLAlchemy takes a third of a second to import, and `open_partitions` may not need it.
    from tranche.state.sql_store import SqlStore

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


def open_partitions(
    url: str, *, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
) -> PartitionReader:
    """Where the keys of a store stand, for commands that ask nothing else.

    Only the usual case has a reader of its own. Whatever is not a SQLite file with the newest
    tables (nothing there, an older or a newer version, a file that is no database) is the store's
    to make sense of, in the same words as everywhere.
    """
    return _opened(url, root, timeout, SqlitePartitions)


def open_story(
    url: str, *, root: Path | None = None, timeout: float = DEFAULT_TIMEOUT
) -> StoryReader:
    """What is known of single keys, opened as fast as `open_partitions`."""
    return _opened(url, root, timeout, SqliteStory)


def _opened(
    url: str, root: Path | None, timeout: float, kind: type[_Reader]
) -> _Reader | StateStore:
    if is_sqlite(url):
        path = sqlite_file(url, root)
        if not path.exists():
            return MemoryStore()
        reader = _current_sqlite(path, timeout, kind)
        if reader is not None:
            return reader
    return open_store(url, create=False, root=root, timeout=timeout)


def _current_sqlite(path: Path, timeout: float, kind: type[_Reader]) -> _Reader | None:
    try:
        reader = kind(path, timeout=timeout)
    except sqlite3.Error:
        return None
    if reader.is_current():
        return reader
    reader.close()
    return None
