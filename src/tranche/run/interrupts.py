"""Ctrl-C during a run: it stops what executes, and never tears what is being recorded."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While active, SIGINT raises only where the work may be stopped; elsewhere it is noted.

    >>> with Interrupts() as interrupts:
    ...     interrupts.asked
    False
    """

    def __init__(self) -> None:
        self.asked = False
        self._stoppable = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # Python delivers signals to the main thread only; elsewhere there is nothing to hold.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def stoppable(self) -> _Stoppable:
        """A block of work that SIGINT may stop with KeyboardInterrupt."""
        return _Stoppable(self)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self._stoppable:
            raise KeyboardInterrupt


class _Stoppable:
    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        # Asked for while nothing could be stopped: this is the next place where it can.
        if self._interrupts.asked:
            raise KeyboardInterrupt
        self._set(True)

    def __exit__(self, *_: object) -> None:
        self._set(False)

    def _set(self, stoppable: bool) -> None:
        # A signal stops the main thread, so that what others do is not for it to stop.
        if threading.current_thread() is threading.main_thread():
            self._interrupts._stoppable = stoppable
