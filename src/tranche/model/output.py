"""How what a Python function returns is kept, besides what its strategy says."""

from __future__ import annotations

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
