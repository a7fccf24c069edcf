"""Where columns come from, or what is made of them, as JSON."""

from __future__ import annotations

from typing import Any

from tranche.model.lineage import Doubt, Link, Point, Trace


def trace_view(trace: Trace) -> dict[str, Any]:
    start = trace.start
    return {
        "asset": str(start.asset),
        "column": None if start.column is None else ".".join((start.column, *start.path)),
        "direction": trace.direction,
        "complete": trace.complete,
        "links": [_link(link) for link in trace.links],
        "scripts": list(trace.unwritten),
        "unknown": [_doubt(doubt) for doubt in trace.doubts],
    }


def _link(link: Link) -> dict[str, Any]:
    return {
        "from": _point(link.source),
        "to": _point(link.target),
        "direct": link.direct,
        "how": link.how,
        "declared": link.declared,
        "script": link.script,
        "depth": link.depth,
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "asset": str(point.asset),
        "column": point.column,
        "field": ".".join(point.path) or None,
    }


def _doubt(doubt: Doubt) -> dict[str, Any]:
    return {
        "script": doubt.script,
        "path": doubt.path,
        "line": doubt.unknown.line,
        "what": doubt.unknown.what,
    }
