"""A thread that hands values on one after the other, and never holds up those who give them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

ROOM = 1_000
"""How many values wait at most; what comes on top of them is dropped."""
FLUSH = 5.0
"""How many seconds the end of a process waits at most for what is still to be sent."""
REST = 30.0
"""How many seconds nothing is sent after several failures in a row."""
_IN_A_ROW = 3
THREAD = "tranche-openlineage"

T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")


class Delivery(Protocol[T_contra]):
    """Where values go. Everything it does is done in the thread of the sender."""

    def deliver(self, value: T_contra, *, resting: bool) -> int:
        """Sends what follows from a value; while the sender rests, it only takes note of it.

        Says how many messages followed from it.
        """
        ...

    def close(self, timeout: float) -> bool:
        """Ends it; says whether all that it took has arrived, as far as it knows."""
        ...


class Undelivered(Exception):
    """Messages that could not be sent, and why."""

    def __init__(self, messages: int, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.messages = messages


class Sender(Generic[T]):
    """Has values delivered in the background. None of its methods raises or waits, but `wait`."""

    def __init__(
        self,
        opened: Callable[[], Delivery[T]],
        warn: Callable[[str], None],
        *,
        room: int = ROOM,
        flush: float = FLUSH,
        rest: float = REST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opened = opened
        self._warn = warn
        self._room = room
        self._flush = flush
        self._rest = rest
        self._clock = clock
        self._waiting: deque[tuple[T, int]] = deque()
        """Values, each with the messages that will follow from it."""
        self._changed = threading.Condition()
        self._deadline: float | None = None
        """When it gives up, once it is closed."""
        self._working = 0
        """How many messages the value at hand makes."""
        self._resting_until: float | None = None
        self._failures = 0
        self._lost = 0
        self._arrived = True
        """Whether all that was handed on has arrived, as far as anybody knows."""
        self._warned = False
        self._reported = 0
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        self._thread.start()

    def put(self, value: T, messages: int = 1) -> None:
        with self._changed:
            if self._deadline is None and len(self._waiting) < self._room:
                self._waiting.append((value, messages))
                self._changed.notify()
                return
            self._lost += messages
        self._say("they are made faster than they are taken")

    def close(self) -> None:
        """Takes nothing more; what waits is still sent, for a while."""
        with self._changed:
            if self._deadline is None:
                self._deadline = self._clock() + self._flush
            self._changed.notify()

    def wait(self) -> None:
        """Waits until all is sent, or has taken too long; whoever presses Ctrl-C waits no longer."""
        self.close()
        with suppress(KeyboardInterrupt):
            self._thread.join(max(0.0, (self._deadline or 0.0) - self._clock()))
            with self._changed:
                self._lost += self._working + sum(messages for _, messages in self._waiting)
                self._waiting.clear()
                self._working = 0
            self._report()
            if not self._arrived and not self._lost:
                self._warn("events of OpenLineage may not have arrived")

    def _run(self) -> None:
        delivery: Delivery[T] | None = None
        try:
            delivery = self._opened()
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
        while (given := self._next()) is not None:
            value, messages = given
            if delivery is None:
                self._lose(messages)
            else:
                self._deliver(delivery, value)
            self._working = 0
        if delivery is not None:
            self._arrived = False
            with suppress(Exception):
                left = max(0.0, (self._deadline or 0.0) - self._clock())
                self._arrived = delivery.close(left / 2)

    def _next(self) -> tuple[T, int] | None:
        with self._changed:
            while not self._waiting:
                if self._deadline is not None:
                    return None
                self._changed.wait()
            if self._deadline is not None and self._clock() >= self._deadline:
                return None
            given = self._waiting.popleft()
            self._working = given[1]
            return given

    def _deliver(self, delivery: Delivery[T], value: T) -> None:
        resting = self._resting_until is not None and self._clock() < self._resting_until
        try:
            messages = delivery.deliver(value, resting=resting)
        except Exception as error:
            self._failed(error if isinstance(error, Undelivered) else Undelivered(1, error))
            return
        if resting:
            self._lose(messages)
        elif messages:
            self._failures, self._resting_until = 0, None

    def _failed(self, error: Undelivered) -> None:
        self._lose(error.messages)
        self._failures += 1
        if self._failures >= _IN_A_ROW:
            # Each try may take seconds, and the next ones would fail as well.
            self._resting_until = self._clock() + self._rest
        self._say(str(error))

    def _lose(self, messages: int) -> None:
        with self._changed:
            self._lost += messages

    def _say(self, why: str) -> None:
        """Says once what is wrong; how much was lost is said at the end."""
        if not self._warned:
            self._warned = True
            self._warn(f"events of OpenLineage cannot be sent: {why}")

    def _report(self) -> None:
        if self._lost > self._reported:
            self._reported = self._lost
            events = "event" if self._lost == 1 else "events"
            self._warn(f"{self._lost:,} {events} of OpenLineage could not be sent")
