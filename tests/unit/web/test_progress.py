"""What is told while runs work: from the beginning to the end, to whoever listens."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tranche.errors import StatementFailed, StateUnavailable
from tranche.model.plan import Step
from tranche.model.run import Run
from tranche.run.news import RunStarted
from tranche.web.guard import MOST_BYTES

from .site import KEY, SHOP, Site, events


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.web.following._LOOK", 0.02)


def until(found: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 10
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Holding:
    """Steps wait until they are let go."""

    def __init__(self, site: Site) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        site.breaks = self

    def __call__(self, step: Step) -> None:
        self.begun.set()
        assert self.go.wait(10)


class Stream:
    """The events of a stream, one at a time."""

    def __init__(self, url: str, path: str, **headers: str) -> None:
        address = urlsplit(url)
        self.connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=10
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path, headers=named)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.getheader("content-type", "").startswith("text/event-stream")

    def __iter__(self) -> Iterator[dict[str, str]]:
        found: dict[str, str] = {}
        for raw in self.answer:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif found.get("event"):
                yield found
                found = {}

    def next(self) -> dict[str, str]:
        return next(iter(self))

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


@contextmanager
def streaming(url: str, path: str, **headers: str) -> Iterator[Stream]:
    stream = Stream(url, path, **headers)
    try:
        yield stream
    finally:
        stream.close()


class TestRuns:
    def test_one_that_has_ended_is_told_from_its_beginning(self) -> None:
        site = Site()
        run = site.post("/api/runs", target="a", partition=KEY)["run"]
        site.settle()
        for _ in range(2):
            told = events(site.client.get(f"/api/runs/{run}/progress").text)
            names = [name for name, _ in told]
            assert names == [
                "run_started",
                *["step_started", "step_finished"] * 3,
                "ended",
            ]
            assert told[0][1]["run"] == run
            assert told[-1][1]["status"] == "succeeded"
            assert [step["script"] for step in told[-1][1]["steps"]] == ["a", "b", "m"]

    def test_one_is_followed_while_it_works(self) -> None:
        site = Site()
        holding = Holding(site)
        with site.listening() as url, site.running():
            run = site.post("/api/runs", target="d", partition=KEY)["run"]
            with streaming(url, f"/api/runs/{run}/progress") as stream:
                assert stream.next()["event"] == "run_started"
                assert stream.next()["event"] == "step_started"
                assert site.store.run(run).status == "running"  # type: ignore[union-attr]
                holding.go.set()
                assert [each["event"] for each in stream] == ["step_finished", "ended"]

    def test_one_that_fails_says_why(self) -> None:
        site = Site()
        site.breaks = lambda step: StatementFailed("line 1\r\nevent: forged\r\n\r\ndata: {}")
        run = site.post("/api/runs", target="d", partition=KEY)["run"]
        site.settle()
        told = events(site.client.get(f"/api/runs/{run}/progress").text)
        assert [name for name, _ in told] == [
            "run_started",
            "step_started",
            "step_finished",
            "ended",
        ]
        assert told[-1][1]["status"] == "failed"
        assert told[-1][1]["steps"][0]["error"].startswith("line 1")

    def test_one_that_cannot_be_planned_ends_with_its_error(self) -> None:
        site = Site({"z": "-- pipeline\n-- on lake://main/src\n-- $x (int)\nSELECT $x AS x"})
        site.settle()
        site.heard(None)
        site.settle()
        (run,) = site.get("/api/runs")["runs"]
        told = events(site.client.get(f"/api/runs/{run['run']}/progress").text)
        assert [name for name, _ in told] == ["ended"]
        assert told[0][1]["error"]["kind"] == "ArgumentRejected"

    def elsewhere(self, site: Site, run: str = "elsewhere") -> str:
        """A run of another process."""
        begun = Run(id=run, target="d", status="running", fire_time=site.now, started_at=site.now)
        site.store.begin_run(begun, [])
        return run

    def test_of_one_elsewhere_its_end_is_told(self) -> None:
        site = Site()
        run = self.elsewhere(site)
        looks = threading.Event()
        told = site.store.run

        def looked(id: str) -> Run | None:
            looks.set()
            return told(id)

        site.store.run = looked  # type: ignore[method-assign]
        with site.listening() as url, streaming(url, f"/api/runs/{run}/progress") as stream:
            looks.clear()
            assert looks.wait(10)
            site.store.finish_run(run, "failed", at=site.now, error="boom")
            (ended,) = stream
        assert ended["event"] == "ended"
        assert json.loads(ended["data"])["error"] == "boom"

    def test_one_elsewhere_is_not_looked_at_with_all_that_others_tell(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tranche.web.following._LOOK", 30.0)
        site = Site()
        run = self.elsewhere(site)
        looks = []
        told = site.store.run

        def looked(id: str) -> Run | None:
            looks.append(id)
            return told(id)

        with site.listening() as url, streaming(url, f"/api/runs/{run}/progress"):
            until(lambda: site.server.feed._listeners)
            site.store.run = looked  # type: ignore[method-assign]
            with streaming(url, "/api/progress") as stream:
                until(lambda: len(site.server.feed._listeners) == 2)
                for number in range(50):
                    site.server.feed.tell("other", RunStarted(str(number)))
                    stream.next()
        # It was looked at when somebody asked, and would be again after a while.
        assert len(looks) <= 1

    def test_a_state_that_is_away_for_a_while_ends_no_stream(self) -> None:
        site = Site()
        run = self.elsewhere(site)
        # It is asked once whether the run is there at all.
        troubles = iter([False, True, False, True])
        failed = threading.Event()
        told = site.store.run

        def away(id: str) -> Run | None:
            if next(troubles, False):
                failed.set()
                raise StateUnavailable("away")
            return told(id)

        site.store.run = away  # type: ignore[method-assign]
        with site.listening() as url, streaming(url, f"/api/runs/{run}/progress") as stream:
            assert failed.wait(10)
            site.store.finish_run(run, "succeeded", at=site.now)
            assert [each["event"] for each in stream] == ["ended"]

    def test_one_that_is_gone_ends_with_an_error(self) -> None:
        site = Site()
        run = self.elsewhere(site)
        with site.listening() as url, streaming(url, f"/api/runs/{run}/progress") as stream:
            site.store._runs.clear()
            (ended,) = stream
        assert json.loads(ended["data"])["error"]["kind"] == "UnknownTarget"

    def test_of_one_elsewhere_nothing_is_told_by_a_server_that_stops(self) -> None:
        site = Site()
        run = self.elsewhere(site)
        with site.listening() as url, streaming(url, f"/api/runs/{run}/progress") as stream:
            site.server.stop()
            assert list(stream) == []


class TestBackfills:
    def test_one_is_told_from_its_beginning_to_its_end(self) -> None:
        site = Site()
        id = site.post("/api/backfills", target="d", start=KEY, end="2026-05-03")["backfill"]
        site.settle()
        told = events(site.client.get(f"/api/backfills/{id}/progress").text)
        assert told[0][0] == "run_started"
        name, view = told[-1]
        assert (name, view["backfill"], view["status"]) == ("ended", id, "succeeded")
        assert [key["status"] for key in view["partitions"]] == ["succeeded"] * 3

    def test_one_that_waits_is_told_when_it_begins(self) -> None:
        site = Site()
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        with site.listening() as url, streaming(url, f"/api/backfills/{id}/progress") as stream:
            until(lambda: site.server.feed._listeners)
            site.settle()
            found = list(stream)
        assert (found[0]["event"], found[-1]["event"]) == ("run_started", "ended")
        # What a run tells says more than what the store has of it.
        assert "jobs" in json.loads(found[-1]["data"])

    def test_one_that_is_cancelled_before_it_begins_has_ended(self) -> None:
        site = Site()
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        with site.listening() as url, streaming(url, f"/api/backfills/{id}/progress") as stream:
            site.client.post(f"/api/backfills/{id}/cancel")
            (ended,) = stream
        assert json.loads(ended["data"])["status"] == "cancelled"

    def test_one_that_goes_on_does_not_tell_how_it_ended_before(self) -> None:
        site = Site()
        site.breaks = lambda step: StatementFailed("boom")
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        site.settle()
        told = events(site.client.get(f"/api/backfills/{id}/progress").text)
        assert told[-1][1]["status"] == "failed"
        site.breaks = lambda step: None
        site.client.post(f"/api/backfills/{id}/resume")
        with site.listening() as url, streaming(url, f"/api/backfills/{id}/progress") as stream:
            until(lambda: site.server.feed._listeners)
            site.settle()
            found = list(stream)
        assert json.loads(found[-1]["data"])["status"] == "succeeded"
        assert found[0]["event"] == "run_started"
        told = events(site.client.get(f"/api/backfills/{id}/progress").text)
        assert [name for name, _ in told].count("ended") == 1

    def test_those_that_never_begin_here_are_not_kept(self) -> None:
        site = Site()
        for _ in range(5):
            id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
            site.client.post(f"/api/backfills/{id}/cancel")
        assert not site.server.feed._runs

    def test_one_that_waits_for_another_server_ends_no_stop(self) -> None:
        site = Site()
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        with site.listening() as url, streaming(url, f"/api/backfills/{id}/progress") as stream:
            site.server.stop()
            assert list(stream) == []


class TestAll:
    def test_what_all_runs_tell_from_now_on(self) -> None:
        site = Site()
        site.post("/api/runs", target="d", partition="2026-05-02")
        site.settle()
        with site.listening() as url, streaming(url, "/api/progress") as stream:
            until(lambda: site.server.feed._listeners)
            run = site.post("/api/runs", target="d", partition=KEY)["run"]
            site.settle()
            found = [stream.next() for _ in range(4)]
        assert {json.loads(each["data"])["of"] for each in found} == {run}
        assert [each["event"] for each in found] == [
            "run_started",
            "step_started",
            "step_finished",
            "ended",
        ]

    def test_one_who_was_away_goes_on_where_it_left_off(self) -> None:
        site = Site()
        with site.listening() as url:
            with streaming(url, "/api/progress") as stream:
                until(lambda: site.server.feed._listeners)
                site.post("/api/runs", target="d", partition=KEY)
                site.settle()
                seen = [stream.next() for _ in range(2)]
            with streaming(url, "/api/progress", Last_Event_ID=seen[-1]["id"]) as stream:
                seen += [stream.next() for _ in range(2)]
        assert [each["event"] for each in seen] == [
            "run_started",
            "step_started",
            "step_finished",
            "ended",
        ]

    def test_one_who_heard_another_server_hears_all_of_this_one(self) -> None:
        site = Site()
        site.server.feed.tell("r", RunStarted("r"))
        with site.listening() as url:
            for last in ("another-server.999", "999", "\xb2", "x", "s." + "9" * 500):
                with streaming(url, "/api/progress", Last_Event_ID=last) as stream:
                    assert json.loads(stream.next()["data"])["run"] == "r", last

    def test_it_ends_with_the_server(self) -> None:
        site = Site()
        with site.listening() as url, streaming(url, "/api/progress") as stream:
            site.server.stop()
            assert list(stream) == []

    def test_nothing_is_left_of_one_who_goes_away(self) -> None:
        site = Site()
        with site.listening() as url:
            streams = [Stream(url, "/api/progress") for _ in range(3)]
            until(lambda: len(site.server.feed._listeners) == 3)
            for stream in streams:
                stream.close()
            until(lambda: not site.server.feed._listeners)


def by_hand(site: Site, body: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """What is sent to one who sends these messages to a stream; whether it went without an error."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/api/progress",
        "raw_path": b"/api/progress",
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
    }

    async def call() -> None:
        started = asyncio.Event()
        left = list(body)

        async def receive() -> Any:
            await started.wait()
            return left.pop(0) if left else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)
            started.set()

        await asyncio.wait_for(site.app(scope, receive, send), 10)

    asyncio.run(call())
    return sent, not site.server.feed._listeners


def test_a_stream_ends_when_its_caller_is_gone() -> None:
    sent, left = by_hand(Site(), [{"type": "http.disconnect"}])
    assert sent[0]["status"] == 200
    assert left


def test_and_when_it_sends_more_than_it_may() -> None:
    chunk = {"type": "http.request", "body": b" " * (MOST_BYTES // 2 + 1), "more_body": True}
    sent, left = by_hand(Site(), [chunk, chunk])
    assert sent[0]["status"] == 200
    assert left


def test_a_server_goes_down_with_streams_that_are_open(capfd: pytest.CaptureFixture[str]) -> None:
    site = Site(SHOP)
    with site.listening() as url:
        streams = [Stream(url, "/api/progress") for _ in range(2)]
        until(lambda: len(site.server.feed._listeners) == 2)
        site.server.stop()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    for stream in streams:
        stream.close()
    assert capfd.readouterr().err == ""
