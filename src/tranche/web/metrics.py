"""How a server fares, in the form that Prometheus reads."""

from __future__ import annotations

import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tranche.errors import StateError
from tranche.run.serving import Server

CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Metrics:
    """Counts what a server does; what its state knows is asked when somebody looks."""

    def __init__(self, server: Server) -> None:
        self.registry = CollectorRegistry()
        self.runs = Counter(
            "tranche_runs",
            "Runs of this server that have ended",
            ["kind", "status"],
            registry=self.registry,
        )
        self.requests = Histogram(
            "tranche_request_seconds",
            "How long requests took",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.registry.register(_Standing(server))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Measured:
    """Notes how long each request took; of a stream, how long it went on."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - began
            # What callers make up is without number, and each would be kept for ever: of methods
            # those that are known count, of addresses the pattern of their route.
            method = scope["method"] if scope["method"] in _METHODS else "other"
            path = getattr(scope.get("route"), "path", "")
            self._metrics.requests.labels(method, path, status).observe(seconds)


class _Standing(Collector):
    """What is going on at this moment."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def collect(self) -> Iterable[Metric]:
        server = self._server
        workers = GaugeMetricFamily("tranche_workers", "Workers of this server", labels=["state"])
        busy = len(server.running)
        workers.add_metric(["busy"], busy)
        workers.add_metric(["idle"], max(0, server.workers - busy))
        yield workers
        yield GaugeMetricFamily(
            "tranche_orders", "Runs that people have asked for and that wait", len(server.orders)
        )
        try:
            counts = server.store.pending_counts()
            running = len(server.store.running())
        except StateError:
            yield GaugeMetricFamily("tranche_state_up", "Whether the state can be reached", 0)
            return
        yield GaugeMetricFamily("tranche_state_up", "Whether the state can be reached", 1)
        pending = GaugeMetricFamily(
            "tranche_pending_keys", "Keys that are pending", labels=["status"]
        )
        for status in ("waiting", "ready", "claimed"):
            pending.add_metric([status], counts.get(status, 0))
        yield pending
        yield GaugeMetricFamily(
            "tranche_running_runs", "Runs that have not ended, of all processes", running
        )
