"""Queries for one slice of many forms, and the tables that they read."""

from __future__ import annotations

import random
import re
from pathlib import Path

_FILE = Path(__file__).parent.parent / "cases" / "ranges" / "corpus.sql"
_CASE = re.compile(r"-- name: ([^\n]*)\n(.*?)(?=-- name:|\Z)", re.DOTALL)
KEYS = ("2024-02-28", "2024-02-29", "2024-03-02", "2024-03-03")
"""A day at the end of February, the leap day, one without any order, and one after it."""

CASES = {name: query.strip().rstrip(";") for name, query in _CASE.findall(_FILE.read_text())}


def script(query: str) -> str:
    """The query as a script; its tables are those of the default schema."""
    header = "-- pipeline\n-- partitioned daily\n-- materialize lake://main/@made"
    return f"{header}\n{query}"


def statements() -> list[str]:
    """What makes the tables. Values are few, so that there are ties, gaps and NULLs."""
    chance = random.Random(3)
    days = ("2024-02-26", "2024-02-27", *KEYS[:2], "2024-03-01", KEYS[3], "2024-03-04", None)
    orders, pays = [], {}
    for number in range(60):
        day = chance.choice(days)
        time = f"{day} {chance.randrange(24):02}:{chance.randrange(60):02}:00"
        orders.append(
            (
                number,
                chance.choice([None, 1, 2, 3, 4, 5]),
                chance.choice([None, "eu", "us", "jp"]),
                chance.choice(["paid", "open", None]),
                chance.choice([None, 1.5, 2.0, 10.25, 33.0]),
                chance.choice([None, 1.0, 2.0]),
                None if day is None else time,
                day,
                chance.choice(["NULL", "array()", "array('a')", "array('a', 'b')"]),
            )
        )
    for _ in range(40):
        place = chance.randrange(60), chance.choice(KEYS)
        pays[place] = chance.choice(["card", "cash"])
    cust = [
        (n, f"n{n}", chance.choice(["gold", "tin"]), chance.choice(["eu", "us", None]))
        for n in range(1, 8)
    ]
    tiers = [(n, t, s) for n in range(1, 6) for t, s in (("tin", "2024-01-01"), ("gold", KEYS[1]))]
    return [
        _made(
            "orders",
            "id INT, cust INT, region STRING, status STRING, amount DOUBLE, qty DOUBLE,"
            " created_at TIMESTAMP, day STRING, tags ARRAY<STRING>",
            [(*map(_literal, row[:8]), row[8]) for row in orders],
        ),
        _made(
            "cust",
            "id INT, name STRING, tier STRING, region STRING",
            [tuple(map(_literal, row)) for row in cust],
        ),
        _made(
            "pays",
            "order_id INT, kind STRING, day STRING, at TIMESTAMP",
            [tuple(map(_literal, (o, kind, d, d))) for (o, d), kind in pays.items()],
        ),
        _made(
            "tiers",
            "cust INT, tier STRING, since TIMESTAMP",
            [tuple(map(_literal, row)) for row in tiers],
        ),
    ]


def _made(name: str, columns: str, rows: list[tuple[str, ...]]) -> str:
    fields = [column.strip().partition(" ") for column in columns.split(", ")]
    casts = ", ".join(
        f"CAST(c{n} AS {type_}) AS {field}" for n, (field, _, type_) in enumerate(fields)
    )
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    names = ", ".join(f"c{n}" for n in range(len(fields)))
    made = f"CREATE OR REPLACE TABLE main.default.{name} USING iceberg"
    return f"{made} AS SELECT {casts} FROM VALUES {values} AS t({names})"


def _literal(value: object) -> str:
    return "NULL" if value is None else repr(value)
