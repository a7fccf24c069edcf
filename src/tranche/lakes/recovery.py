"""What became of an attempt whose process is gone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tranche.errors import EngineError
from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.observed import observed
from tranche.lakes.outputs.place import Kept
from tranche.lakes.outputs.places import Places, parts_by_key
from tranche.model.asset import AssetUri, FileSet, LakeTable
from tranche.ports import Written, WrittenKey


def recovered(
    places: Places, asset: AssetUri, keys: Sequence[str | None], commit: Commit
) -> Written | None:
    """What readers see of it; None if nothing, and then nothing is left to be published either."""
    if isinstance(asset, LakeTable):
        return _of_table(places, asset, keys, commit)
    place = places.there(asset) if isinstance(asset, FileSet) else None
    if place is None:
        return None
    kept = place.published(commit)
    if kept is None:
        place.forget(commit)
        return None
    return _of_parts(Written(), kept, keys)


def _of_table(
    places: Places, address: LakeTable, keys: Sequence[str | None], commit: Commit
) -> Written | None:
    table = places.tables.of(address)
    both = (table, observed(table))
    facts = table.facts()
    found = table.published(commit) if facts is not None else None
    if facts is None or found is None:
        for each in both:
            each.side(commit).drop()
            each.forget(commit)
        return None
    # The commit stands, whatever becomes of what waited: upkeep removes what is left.
    with suppress(EngineError, OSError):
        for each in both:
            each.side(commit).drop()
            each.tidy(commit)
    written = Written(snapshot=found.id, committed_at=found.at, columns=captured(facts.columns))
    place = None if facts.sliced else places.table(address)
    kept = None if place is None else place.published(commit)
    if kept is not None and kept.parts:
        return _of_parts(written, kept, keys)
    names = [key for key in keys if key is not None]
    if len(names) > 1:
        rows = table.key_rows(names, found.id) if facts.sliced else None
        each_key = {key: WrittenKey(None if rows is None else rows.get(key, 0)) for key in names}
        total = None if rows is None else sum(rows.values())
        return replace(written, rows=total, keys=each_key)
    key = names[0] if names and facts.sliced else None
    return replace(written, rows=table.slice_rows(key, found.id))


def _of_parts(written: Written, kept: Kept, keys: Sequence[str | None]) -> Written:
    """What a task has put into the parts of a table, or into files."""
    names = [key for key in keys if key is not None]
    return replace(
        written,
        rows=kept.rows,
        snapshot=kept.snapshot,
        keys={key: WrittenKey(None) for key in names} if len(names) > 1 else {},
        parts=parts_by_key(kept.parts, names) if kept.parts else None,
    )
