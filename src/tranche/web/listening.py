"""The application on a port, in a thread beside the server's own."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn
from fastapi import FastAPI

from tranche.errors import ServerError

_PATIENCE = 10.0
"""Seconds until it should listen, and until connections that are open are closed."""
_MOST = 500
"""How many connections are open at once: each takes a descriptor, which runs need as well."""


def bound(host: str, port: int, *, fixed: bool) -> socket.socket:
    """A port to listen on; the next free one if this one is taken and need not be it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (port,) if fixed else (port, 0):
        # With the protocol named, asyncio sends small answers at once; otherwise the second packet
        # of each waits for a caller's acknowledgement, which takes 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, wanted))
            # Until somebody listens, others may take the same port.
            made.listen()
        except OSError as error:
            made.close()
            failure = error
            continue
        return made
    raise ServerError(
        f"cannot listen at {host}:{port}: {failure.strerror or failure}",
        "choose another one with --host and --port",
    )


class Listening:
    """Answers requests until it is closed."""

    def __init__(self, app: FastAPI, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            # The other one, where it is installed, takes requests that name two hosts.
            http="h11",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            # Who calls, a header does not say.
            proxy_headers=False,
            limit_concurrency=_MOST,
        )
        self._server = uvicorn.Server(config)
        self._socket = listener
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="tranche-web", daemon=True
        )

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Listening:
        self._thread.start()
        deadline = time.monotonic() + _PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise ServerError(f"nothing listens at {self.url}", "--debug shows more")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
