"""What people ask a server for: runs and backfills, beside what is triggered."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tranche.errors import EngineUnavailable, ServerBusy, StatementFailed, TrancheError
from tranche.model.backfill import BackfillRequest
from tranche.model.event import Event
from tranche.model.plan import Step
from tranche.run.feed import Ended, Feed
from tranche.run.news import RunStarted, StepFinished
from tranche.run.runner import RunResult, run_plan
from tranche.run.serving import Server
from tranche.service import backfilling

from .test_serving import CHAIN, DAILY, NOW, Scene, statuses

KEY = "2026-05-01"
WHOLE = CHAIN | {
    "w": "-- pipeline\n-- on lake://main/a map=all\n-- materialize lake://main/w append\n"
    "SELECT x FROM a",
}


class Watched(Scene):
    """Counts how often each key of each script is tried."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.tries: Counter[tuple[str, str | None]] = Counter()
        self.engine.breaks = self.tried

    def tried(self, step: Step) -> Exception | None:
        self.tries.update((step.script.name, key) for key in step.keys)
        return self.breaks(step)


def order(scene: Scene, target: str = "a", **request: Any) -> str:
    plan = scene.bench.plan(target, **{"fire_time": scene.now, "partition": KEY, **request})
    return scene.server.order(plan, patience=5)


def ended(scene: Scene, run: str) -> RunResult | TrancheError:
    told, over = scene.server.feed.of(run, 0)
    assert over
    assert isinstance(told[-1], Ended)
    return told[-1].result


def test_an_order_runs_with_what_follows_and_each_key_is_made_once() -> None:
    scene = Watched(WHOLE)
    scene.settle()
    run = order(scene)
    assert scene.bench.store.run(run) is not None
    scene.settle()
    result = ended(scene, run)
    assert isinstance(result, RunResult) and result.status == "succeeded"
    assert scene.tries == {("a", KEY): 1, ("b", KEY): 1, ("m", "2026-05"): 1, ("w", None): 1}
    assert scene.bench.store.all_pending(limit=9) == []


def test_so_it_is_while_turns_are_taken_between_its_steps() -> None:
    scene = Watched(WHOLE)
    scene.settle()
    scene.breaks = lambda step: scene.server.turn() and None
    order(scene)
    scene.settle()
    assert set(scene.tries.values()) == {1}
    assert scene.bench.store.all_pending(limit=9) == []


def test_a_step_that_fails_is_not_tried_by_others() -> None:
    scene = Watched(CHAIN)
    scene.settle()
    scene.breaks = lambda step: StatementFailed("boom") if step.script.name == "b" else None
    order(scene)
    scene.settle()
    assert scene.tries == {("a", KEY): 1, ("b", KEY): 1}
    assert statuses(scene, "b") == {KEY: "failed"}


def test_what_was_skipped_for_a_key_that_failed_follows_what_was_published() -> None:
    scene = Watched(
        {
            "a": f"{DAILY}-- materialize lake://main/a\nSELECT 1 AS x",
            "w": "-- pipeline\n-- on lake://main/a map=all\n-- materialize lake://main/w\n"
            "SELECT x FROM a",
        }
    )
    scene.server.works_off = backfilling.Serves(scene.engine, scene.bench.store, lambda: scene.now)
    scene.settle()
    scene.breaks = lambda step: StatementFailed("boom") if KEY in step.keys else None
    request = BackfillRequest(target="a", at=NOW, start=KEY, end="2026-05-04")
    planned = backfilling.plan(scene.bench.project, request, scene.bench.store)
    backfilling.begin(planned, scene.bench.store, status="queued", clock=lambda: NOW)
    scene.settle()
    assert sorted(statuses(scene, "a").values()) == ["failed", *["succeeded"] * 3]
    assert statuses(scene, "w") == {None: "succeeded"}
    assert scene.tries["w", None] == 1


def test_what_somebody_else_asks_for_meanwhile_is_made_again() -> None:
    scene = Watched(CHAIN | {"b": CHAIN["b"].replace("-- on", "-- on lake://main/other\n-- on", 1)})
    scene.settle()

    def event(step: Step) -> None:
        if step.script.name == "b" and scene.tries["b", KEY] == 1:
            told = Event(id="else", asset="lake://main/other", partition=KEY, at=NOW)
            scene.bench.store.emit(told)
            scene.server.turn()

    scene.breaks = lambda step: event(step)
    order(scene)
    scene.settle()
    assert scene.tries["b", KEY] == 2


