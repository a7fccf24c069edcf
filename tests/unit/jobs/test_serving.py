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
from tranche.model.plan import Request
from tranche.model.project import Project
from tranche.planning.plan import build_plan
from tranche.planning.tick import Triggers
from tranche.run.runner import run_plan
from tranche.script.ranges.ranged import only_key_by_key
from tranche.script.schedules import moved
from tranche.testing import MemoryStore, run_job

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


def test_what_a_run_of_a_job_makes_is_not_started_by_a_server_too(folder: Folder) -> None:
    scene = Scene(folder.write("shop.py", JOINED).sound(), NOON)
    asked = Request(target="sales", fire_time=NOON, partition="2024-01-14")
    plan = build_plan(scene.project, asked, scene.store, only_key_by_key)
    started: list[str] = []

    def looked(_: object) -> None:
        scene.turn(NOON)
        started.extend(each.consumer for each in scene.store.ready(limit=10))

    done = run_plan(plan, scene.engine, scene.store, lambda: NOON, tell=looked)
    assert done.status == "succeeded"
    assert started == []
    scene.engine.executed.clear()
    assert scene.at(NOON) == {}


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


UNPARTITIONED = """
from tranche import *

@job(schedule=Cron("0 6 * * *"))
def nightly():
    @task
    def clean() -> None: ...

    @task
    def report(cleaned) -> None: ...

    report(clean())
"""


def test_a_job_without_partitions_runs_by_its_schedule(folder: Folder) -> None:
    scene = Scene(folder.write("shop.py", UNPARTITIONED).sound(), NOON)
    assert scene.at(datetime(2024, 1, 15, 13, tzinfo=UTC)) == {}
    nightly = {"nightly.clean": [(None,)], "nightly.report": [(None,)]}
    assert scene.at(datetime(2024, 1, 16, 7, tzinfo=UTC)) == nightly


TENANTS = """
from tranche import *

@job(partitioning=Dynamic("$.tenant"), schedule=Asset("lake://main/orders"))
def tenants():
    @task
    def extract(partition) -> None: ...

    @task
    def report(extracted, partition) -> None: ...

    report(extract())
"""


def test_keys_of_payloads_go_through_a_job(folder: Folder) -> None:
    scene = Scene(folder.write("shop.py", TENANTS).sound(), NOON)
    told = Event(
        id="e1", asset="lake://main/orders", partition=None, at=NOON, payload={"tenant": "acme"}
    )
    scene.store.emit(told)
    assert scene.at(NOON) == {"tenants.extract": [("acme",)], "tenants.report": [("acme",)]}


def test_scripts_and_jobs_wait_for_each_other(folder: Folder) -> None:
    folder.write(
        "raw.sql",
        "-- pipeline\n-- partitioned daily\n-- materialize lake://main/orders\nSELECT 1 AS a",
    )
    folder.write("shop.py", JOINED)
    folder.write(
        "after.sql",
        "-- pipeline\n-- on lake://main/sales.both\n-- partitioned daily\n"
        "-- materialize lake://main/after\nSELECT 1 AS a",
    )
    folder.write("told.sql", "-- pipeline\n-- on job://nightly/report\nSELECT 1 AS a")
    folder.write("night.py", UNPARTITIONED)
    project = folder.sound()
    plan = build_plan(
        project,
        Request(target="raw", fire_time=NOON, partition="2024-01-14"),
        MemoryStore(),
        only_key_by_key,
    )
    assert [step.script.name for step in plan.steps] == [
        "raw",
        "sales.left",
        "sales.right",
        "sales.both",
        "after",
    ]
    assert {step.partition for step in plan.steps} == {"2024-01-14"}
    plan = build_plan(
        project, Request(target="nightly", fire_time=NOON), MemoryStore(), only_key_by_key
    )
    assert [step.script.name for step in plan.steps] == ["nightly.clean", "nightly.report", "told"]
