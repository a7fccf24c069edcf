"""Answers that take a while, made once for all who ask at about the same time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_TIMES = 10
"""An answer holds so many times as long as it took, so that pages leave a server time for its runs."""
_QUICK = 0.1
"""Seconds that are no while."""
_MOST = 20

T = TypeVar("T")


class _Answer(Generic[T]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.until = 0.0
        self.value: T | None = None


class Kept(Generic[T]):
    """The latest answers to some questions."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, _Answer[T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable, answered: Callable[[], T], *, least: float = 0.0) -> T:
        """The answer to a question; a new one holds for so many seconds at least."""
        with self._lock:
            answer = self._answers.setdefault(question, _Answer())
            self._answers.move_to_end(question)
            while len(self._answers) > _MOST:
                self._answers.popitem(last=False)
        with answer.lock:
            began = time.monotonic()
            if answer.value is None or began >= answer.until:
                answer.value = answered()
                now = time.monotonic()
                took = now - began
                answer.until = now + max(least, _TIMES * took if took > _QUICK else 0.0)
            return answer.value

    def left(self, question: Hashable) -> float:
        """Seconds until the answer to a question is made anew."""
        with self._lock:
            answer = self._answers.get(question)
        return 0.0 if answer is None else max(0.0, answer.until - time.monotonic())

    def at_hand(self, question: Hashable) -> T | None:
        """The answer to a question, if there is one that holds: nobody has to wait for it."""
        with self._lock:
            answer = self._answers.get(question)
        if answer is None or time.monotonic() >= answer.until:
            return None
        return answer.value

    def forget(self) -> None:
        """What was answered holds no more, nor does what somebody is about to answer."""
        with self._lock:
            self._answers.clear()
