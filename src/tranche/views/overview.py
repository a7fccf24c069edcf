"""The overview of a project as JSON."""

from __future__ import annotations

from typing import Any

from tranche.planning.grid import Grid
from tranche.service.overview import Node, Overview
from tranche.views.assets import script_view
from tranche.views.plain import instant

_LETTERS = {
    "missing": "m",
    "running": "r",
    "stale": "t",
    "provisional": "p",
    "succeeded": "s",
    "failed": "f",
    "cancelled": "c",
}


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
    return view


def grid_view(grid: Grid) -> dict[str, Any]:
    """All keys of a grid, as short as can be: one letter says where each stands.

    A key begins so many minutes after 1970 by the clock on the wall.
    """
    zero = 719_163 * 24 * 60
    rows: dict[str, list[int]] = {}
    for number, cell in enumerate(grid.cells):
        rows.setdefault(cell.beside, []).append(number)
    return {
        "asset": grid.asset,
        "kind": grid.kind,
        "earlier": grid.earlier,
        "letters": {letter: standing for standing, letter in _LETTERS.items()},
        "rows": [
            {
                "beside": beside,
                "keys": [grid.cells[n].key for n in numbers],
                "begins": [
                    grid.cells[n].begins.toordinal() * 1440
                    + grid.cells[n].begins.hour * 60
                    + grid.cells[n].begins.minute
                    - zero
                    for n in numbers
                ],
                "standing": "".join(_LETTERS[grid.cells[n].standing] for n in numbers),
            }
            for beside, numbers in rows.items()
        ],
        "counts": dict(grid.counts),
    }
