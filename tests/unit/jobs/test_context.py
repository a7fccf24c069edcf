"""What code can ask for of the run, in its own thread and in others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tranche import current_partition, current_partitions, logical_date
from tranche.errors import OutsideRun
from tranche.jobs.context import Active, active
from tranche.model.partitioning import Composite, Daily, Partitioning, Static

DAYS = Daily(tz="Europe/Paris")


def call(*keys: str, rule: Partitioning | None = DAYS) -> Active:
    return Active(keys, rule)


def in_thread(act: Callable[[], object]) -> object:
    found: list[object] = []

    def run() -> None:
        try:
            found.append(act())
        except OutsideRun as error:
            found.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_the_key_is_there_while_the_call_goes_on() -> None:
    with active(call("2026-05-16")):
        assert current_partition() == "2026-05-16"
        assert current_partitions() == ["2026-05-16"]
        assert logical_date() == datetime(2026, 5, 16, tzinfo=ZoneInfo("Europe/Paris"))
    with pytest.raises(OutsideRun):
        current_partition()


def test_the_time_of_several_dimensions_is_that_of_the_one_of_time() -> None:
    rule = Composite(region=Static(["eu"]), day=DAYS)
    with active(call("eu|2026-05-16", rule=rule)):
        assert logical_date() == datetime(2026, 5, 16, tzinfo=ZoneInfo("Europe/Paris"))


@pytest.mark.parametrize("ask", [current_partition, current_partitions, logical_date])
def test_outside_a_run_there_is_nothing(ask: Callable[[], object]) -> None:
    message = f"{ask.__name__}() is asked for outside a run; "
    with pytest.raises(OutsideRun) as caught:
        ask()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("active_call", "ask", "message"),
    [
        (call(rule=None), current_partition, "in a run without partitions; add a partitioned line"),
        (call(), current_partitions, "in a run that has no key; its fire time lies outside"),
        (call("a", "b"), current_partition, "and the call is for 2 keys; use current_partitions()"),
        (call("a", "b"), logical_date, "and the call is for 2 keys; use current_partitions(),"),
        (call("us", rule=Static(["us"])), logical_date, "and static keys have no time; use current_partition()"),
    ],
)  # fmt: skip
def test_what_there_is_not_is_told(
    active_call: Active, ask: Callable[[], object], message: str
) -> None:
    with active(active_call), pytest.raises(OutsideRun) as caught:
        ask()
    assert message in str(caught.value)


def test_threads_have_the_key_of_the_step_that_started_them() -> None:
    """Two steps at the same time, each with threads of threads."""
    barrier = threading.Barrier(2)
    found: dict[str, object] = {}

    def step(key: str) -> None:
        with active(call(key)):
            barrier.wait()
            found[key] = in_thread(lambda: in_thread(current_partition))
            barrier.wait()

    steps = [threading.Thread(target=step, args=(key,)) for key in ("2026-05-16", "2026-05-17")]
    for each in steps:
        each.start()
    for each in steps:
        each.join()
    assert found == {"2026-05-16": "2026-05-16", "2026-05-17": "2026-05-17"}


def test_a_pool_that_steps_share_has_the_key_of_whoever_submits() -> None:
    with ThreadPoolExecutor(1) as pool:
        with active(call("2026-05-16")):
            assert pool.submit(current_partition).result() == "2026-05-16"
            assert list(pool.map(lambda _: current_partition(), range(3))) == ["2026-05-16"] * 3
        with active(call("2026-05-17")):
            assert pool.submit(current_partition).result() == "2026-05-17"
        with pytest.raises(OutsideRun):
            pool.submit(current_partition).result()


def test_a_thread_that_outlives_its_step_never_gets_another_key() -> None:
    go, found = threading.Event(), []

    def late() -> None:
        go.wait()
        try:
            found.append(current_partition())
        except OutsideRun as error:
            found.append(error.what)

    with active(call("2026-05-16")):
        thread = threading.Thread(target=late)
        thread.start()
    with active(call("2026-05-17")):
        go.set()
        thread.join()
    assert found == ["current_partition() is asked for by a thread whose step is over"]


def test_threads_that_nobody_started_in_a_step_have_none() -> None:
    with active(call("2026-05-16")):
        pass
    assert str(in_thread(current_partition)).startswith("current_partition() is asked for outside")


def test_coroutines_have_it_too() -> None:
    async def work() -> list[str]:
        return [
            await asyncio.to_thread(current_partition),
            await asyncio.get_running_loop().run_in_executor(None, current_partition),
            current_partition(),
        ]

    with active(call("2026-05-16")):
        assert asyncio.run(work()) == ["2026-05-16"] * 3