def test_what_a_run_left_when_its_process_died_is_made_by_others() -> None:
    scene = Watched(CHAIN)
    scene.settle()
    plan = scene.bench.plan("a", fire_time=NOW, partition=KEY)

    # It publishes `a`, and is gone before `b`.
    class Gone(BaseException):
        pass

    def gone(step: Step) -> Exception | None:
        if step.script.name == "b":
            raise Gone
        return None

    scene.breaks = gone
    with pytest.raises(Gone):
        run_plan(plan, scene.engine, scene.bench.store, lambda: NOW, sleep=lambda _: None)
    scene.breaks = lambda step: None
    scene.server.turn()
    scene.bench.store._live.clear()
    scene.server.look_after()
    scene.settle()
    assert statuses(scene, "b") == {KEY: "succeeded"}
    assert statuses(scene, "m") == {"2026-05": "succeeded"}


def test_orders_come_before_what_is_ready_and_backfills_last() -> None:
    scene = Watched(CHAIN)
    scene.settle()
    scene.server.workers = 1
    go = threading.Event()

    def waits(step: Step) -> None:
        go.wait(20)

    scene.breaks = waits
    scene.heard("2026-05-03")
    scene.server.turn()
    run = order(scene)
    assert [started.kind for started in scene.server.begin()] == ["ordered"]
    go.set()
    scene.settle()
    assert isinstance(ended(scene, run), RunResult)


def test_a_server_takes_on_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.run.orders.MOST_ORDERS", 2)
    scene = Watched(CHAIN)
    order(scene), order(scene)
    runs = scene.bench.store.runs(limit=9)
    with pytest.raises(ServerBusy, match="2 runs wait for this server already"):
        order(scene)
    assert scene.bench.store.runs(limit=9) == runs


def test_what_a_run_tells_can_be_heard_from_its_beginning() -> None:
    scene = Watched(CHAIN)
    run = order(scene)
    scene.settle()
    told, over = scene.server.feed.of(run, 0)
    assert over
    assert isinstance(told[0], RunStarted) and told[0].run == run and told[0].keys == 3
    steps = [each.step.label for each in told if isinstance(each, StepFinished)]
    assert steps == ["lake://main/a", "lake://main/b", "lake://main/m"]
    assert scene.server.feed.of(run, len(told)) == ([], True)


def running(server: Server) -> threading.Thread:
    server.store.leave(server.id)
    thread = threading.Thread(target=server.run)
    thread.start()
    return thread


