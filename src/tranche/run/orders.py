"""What people have asked a server for: runs, in the order in which they were asked for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tranche.errors import ServerBusy
from tranche.model.pending import Reserved
from tranche.model.plan import Plan

MOST_ORDERS = 1_000


@dataclass(frozen=True, slots=True)
class Order:
    """A run that somebody asks for, planned already."""

    run: str
    plan: Plan
    patience: float
    given: Mapping[Reserved, str]
    """Keys of it that other runs have."""


class Orders:
    """The runs that wait for a worker. They are recorded, and end with their server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Order] = deque()

    def check_room(self) -> None:
        with self._lock:
            if len(self._waiting) >= MOST_ORDERS:
                raise ServerBusy(
                    f"{MOST_ORDERS:,} runs wait for this server already",
                    "ask again later, or let it have more workers",
                )

    def add(self, order: Order) -> None:
        with self._lock:
            self._waiting.append(order)

    def next(self) -> Order | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def __contains__(self, run: str) -> bool:
        with self._lock:
            return any(order.run == run for order in self._waiting)

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting)
