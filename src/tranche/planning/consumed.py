"""Which keys have been built of all that they need, so that nothing new asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tranche.model.plan import SliceKey
from tranche.model.run import Materialization
from tranche.model.script import Script
from tranche.planning.read_columns import ReadColumns
from tranche.planning.stale import stale_keys
from tranche.ports import StateReader

Consumed: TypeAlias = Literal["same", "rewritten"]
"""Whether what a key was made of has the rows that it had, or others."""


def consumed(
    script: Script,
    keys: Sequence[SliceKey],
    state: StateReader,
    reads: ReadColumns | None = None,
) -> dict[str, Consumed]:
    """Keys that were built of all that they need, and what has become of that since.

    Those have succeeded, the script is still the same, and no upstream key that they need has come
    since. Of what is read as a whole, or not read at all, nobody can say that.
    """
    if script.asset is None or not script.managed:
        return {}
    needed = {key.partition: key for key in keys if key.partition is not None}
    standing = state.standing(str(script.asset), list(needed))
    ids = {
        known.materialization: str(key)
        for key, known in standing.items()
        if known.materialization is not None and known.fingerprint == script.fingerprint
    }
    entries = {ids[entry.id]: entry for entry in state.entries(list(ids))}
    stale = stale_keys(script, list(entries), state, reads)
    needed = {key: needed[key] for key in entries}
    there = _there({(str(i.asset), i.partition) for k in needed.values() for i in k.inputs}, state)
    found: dict[str, Consumed] = {}
    for key, slice_key in needed.items():
        places = {(str(each.asset), each.partition) for each in slice_key.inputs}
        unknown = slice_key.awaits or any(partition is None for _, partition in places)
        if not unknown and places & there <= _made_of(entries[key]):
            found[key] = "rewritten" if key in stale else "same"
    return found


def _there(places: set[tuple[str, str | None]], state: StateReader) -> set[tuple[str, str | None]]:
    found: set[tuple[str, str | None]] = set()
    for asset in sorted({asset for asset, _ in places}):
        keys = [key for name, key in places if name == asset]
        standing = state.standing(asset, sorted(keys, key=str))
        found |= {
            (asset, key) for key, known in standing.items() if known.materialization is not None
        }
    return found


def _made_of(entry: Materialization) -> set[tuple[str, str | None]]:
    return {
        (given.asset, given.partition)
        for given in entry.inputs
        if given.materialization is not None
    }