def until(found: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_can_be_cancelled_and_its_keys_are_not_handed_over() -> None:
    scene = Watched(CHAIN)
    started, go = threading.Event(), threading.Event()

    def waits(step: Step) -> None:
        started.set()
        go.wait(20)

    scene.breaks = waits
    thread = running(scene.server)
    try:
        scene.heard(KEY)
        assert started.wait(20)
        (one,) = scene.server.running
        scene.server.cancel(one.run)
        go.set()
        until(lambda: not scene.server.running)
        run = scene.bench.store.run(one.run)
        assert run is not None
        # Its only step was under way, and came to its end; nothing of it runs again.
        assert run.status == "succeeded"
        order_id = order(scene, "a", partition="2026-05-09")
        scene.server.cancel(order_id)
        until(lambda: scene.bench.store.run(order_id).status != "running")  # type: ignore[union-attr]
    finally:
        go.set()
        scene.server.stop()
        thread.join(20)
    cancelled = scene.bench.store.run(order_id)
    assert cancelled is not None and cancelled.status in ("cancelled", "succeeded")


def test_orders_that_wait_when_a_server_stops_are_ended() -> None:
    scene = Watched(CHAIN)
    run = order(scene)
    scene.server.stop()
    thread = running(scene.server)
    thread.join(20)
    found = scene.bench.store.run(run)
    assert found is not None and found.status == "cancelled"
    assert scene.engine.executed == []
    assert {step.status for step in scene.bench.store.steps(run)} == {"cancelled"}


class TestBackfills:
    def scene(self) -> Watched:
        texts = {"a": f"{DAILY}-- materialize lake://main/a\nSELECT 1 AS x", "b": CHAIN["b"]}
        scene = Watched(texts)
        scene.server.works_off = self.serves(scene)
        scene.settle()
        return scene

    def serves(self, scene: Scene) -> backfilling.Serves:
        return backfilling.Serves(scene.engine, scene.bench.store, lambda: scene.now)

    def begin(self, scene: Scene) -> str:
        request = BackfillRequest(target="a", at=NOW, start="2026-05-01", end="2026-05-04")
        store = scene.bench.store
        planned = backfilling.plan(scene.bench.project, request, store)
        return backfilling.begin(planned, store, status="queued", clock=lambda: NOW).id

    def test_one_that_is_queued_is_worked_off_each_key_once(self) -> None:
        scene = self.scene()
        id = self.begin(scene)
        scene.settle()
        assert scene.bench.store.backfill_status(id) == "succeeded"
        assert set(scene.tries.values()) == {1}
        assert len(statuses(scene, "b")) == 4
        told, over = scene.server.feed.of(id, 0)
        last = told[-1]
        assert over and isinstance(last, Ended)
        assert isinstance(last.about, backfilling.BackfillResult)
        assert [key.status for key in last.about.keys] == ["succeeded"] * 4

    def test_one_that_a_server_leaves_is_gone_on_with_by_another(self) -> None:
        scene = self.scene()
        id = self.begin(scene)

        def stops(step: Step) -> None:
            scene.server.stop()

        scene.breaks = stops
        thread = running(scene.server)
        thread.join(20)
        assert scene.bench.store.backfill_status(id) == "running"
        assert len(statuses(scene, "a")) == 4 and statuses(scene, "b") == {}
        scene.breaks = lambda step: None
        other = scene.another()
        other.works_off = self.serves(scene)
        other.look_after()
        assert scene.bench.store.backfill_status(id) == "queued"
        scene.settle(other)
        assert scene.bench.store.backfill_status(id) == "succeeded"
        assert set(scene.tries.values()) == {1}
        assert len(statuses(scene, "b")) == 4

    def test_one_that_is_cancelled_ends_after_the_commit_at_hand(self) -> None:
        scene = self.scene()
        id = self.begin(scene)
        found = scene.bench.store.backfill(id)
        assert found is not None

        def cancels(step: Step) -> None:
            now = scene.bench.store.backfill(id)
            assert now is not None
            if now.status == "running":
                assert backfilling.cancel(now, scene.bench.store) == "cancelling"

        scene.breaks = cancels
        scene.settle()
        assert scene.bench.store.backfill_status(id) == "cancelled"
        (run,) = [run for run in scene.bench.store.runs(limit=9) if run.status == "cancelled"]
        ends = {step.script: step.status for step in scene.bench.store.steps(run.id)}
        assert ends == {"a": "succeeded", "b": "cancelled"}
        # What was published by then is news to others, as ever.
        assert set(scene.tries.values()) == {1}
        assert len(statuses(scene, "b")) == 4

    def test_one_that_cannot_be_planned_has_failed(self) -> None:
        scene = self.scene()
        id = self.begin(scene)
        scene.server.project = replace(scene.bench.project, scripts=())
        scene.settle()
        assert scene.bench.store.backfill_status(id) == "failed"
        (run,) = [run for run in scene.bench.store.runs(limit=9) if run.error]
        assert "lake://main/a" in str(run.error) or "'a'" in str(run.error)


def test_a_feed_forgets_only_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.run.feed._RUNS", 2)
    feed = Feed()
    result = RunResult("r", "succeeded", ())
    for run in ("a", "b", "c"):
        feed.open(run)
        feed.tell(run, RunStarted(run))
    assert all(map(feed.knows, "abc"))
    feed.tell("b", Ended(result))
    feed.open("d")
    assert [run for run in "abcd" if feed.knows(run)] == ["a", "c", "d"]
    assert [run for _, run, _ in feed.latest(feed.number - 2)] == ["c", "b"]
    assert feed.of("b", 0) == ([], True)


class TestEngineThatDies:
    """Spark is a process of its own, which may end while its server goes on."""

    def test_it_is_started_anew_and_the_step_tried_again(self) -> None:
        scene = Watched(CHAIN)
        scene.settle()
        scene.breaks = lambda step: (
            EngineUnavailable("Spark has ended") if not scene.engine.started else None
        )
        scene.heard(KEY)
        scene.settle()
        assert statuses(scene, "m") == {"2026-05": "succeeded"}
        assert scene.engine.started == 1
        assert scene.tries["a", KEY] == 2

    def test_a_script_that_kills_it_each_time_fails_and_others_run(self) -> None:
        scene = Watched(CHAIN)
        scene.settle()
        scene.breaks = lambda step: (
            EngineUnavailable("Spark has ended") if KEY in step.keys else None
        )
        scene.heard(KEY)
        scene.settle()
        scene.heard("2026-05-02")
        scene.settle()
        assert statuses(scene, "a") == {KEY: "failed", "2026-05-02": "succeeded"}
        assert scene.tries["a", KEY] == 2

    def test_while_it_does_not_start_keys_wait(self) -> None:
        scene = Watched(CHAIN)
        troubles: list[str] = []
        scene.server.troubled = lambda error: troubles.append(str(error))
        scene.settle()
        there = False

        def revive() -> None:
            if not there:
                raise EngineUnavailable("no memory")

        scene.engine.revive = revive  # type: ignore[method-assign]
        scene.breaks = lambda step: None if there else EngineUnavailable("Spark has ended")
        scene.server._stop.wait = lambda _: False  # type: ignore[method-assign,assignment,misc]
        scene.heard(KEY)
        scene.server.turn()
        scene.server.begin()
        until(lambda: not scene.server.running)
        (row,) = scene.bench.store.all_pending(limit=9)
        assert row.status == "ready"
        assert scene.server.begin() == []
        assert troubles == ["no memory"]
        there = True
        scene.settle()
        assert statuses(scene, "m") == {"2026-05": "succeeded"}
