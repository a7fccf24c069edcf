"""A server on the command line: its words, its signals, and its API."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from tranche import service
from tranche.cli.output import Output
from tranche.cli.running import starting
from tranche.cli.triggering import keys_of
from tranche.errors import Fault, StateError, TrancheError, UsageError
from tranche.model.project import Project
from tranche.ports import StateReader, StateStore
from tranche.run.runner import RunResult
from tranche.run.serving import Server, Started
from tranche.service import serving, tokens
from tranche.web.app import application
from tranche.web.callers import Callers
from tranche.web.guard import is_loopback, names_of
from tranche.web.listening import Listening, bound
from tranche.web.metrics import Metrics
from tranche.web.served import Served


@dataclass(frozen=True, slots=True)
class _Words:
    """What a server says, one thing at a time, whichever thread says it."""

    output: Output
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, what: dict[str, Any], words: str, style: str | None = None) -> None:
        with self.lock:
            if self.output.json:
                self.output.stream.write(json.dumps(what) + "\n")
                self.output.stream.flush()
            else:
                self.output.line(words, style)

    def started(self, run: Started) -> None:
        about = {
            "event": "started",
            "run": run.run,
            "asset": run.consumer,
            "kind": run.kind,
            "keys": list(run.keys),
        }
        self.tell(about, f"▶ {run.consumer}{keys_of(run.keys)}", "dim")

    def ended(self, run: Started, result: RunResult | TrancheError) -> None:
        about: dict[str, Any] = {"event": "ended", "run": run.run, "asset": run.consumer}
        if isinstance(result, TrancheError):
            about |= {"status": "failed", "error": str(result)}
            self.tell(about, f"✗ {run.consumer}: {result}")
            return
        sign = "✓" if result.status == "succeeded" else "✗"
        errors = [step.record.error for step in result.steps if step.record.error]
        about |= {"status": result.status, "error": errors[0] if errors else None}
        more = f": {errors[0]}" if errors else ""
        how = ", provisional" if any(step.provisional for step in result.steps) else ""
        self.tell(about, f"{sign} {run.consumer}{keys_of(run.keys)} {result.status}{how}{more}")

    def faulty(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            about = {"event": "fault", "fault": str(fault)}
            self.tell(about, f"{fault}; the script waits until it is mended", "yellow")

    def troubled(self, error: TrancheError) -> None:
        what = "the state is away" if isinstance(error, StateError) else "Spark does not start"
        self.tell({"event": "troubled", "error": str(error)}, f"{what}: {error}")


def serve(
    project: Project, output: Output, *, workers: int, host: str, port: int, fixed: bool
) -> None:
    """Runs what is ready, and answers requests, until somebody stops it."""
    words = _Words(output)
    with service.open_state(project, create=True) as store:
        _check_open(host, store)
        listener = bound(host, port, fixed=fixed)
        try:
            with starting(project, output) as engine:
                made = serving.server(
                    project,
                    engine,
                    store,
                    workers=workers,
                    started=words.started,
                    ended=words.ended,
                    troubled=words.troubled,
                    faulty=words.faulty,
                )
                _stop_on_signals(made, words)
                secret = tokens.new_secret()
                app = _application(project, made, store, words, host=host, secret=secret)
                with (
                    Listening(app, listener) as listening,
                    serving.announced(project, made.id, listening.url, secret),
                ):
                    _say_where(made, listening.url, host, store, words)
                    made.run()
        finally:
            listener.close()


def _application(
    project: Project, server: Server, store: StateStore, words: _Words, *, host: str, secret: str
) -> Any:
    if not words.output.debug:
        # What goes wrong inside is said on standard error, and nothing else is.
        logging.getLogger("tranche.web").addHandler(logging.StreamHandler())
    metrics = Metrics(server)
    told = server.ended

    def ended(run: Started, result: RunResult | TrancheError) -> None:
        status = "failed" if isinstance(result, TrancheError) else result.status
        metrics.runs.labels(run.kind, status).inc()
        told(run, result)

    server.ended = ended
    callers = Callers(store, secret, is_open=is_loopback(host))
    return application(Served(server, callers), names_of(host, project.settings.hosts), metrics)


def _check_open(host: str, state: StateReader) -> None:
    """Others on the network may call only if callers can be told apart."""
    if not is_loopback(host) and all(token.revoked_at is not None for token in state.tokens()):
        raise UsageError(
            f"at {host} everybody on the network could start runs, and there is no token yet",
            "make one with 'tranche token create NAME --role run', or leave --host out",
        )


def _say_where(server: Server, url: str, host: str, state: StateReader, words: _Words) -> None:
    is_open = is_loopback(host) and not state.tokens()
    who = (
        "no token is configured, so that every program of this machine may use it"
        if is_open
        else "callers need a token"
    )
    about = {"event": "serving", "server": server.id, "url": url, "open": is_open}
    words.tell(about, f"serving as {server.id} at {url}; {who}")


def _stop_on_signals(server: Server, words: _Words) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        words.tell({"event": "stopping"}, "stopping when what runs has ended; again to stop it too")
        server.stop()
        _on_signals(interrupt)

    def interrupt(number: int, frame: FrameType | None) -> None:
        words.tell({"event": "interrupting"}, "stopping what runs; again to end at once")
        # A Spark that does not answer must not keep us from hearing the next signal.
        threading.Thread(target=server.engine.cancel, daemon=True).start()
        _on_signals(end)

    def end(number: int, frame: FrameType | None) -> None:
        words.tell({"event": "ended at once"}, "ended; the next run or server sees what is left")
        os._exit(1)

    _on_signals(stop)


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, handler)
