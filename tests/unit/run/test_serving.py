"""Servers: what is ready runs, once, whoever dies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tranche.errors import RangeRefused, StatementFailed
from tranche.model.event import Event
from tranche.model.plan import Step
from tranche.model.run import Attempt
from tranche.planning.stale import stale_keys
from tranche.ports import Restored, Staged
from tranche.run.ledger import expected
from tranche.run.runner import run_plan
from tranche.run.serving import Server
from tranche.script.schedules import moved

from .test_ranges import Breaking
from .test_runner import Bench

NOW = datetime(2026, 5, 16, 12, tzinfo=UTC)
DAILY = "-- pipeline\n-- partitioned daily\n"
CHAIN = {
    "a": f"{DAILY}-- on lake://main/src\n-- materialize lake://main/a\nSELECT 1 AS x",
    "b": f"{DAILY}-- on lake://main/a\n-- materialize lake://main/b\nSELECT x FROM a",
    "m": "-- pipeline\n-- partitioned monthly\n-- on lake://main/b map=start_of_month\n"
    "-- materialize lake://main/m\nSELECT x FROM b",
}


class Scene:
    """A bench with servers on it."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.bench = Bench(texts)
        self.engine = Breaking(lambda step: self.breaks(step))
        self.bench.engine = self.engine
        self.breaks: Callable[[Step], Exception | None] = lambda step: None
        self.now = NOW
        self.number = 0
        self.server = self.another()

    def another(self) -> Server:
        server = Server(
            project=self.bench.project,
            engine=self.engine,
            store=self.bench.store,
            clock=lambda: self.now,
            separates=lambda _: None,
            moves=moved,
            sleep=lambda _: None,
        )
        self.bench.store.serve(server.id)
        return server

    def heard(self, *keys: str | None) -> None:
        for key in keys:
            self.number += 1
            event = Event(id=f"e{self.number}", asset="lake://main/src", partition=key, at=self.now)
            self.bench.store.emit(event)

    def settle(self, server: Server | None = None) -> None:
        """Turns until nothing happens any more."""
        one = server or self.server
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            # What ends from here on, a turn after it has to hear of.
            busy = one.running
            one.turn()
            begun = one.begin()
            if not (busy or begun or self.bench.store.ready(limit=1)):
                return
            one.rest()
        raise AssertionError("it never comes to rest")


def statuses(scene: Scene, asset: str) -> dict[str | None, str]:
    found = scene.bench.store.partitions(f"lake://main/{asset}", limit=99)
    return {state.partition: state.status for state in found}


def test_an_event_runs_what_it_asks_for_and_what_follows() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.heard("2026-05-01", "2026-05-02")
    scene.settle()
    days = {"2026-05-01": "succeeded", "2026-05-02": "succeeded"}
    assert statuses(scene, "a") == days
    assert statuses(scene, "b") == days
    assert statuses(scene, "m") == {"2026-05": "succeeded"}
    assert scene.bench.store.all_pending(limit=9) == []
    # Both days were one run of each script.
    assert scene.engine.tried[:2] == [tuple(days), tuple(days)]


def test_nothing_runs_twice() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.heard("2026-05-01")
    scene.settle()
    tried = list(scene.engine.tried)
    scene.settle()
    assert scene.engine.tried == tried


def test_a_failure_is_that_of_its_key() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.breaks = lambda step: (
        StatementFailed("boom") if "2026-05-02" in step.keys and step.script.name == "a" else None
    )
    scene.heard("2026-05-01", "2026-05-02", "2026-05-03")
    scene.settle()
    assert statuses(scene, "a")["2026-05-02"] == "failed"
    assert set(statuses(scene, "b")) == {"2026-05-01", "2026-05-03"}
    assert scene.bench.store.all_pending(limit=9) == []


def test_forty_days_away_are_one_run() -> None:
    texts = {
        "s": '-- pipeline\n-- on schedule "0 6 * * *"\n-- partitioned daily lag=1\n'
        "-- materialize lake://main/s\nSELECT 1 AS x"
    }
    scene = Scene(texts)
    scene.settle()
    scene.now += timedelta(days=40)
    scene.settle()
    assert [len(keys) for keys in scene.engine.tried] == [40]
    assert len(statuses(scene, "s")) == 40


