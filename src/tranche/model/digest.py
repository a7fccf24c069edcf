"""Digests of rows, as text: how many there are, and sums over their hashes."""

from __future__ import annotations

import re

_FORM = re.compile(r"[0-9a-f]{1,16}(?:-[0-9a-f]{1,16}){3}")
_WORD = 0xFFFFFFFFFFFFFFFF

NO_ROWS = "0-0-0-0"


def digest_text(rows: int, high: int, low: int, xor: int) -> str:
    """
    >>> digest_text(1, 2, 3, -1)
    '1-2-3-ffffffffffffffff'
    """
    return "-".join(f"{value & _WORD:x}" for value in (rows, high, low, xor))


def combined(first: str | None, second: str | None) -> str | None:
    """The digest of two sets of rows together; None if it cannot be told from theirs.

    >>> combined("1-2-3-5", "1-1-1-1")
    '2-3-4-4'
    """
    if first is None or second is None or not (_FORM.fullmatch(first) and _FORM.fullmatch(second)):
        return None
    a, b = ([int(part, 16) for part in text.split("-")] for text in (first, second))
    return digest_text(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] ^ b[3])


def digest_of_snapshot(snapshot: str | None) -> str | None:
    """Stands for rows that nobody has gone over: another snapshot counts as other rows."""
    return None if snapshot is None else f"snapshot {snapshot}"
