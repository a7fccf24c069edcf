"""A server in memory with its API, for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from tranche.model.token import Role
from tranche.service.backfilling import Serves
from tranche.service.tokens import create_token
from tranche.state.memory import MemoryStore
from tranche.web.app import application
from tranche.web.callers import Callers
from tranche.web.guard import names_of
from tranche.web.listening import Listening, bound
from tranche.web.metrics import Metrics
from tranche.web.served import Served

from ..run.test_serving import CHAIN, DAILY, Scene

OWN = "own-secret"
KEY = "2026-05-01"
SHOP = CHAIN | {
    "d": f"{DAILY}-- materialize lake://main/d\nSELECT 1 AS x",
    "region": '-- pipeline\n-- partitioned static keys="us,eu"\n-- materialize lake://main/region\n'
    "SELECT 1 AS x",
    "tenant": '-- pipeline\n-- partitioned dynamic key="$.tenant"\n'
    "-- materialize lake://main/tenant\nSELECT 1 AS x",
    "whole": "-- pipeline\n-- $n (int)\n-- materialize lake://main/whole\nSELECT $n AS x",
}


class Site(Scene):
    """A server on doubles, and somebody who calls it."""

    def __init__(self, texts: dict[str, str] | None = None, *, is_open: bool = True) -> None:
        super().__init__(SHOP if texts is None else texts)
        self.store: MemoryStore = self.bench.store
        self.server.works_off = Serves(self.engine, self.store, lambda: self.now)
        self.metrics = Metrics(self.server)
        self.callers = Callers(self.store, OWN, is_open=is_open)
        served = Served(self.server, self.callers)
        self.app = application(served, names_of("127.0.0.1"), self.metrics)
        # What goes wrong inside is to be an answer, as it is for other callers.
        self.client = TestClient(
            self.app,
            base_url="http://localhost",
            raise_server_exceptions=False,
            follow_redirects=False,
        )

    def get(self, path: str, **query: Any) -> Any:
        return well(self.client.get(path, params=query))

    def post(self, path: str, **body: Any) -> Any:
        return well(self.client.post(path, json=body))

    def told(self, body: bytes | str, path: str = "/api/runs") -> Response:
        """The answer to a body as it is, said to be JSON."""
        return self.client.post(path, content=body, headers={"Content-Type": "application/json"})

    def token(self, role: Role, name: str | None = None) -> str:
        secret = create_token(self.store, name or role, role, clock=lambda: self.now).secret
        # Those that were read a moment ago are not kept for a test.
        self.callers._read_at = -99.0
        return secret

    def tables(self) -> dict[str, str]:
        """All that the store has, in a form that can be compared."""
        return {name: repr(value) for name, value in vars(self.store).items() if "lock" not in name}

    @contextmanager
    def running(self) -> Iterator[None]:
        """The server takes turns in a thread of its own."""
        self.store.leave(self.server.id)
        thread = threading.Thread(target=self.server.run)
        thread.start()
        try:
            yield
        finally:
            self.server.stop()
            thread.join(20)
            assert not thread.is_alive()

    @contextmanager
    def listening(self, port: int = 0) -> Iterator[str]:
        """Its address on a real port."""
        with bound("127.0.0.1", port, fixed=True) as listener, Listening(self.app, listener) as web:
            yield web.url


def well(answer: Response) -> Any:
    assert answer.status_code < 300, answer.text
    return answer.json()


def said(answer: Response) -> tuple[int, str]:
    """The status of a refusal, and its sentence."""
    error = answer.json()["error"]
    assert set(error) == {"kind", "message"}
    return answer.status_code, error["message"]


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream that has ended."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
