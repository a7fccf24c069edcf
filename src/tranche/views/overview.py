"""The overview of a project as JSON."""

from __future__ import annotations

from typing import Any

from tranche.service.overview import Node, Overview
from tranche.views.about import keys_view
from tranche.views.assets import script_view
from tranche.views.plain import instant


def overview_view(overview: Overview) -> dict[str, Any]:
    return {
        "nodes": [_node_view(node) for node in overview.nodes],
        "arrows": [
            {
                "from": arrow.source,
                "to": arrow.target,
                "triggers": arrow.triggers,
                "map": arrow.mapper,
            }
            for arrow in overview.arrows
        ],
    }


def _node_view(node: Node) -> dict[str, Any]:
    view: dict[str, Any] = {
        "id": node.id,
        "kind": node.kind,
        "standing": node.standing,
        "layer": node.spot.layer,
        "row": node.spot.row,
        "group": node.group,
    }
    if node.script is not None:
        about = script_view(node.script)
        names = ("script", "path", "partitioning", "strategy", "tests", "tags", "schedules")
        view |= {name: about[name] for name in names}
        view["partitions"] = dict(node.outcomes)
        view["at"] = instant(node.latest.at) if node.latest is not None else None
        view["run"] = node.latest.run if node.latest is not None else None
        if node.kind == "script":
            # It has no page of its own: it is run from where it is drawn.
            view |= {"arguments": about["arguments"], "keys": keys_view(node.script.partitioning)}
    return view