def test_what_cannot_be_planned_is_a_failed_run_and_no_more() -> None:
    texts = {"z": "-- pipeline\n-- on lake://main/src\n-- $x (int)\nSELECT $x AS x"}
    scene = Scene(texts)
    scene.settle()
    scene.heard(None)
    scene.settle()
    (run,) = scene.bench.store.runs(limit=9)
    assert (run.status, run.target) == ("failed", "z")
    assert run.error is not None and "needs the argument $x" in run.error
    assert scene.bench.store.all_pending(limit=9) == []


def test_keys_of_a_server_that_is_gone_are_run_by_another() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.heard("2026-05-01")
    scene.server.turn()
    other = scene.another()
    store = scene.bench.store
    # It takes the keys, and is gone before it has begun.
    store.claim("lake://main/a", server="gone", run="never", limit=9)
    scene.settle(other)
    assert statuses(scene, "a") == {}
    assert other.look_after() == 1
    scene.settle(other)
    assert statuses(scene, "a") == {"2026-05-01": "succeeded"}


def test_a_run_by_hand_that_goes_on_downstream_asks_for_nothing_more() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.bench.run("a", partition="2026-05-01")
    tried = len(scene.engine.tried)
    assert tried == 3
    scene.settle()
    assert len(scene.engine.tried) == tried
    assert scene.bench.store.all_pending(limit=9) == []


def test_a_correction_refreshes_what_is_made_of_it_and_nothing_else() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.heard("2026-05-01", "2026-05-02", "2026-06-01")
    scene.settle()
    before = len(scene.engine.tried)
    # The same rows again stop there.
    scene.heard("2026-05-02")
    scene.settle()
    assert scene.engine.tried[before:] == [("2026-05-02",)]
    # Other rows go on, to the month that has the day.
    for name in ("a", "b"):
        scene.engine.answers[name] = lambda _: [{"x": 2}]
    scene.heard("2026-05-02")
    scene.settle()
    assert scene.engine.tried[before + 1 :] == [("2026-05-02",), ("2026-05-02",), ("2026-05",)]


def test_what_nobody_foresaw_fails_the_run_and_not_the_server() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.breaks = lambda step: ZeroDivisionError("by zero") if step.script.name == "a" else None
    scene.heard("2026-05-01")
    scene.settle()
    (run,) = scene.bench.store.runs(limit=9)
    assert run.status == "failed"
    assert scene.bench.store.all_pending(limit=9) == []
    scene.breaks = lambda step: None
    scene.heard("2026-05-01")
    scene.settle()
    assert statuses(scene, "b") == {"2026-05-01": "succeeded"}


def test_scripts_that_are_deployed_anew() -> None:
    scene = Scene({"a": CHAIN["a"]})
    scene.settle()
    scene.server.reload = lambda: Bench(CHAIN).project
    scene.server.look_at_scripts()
    scene.heard("2026-05-01")
    scene.settle()
    assert statuses(scene, "b") == {"2026-05-01": "succeeded"}


def test_a_script_that_is_gone_when_its_turn_comes() -> None:
    scene = Scene(CHAIN)
    scene.settle()
    scene.heard("2026-05-01")
    scene.server.turn()
    scene.server.reload = lambda: Bench({"b": CHAIN["b"]}).project
    scene.server.look_at_scripts()
    scene.server.begin()
    scene.settle()
    (run,) = scene.bench.store.runs(limit=9)
    assert (run.status, run.error) == ("failed", "no script makes lake://main/a any more")
    assert scene.bench.store.all_pending(limit=9) == []


@pytest.mark.parametrize(
    ("on_rerun", "again", "is_stale"),
    [("refresh", True, False), ("stale", False, True), ("ignore", False, False)],
)
def test_what_a_correction_leads_to_can_be_said(on_rerun: str, again: bool, is_stale: bool) -> None:
    texts = CHAIN | {"b": CHAIN["b"].replace("main/a\n", f"main/a on_rerun={on_rerun}\n")}
    scene = Scene(texts)
    scene.settle()
    scene.heard("2026-05-01")
    scene.settle()
    before = len(scene.engine.tried)
    scene.engine.answers["a"] = lambda _: [{"x": 2}]
    # Another key that nobody has made yet runs in any case.
    scene.heard("2026-05-01", "2026-05-02")
    scene.settle()
    b_keys = [
        key for keys in scene.engine.tried[before + 1 :] for key in keys if len(key or "") > 7
    ]
    assert b_keys == (["2026-05-01", "2026-05-02"] if again else ["2026-05-02"])
    script = scene.bench.project.script("b")
    assert script is not None
    stale = stale_keys(script, ["2026-05-01"], scene.bench.store)
    assert bool(stale) == is_stale


