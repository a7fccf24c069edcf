"""Spark's exceptions as errors of ours."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from pyspark.errors import AnalysisException, PySparkException

from tranche.errors import (
    Cancelled,
    CommitLost,
    CommitUnknown,
    EngineUnavailable,
    Place,
    SourceMissing,
    StatementFailed,
    StatementRejected,
    TrancheError,
)
from tranche.projects.secrets import without_secrets

_LINE = re.compile(r"(?:line (\d+),? pos|\(line (\d+), position)")
_NOISE = re.compile(r"^\[[A-Z_.0-9]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_CAUSE = re.compile(r"^(?=Caused by: )", re.MULTILINE)
"""Where a trace goes one cause deeper; those of suppressed exceptions are indented."""
_FRAMES = re.compile(r"^(?:\s+at \S+\(|\s*\.{3} \d+ more|Driver stacktrace:)", re.MULTILINE)
_WRAPPING = re.compile(
    r"""\s*(?:
      An\ error\ occurred\ while\ calling\ \S+(?:\ Trace:)?(?:\s*\n:?|$)
    | Exception\ thrown\ in\ awaitResult:?
    | (?:\[[A-Z_.0-9]+\]\ )?(?:Writing\ j|J)ob\ aborted(?:\ due\ to\ stage\ failure)?[:.]?
    | Task\ \d+\ in\ stage\ [\d.]+\ failed\ \d+\ times,\ most\ recent\ failure:
    | Lost\ task\ [\d.]+\ in\ stage\ [\d.]+\ \(TID\ \d+\)\ \([^)]*\):
    | An\ exception\ was\ thrown\ from\ the\ Python\ worker\.\ Please\ see\ the\ stack\ trace\ below\.
    | Caused\ by:\ (?:[\w$]+\.)*(?P<cause>[\w$]+)(?::|\s*?(?:\n|$))
    | \((?:[a-z]\w*\.)+(?P<remote>[A-Z][\w$]*)\)
    | (?:[a-z]\w*\.)+(?P<java>[A-Z][\w$]*(?:Exception|Error))(?::|\s*?(?:\n|$))
    )\s*""",
    re.VERBOSE,
)
"""What stands before the words of an exception and says nothing about what went wrong."""
_TRACEBACK = "Traceback (most recent call last):"
_LOST = (
    "org.apache.iceberg.exceptions.CommitFailedException",
    "org.apache.iceberg.exceptions.ValidationException: Found conflicting files",
    "DELTA_CONCURRENT_",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
)
_SCATTERED = "violate the writer assumption that records are clustered"
"""Rows of one slice are one cluster for as long as no layout splits it."""
_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "INTERRUPTED", "EXECUTION_CANCELLED")
_PASSING = (
    "java.io.IOException",
    "java.net.",
    "java.util.concurrent.TimeoutException",
    "ExecutorLostFailure",
    "FetchFailed",
)
"""What comes from a disk, a network or a lost worker, and may pass."""
_PASSING_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE)
"""The same, as the system says it of a file."""
_LOST_SESSION = ("INVALID_HANDLE.", "NO_ACTIVE_SESSION")
"""How the conditions begin of a server that does not know its client any more."""
_OTHER_SERVER = "incorrect server side session identifier"
_REMEDIES = {
    "LATERAL_COLUMN_ALIAS_IN_WINDOW": "write out in the window what the name stands for, or give the"
    " name in a query inside this one",
}
_LONGEST = 600


def comes_from_spark(error: BaseException) -> bool:
    """Whether an exception is Spark's; any other is a fault of ours and must not look like one."""
    module = type(error).__module__
    return isinstance(error, PySparkException | ConnectionError) or module.startswith(
        ("py4j.", "grpc.")
    )


def comes_from_outside(error: BaseException) -> bool:
    """Whether an exception is Spark's, or what the system says of a file of a lake."""
    of_file = isinstance(error, OSError) and error.filename is not None
    return of_file or comes_from_spark(error)


def explained(
    error: Exception, *, path: str | None = None, line: int = 1, secrets: Iterable[str] = ()
) -> TrancheError:
    """What went wrong, in one sentence, located in the user's script where Spark says where."""
    text = _text(error)
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    failure = _classified(error, condition, text, path)
    failure.what = scrubbed(failure.what, secrets)
    failure.place = _place(text, path, line)
    return failure


