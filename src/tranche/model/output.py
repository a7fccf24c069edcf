"""How what a Python function returns is kept, besides what its strategy says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["lake", "iceberg", "delta", "parquet", "csv", "json", "own"]
"""The format; "lake" is a table with slices like those of a script, "own" is the user's IO."""
FILES: frozenset[Kind] = frozenset({"parquet", "csv", "json"})
"""The kinds that are nothing but files."""
Mode: TypeAlias = Literal["overwrite", "append"]

KEY_COLUMN = "partition_key"
"""The column of returned rows that says which key each is of, where a call is for several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where rows go, and what of that which is there they take the place of."""

    kind: Kind = "lake"
    where: str = ""
    """The folder, or the address of the lake; of an own IO nobody knows it."""
    mode: Mode = "overwrite"
    partition_by: tuple[str, ...] = ()
    """The columns whose values say which rows are replaced, all of them if there are none."""
    auto_filter: bool = True
    """Whether those downstream read what was written, and not everything."""

    @property
    def replaces_all(self) -> bool:
        """Whether rows take the place of all that is there, of whichever key that is."""
        divided = self.kind == "lake" or bool(self.partition_by)
        return self.kind != "own" and self.mode == "overwrite" and not divided


def telling_column(parts: Sequence[Mapping[str, str | None]], keys: Sequence[str]) -> str | None:
    """The partition column that says of which of several keys each part is, if there is one:
    `partition_key`, or else the only column that holds nothing but these keys.

    >>> parts = [{"day": "2026-05-15", "site": "a"}, {"day": "2026-05-16", "site": None}]
    >>> telling_column(parts, ["2026-05-15", "2026-05-16", "2026-05-17"])
    'day'
    >>> telling_column(parts, ["2026-05-15"]) is None
    True
    """
    known = set(keys)
    found = [
        name for name in (parts[0] if parts else ()) if all(part[name] in known for part in parts)
    ]
    if KEY_COLUMN in found:
        return KEY_COLUMN
    return found[0] if len(found) == 1 else None
