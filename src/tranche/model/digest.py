"""Digests of rows, as text: how many there are, and the sum of their hashes."""

from __future__ import annotations

import re

_FORM = re.compile(r"[0-9a-f]{1,16}-[0-9a-f]{1,16}")
_WORD = 0xFFFFFFFFFFFFFFFF

NO_ROWS = "0-0"


def digest_text(rows: int, total: int) -> str:
    """
    >>> digest_text(1, -1)
    '1-ffffffffffffffff'
    """
    return f"{rows:x}-{total & _WORD:x}"


def combined(first: str | None, second: str | None) -> str | None:
    """The digest of two sets of rows together; None if it cannot be told from theirs.

    >>> combined("1-2", "1-ffffffffffffffff")
    '2-1'
    """
    if first is None or second is None or not (_FORM.fullmatch(first) and _FORM.fullmatch(second)):
        return None
    a, b = ([int(part, 16) for part in text.split("-")] for text in (first, second))
    return digest_text(a[0] + b[0], a[1] + b[1])


def digest_of_snapshot(snapshot: str | None) -> str | None:
    """Stands for rows that nobody has gone over: another snapshot counts as other rows."""
    return None if snapshot is None else f"snapshot {snapshot}"
