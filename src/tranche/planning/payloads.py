"""What events said with the keys that they asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tranche.model.pending import Pending
from tranche.model.script import Script
from tranche.planning.arguments import fields_of
from tranche.planning.asking import Consumers
from tranche.planning.graph import Graph
from tranche.ports import StateReader

_MOST_EVENTS = 1_000
"""How many of the latest events of an asset are looked at."""


def event_payloads(
    graph: Graph, script: Script, rows: Sequence[Pending], state: StateReader
) -> Mapping[str | None, Any]:
    """The payload of the latest event that asked for each key, if the script wants any of it."""
    if not fields_of(script):
        return {}
    consumers = Consumers(graph)
    wanted = {row.partition for row in rows}
    found: dict[str | None, Any] = {}
    for asset in dict.fromkeys(asset for row in rows for asset in row.asked_by):
        for event in state.events(asset, limit=_MOST_EVENTS) if ":" in asset else ():
            if event.payload is None or event.retracted_at is not None:
                continue
            for asked in consumers.asked_by(event):
                if asked.script.name == script.name:
                    for key in wanted.intersection(asked.keys):
                        found.setdefault(key, event.payload)
    return found
