"""Commits that others may come before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tranche.errors import CommitLost, CommitUnknown
from tranche.lakes.failures import comes_from_spark, explained

_TRIES = 5
_MADE_MEANWHILE = ("AlreadyExists", "TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS")
_T = TypeVar("_T")


def until_committed(write: Callable[[], _T], landed: Callable[[], _T | None]) -> _T:
    """Writes until the table has it: another writer may win a race, or make the table.

    An answer that got lost does not mean that the commit did, so it is looked for first.
    """
    for number in range(1, _TRIES + 1):
        try:
            return write()
        except Exception as error:
            if not _raced(error):
                raise
            found = landed()
            if found is not None:
                return found
            if number == _TRIES:
                raise
        time.sleep(0.1 * 2**number * random.uniform(0.5, 1.5))
    raise AssertionError("unreachable")


def _raced(error: Exception) -> bool:
    if any(words in str(error) for words in _MADE_MEANWHILE):
        return True
    failure = explained(error) if comes_from_spark(error) else error
    return isinstance(failure, CommitLost | CommitUnknown)
