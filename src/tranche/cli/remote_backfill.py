"""Backfills that a server of this project works off."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tranche.cli.backfill_progress import BackfillProgress
from tranche.cli.backfilling import output_detached, show_result
from tranche.cli.output import Output
from tranche.cli.remote import Remote, followed
from tranche.errors import KeysTaken
from tranche.model.backfill import BackfillRequest

_AGAIN = 1.0
"""After how many seconds it is asked again whether others have ended."""


def begin_by(
    remote: Remote, request: BackfillRequest, output: Output, *, agreed: bool, detach: bool
) -> bool:
    """Has a server work a backfill off; says whether it went well."""
    begun = _begun(remote, _body(request, agreed=agreed), output, waits=request.overlap == "wait")
    for warning in begun.get("plan", {}).get("warnings", ()):
        output.warn(warning)
    return _stay(remote, begun, output, detach=detach)


def resume_by(remote: Remote, backfill: str, output: Output, *, detach: bool) -> bool:
    """Has a server go on with a backfill; says whether it went well."""
    begun = remote.ask("POST", f"/api/backfills/{quote(backfill, safe='')}/resume")
    return _stay(remote, begun, output, detach=detach)


def _begun(remote: Remote, body: Mapping[str, Any], output: Output, *, waits: bool) -> Any:
    told = False
    while True:
        try:
            return remote.ask("POST", "/api/backfills", body)
        except KeysTaken as taken:
            if not waits:
                raise
            if not told:
                output.warn(f"waiting for another backfill: {taken}")
                told = True
            time.sleep(_AGAIN)


def _stay(remote: Remote, begun: Mapping[str, Any], output: Output, *, detach: bool) -> bool:
    id = str(begun["backfill"])
    if begun["status"] == "succeeded":
        return show_result(begun, output)
    if detach:
        output_detached(id, "queued", None, output)
        return True
    with BackfillProgress(output) as progress:
        view = followed(remote, f"/api/backfills/{quote(id, safe='')}", progress)
    return show_result(view, output)


def _body(request: BackfillRequest, *, agreed: bool) -> dict[str, Any]:
    return {
        "target": request.target,
        "start": request.start,
        "end": request.end,
        "keys": list(request.keys),
        "dimensions": {name: list(keys) for name, keys in request.dimensions.items()},
        "all": request.every,
        "stale": request.stale,
        "exact": request.exact,
        "reverse": request.reverse,
        "only": request.only,
        "per_key": request.one_by_one,
        "max_keys_per_job": request.most_keys,
        "overlap": "fail" if request.overlap == "wait" else request.overlap,
        "arguments": dict(request.arguments),
        "yes": agreed,
    }
