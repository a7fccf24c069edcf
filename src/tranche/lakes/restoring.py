"""A table that goes back to what it was, by a new commit."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.errors import UnknownSnapshot
from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.history import make_current_view
from tranche.lakes.observed import note_derived, observed
from tranche.lakes.table import Returning, Shown, Table
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN
from tranche.ports import Staged, Written


class Restoration:
    """A trial that restores: of a history, what was observed goes back first."""

    def __init__(self, table: Table, snapshot: str, commit: Commit) -> None:
        self.table = table
        self.snapshot = snapshot
        self.commit = commit
        self.returns: list[tuple[Table, Returning]] = []

    def stage(self) -> Staged:
        seen = self.table.shown()
        target = next((one for one in seen if one.id == self.snapshot), None)
        if target is None:
            raise UnknownSnapshot(
                f"{self.table} has no snapshot {self.snapshot} that readers could see",
                f"tranche show {self.table} --snapshots lists them",
            )
        whole = self.table.returning(self.snapshot)
        self.returns = [(self.table, whole)]
        keys = whole.keys
        then = self.observed_then(target.at)
        if then is not None:
            self.returns.insert(0, (observed(self.table), then))
            if then.facts.sliced and keys:
                keys = then.keys
        return Staged(restored=keys, lineage=_lineage(seen, self.snapshot))

    def observed_then(self, at: int) -> Returning | None:
        """What the history was derived from at that time, in microseconds since 1970."""
        table = observed(self.table)
        if table.columns() is None:
            return None
        earlier = [one for one in table.shown() if one.at <= at]
        return table.returning(earlier[0].id) if earlier else None

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        _, whole = self.returns[-1]
        if not whole.keys:
            return Written(snapshot=whole.facts.snapshot, changed=False, rows=0)
        for table, item in self.returns:
            if item.keys:
                table.restore(item, self.commit)
        if len(self.returns) > 1:
            note_derived(self.table, observed(self.table).facts())
        if set(HISTORY_COLUMNS) <= set(whole.then.names):
            make_current_view(self.table)
        found = self.table.published(self.commit)
        assert found is not None, f"{self.table} does not show the commit that restored it"
        return Written(
            rows=sum(key.rows for key in whole.keys),
            snapshot=found.id,
            committed_at=found.at,
            columns=captured(whole.then, (PARTITION_COLUMN, *HISTORY_COLUMNS)),
        )

    def close(self) -> None:
        """Nothing waits beside the table."""


def _lineage(seen: Sequence[Shown], snapshot: str) -> frozenset[str]:
    """A snapshot and all that it was built on."""
    parents = {one.id: one.parent for one in seen}
    found: set[str] = set()
    at: str | None = snapshot
    while at is not None and at not in found:
        found.add(at)
        at = parents.get(at)
    return frozenset(found)
