"""The official client: made of the settings, and given the events."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.transport import Transport
from openlineage.client.transport.async_http import AsyncHttpTransport
from openlineage.client.transport.composite import CompositeTransport

from tranche.model.project import OpenLineageSettings, Settings
from tranche.model.script import Script
from tranche.openlineage.columns import ColumnsOf
from tranche.openlineage.events import Events
from tranche.openlineage.sending import THREAD, Undelivered
from tranche.openlineage.told import Told
from tranche.projects.secrets import without_secrets

_LONGEST = 100_000
"""Texts of scripts that are longer are left out."""
_RETRIES = logging.getLogger("urllib3.connectionpool")
_CONSOLE = "openlineage.client.transport.console"


class ClientDelivery:
    """Makes events of what is told, and has the client send them."""

    def __init__(
        self, settings: Settings, told: OpenLineageSettings, columns_of: ColumnsOf
    ) -> None:
        self._events = Events(settings, told, columns_of, _Texts(settings, told).of)
        self._client = open_client(told)

    def deliver(self, value: Told, *, resting: bool) -> int:
        events = self._events.of(value)
        for sent, event in enumerate(events):
            if resting:
                break
            try:
                self._client.emit(event)
            except Exception as error:
                raise Undelivered(len(events) - sent, error) from error
        return len(events)

    def close(self, timeout: float) -> bool:
        # A transport may take events and send them later, and tells of failures only here.
        return self._client.close(timeout) and not _failures(self._client.transport)


def open_client(told: OpenLineageSettings) -> OpenLineageClient:
    """The client; without a transport in the settings, its environment says where events go."""
    transport = None if told.transport is None else deepcopy(dict(told.transport))
    if transport is not None:
        _prepare(transport)
    # It would warn of each of its tries; what comes of them is said once, by the sender.
    _RETRIES.addFilter(_is_of_others)
    client = OpenLineageClient(config=None if transport is None else {"transport": transport})
    if client.transport.kind == "console" or _has_console(transport):
        _show_console()
    return client


def _failures(transport: Transport) -> int:
    """How many events a transport that sends in the background has given up."""
    if isinstance(transport, CompositeTransport):
        return sum(map(_failures, transport.transports))
    return transport.get_stats()["failed"] if isinstance(transport, AsyncHttpTransport) else 0


def _is_of_others(record: logging.LogRecord) -> bool:
    return record.threadName != THREAD


def _prepare(transport: Mapping[str, Any]) -> None:
    """Makes the folder of a file; the client does not."""
    if transport["type"] == "file" and "://" not in transport["log_file_path"]:
        Path(transport["log_file_path"]).parent.mkdir(parents=True, exist_ok=True)
    for each in _parts(transport):
        _prepare(each)


def _has_console(transport: Mapping[str, Any] | None) -> bool:
    if transport is None:
        return False
    return transport["type"] == "console" or any(map(_has_console, _parts(transport)))


def _parts(transport: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = transport.get("transports", ())
    found = parts.values() if isinstance(parts, dict) else parts
    return [part for part in found if isinstance(part, dict) and "type" in part]


def _show_console() -> None:
    """The client logs such events, and nobody would see them; standard output is not for them."""
    log = logging.getLogger(_CONSOLE)
    log.setLevel(logging.INFO)
    if not log.handlers:
        log.addHandler(logging.StreamHandler(sys.stderr))
        log.propagate = False


class _Texts:
    """The texts of scripts, as they are when a step of them begins."""

    def __init__(self, settings: Settings, told: OpenLineageSettings) -> None:
        self._root = Path(settings.root)
        self._secrets = settings.secrets
        self._told = told.code

    def of(self, script: Script) -> str | None:
        if not self._told:
            return None
        try:
            text = (self._root / script.path).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        return without_secrets(text, self._secrets) if len(text) <= _LONGEST else None
