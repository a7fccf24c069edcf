"""What has happened is recorded, even if the store is busy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tranche.errors import StateError

_INSISTENCE = (0.5, 1.0, 2.0, 4.0)
"""Seconds between tries."""

_T = TypeVar("_T")


def insist(record: Callable[[], _T], sleep: Callable[[float], None]) -> _T:
    """Records something: the work is done, and doing it again would not record it either."""
    for delay in _INSISTENCE:
        try:
            return record()
        except StateError as error:
            if not error.transient:
                raise
            sleep(delay)
    return record()