def _classified(
    error: Exception, condition: str | None, text: str, path: str | None
) -> TrancheError:
    if isinstance(error, OSError) and error.filename is not None:
        failure = StatementFailed(
            f"{error.filename}: {error.strerror}",
            "see that the folder is one, can be written to and has room",
        )
        failure.transient = error.errno in _PASSING_CODES
        return failure
    if condition in _CANCELLED or "cancelled as part of" in text:
        return Cancelled("stopped by the user")
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return _gone("Spark has ended", "see .tranche/spark.log, and run again")
    if _is_unconnected(error, condition, text):
        return _gone("the connection to Spark was lost", "see that its server runs, and run again")
    if _UNKNOWN in text:
        return CommitUnknown("the catalog did not say whether the commit arrived", "run it again")
    if any(name in text for name in _LOST):
        return CommitLost(
            "other writers changed the same rows first, again and again",
            "run it again when they are done",
        )
    if _SCATTERED in text:
        return CommitLost("the layout of the table was changed in the meantime", "run it again")
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        name = _parameter(error, "relationName")
        return SourceMissing(
            f"the table {name} does not exist", "make it first, or correct its name"
        )
    if condition == "PATH_NOT_FOUND":
        start = "; a relative one starts at the project folder" if path else ""
        return SourceMissing(f"nothing is at {_parameter(error, 'path')}", f"check the path{start}")
    if isinstance(error, AnalysisException):
        remedy = _REMEDIES.get((condition or "").rpartition(".")[2], "correct the statement")
        return StatementRejected(_sentence(text), remedy)
    failure = StatementFailed(_sentence(text))
    failure.transient = any(name in text for name in _PASSING)
    return failure


def _text(error: Exception) -> str:
    """All that an exception says; one of Spark Connect has the trace of the server beside it."""
    text = str(error)
    trace = getattr(error, "getStackTrace", lambda: None)()
    return text if trace is None or trace in text else f"{text}\n{trace}"


def _is_unconnected(error: Exception, condition: str | None, text: str) -> bool:
    """Whether a server of Spark Connect is gone, or has started anew."""
    status = getattr(error, "getGrpcStatusCode", lambda: None)()
    return (
        getattr(status, "name", None) == "UNAVAILABLE"
        or (condition or "").startswith(_LOST_SESSION)
        or _OTHER_SERVER in text
    )


def _gone(what: str, remedy: str) -> EngineUnavailable:
    gone = EngineUnavailable(what, remedy)
    gone.transient = True
    return gone


def _place(text: str, path: str | None, line: int) -> Place | None:
    if path is None:
        return None
    found = _LINE.search(text)
    within = int(found[1] or found[2]) if found else 1
    return Place(path, line + within - 1)


def _parameter(error: Exception, name: str) -> str:
    parameters = error.getMessageParameters() if isinstance(error, PySparkException) else None
    return str((parameters or {}).get(name, "?")).replace("`", "")


def _sentence(text: str) -> str:
    """What Spark says, or if that is a mere wrapping, the innermost cause that says something."""
    text = text.strip()
    if not _WRAPPING.match(text):
        return _plain(text) or "Spark failed without a word"
    inwards = [_unwrapped(part) for part in _CAUSE.split(text)]
    for _, words in reversed(inwards):
        # A single word is a name, such as a class or a host, unless Spark gave it a code.
        said = _plain(words)
        if " " in said or (said and _NOISE.match(words)):
            return said
    for name, words in reversed(inwards):
        if name:
            return f"{name}: {_plain(words)}".removesuffix(": ")
    return _plain(text)


def _unwrapped(part: str) -> tuple[str, str]:
    """The class and the words of one exception of a trace."""
    frames = _FRAMES.search(part)
    words = part[: frames.start()] if frames else part
    name = ""
    while found := _WRAPPING.match(words):
        name = found["cause"] or found["java"] or found["remote"] or name
        words = words[found.end() :]
    if words.startswith(_TRACEBACK):
        below = words.rpartition(_TRACEBACK)[2].splitlines()
        words = next((line for line in below if line and not line[0].isspace()), "")
    return name, "" if words.strip() == "null" else words


def _plain(words: str) -> str:
    """The first line, without codes."""
    first = words.strip().partition("\n")[0]
    return _STATE.sub("", _NOISE.sub("", first)).rstrip(". ")


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """A text that shows no secret and is not too long."""
    text = without_secrets(text, secrets)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
