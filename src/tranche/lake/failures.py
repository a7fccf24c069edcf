"""Spark's exceptions as errors of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.errors import AnalysisException, PySparkException

from tranche.errors import (
    CommitLost,
    EngineError,
    Place,
    SourceMissing,
    StatementFailed,
)

_LINE = re.compile(r"(?:line (\d+),? pos|\(line (\d+), position)")
_NOISE = re.compile(r"^\[[A-Z_.0-9]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_CAUSE = re.compile(r"Caused by: [\w.$]+: (.*)")
_LOST = ("CommitFailedException", "Found conflicting files", "CommitStateUnknownException")
_LONGEST = 600


def explained(
    error: Exception, *, path: str | None = None, line: int = 1, secrets: Iterable[str] = ()
) -> EngineError:
    """What went wrong, in one sentence, located in the user's script where Spark says where."""
    text = str(error)
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    place = _place(text, path, line)
    if any(name in text for name in _LOST):
        return CommitLost(
            "other writers changed the same rows first, again and again",
            "run it again when they are done",
            place=place,
        )
    what = _sentence(text, secrets)
    match condition:
        case "TABLE_OR_VIEW_NOT_FOUND":
            return SourceMissing(
                f"the table {_parameter(error, 'relationName')} does not exist",
                "make it first, or correct its name",
                place=place,
            )
        case "PATH_NOT_FOUND":
            start = "; a relative one starts at the project folder" if path else ""
            where = _parameter(error, "path")
            return SourceMissing(f"nothing is at {where}", f"check the path{start}", place=place)
        case _ if isinstance(error, AnalysisException):
            return StatementFailed(what, "correct the statement", place=place)
        case _:
            failure = StatementFailed(what, place=place)
            # Spark names what a statement did wrong; what has no name came from outside of it,
            # from a disk, a network or a lost worker, and may pass.
            failure.transient = condition is None
            return failure


def _place(text: str, path: str | None, line: int) -> Place | None:
    if path is None:
        return None
    found = _LINE.search(text)
    within = int(found[1] or found[2]) if found else 1
    return Place(path, line + within - 1)


def _parameter(error: Exception, name: str) -> str:
    assert isinstance(error, PySparkException)
    return str((error.getMessageParameters() or {}).get(name, "?")).replace("`", "")


def _sentence(text: str, secrets: Iterable[str]) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    first = lines[0] if lines else "Spark failed without a word"
    if "An error occurred while calling" in first and len(lines) > 1:
        first = re.sub(r"^:?\s*[\w.$]+(?:Exception|Error): ", "", lines[1])
    causes = _CAUSE.findall(text)
    if causes and ("Job aborted" in first or "Writing job aborted" in first):
        first = causes[-1]
    first = _STATE.sub("", _NOISE.sub("", first)).rstrip(". ")
    for secret in secrets:
        if secret:
            first = first.replace(secret, "***")
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
