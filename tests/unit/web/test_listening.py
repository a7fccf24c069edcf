"""The application on a port."""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from tranche.errors import ServerError
from tranche.web.listening import Listening, bound

from .site import Site


def asked(url: str, path: str = "/healthz", **headers: str) -> tuple[int, Any]:
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_port_is_taken_before_anybody_answers_at_it() -> None:
    # Spark takes a while to start, and two servers may do so at once.
    with bound("127.0.0.1", 0, fixed=True) as first:
        port = first.getsockname()[1]
        with bound("127.0.0.1", port, fixed=False) as other:
            assert other.getsockname()[1] not in (0, port)
        with pytest.raises(ServerError, match=f"cannot listen at 127.0.0.1:{port}: .* --port"):
            bound("127.0.0.1", port, fixed=True)


def test_an_address_that_is_none() -> None:
    with pytest.raises(ServerError, match=r"cannot listen at 192\.0\.2\.1:0"):
        bound("192.0.2.1", 0, fixed=True)


def test_it_answers_until_it_is_closed() -> None:
    site = Site()
    with site.listening() as url:
        status, body = asked(url)
        assert (status, json.loads(body)["server"]) == (200, site.server.id)
    with pytest.raises(OSError):
        asked(url)


def test_small_answers_wait_for_no_acknowledgement() -> None:
    with Site().listening() as url:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        times = []
        for _ in range(20):
            began = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            times.append(time.perf_counter() - began)
        connection.close()
    # A caller acknowledges after 40 ms what it does not answer.
    assert statistics.median(times) < 0.035


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_an_address_of_six_parts() -> None:
    site = Site()
    try:
        listener = bound("::1", 0, fixed=True)
    except ServerError:
        pytest.skip("this machine has no ::1")
    with listener, Listening(site.app, listener) as web:
        assert web.url.startswith("http://[::1]:")
        assert asked(web.url)[0] == 200


def test_headers_do_not_say_who_calls() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["client"][0], scope["scheme"]))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with bound("127.0.0.1", 0, fixed=True) as listener, Listening(app, listener) as web:  # type: ignore[arg-type]
        headers = {"X-Forwarded-For": "10.1.2.3", "X-Forwarded-Proto": "https"}
        assert asked(web.url, **headers)[0] == 204
    assert seen == [("127.0.0.1", "http")]


def test_answers_do_not_say_what_answers() -> None:
    site = Site()
    with site.listening() as url:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        assert answer.getheader("server") is None
        connection.close()


def test_more_connections_than_it_takes_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.web.listening._MOST", 3)
    site = Site()
    with site.listening() as url:
        address = urlsplit(url)
        idle = [socket.create_connection((address.hostname, address.port)) for _ in range(3)]
        try:
            assert asked(url)[0] == 503
        finally:
            for each in idle:
                each.close()


def test_callers_leave_threads_and_the_state_to_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tranche.web.app._THREADS", 2)
    site = Site()
    entered, go = threading.Semaphore(0), threading.Event()
    told = site.store.runs

    def slow(**how: Any) -> Any:
        entered.release()
        assert go.wait(10)
        return told(**how)

    monkeypatch.setattr(site.store, "runs", slow)
    with site.listening() as url, ThreadPoolExecutor(4) as callers:
        answers = [callers.submit(asked, url, f"/api/runs?limit={n}") for n in range(1, 5)]
        try:
            assert all(entered.acquire(timeout=10) for _ in range(2))
            # It is there, however busy it is; and by now others would have been let in.
            assert asked(url)[0] == 200
            assert not entered.acquire(blocking=False)
        finally:
            go.set()
        assert [answer.result(10)[0] for answer in answers] == [200] * 4


NONE = [
    b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
]


def test_requests_that_are_none_get_nowhere() -> None:
    site = Site()
    with site.listening() as url:
        address = urlsplit(url)
        for raw in NONE:
            with socket.create_connection((address.hostname, address.port), timeout=10) as caller:
                caller.sendall(raw)
                first = caller.recv(4_096).split(b"\r\n")[0]
            assert first.split()[1] in (b"400", b"403"), raw
