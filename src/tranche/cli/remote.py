"""Runs and backfills by a server of this project, which has Spark running already."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from tranche import errors
from tranche.errors import ServerError, TrancheError
from tranche.model.project import Settings
from tranche.run.news import Tell
from tranche.service.serving import Announced, servers_of
from tranche.views.news import news_of

_SOON = 2.0
"""Seconds in which a server says that it is there."""
_PATIENCE = 60.0
"""Seconds in which it answers, and after which a stream that says nothing has broken."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that is there."""

    about: Announced

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer of the server; what it says against something is raised."""
        with _answering(self.about), self.connected(_PATIENCE) as connection:
            connection.request(
                method,
                path,
                body=None if body is None else json.dumps(body),
                headers=self._headers | {"Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            found = json.loads(answer.read())
        if answer.status >= 400:
            raise _raised(found)
        return found

    def follow(self, path: str, tell: Tell) -> dict[str, Any]:
        """Tells what a run tells until it has ended; returns what became of it."""
        with self.connected(_PATIENCE) as connection:
            with _answering(self.about):
                connection.request("GET", path, headers=self._headers)
                answer = connection.getresponse()
                if answer.status >= 400:
                    raise _raised(json.loads(answer.read()))
            for name, view in _events(answer, self.about):
                if name == "ended":
                    if "error" in view and isinstance(view["error"], dict):
                        raise _raised(view)
                    return view
                news = news_of(name, view)
                if news is not None:
                    tell(news)
        raise _gone(self.about)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.about.secret}"}

    def connected(self, seconds: float) -> closing[http.client.HTTPConnection]:
        address = urlsplit(self.about.url)
        return closing(
            http.client.HTTPConnection(address.hostname or "", address.port, timeout=seconds)
        )


def remote_of(settings: Settings) -> Remote | None:
    """A server that is running for this project with these settings, if there is one."""
    for one in servers_of(settings):
        remote = Remote(one)
        with suppress(OSError, ValueError, http.client.HTTPException):
            with remote.connected(_SOON) as connection:
                connection.request("GET", "/healthz")
                found = json.loads(connection.getresponse().read())
            if isinstance(found, dict) and _is(found, one):
                return remote
    return None


def _is(health: Mapping[str, Any], one: Announced) -> bool:
    """Whether it is the server itself that answers, and takes on more."""
    return health.get("server") == one.server and health.get("status") == "serving"


def run_remotely(remote: Remote, body: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Has a run made by a server; Ctrl-C ends it there."""
    begun = remote.ask("POST", "/api/runs", body)
    return followed(remote, f"/api/runs/{quote(begun['run'], safe='')}", tell)


def followed(remote: Remote, path: str, tell: Tell) -> dict[str, Any]:
    """Stays with a run or a backfill until it has ended; Ctrl-C ends it on the server."""
    try:
        return remote.follow(f"{path}/progress", tell)
    except KeyboardInterrupt:
        with suppress(TrancheError):
            remote.ask("POST", f"{path}/cancel")
        # What was told is told again from the beginning, and was heard already.
        return remote.follow(f"{path}/progress", lambda _: None)


@contextmanager
def _answering(about: Announced) -> Iterator[None]:
    """A server that does not answer becomes an error of ours."""
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException):
        raise _gone(about) from None


def _gone(about: Announced) -> ServerError:
    return ServerError(
        f"the server {about.server} at {about.url} does not answer any more",
        "see what is there with tranche status, and run again what is missing; --local uses no server",
    )


def _events(
    answer: http.client.HTTPResponse, about: Announced
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: lines with their name and their data, and an empty one after each."""
    # What goes wrong with whoever hears them does not come by here.
    with _answering(about):
        name, data = "message", ""
        for raw in answer:
            line = raw.decode().rstrip("\r\n")
            field, _, value = line.partition(":")
            if not line:
                if data:
                    yield name, json.loads(data)
                name, data = "message", ""
            elif field == "event":
                name = value.strip()
            elif field == "data":
                data += value.removeprefix(" ")


def _raised(answer: object) -> TrancheError:
    """An error of the server, as it would have been raised here."""
    found = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        return ServerError("the server gave an answer that is not understood")
    kind = getattr(errors, str(found.get("kind")), TrancheError)
    if not (isinstance(kind, type) and issubclass(kind, TrancheError)):
        kind = TrancheError
    error: TrancheError = kind.__new__(kind)
    # What a kind knows besides its sentence stayed with the server.
    TrancheError.__init__(error, str(found.get("message")))
    return error