def readers(header: str) -> dict[str, str]:
    """A table, and scripts that read one of its columns, none, or all."""
    on = f"{header}-- on lake://main/a\n"
    return {
        "a": f"{header}-- on lake://main/src\n-- materialize lake://main/a\nSELECT 1 AS x",
        "b": f"{on}-- materialize lake://main/b\nSELECT x FROM a",
        "n": f"{on}-- materialize lake://main/n\nSELECT count(*) AS n FROM a",
        "all": f"{on}-- materialize lake://main/all\nSELECT * FROM a",
    }


@pytest.mark.parametrize(
    ("header", "keys"),
    [
        (DAILY, ("2026-05-01",)),
        (DAILY, ("2026-05-01", "2026-05-02")),
        ("-- pipeline\n", (None,)),
    ],
)
def test_only_readers_of_what_has_changed_run_again(
    header: str, keys: tuple[str | None, ...]
) -> None:
    scene = Scene(readers(header))

    def ran(*rows: dict[str, int]) -> list[str]:
        scene.now += timedelta(hours=1)
        scene.engine.answers["a"] = lambda _: rows
        before = len(scene.engine.executed)
        scene.heard(*keys)
        scene.settle()
        return sorted({step.script.name for step in scene.engine.executed[before:]} - {"a"})

    assert ran({"x": 1, "y": 1}) == ["all", "b", "n"]
    assert ran({"x": 1, "y": 1}) == []
    assert ran({"x": 1, "y": 2}) == ["all"]
    assert ran({"x": 1, "y": 3}) == ["all"]
    assert ran({"x": 1, "y": 3, "z": 1}) == ["all"]
    assert ran({"x": 2, "y": 3}) == ["all", "b"]
    assert ran({"x": 2, "y": 4}, {"x": 3, "y": 4}) == ["all", "b", "n"]
    assert ran({"y": 5}, {"y": 6}) == ["all", "b"]


HOURLY = "-- pipeline\n-- partitioned hourly\n"
LATE = {
    "h": f"{HOURLY}-- on lake://main/src\n-- materialize lake://main/h\nSELECT 1 AS x",
    "d": f'{DAILY}-- on lake://main/h deadline="06:00"\n-- materialize lake://main/d\n'
    "SELECT x FROM h",
}
HOURS = [f"2026-05-16T{hour:02}" for hour in range(24)]
SIX = datetime(2026, 5, 17, 6, tzinfo=UTC)


def standing(scene: Scene, asset: str, key: str) -> tuple[str, bool] | None:
    found = scene.bench.store.partition(f"lake://main/{asset}", key)
    return None if found is None else (found.status, found.provisional)


def test_a_key_that_runs_at_its_deadline_is_provisional_until_all_has_come() -> None:
    scene = Scene(LATE)
    scene.settle()
    scene.heard(*HOURS[:22])
    scene.settle()
    assert standing(scene, "d", "2026-05-16") is None
    scene.now = SIX
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", True)
    before = len(scene.engine.tried)
    # What comes late refreshes it.
    scene.heard(HOURS[22])
    scene.settle()
    assert scene.engine.tried[before:] == [(HOURS[22],), ("2026-05-16",)]
    assert standing(scene, "d", "2026-05-16") == ("succeeded", True)
    scene.heard(HOURS[23])
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", False)
    log = scene.bench.store.materializations("lake://main/d", "2026-05-16", limit=9)
    assert [entry.provisional for entry in log] == [False, True, True]
    # The same rows again change nothing any more.
    before = len(scene.engine.tried)
    scene.heard(HOURS[23])
    scene.settle()
    assert scene.engine.tried[before:] == [(HOURS[23],)]
    assert scene.bench.store.all_pending(limit=9) == []


def test_a_key_that_has_all_before_its_deadline_was_never_provisional() -> None:
    scene = Scene(LATE)
    scene.settle()
    scene.heard(*HOURS)
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", False)
    scene.now = SIX
    scene.settle()
    log = scene.bench.store.materializations("lake://main/d", "2026-05-16", limit=9)
    assert len(log) == 1


