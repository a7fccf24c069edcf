"""What stands for keys in a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

KEYS_VIEW = "_tranche_keys"
"""The relation of all keys; it has one column, whose name nobody relies on."""
FILE_KEY = "_tranche_file_key"
"""The column of a view over files that says to which key a row's path belongs."""

HOLE = "_tranche_hole_"
IMPLIED = "_tranche_implied_"
EXACT = "_tranche_exact_"
BAND = "_tranche_band_"
"""What stands for a hole, and for what a comparison says of all keys, before its number."""
BANDS_VIEW = "_tranche_bands"
"""The relation of all keys with their bands, before the number of a comparison."""

Known = Mapping[str, str]
"""The CTEs that have a key, by name, with the column that it stands in."""


@dataclass(frozen=True, slots=True)
class Holes:
    """The tokens that stand for what depends on the key."""

    keys: Mapping[int, Callable[[str], str]]
    """Where the key stands, and how it is written there."""
    files: frozenset[int]
    """Where rows of files stand, whose path has the key in it."""
    names: Mapping[int, str]
    """What tables are called by that have no other name."""
    others: frozenset[int] = frozenset()
    """All tokens that stand for something else than they say."""
