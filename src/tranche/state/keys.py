"""What stands for a key in an index.

PostgreSQL indexes at most some 2,700 bytes, and a key of 1,000 characters can have 4,000.
"""

from __future__ import annotations

import hashlib
import json

_HEAD_LENGTH = 100


def key_hash(key: str | None) -> str:
    """Identifies the key."""
    return hashlib.sha256((key or "").encode()).hexdigest()


def once_hash(attempt: str, asset: str, key: str | None) -> str:
    """Identifies what an attempt enters into the ledger at most once."""
    return hashlib.sha256(json.dumps([attempt, asset, key]).encode()).hexdigest()


def key_head(key: str | None) -> str:
    """Sorts the key, as far as its first characters do."""
    return (key or "")[:_HEAD_LENGTH]