def test_what_was_run_by_hand_before_all_was_there_is_provisional_too() -> None:
    scene = Scene(LATE)
    scene.settle()
    scene.heard(*HOURS[:23])
    scene.settle()
    scene.bench.run("d", partition="2026-05-16")
    assert standing(scene, "d", "2026-05-16") == ("succeeded", True)
    # At the deadline there is nothing that it was not made of.
    tried = list(scene.engine.tried)
    scene.now = SIX
    scene.settle()
    assert scene.engine.tried == tried
    assert scene.bench.store.all_pending(limit=9) == []
    scene.heard(HOURS[23])
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", False)


def test_what_comes_between_plan_and_start_does_not_leave_it_provisional() -> None:
    scene = Scene(LATE)
    scene.settle()
    scene.heard(*HOURS[:23])
    scene.settle()
    plan = scene.bench.plan("d", partition="2026-05-16")
    scene.heard(HOURS[23])
    # Only the hour: its day is run by the plan that was made before.
    scene.server.turn()
    scene.server.begin()
    while scene.server._running:
        scene.server.rest()
        scene.server.begin()
    run_plan(plan, scene.engine, scene.bench.store, scene.bench.clock)
    assert standing(scene, "d", "2026-05-16") == ("succeeded", True)
    scene.now = SIX
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", False)


@pytest.mark.parametrize("refused", [False, True])
def test_each_key_of_a_range_is_provisional_for_itself(refused: bool) -> None:
    texts = LATE | {"d": LATE["d"].replace("daily", "daily lookback=1")}
    scene = Scene(texts)
    scene.settle()
    scene.heard(*HOURS)
    scene.settle()
    if refused:
        scene.breaks = lambda step: RangeRefused("it cannot be") if step.is_range else None
    plan = scene.bench.plan("d", partition="2026-05-17")
    (result,) = run_plan(plan, scene.engine, scene.bench.store, scene.bench.clock).steps
    assert [(key.partition, key.provisional) for key in result.keys] == [
        ("2026-05-16", False),
        ("2026-05-17", True),
    ]
    assert result.provisional
    assert standing(scene, "d", "2026-05-17") == ("succeeded", True)


def test_a_rollback_takes_over_what_the_slice_was() -> None:
    scene = Scene(LATE)
    scene.settle()
    scene.heard(*HOURS[:23])
    scene.now = SIX
    scene.settle()
    store = scene.bench.store
    (early,) = store.materializations("lake://main/d", "2026-05-16", limit=9)
    scene.heard(HOURS[23])
    scene.settle()
    assert standing(scene, "d", "2026-05-16") == ("succeeded", False)
    (step,) = scene.bench.plan("d", partition="2026-05-16").steps
    staged = Staged(
        restored=(Restored("2026-05-16", 1),), lineage=frozenset({early.snapshot or ""})
    )
    now = scene.now + timedelta(hours=1)
    attempt = Attempt(id="t", run="r", position=0, number=1, status="running", started_at=now)
    (entry,) = expected(
        replace(step, restores=early.snapshot),
        attempt,
        scene.now,
        inputs={},
        staged=staged,
        state=store,
    )
    assert (entry.inputs, entry.provisional) == (early.inputs, True)
    # It is made of what was there then.
    assert entry.started_at == early.started_at < attempt.started_at


WHOLE = {
    "a": CHAIN["a"],
    "w": "-- pipeline\n-- on lake://main/other\n-- materialize lake://main/w\nSELECT 1 AS x",
    "c": f'{DAILY}-- on lake://main/a\n-- on lake://main/w deadline="06:00"\n-- trigger all\n'
    "-- materialize lake://main/c\nSELECT a.x FROM a, w",
}


def test_a_whole_table_that_is_late_refreshes_what_ran_without_it() -> None:
    scene = Scene(WHOLE)
    scene.settle()
    scene.heard("2026-05-15", "2026-05-16")
    scene.now = SIX
    scene.settle()
    for key in ("2026-05-15", "2026-05-16"):
        assert standing(scene, "c", key) == ("succeeded", True)
    for number in range(2):
        event = Event(id=f"w{number}", asset="lake://main/other", partition=None, at=scene.now)
        scene.bench.store.emit(event)
        scene.settle()
        for key in ("2026-05-15", "2026-05-16"):
            assert standing(scene, "c", key) == ("succeeded", False)
            # Once it was there, it asks for nothing more.
            log = scene.bench.store.materializations("lake://main/c", key, limit=9)
            assert len(log) == 2


