"""Answers of Spark that come while something else is at work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Meanwhile(Generic[_T]):
    """A question that is asked at once, and whose answer is wanted later.

    >>> Meanwhile(lambda: 6 * 7).answer()
    42
    """

    def __init__(self, ask: Callable[[], _T]) -> None:
        self._answer: Future[_T] = Future()
        # A daemon: whoever is interrupted must not wait for an answer that nobody wants any more.
        threading.Thread(target=self._find_out, args=(ask,), daemon=True).start()

    def answer(self) -> _T:
        """What it was; an error of the question is raised here."""
        return self._answer.result()

    def _find_out(self, ask: Callable[[], _T]) -> None:
        try:
            self._answer.set_result(ask())
        except BaseException as error:
            self._answer.set_exception(error)
