"""Stopping work that Spark is doing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tranche.errors import Cancelled

if TYPE_CHECKING:
    from .conftest import Bench

SLOW = """\
-- pipeline
-- materialize lake://main/@slow
SELECT sum((a.id * b.id) % 7) AS x FROM range(150000) a CROSS JOIN range(150000) b
"""


def active_jobs(bench: Bench) -> list[int]:
    context = bench.engine._spark.open().sparkContext
    return list(context.statusTracker().getActiveJobsIds())


def test_an_attempt_is_cancelled_by_its_name(bench: Bench) -> None:
    timer = threading.Timer(4, lambda: bench.engine.cancel("this"))
    timer.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        bench.run(SLOW, attempt="this")
    assert time.monotonic() - began < 30
    assert bench.sql(f"SHOW TABLES IN main.`{bench.schema}`") == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises, also when the tests run in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_stops_sparks_jobs_too(bench: Bench) -> None:
    timer = threading.Timer(4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        bench.run(SLOW, attempt="that")
    for _ in range(100):
        if not active_jobs(bench):
            break
        time.sleep(0.1)
    assert active_jobs(bench) == []
