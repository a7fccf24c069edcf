"""A server that has much to do: who looks at rows keeps nobody else from an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from tranche.errors import StateError
from tranche.run.feed import Ended
from tranche.run.serving import Started
from tranche.web.kept import Kept
from tranche.web.looking import AT_ONCE
from tranche.web.shared import AGAIN_IN, HOLDS_FOR

from .site import KEY, Site

_QUICK = 15.0
"""Half of the time for which whoever wants rows is kept waiting, also where much else runs."""


@contextmanager
def waiting_for_rows(site: Site, path: str, callers: int) -> Iterator[tuple[str, list[int]]]:
    """The address of a server of which some want rows, and the answers that they have got."""
    held, statuses = threading.Event(), list[int]()
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    looks = {"rows": "preview", "snapshots": "snapshots"}[path]
    look: Callable[..., Any] = getattr(site.engine, looks)

    def slow(*given: Any, **named: Any) -> Any:
        assert held.wait(30)
        return look(*given, **named)

    setattr(site.engine, looks, slow)
    with site.listening() as url:

        def ask() -> None:
            answer = httpx2.get(f"{url}/api/{path}", params={"asset": "d"}, timeout=60)
            statuses.append(answer.status_code)

        asking = [threading.Thread(target=ask) for _ in range(callers)]
        for each in asking:
            each.start()
        time.sleep(0.5)
        try:
            yield url, statuses
        finally:
            held.set()
            for each in asking:
                each.join(30)


@pytest.mark.parametrize("path", ["rows", "snapshots"])
def test_others_get_their_answers_while_many_wait_for_rows(path: str) -> None:
    with waiting_for_rows(Site(), path, callers=12) as (url, statuses):
        for asked in ("/api/pulse", "/api/session", "/api/runs", "/api/overview", "/"):
            began = time.monotonic()
            assert httpx2.get(url + asked, timeout=30).status_code == 200
            assert time.monotonic() - began < _QUICK, asked
    assert statuses == [200] * 12


def test_the_pulse_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    site, held = Site(), threading.Event()
    monkeypatch.setattr(site.store, "runs", lambda **_: held.wait(30) and [])
    with site.listening() as url:
        asking = [
            threading.Thread(target=lambda: httpx2.get(f"{url}/api/runs", timeout=60))
            for _ in range(10)
        ]
        for each in asking:
            each.start()
        time.sleep(0.5)
        try:
            began = time.monotonic()
            # Also when tokens have to be read again.
            for _ in range(3):
                site.callers._read_at = -99.0
                assert httpx2.get(f"{url}/api/pulse", timeout=30).status_code == 200
            assert time.monotonic() - began < _QUICK
        finally:
            held.set()
            for each in asking:
                each.join(30)


def test_few_look_at_tables_at_once() -> None:
    site, most, now, lock = Site(), 0, 0, threading.Lock()
    full = threading.Event()
    site.post("/api/runs", target="d", partition=KEY)
    site.settle()
    look = site.engine.preview

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
            if now == AT_ONCE:
                full.set()
        assert full.wait(30)
        # If more were let in, they would come now.
        time.sleep(0.05)
        with lock:
            now -= 1
        return look(*given, **named)

    site.engine.preview = counted  # type: ignore[method-assign]
    with site.listening() as url:
        asking = [
            threading.Thread(target=lambda: httpx2.get(f"{url}/api/rows?asset=d", timeout=60))
            for _ in range(12)
        ]
        for each in asking:
            each.start()
        for each in asking:
            each.join(30)
    assert most == AT_ONCE


class TestKept:
    """What takes a while is made once for all who ask for it."""

    def test_pages_of_a_large_backfill_share_an_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site, asked = Site(), 0
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        standing = site.store.standing

        def slow(*given: Any) -> Any:
            nonlocal asked
            asked += 1
            time.sleep(0.15)
            return standing(*given)

        monkeypatch.setattr(site.store, "standing", slow)
        for _ in range(5):
            assert site.get(f"/api/backfills/{id}")["status"] == "queued"
        assert asked == 1
        # But not beyond what becomes of it.
        site.post(f"/api/backfills/{id}/cancel")
        assert site.get(f"/api/backfills/{id}")["status"] == "cancelled"

    def test_a_small_one_is_looked_at_each_time(self) -> None:
        site = Site()
        id = site.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        first = site.get(f"/api/backfills/{id}")
        assert [key["status"] for key in first["partitions"]] == ["waiting"]
        site.settle()
        last = site.get(f"/api/backfills/{id}")
        assert [key["status"] for key in last["partitions"]] == ["succeeded"]

    def test_an_error_is_not_kept(self) -> None:
        kept, tries = Kept[int](), 0

        def breaks() -> int:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise ValueError("no")
            return tries

        with pytest.raises(ValueError, match="no"):
            kept.get("a", breaks, least=9.0)
        assert [kept.get("a", breaks, least=9.0) for _ in range(2)] == [2, 2]

    def test_few_answers_are_kept(self) -> None:
        kept = Kept[int]()
        for number in range(100):
            kept.get(number, lambda n=number: n, least=9.0)  # type: ignore[misc]
        assert kept.get(0, lambda: 5) == 5


class TestShared:
    """While something runs, an answer is made every two seconds for all who ask."""

    @pytest.fixture
    def running(self, monkeypatch: pytest.MonkeyPatch) -> Site:
        site = Site()
        started = Started(run="r", consumer="lake://main/d", keys=(KEY,))
        monkeypatch.setitem(site.server._running, "r", started)
        return site

    def asked(self, site: Site, path: str, **query: str) -> httpx2.Response:
        answer = site.client.get(path, params=query)
        assert answer.status_code == 200
        return answer

    @pytest.mark.parametrize(
        ("path", "query"),
        [
            ("/api/overview", {}),
            ("/api/asset", {"asset": "d"}),
            ("/api/grid", {"asset": "d"}),
            ("/api/backfills", {}),
            ("/api/runs", {}),
        ],
    )
    def test_what_happens_meanwhile_is_told_by_a_header(
        self, running: Site, path: str, query: dict[str, str]
    ) -> None:
        first = self.asked(running, path, **query)
        assert AGAIN_IN not in first.headers
        assert 1 < float(first.headers[HOLDS_FOR]) <= 2
        running.server.feed.tell("r", Ended(StateError("gone")))
        second = self.asked(running, path, **query)
        assert second.content == first.content
        assert second.headers[AGAIN_IN] == second.headers[HOLDS_FOR]
        assert 0 <= float(second.headers[AGAIN_IN]) <= 2
        time.sleep(2.1)
        assert AGAIN_IN not in self.asked(running, path, **query).headers

    def test_other_questions_have_answers_of_their_own(self, running: Site) -> None:
        assert self.asked(running, "/api/asset", asset="d").json()["asset"] == "lake://main/d"
        assert self.asked(running, "/api/asset", asset="a").json()["asset"] == "lake://main/a"

    def test_whoever_changes_something_sees_it_at_once(self, running: Site) -> None:
        assert self.asked(running, "/api/backfills").json()["backfills"] == []
        id = running.post("/api/backfills", target="d", keys=[KEY])["backfill"]
        (found,) = self.asked(running, "/api/backfills").json()["backfills"]
        assert found["backfill"] == id

    def test_nothing_is_kept_while_nothing_runs(self) -> None:
        site = Site()
        first = self.asked(site, "/api/runs")
        assert first.json()["runs"] == []
        assert HOLDS_FOR not in first.headers
        site.post("/api/runs", target="d", partition=KEY)
        site.settle()
        assert len(self.asked(site, "/api/runs").json()["runs"]) == 1

    def test_those_who_wait_for_one_answer_take_one_thread(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site, go, asked = Site(), threading.Event(), 0
        runs = site.store.runs

        def slow(**how: Any) -> Any:
            nonlocal asked
            asked += 1
            assert go.wait(_QUICK)
            return runs(**how)

        monkeypatch.setattr(site.store, "runs", slow)
        with site.listening() as url, ThreadPoolExecutor(12) as callers:
            answers = [callers.submit(httpx2.get, f"{url}/api/runs", timeout=60) for _ in range(12)]
            try:
                time.sleep(0.5)
                assert httpx2.get(f"{url}/api/backfills", timeout=_QUICK).status_code == 200
                assert asked == 1
            finally:
                go.set()
            assert [answer.result().status_code for answer in answers] == [200] * 12
