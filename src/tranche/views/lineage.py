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


def map_view(up: Trace, down: Trace) -> dict[str, Any]:
    """Both ways from a column, as boxes of columns in layers and arrows between them.

    Rows of an asset are told as a column without a name.
    """
    layers: dict[str, int] = {str(up.start.asset): 0}
    columns: dict[str, dict[str | None, None]] = {}
    edges: dict[tuple[str, str | None, str, str | None, str], dict[str, Any]] = {}
    for point in (*up.begins, *down.begins):
        columns.setdefault(str(point.asset), {})[point.column] = None
    for found, sign in ((up, -1), (down, 1)):
        for link in found.links:
            far = link.source if sign < 0 else link.target
            layers.setdefault(str(far.asset), sign * link.depth)
            for point in (link.source, link.target):
                columns.setdefault(str(point.asset), {})[point.column] = None
            ends = (link.source, link.target)
            key = (*(part for end in ends for part in (str(end.asset), end.column)), link.how)
            edges[key] = {  # type: ignore[index]
                "from": {"asset": str(link.source.asset), "column": link.source.column},
                "to": {"asset": str(link.target.asset), "column": link.target.column},
                "direct": link.direct,
                "kind": link.how,
                "declared": link.declared,
                "script": link.script,
            }
    doubts = dict.fromkeys((*up.doubts, *down.doubts))
    return {
        "nodes": [
            {"asset": asset, "columns": list(names), "layer": layers.get(asset, 0)}
            for asset, names in columns.items()
        ],
        "edges": list(edges.values()),
        "complete": up.complete and down.complete,
        "notes": [str(doubt) for doubt in doubts],
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
