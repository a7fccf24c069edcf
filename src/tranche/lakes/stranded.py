"""Attempts that a server works on when their client is gone.

A Spark that runs elsewhere does not notice for minutes that nobody waits for an answer any more, and
a write may land at any time until then. So each attempt leaves word of its session on the server.
Whoever wants to know what became of it ends that session first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

_MISSING = "TABLE_OR_VIEW_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The session of an attempt, as a server knows it."""

    session: str
    user: str


def note(session: SparkSession, attempt: str, where: Whereabouts) -> None:
    """Leaves word; all sessions of a server see it, and it goes with the server."""
    columns = (F.lit(where.session).alias("session"), F.lit(where.user).alias("user"))
    session.range(1).select(*columns).createOrReplaceGlobalTempView(_view(attempt))


def forget(session: SparkSession, attempt: str) -> None:
    """The attempt has come to its end."""
    session.catalog.dropGlobalTempView(_view(attempt))


def whereabouts(session: SparkSession, attempt: str) -> Whereabouts | None:
    """None if the attempt has come to its end, or its server has."""
    try:
        (found,) = session.table(f"global_temp.{_view(attempt)}").collect()
    except AnalysisException as error:
        if error.getCondition() != _MISSING:
            raise
        return None
    return Whereabouts(found["session"], found["user"])


def _view(attempt: str) -> str:
    """
    >>> _view("01J-x")
    'tranche_attempt_01J_x'
    """
    return f"tranche_attempt_{re.sub(r'[^0-9A-Za-z]', '_', attempt)}"
