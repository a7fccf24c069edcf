"""What became of an attempt whose process is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.observed import observed
from tranche.lakes.table import Table
from tranche.ports import Written, WrittenKey


def recovered(table: Table, keys: Sequence[str | None], commit: Commit) -> Written | None:
    """What readers see of it; None if nothing, and then nothing is left to be published either."""
    both = (table, observed(table))
    for each in both:
        each.side(commit).drop()
    facts = table.facts()
    found = table.published(commit) if facts is not None else None
    if facts is None or found is None:
        for each in both:
            each.forget(commit)
        return None
    written = Written(snapshot=found.id, committed_at=found.at, columns=captured(facts.columns))
    names = [key for key in keys if key is not None]
    if len(names) > 1:
        rows = table.key_rows(names, found.id) if facts.sliced else None
        each_key = {key: WrittenKey(None if rows is None else rows.get(key, 0)) for key in names}
        total = None if rows is None else sum(rows.values())
        return replace(written, rows=total, keys=each_key)
    key = names[0] if names and facts.sliced else None
    return replace(written, rows=table.slice_rows(key, found.id))
