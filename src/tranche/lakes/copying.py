"""A table that becomes a copy of another one, in whatever formats the two are."""

from __future__ import annotations

from pyspark.sql import functions as F

from tranche.errors import CommitLost, SourceMissing, UsageError
from tranche.lakes.columns import captured
from tranche.lakes.commit import Commit
from tranche.lakes.history import make_current_view
from tranche.lakes.observed import note_derived, observed
from tranche.lakes.table import Table
from tranche.lakes.target import Target
from tranche.model.layout import Transform
from tranche.model.strategy import HISTORY_COLUMNS, PARTITION_COLUMN, History, Replace
from tranche.ports import Restored, Staged, Written


class Copying:
    """A trial that copies: of a history, what was observed comes first."""

    def __init__(
        self, source: Table, table: Table, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        self.source = source
        self.table = table
        self.layout = layout
        self.commit = commit
        self.keys: tuple[Restored, ...] = ()

    def stage(self) -> Staged:
        columns = self.source.columns()
        if columns is None:
            raise SourceMissing(f"{self.source} does not exist", "run the script that makes it")
        if self.table.columns() is not None and self.table.published(self.commit) is None:
            raise UsageError(
                f"{self.table} is there already, and a copy would take its place",
                "drop it first, or copy to another table",
            )
        self.is_history = set(HISTORY_COLUMNS) <= set(columns.names)
        self.sliced = PARTITION_COLUMN in columns.names
        self.table.check(
            History(key=()) if self.is_history else Replace(), tuple(self.layout or ())
        )
        self.keys = self.counted(self.source)
        return Staged(restored=self.told())

    def told(self) -> tuple[Restored, ...]:
        """The keys that the ledger has of it: of a history, those of what was observed."""
        seen = observed(self.source)
        columns = seen.columns() if self.is_history else None
        if columns is None or PARTITION_COLUMN not in columns.names:
            return self.keys
        return self.counted(seen)

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        if self.is_history and observed(self.source).columns() is not None:
            self.copy(observed(self.source), observed(self.table), None)
        self.copy(self.source, self.table, self.layout)
        if self.is_history:
            if observed(self.table).columns() is not None:
                note_derived(self.table, observed(self.table).facts())
            make_current_view(self.table)
        if sorted(self.counted(self.table), key=_key) != sorted(self.keys, key=_key):
            raise CommitLost(
                f"{self.source} was written while it was copied: {self.table} has other rows",
                f"drop {self.table} and copy it again",
            )
        found = self.table.published(self.commit)
        assert found is not None, f"{self.table} does not show the commit that made it"
        facts = self.table.facts()
        return Written(
            rows=sum(key.rows for key in self.keys),
            snapshot=found.id,
            committed_at=found.at,
            columns=captured(facts.columns) if facts is not None else (),
        )

    def copy(self, source: Table, table: Table, layout: tuple[Transform, ...] | None) -> None:
        if table.columns() is not None:
            # An attempt before this one has got so far.
            return
        rows = source.rows()
        sliced = PARTITION_COLUMN in rows.columns
        keys = tuple(key.partition for key in self.counted(source) if key.partition is not None)
        target = Target(
            table=table.address, strategy=Replace(), sliced=sliced, keys=keys, policy="fail"
        )
        table.create(rows, target, layout, self.commit)

    def counted(self, table: Table) -> tuple[Restored, ...]:
        """The keys of a table with their rows; the whole table is one if it has none."""
        rows = table.rows()
        if PARTITION_COLUMN not in rows.columns:
            return (Restored(None, rows.count()),)
        found = rows.groupBy(F.col(PARTITION_COLUMN)).count().collect()
        return tuple(sorted((Restored(row[0], int(row[1])) for row in found), key=_key))

    def close(self) -> None:
        """Nothing waits beside the table."""


def _key(each: Restored) -> str:
    return each.partition or ""
