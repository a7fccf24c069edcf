"""All keys of an asset as JSON, as short as can be."""

from __future__ import annotations

from typing import Any

from tranche.model.partitioning import KeyRange
from tranche.planning.board import LETTERS
from tranche.planning.grid import Grid, Line

_EPOCH = 719_162 * 24 * 60
"""Minutes from the first of year 1 to 1970."""


def grid_view(grid: Grid) -> dict[str, Any]:
    """Keys are told by where they begin and what they look like, not listed.

    Each stretch of time has so many keys, one a period after the other, by the clock on the wall:
    in minutes since 1970. A letter says where a key stands, and a number after it of how many in a
    row that is true.
    """
    return {
        "asset": grid.asset,
        "kind": grid.kind,
        "earlier": grid.earlier,
        "hidden": grid.hidden,
        "letters": {letter: standing for standing, letter in LETTERS.items()},
        **_times_view(grid.times),
        "rows": [
            {
                "beside": line.beside,
                "before": line.before,
                "after": line.after,
                "standing": packed(line),
            }
            for line in grid.lines
        ],
        "counts": dict(grid.counts),
    }


def packed(line: Line) -> str:
    """
    >>> packed(Line("mssssf"))
    'ms4f'
    """
    return "".join(
        LETTERS[standing] + (str(keys) if keys > 1 else "")
        for _, keys, standing in line.stretches()
    )


def _times_view(times: KeyRange | None) -> dict[str, Any]:
    if times is None:
        return {"keys": 0, "first": None, "last": None, "period": {}, "format": [], "times": []}
    period, form = times.calendar.period, times.calendar.format
    return {
        "keys": len(times),
        "first": times[0],
        "last": times[-1],
        "period": {"minutes": period.seconds // 60, "months": period.months},
        "format": [list(part) for part in form.parts],
        "times": [
            {
                "begins": period.start(run.first) // 60 - _EPOCH,
                "keys": run.last - run.first + 1,
                "offset": form.offset(run.offset),
            }
            for run in times.runs
        ],
    }
