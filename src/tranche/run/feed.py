"""What the runs of a server tell, kept for whoever wants to hear it, also from the beginning."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tranche.errors import TrancheError
from tranche.run.news import News
from tranche.run.runner import RunResult

_RUNS = 256
"""Of how many runs everything is kept that they told."""
_LATEST = 2_000
"""How much is kept of what all runs told."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run has come to its end."""

    result: RunResult | TrancheError
    about: object = None
    """What it was for, where that is more than a run: how a backfill ended."""


Told: TypeAlias = News | Ended


@dataclass(slots=True)
class _Run:
    told: list[Told] = field(default_factory=list)
    ended: bool = False


class Feed:
    """Told by many threads, heard by many others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._latest: deque[tuple[int, str, Told]] = deque(maxlen=_LATEST)
        self._number = 0
        self._listeners: set[Callable[[], None]] = set()

    def open(self, run: str) -> None:
        """Makes a run known before it has told anything, also if it ended once and goes on now."""
        with self._lock:
            if self._of(run).ended:
                self._runs[run] = _Run()

    def forget(self, run: str) -> None:
        """What a run told counts no more: it goes on elsewhere."""
        with self._lock:
            self._runs.pop(run, None)

    def tell(self, run: str, told: Told, *, also: str | None = None) -> None:
        """Notes what a run tells; `also` is what else people know it by."""
        with self._lock:
            for name in (run,) if also is None else (run, also):
                kept = self._of(name)
                kept.told.append(told)
                kept.ended = kept.ended or isinstance(told, Ended)
            self._number += 1
            self._latest.append((self._number, run, told))
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def knows(self, run: str) -> bool:
        with self._lock:
            return run in self._runs

    def of(self, run: str, after: int) -> tuple[list[Told], bool]:
        """What a run has told after so many pieces, and whether that is all there will be."""
        with self._lock:
            kept = self._runs.get(run)
            return (kept.told[after:], kept.ended) if kept is not None else ([], True)

    def latest(self, after: int) -> list[tuple[int, str, Told]]:
        """What all runs have told after a number, as far as it is kept."""
        with self._lock:
            return [each for each in self._latest if each[0] > after]

    @property
    def number(self) -> int:
        """The number of what was told last."""
        with self._lock:
            return self._number

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls somebody whenever there is something new; the answer ends that."""
        with self._lock:
            self._listeners.add(listener)

        def leave() -> None:
            with self._lock:
                self._listeners.discard(listener)

        return leave

    def _of(self, run: str) -> _Run:
        if run not in self._runs:
            self._runs[run] = _Run()
            ended = [id for id, kept in self._runs.items() if kept.ended]
            for id in ended[: max(0, len(self._runs) - _RUNS)]:
                del self._runs[id]
        return self._runs[run]
