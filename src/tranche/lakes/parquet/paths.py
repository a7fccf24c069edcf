"""The folder of a key, as Spark names it."""

from __future__ import annotations

from tranche.errors import KeyRejected
from tranche.model.partitioning_text import shown
from tranche.model.strategy import PARTITION_COLUMN

_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^") | frozenset(map(chr, range(1, 32)))
_LONGEST = 255
"""How many bytes the name of a folder can have."""


def key_folder(key: str) -> str:
    """
    >>> key_folder("2026-05-16T09")
    '_tranche_partition=2026-05-16T09'
    >>> key_folder("a/b:c")
    '_tranche_partition=a%2Fb%3Ac'
    """
    escaped = "".join(f"%{ord(sign):02X}" if sign in _ESCAPED else sign for sign in key)
    name = f"{PARTITION_COLUMN}={escaped}"
    if len(name.encode()) > _LONGEST:
        raise KeyRejected(
            f"the key {shown(key)} is too long for a folder of a Parquet table",
            "use shorter keys, or a lake of iceberg or delta",
        )
    return name
