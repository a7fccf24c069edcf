"""Upkeep of tables, and of what Tranche keeps beside them."""

from __future__ import annotations

from tranche.errors import SourceMissing
from tranche.lakes.observed import observed
from tranche.lakes.table import Table
from tranche.ports import Maintained, Upkeep


def maintained(table: Table, upkeep: Upkeep) -> tuple[Maintained, ...]:
    """Looks after a table, and after the observations of a history."""
    if table.columns() is None:
        raise SourceMissing(f"{table} does not exist yet", "run the script that makes it")
    beside = observed(table)
    tables = [table] if beside.columns() is None else [table, beside]
    return tuple(each.maintain(upkeep) for each in tables)
