"""Which requests are heard at all: those to a name of ours, from a page of ours, of some size."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST_BYTES = 1_048_576
"""How large the body of a request is at most."""


_HEADERS = {
    # An answer is for whoever asked: no page of others takes it in, and nobody keeps it.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_NUMBER = re.compile(r"[0-9]{1,18}")
# Readers of addresses find a name in much that is none, and what they find differs.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::[0-9]{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Names:
    """The names under which a server is reached."""

    names: frozenset[str]
    any_address: bool = False
    """Whether any number will do: what leads others to us by a name of theirs is no number."""

    def has(self, name: str | None) -> bool:
        if name is None:
            return False
        return name.lower() in self.names or (self.any_address and _is_address(name))


def names_of(host: str, further: Iterable[str] = ()) -> Names:
    """
    >>> names_of("127.0.0.1").has("localhost"), names_of("127.0.0.1").has("evil.example")
    (True, False)
    """
    known = {*LOOPBACK, host.lower(), *(each.lower() for each in further)}
    return Names(frozenset(known), any_address=not is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach it.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Refuses requests that a page of somebody else has sent, and those that are too large.

    A browser sends what any page tells it to, also to a server on its own machine. The page gives
    itself away by the name it has us by (Host), or by where it comes from (Origin).
    """

    def __init__(self, app: ASGIApp, names: Names, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._names = names
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self.refused(headers, scope.get("method", "GET"))
        if refused is not None:
            await _refuse(scope, receive, send, 403, "NotAllowed", refused)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        length = headers.get("content-length", "0")
        if not _NUMBER.fullmatch(length):
            what = f"Content-Length is {length[:20]!r}, which is no length"
            await _refuse(scope, receive, send, 400, "UsageError", what)
            return
        if int(length) > self._most:
            await _refuse(scope, receive, send, 413, "UsageError", self.too_large)
            return
        await self._counted(scope, receive, send)

    @property
    def too_large(self) -> str:
        return f"the body is larger than {self._most:,} bytes; send less at once"

    def refused(self, headers: Headers, method: str = "GET") -> str | None:
        """Why a request is not heard."""
        host = headers.get("host", "")
        if not self._names.has(_name(host)):
            return (
                f"this server is not called {host!r}; list the names under which it is reached as"
                " hosts in the section server of tranche.toml"
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_ours(origin, host):
            return f"requests from pages of {origin!r} are not answered"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            # A link may lead here; what a page takes in has us work for it, and says we are here.
            seen = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
            if method not in ("GET", "HEAD") or seen != ("navigate", "document"):
                return "requests that pages of others make are not answered"
        return None

    def _is_ours(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers unless more comes than was announced."""
        size, answered = 0, False

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size <= self._most:
                return message
            if answered:
                # What it gets is on its way already, and ends here.
                return {"type": "http.disconnect"}
            raise HTTPException(413, self.too_large)

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, counted, noted)


async def _refuse(
    scope: Scope, receive: Receive, send: Send, status: int, kind: str, message: str
) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        return
    answer = JSONResponse({"error": {"kind": kind, "message": message}}, status, _HEADERS)
    await answer(scope, receive, send)


def _name(host: str) -> str | None:
    """The name in a Host header, without its port.

    >>> _name("localhost:8321"), _name("[::1]"), _name("evil.example@localhost")
    ('localhost', '::1', None)
    """
    found = _HOST.fullmatch(host)
    return None if found is None else found[1] or found[2]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
