"""The names of tables in a statement that somebody types."""

from __future__ import annotations

from tranche.lakes.tables import Tables
from tranche.model.statement import FileHole, Statement, TableHole
from tranche.script.binding import Values, bind, current_rows


def named(statement: Statement, tables: Tables) -> str:
    """The text for Spark."""

    def table(hole: TableHole) -> str:
        stored = tables.of(hole.table)
        history = stored.history()
        if history is None or stored.columns() is not None:
            return stored.name
        # Not every format has views.
        return current_rows(hole, history.name)

    def files(hole: FileHole) -> str:
        raise AssertionError(f"{hole} in a statement that somebody typed")

    return bind(statement, Values(None, {}, {}), table=table, files=files).text
