"""How fast columns are traced, in a project of 500 scripts that read each other."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from tranche.planning.graph import build_graph
from tranche.planning.lineage import ProjectLineage
from tranche.script.lineage import Lineages
from tranche.service import open_project

_SCRIPTS = 500
_TRANCHE = Path(sys.executable).parent / "tranche"
_HEADER = """\
-- pipeline
-- on lake://main/t{before}
-- partitioned daily tz="Europe/Paris" start="2026-01-01"
-- materialize lake://main/t{number}
"""
_LATEST = """\
WITH recent AS (
    SELECT order_id, customer_id, amount, created_at,
           row_number() OVER (PARTITION BY order_id ORDER BY created_at DESC) AS latest
    FROM t{before}
    WHERE created_at::date = '{{partition}}'
)
SELECT r.order_id, r.customer_id, r.amount * 1.2 AS amount, r.created_at, c.tier,
       count(*) OVER (PARTITION BY c.tier) AS peers
FROM recent AS r
LEFT JOIN customers AS c ON c.customer_id = r.customer_id AND c.country IN ('FR', 'DE')
WHERE r.latest = 1 AND NOT EXISTS (SELECT 1 FROM blocked AS b WHERE b.order_id = r.order_id)
"""
_SUMS = """\
SELECT customer_id, max(order_id) AS order_id, max(created_at) AS created_at,
       sum(CASE WHEN amount > 10 THEN amount ELSE 0 END) AS amount, count(*) AS n,
       avg(amount) FILTER (WHERE amount > 0) AS mean, collect_set(to_date(created_at)) AS days
FROM (SELECT * FROM t{before} UNION ALL SELECT * FROM t{before} WHERE amount < 0)
WHERE created_at::date = '{{partition}}'
GROUP BY customer_id
HAVING sum(amount) > (SELECT avg(amount) FROM limits AS l WHERE l.kind = 'low')
"""
_STAR = """\
SELECT t.*, e.price * e.quantity AS cost
FROM t{before} AS t JOIN items AS i ON i.order_id = t.order_id
LATERAL VIEW explode(i.lines) AS e
WHERE t._tranche_partition = '{{partition}}'
"""
_KINDS = (_LATEST, _SUMS, _STAR)


def measure() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        for number in range(1, _SCRIPTS + 1):
            kind = _KINDS[number % len(_KINDS)] if number > 1 else _LATEST
            file = folder / "pipelines" / f"t{number}.sql"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text((_HEADER + kind).format(number=number, before=number - 1))
        yield from _measure(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(folder: Path) -> Iterator[Figure]:
    project = open_project(folder)
    graph = build_graph(project.scripts)
    cold, warm = [], []
    for _ in range(3):
        lineages = Lineages()
        for times in (cold, warm):
            began = time.perf_counter()
            known = ProjectLineage(graph, lambda asset: None, lineages.of)
            for script in project.scripts:
                known.of(script)
            times.append(time.perf_counter() - began)
    what = f"lineage of {_SCRIPTS} scripts"
    yield Figure(f"{what}, nothing traced yet", statistics.median(cold), "s", 5.0)
    yield Figure(f"{what}, traced before in the process", statistics.median(warm), "s", 0.5)
    for asked in (
        f"lineage lake://main/t{_SCRIPTS}.amount",
        "lineage lake://main/t1.amount --down",
    ):
        took = [_time(folder, asked) for _ in range(3)]
        yield Figure(f"{asked}, {_SCRIPTS} scripts, parsed", statistics.median(took), "s", 5.0)


def _time(folder: Path, command: str) -> float:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(
        [_TRANCHE, *command.split()], cwd=folder, env=env, check=True, capture_output=True
    )
    return time.perf_counter() - began