def test_a_source_that_is_late_leaves_a_key_provisional_until_it_tells() -> None:
    texts = {
        "a": CHAIN["a"],
        "c": f'{DAILY}-- on lake://main/a\n-- on lake://main/rates deadline="06:00"\n-- trigger all\n'
        "-- materialize lake://main/c\nSELECT x FROM a",
    }
    scene = Scene(texts)
    scene.settle()
    scene.heard("2026-05-16")
    scene.settle()
    assert standing(scene, "c", "2026-05-16") is None
    scene.now = SIX
    scene.settle()
    assert standing(scene, "c", "2026-05-16") == ("succeeded", True)
    rates = Event(id="r1", asset="lake://main/rates", partition="2026-05-16", at=scene.now)
    scene.bench.store.emit(rates)
    scene.settle()
    assert standing(scene, "c", "2026-05-16") == ("succeeded", False)
    # It has told, and a correction of the other does not make that undone.
    scene.engine.answers["a"] = lambda _: [{"x": 2}]
    scene.heard("2026-05-16")
    scene.settle()
    log = scene.bench.store.materializations("lake://main/c", "2026-05-16", limit=9)
    assert [entry.provisional for entry in log] == [False, False, True]


def test_a_whole_table_is_not_made_again_of_the_same_rows() -> None:
    whole = (
        "-- pipeline\n-- on lake://main/a map=all\n-- materialize lake://main/w\nSELECT x FROM a"
    )
    scene = Scene({"a": CHAIN["a"], "w": whole})
    scene.settle()

    def emitted(key: str) -> int:
        scene.now += timedelta(minutes=1)
        scene.heard(key)
        scene.settle()
        return scene.engine.tried.count((None,))

    assert emitted("2026-05-01") == 1
    assert emitted("2026-05-02") == 2
    # The same rows of the same day again.
    assert emitted("2026-05-01") == 2
    scene.engine.answers["a"] = lambda _: [{"x": 2}]
    assert emitted("2026-05-01") == 3
    assert emitted("2026-05-01") == 3


class TestScriptsWithFaults:
    """A script that has faults for a while loses nothing of what happens meanwhile."""

    def scene(self) -> Scene:
        scene = Scene(CHAIN)
        scene.settle()
        return scene

    def deploy(self, scene: Scene, *, without: str | None = None) -> None:
        whole = scene.bench.project
        scripts = tuple(script for script in whole.scripts if script.name != without)
        broken = () if without is None else (without,)
        scene.server.reload = lambda: replace(whole, scripts=scripts, broken=broken)
        scene.server.look_at_scripts()

    def test_it_hears_of_it_when_it_is_mended(self) -> None:
        scene = self.scene()
        self.deploy(scene, without="b")
        scene.heard("2026-05-01", "2026-05-02")
        scene.settle()
        assert statuses(scene, "b") == {}
        # Also by a server that was started meanwhile.
        scene.server = scene.another()
        self.deploy(scene, without="b")
        scene.settle()
        self.deploy(scene)
        scene.settle()
        assert statuses(scene, "b") == {"2026-05-01": "succeeded", "2026-05-02": "succeeded"}
        assert statuses(scene, "m") == {"2026-05": "succeeded"}
        tried = list(scene.engine.tried)
        scene.settle()
        assert scene.engine.tried == tried

    def test_keys_that_were_ready_wait_for_it(self) -> None:
        scene = self.scene()
        scene.heard("2026-05-01")
        scene.server.turn()
        self.deploy(scene, without="a")
        assert scene.server.begin() == []
        self.deploy(scene)
        scene.settle()
        assert statuses(scene, "b") == {"2026-05-01": "succeeded"}

    def test_one_that_is_removed_for_good_misses_nothing(self) -> None:
        scene = self.scene()
        self.deploy(scene, without="b")
        scene.heard("2026-05-01")
        scene.settle()
        whole = scene.bench.project
        gone = replace(whole, scripts=tuple(s for s in whole.scripts if s.name != "b"))
        scene.server.reload = lambda: gone
        scene.server.look_at_scripts()
        scene.settle()
        with scene.bench.store.turn() as turn:
            assert turn.missed() == []
