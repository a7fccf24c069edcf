"""Digests of rows, as text: how many there are, and the sum of their hashes."""

from __future__ import annotations

_WORD = 0xFFFFFFFFFFFFFFFF

NO_ROWS = "0-0"


def digest_text(rows: int, total: int) -> str:
    """
    >>> digest_text(1, -1)
    '1-ffffffffffffffff'
    """
    return f"{rows:x}-{total & _WORD:x}"


_SNAPSHOT = "snapshot "


def digest_of_snapshot(snapshot: str | None) -> str | None:
    """Stands for rows that nobody has gone over: another snapshot counts as other rows."""
    return None if snapshot is None else f"{_SNAPSHOT}{snapshot}"


def is_of_rows(digest: str) -> bool:
    """Whether somebody went over the rows for it."""
    return not digest.startswith(_SNAPSHOT)
