"""Which requests are heard: those to a name of ours, and from a page of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tranche.web.guard import Guard, names_of

from .site import KEY, Site, said


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    # One loop for all requests, instead of one for each.
    with made.client:
        yield made


def asked(site: Site, host: str, origin: str | None = None) -> int:
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    before = site.tables()
    answer = site.client.post("/api/events", json={"asset": "nothing"}, headers=headers)
    assert site.tables() == before
    if answer.status_code == 403:
        assert answer.json()["error"]["kind"] == "NotAllowed"
    return answer.status_code


HEARD = 404
"""The request was heard, and what it asks for is not there."""


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8321",
        "LOCALHOST:8321",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8321",
    ],
)
def test_names_of_this_machine_are_heard(site: Site, host: str) -> None:
    assert asked(site, host) == HEARD


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost.",
        "127.0.0.2",
        "10.0.0.1",
        "2130706433",
        "127.1",
        "[::ffff:127.0.0.1]",
        "[::1",
        "::1",
        "",
        "localhost:port",
        "localhost:123456",
        # Readers of addresses would find `localhost` in each of these.
        "evil.example@localhost",
        "localhost/evil",
        "localhost?evil",
        "localhost#evil",
        "local\thost",
        "localhost, evil.example",
        "localhost\\@evil.example",
    ],
)
def test_other_names_are_not(site: Site, host: str) -> None:
    # A page that has its own name lead here (DNS rebinding) gives itself away by it.
    assert asked(site, host) == 403


def test_a_request_without_a_host_is_not_heard(site: Site) -> None:
    assert sent(site, "http", [])[0]["status"] == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8321", "http://localhost:8321"),
        ("localhost:8321", "HTTP://LOCALHOST:8321"),
        ("[::1]:8321", "http://[::1]:8321"),
        ("localhost", "https://localhost"),
    ],
)
def test_pages_of_ours_are_heard(site: Site, host: str, origin: str) -> None:
    assert asked(site, host, origin) == HEARD


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:8321",
        "http://localhost:8321@evil.example",
        "http://evil.example@localhost:8321",
        "http://[::1",
        "file://localhost:8321",
        "localhost:8321",
        "chrome-extension://localhost:8321",
    ],
)
def test_pages_of_others_are_not(site: Site, origin: str) -> None:
    assert asked(site, "localhost:8321", origin) == 403


def test_a_refusal_comes_before_all_else(site: Site) -> None:
    answer = site.client.get("/healthz", headers={"Host": "evil.example"})
    status, message = said(answer)
    assert status == 403
    assert message.startswith("this server is not called 'evil.example'; list the names")


def test_names_that_are_configured_are_heard() -> None:
    names = names_of("0.0.0.0", ["Tranche.Example.org"])
    assert all(map(names.has, ["tranche.example.org", "localhost", "10.1.2.3", "fe80::1"]))
    assert not any(map(names.has, ["evil.example", None, ""]))


@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.1", "::1", "localhost", "box.example"])
def test_a_server_is_called_what_it_listens_at(host: str) -> None:
    assert names_of(host).has(host)


def test_at_an_address_of_this_machine_other_addresses_are_no_names() -> None:
    assert not names_of("127.0.0.1").has("10.0.0.1")


def sent(
    site: Site, kind: str, headers: Sequence[tuple[bytes, bytes]], path: str = "/healthz"
) -> list[dict[str, Any]]:
    """What is sent back to a request made by hand."""
    scope = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "ws" if kind == "websocket" else "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": list(headers),
        "subprotocols": [],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8321),
    }
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect" if kind == "websocket" else "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(site.app(scope, receive, send))
    return messages


class TestWebsockets:
    class Reached(Exception):
        """The application was asked."""

    def knock(self, *headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []

        async def app(*_: Any) -> None:
            raise self.Reached

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            messages.append(message)

        guard = Guard(app, names_of("127.0.0.1"))
        asyncio.run(guard({"type": "websocket", "headers": list(headers)}, receive, send))
        return messages

    @pytest.mark.parametrize(
        "headers",
        [
            [],
            [(b"host", b"evil.example")],
            [(b"host", b"localhost:1"), (b"origin", b"http://evil.example")],
            [(b"host", b"localhost:1"), (b"origin", b"null")],
        ],
    )
    def test_those_of_others_are_closed_before_they_are_open(self, headers: Any) -> None:
        (message,) = self.knock(*headers)
        assert (message["type"], message["code"]) == ("websocket.close", 1008)

    def test_those_of_ours_come_through(self) -> None:
        with pytest.raises(self.Reached):
            self.knock((b"host", b"localhost:1"), (b"origin", b"http://localhost:1"))

    def test_there_is_none_here(self, site: Site) -> None:
        found = sent(site, "websocket", [(b"host", b"localhost")], "/api/progress")
        assert [each["type"] for each in found] == ["websocket.close"]


def test_forwarded_headers_change_nothing(site: Site) -> None:
    headers = {"X-Forwarded-Host": "localhost", "Forwarded": "host=localhost"}
    answer = site.client.get("/healthz", headers=headers | {"Host": "evil.example"})
    assert answer.status_code == 403
    assert site.client.get(f"/api/runs/{KEY}", headers=headers).status_code == 404
