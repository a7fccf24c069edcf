"""Runs, steps, attempts and entries for the tests, each as plain as it can be."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from tranche.model.run import Attempt, Materialization, Run, StepRecord
from tranche.ports import StateStore

Result = TypeVar("Result")

ORDERS = "lake://main/orders_daily"
NOON = datetime(2026, 5, 16, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)

AWKWARD_KEYS = [
    "it's",
    '"quoted"',
    "x' OR '1'='1",
    "'; DROP TABLE partitions; --",
    "two\nlines\r\n",
    "back\\slash \\x00 \\' %s %(a)s :name ?",
    "tab\tand \x01 control",
    " spaces around ",
    "50%",
    "émile",
    "e\u0301mile",
    "日本",
    "🦆",
    "\U0010ffff",
    "\ufeffmark",
    "NULL",
    "A",
    "a",
    "k" * 1000,
    "K" * 1000,
    "".join(chr(code) for code in random.Random(7).sample(range(0x10000, 0x20000), 1000)),
]


def a_run(id: str = "r1", **changes: Any) -> Run:
    run = Run(id=id, target="orders", status="running", fire_time=NOON, started_at=NOON)
    return replace(run, **changes)


def a_step(run: str = "r1", position: int = 0, **changes: Any) -> StepRecord:
    step = StepRecord(
        run=run,
        position=position,
        script="pipelines/orders",
        asset=ORDERS,
        partition="2026-05-16",
        ordinal=None,
        strategy="replace",
        status="waiting",
    )
    return replace(step, **changes)


def an_attempt(id: str = "a1", **changes: Any) -> Attempt:
    attempt = Attempt(
        id=id, run="r1", position=0, number=1, status="running", started_at=NOON + SECOND
    )
    return replace(attempt, **changes)


def an_entry(
    id: str = "m1", partition: str | None = "2026-05-16", **changes: Any
) -> Materialization:
    entry = Materialization(
        id=id,
        asset=ORDERS,
        partition=partition,
        ordinal=None,
        status="succeeded",
        run="r1",
        # One of its own: an attempt enters each key once.
        attempt=f"attempt of {id}",
        fingerprint="f1",
        started_at=NOON,
        finished_at=NOON + SECOND,
        rows=12,
        digest="d1",
        snapshot="s1",
    )
    return replace(entry, **changes)


def a_failure(id: str, **changes: Any) -> Materialization:
    failed: dict[str, Any] = {
        "status": "failed",
        "rows": None,
        "digest": None,
        "snapshot": None,
        "error": "boom",
    }
    return an_entry(id, **(failed | changes))


def record(store: StateStore, *entries: Materialization) -> None:
    if store.run("r1") is None:
        store.begin_run(a_run(), [a_step()])
    store.finish_step(a_step(status="succeeded"), entries)


def in_threads(work: Callable[[int], Result]) -> list[Result]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(8)))
