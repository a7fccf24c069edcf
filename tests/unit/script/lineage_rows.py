"""Queries of the corpus on real rows, in SQLite: what a query does not read may be anything."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping

import sqlglot
from sqlglot.errors import SqlglotError

from tranche.model.columns import Columns

_ROWS = 12
_VALUES = 4
"""So few different values that rows meet in joins."""

_STEPS = 3_000_000

Tables = Mapping[str, Columns]
Rows = list[tuple[object, ...]]


def runnable(query: str) -> str | None:
    """The query for SQLite; None if it has no form there."""
    text = query.replace("'{partition}'", "1").replace("$least", "1").replace("main.", "")
    try:
        found = sqlglot.transpile(text, read="spark", write="sqlite", unsupported_level=None)
    except (SqlglotError, ValueError):
        return None
    return found[0] if len(found) == 1 else None


def filled(tables: Tables, seed: int) -> dict[str, dict[str, list[int]]]:
    """Random values for each column."""
    chance = random.Random(seed)
    return {
        table: {name: [chance.randrange(_VALUES) for _ in range(_ROWS)] for name, _ in columns}
        for table, columns in tables.items()
    }


def answer(query: str, data: Mapping[str, Mapping[str, list[int]]]) -> Rows | None:
    """The rows in some order; None if SQLite cannot run the query."""
    database = sqlite3.connect(":memory:")
    # A recursive query over random rows may never end.
    database.set_progress_handler(lambda: 1, _STEPS)
    try:
        for table, columns in data.items():
            names = ", ".join(f'"{name}"' for name in columns)
            database.execute(f'CREATE TABLE "{table}" ({names})')
            marks = ", ".join("?" for _ in columns)
            rows = list(zip(*columns.values(), strict=True))
            database.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
        return sorted(database.execute(query).fetchall(), key=repr)
    except sqlite3.Error:
        return None
    finally:
        database.close()
