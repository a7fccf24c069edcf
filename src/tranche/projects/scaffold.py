"""The files of a new project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tranche.errors import UsageError
from tranche.projects.config import CONFIG, PIPELINES

_CONFIG = """\
# Every setting has a default that works; this file may be empty.
[project]
name = "{name}"

# [state]
# url = "postgresql+psycopg://user:${{STATE_PASSWORD}}@host/db"   # SQLite in .tranche when absent
#
# [spark]
# master = "local[*]"
#
# [lakes.main]
# format = "iceberg"
# warehouse = ".tranche/warehouse/main"
"""
_INGEST = """\
-- pipeline
-- on schedule
-- partitioned daily start="2026-05-01"
-- materialize lake://main/raw_orders
-- One file of orders per day. '{partition}' is the day of the run.
SELECT order_id, customer, status, amount, created_at::timestamp AS created_at
FROM read_json('data/orders/' || '{partition}' || '.json');
"""
_DAILY = """\
-- pipeline
-- on lake://main/raw_orders
-- partitioned daily start="2026-05-01"
-- materialize lake://main/revenue_daily
SELECT customer, count(*) AS orders, sum(amount) AS revenue
FROM raw_orders
WHERE created_at::date = '{partition}' AND status = 'paid'
GROUP BY customer;
"""
_ORDERS = {
    "2026-05-15": """\
{"order_id": 1, "customer": "ada", "status": "paid", "amount": 12.5, "created_at": "2026-05-15 09:12:00"}
{"order_id": 2, "customer": "bob", "status": "open", "amount": 8.0, "created_at": "2026-05-15 17:40:00"}
""",
    "2026-05-16": """\
{"order_id": 3, "customer": "ada", "status": "paid", "amount": 30.0, "created_at": "2026-05-16 08:01:00"}
{"order_id": 4, "customer": "eve", "status": "paid", "amount": 5.25, "created_at": "2026-05-16 11:30:00"}
{"order_id": 5, "customer": "bob", "status": "paid", "amount": 19.9, "created_at": "2026-05-16 21:15:00"}
""",
}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was made, and where."""

    folder: Path
    files: tuple[str, ...]


def scaffold(folder: Path) -> Scaffold:
    """Makes a project of two scripts and two days of data. Nothing that is there is changed."""
    name = folder.resolve().name or "project"
    files = {
        CONFIG: _CONFIG.format(name=name.replace("\\", "").replace('"', "")),
        ".gitignore": ".tranche/\n",
        f"{PIPELINES}/ingest_orders.sql": _INGEST,
        f"{PIPELINES}/revenue_daily.sql": _DAILY,
        **{f"data/orders/{day}.json": lines for day, lines in _ORDERS.items()},
    }
    there = [file for file in (CONFIG, PIPELINES) if (folder / file).exists()]
    if there:
        raise UsageError(f"{folder / there[0]} is there already", "choose an empty folder")
    kept = {".gitignore"} if (folder / ".gitignore").exists() else set()
    write_files(folder, {file: text for file, text in files.items() if file not in kept})
    return Scaffold(folder, tuple(file for file in files if file not in kept))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for file, text in files.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}",
            "choose another folder, or change its permissions",
        ) from None
