"""Jobs as a server has them: turns, faults for a while, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pandas as pd

from tranche import Daily, job, task
from tranche.model.event import Event
from tranche.model.project import Project
from tranche.planning.tick import Triggers
from tranche.script.schedules import moved
from tranche.testing import run_job

from .conftest import Folder
from .scene import Scene

NOON = datetime(2024, 1, 15, 12, tzinfo=UTC)
JOINED = """
from tranche import *
import pandas

@job(partitioning=Daily(start="2024-01-01"), schedule=Asset("lake://main/orders"))
def sales():
    @task
    def left(partition): return pandas.DataFrame({"n": [1]})

    @task
    def right(partition): return pandas.DataFrame({"n": [2]})

    @task
    def both(a: pandas.DataFrame, b: pandas.DataFrame):
        return pandas.concat([a, b])

    both(left(), right())
"""


def event(store_id: str = "e1") -> Event:
    return Event(id=store_id, asset="lake://main/orders", partition="2024-01-14", at=NOON)


def test_an_event_starts_the_tasks_at_the_top_and_the_others_wait_for_both(
    folder: Folder,
) -> None:
    scene = Scene(folder.write("shop.py", JOINED).sound(), NOON)
    scene.store.emit(event())
    scene.turn(NOON)
    (left,) = scene.run("lake://main/sales.left", NOON).steps
    assert left.record.status == "succeeded"
    scene.turn(NOON)
    waiting = [p for p in scene.store.all_pending(limit=10) if p.consumer.endswith("both")]
    assert [(row.partition, row.status, row.lacking) for row in waiting] == [
        ("2024-01-14", "waiting", ("lake://main/sales.right 2024-01-14",))
    ]
    scene.engine.executed.clear()
    done = scene.at(NOON)
    assert done == {"sales.right": [("2024-01-14",)], "sales.both": [("2024-01-14",)]}
    assert scene.engine.tables["lake://main/sales.both"]["2024-01-14"] == ({"n": 1}, {"n": 2})


def test_a_file_that_has_faults_for_a_while_misses_nothing(folder: Folder) -> None:
    scene = Scene(folder.write("shop.py", JOINED).sound(), NOON)
    broken = folder.write("shop.py", JOINED + "\ndef (\n").load()
    assert broken.broken == ("shop",)
    scene.project, scene.triggers = broken, Triggers(broken, moved)
    scene.turn(NOON)
    scene.store.emit(event())
    scene.turn(NOON)
    assert scene.store.all_pending(limit=10) == []
    mended = folder.write("shop.py", JOINED).sound()
    scene.project, scene.triggers = mended, Triggers(mended, moved)
    assert set(scene.at(NOON)) == {"sales.left", "sales.right", "sales.both"}


def test_a_schedule_of_static_keys_is_for_all_of_them(jobs: Callable[[str], Project]) -> None:
    project = jobs(
        """
@job(partitioning=Static(["eu", "us"]), schedule=Cron("0 6 * * *"), limit=1)
def sales():
    @task
    def extract(partition): ...

    extract()
"""
    )
    scene = Scene(project, datetime(2024, 1, 15, 5, tzinfo=UTC))
    assert scene.at(NOON) == {"sales.extract": [("eu",), ("us",)]}


def test_an_interrupt_ends_keys_that_run_at_once() -> None:
    started = threading.Event()

    @job(partitioning=Daily(start="2024-01-01"), limit=2)
    def sales() -> None:
        @task
        def work(partition: str) -> pd.DataFrame:
            if not started.is_set():
                started.set()
                os.kill(os.getpid(), signal.SIGINT)
            return pd.DataFrame({"n": [1]})

        work()

    done = run_job(sales, partitions=[f"2024-01-{n:02}" for n in range(1, 21)])
    assert done.status == "cancelled"
    ended = list(done["work"].keys.values())
    assert ended.count("cancelled") >= 16
    assert set(ended) <= {"succeeded", "cancelled"}
