"""Errors as answers: the sentences of the command line, with the status that fits."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tranche.errors import (
    KeysTaken,
    NotAllowed,
    NotBuiltYet,
    PartitioningError,
    ResolutionError,
    ScriptFaults,
    ServerBusy,
    SliceBusy,
    SourceMissing,
    StateError,
    TrancheError,
    UnknownSnapshot,
    UnknownTarget,
    UsageError,
)
from tranche.views.plain import error_view
from tranche.web.served import Json

_log = logging.getLogger("tranche.web")
_STATUS: Sequence[tuple[type[TrancheError], int]] = (
    (UnknownTarget, 404),
    (UnknownSnapshot, 404),
    (SourceMissing, 404),
    (KeysTaken, 409),
    (SliceBusy, 409),
    (ServerBusy, 429),
    (UsageError, 400),
    (ResolutionError, 400),
    (PartitioningError, 400),
    (ScriptFaults, 422),
    (StateError, 503),
    (NotBuiltYet, 501),
)
_PHRASES = {
    404: "there is nothing at this address; /api lists what there is",
    405: "this address takes other methods; /api lists them",
}


def status_of(error: TrancheError) -> int:
    """
    >>> status_of(UnknownTarget("no script is called 'x'")), status_of(UsageError("no"))
    (404, 400)
    """
    if isinstance(error, NotAllowed):
        return 403 if error.known else 401
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def answer_failures(app: FastAPI) -> None:
    """Has all errors of an application answered in one form."""
    app.add_exception_handler(TrancheError, _explained)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def _explained(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TrancheError)
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Json(error_view(error), status, headers)


def _malformed(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = [_sentence(each) for each in error.errors()]
    return _answer(400, "UsageError", "; ".join(dict.fromkeys(found)))


def _sentence(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is no JSON: {error.get('ctx', {}).get('error', error['msg'])}"
    place = [str(part) for part in error["loc"][1:]] or [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        return f"{'.'.join(place)} is not known here"
    return f"{'.'.join(place)}: {error['msg']}"


def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    what = _PHRASES.get(error.status_code) if error.detail == phrase else None
    return _answer(error.status_code, "UsageError", what or str(error.detail), error.headers)


def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    what = f"unexpected {type(error).__name__}; this is a fault of Tranche, its log shows where"
    return _answer(500, "Unexpected", what)


def _answer(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return Json({"error": {"kind": kind, "message": message}}, status, headers)
