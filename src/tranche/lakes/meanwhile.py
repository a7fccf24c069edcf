"""Answers of Spark that come while something else is at work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Meanwhile(Generic[_T]):
    """A question that is asked at once, and whose answer is wanted later.

    >>> Meanwhile(lambda: 6 * 7).answer()
    42
    """

    def __init__(self, ask: Callable[[], _T]) -> None:
        executor = ThreadPoolExecutor(1)
        self._answer: Future[_T] = executor.submit(ask)
        executor.shutdown(wait=False)

    def answer(self) -> _T:
        """What it was; an error of the question is raised here."""
        return self._answer.result()
