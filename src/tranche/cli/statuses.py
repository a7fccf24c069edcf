"""What `status` shows."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.cli.output import Output, counted, shown
from tranche.planning.board import Standing
from tranche.planning.grid import Cell, Grid
from tranche.service import AssetStatus, PartitionPage
from tranche.views.assets import partitions_view, status_view

_WIDE = 120
"""Columns of a terminal that has room for snapshots and runs."""

_OUTCOMES = ("succeeded", "failed", "cancelled")
_SIGNS: dict[Standing, tuple[str, str]] = {
    "succeeded": ("■", "green"),
    "provisional": ("◧", "yellow"),
    "stale": ("▨", "yellow"),
    "running": ("▶", "blue"),
    "failed": ("✗", "red"),
    "cancelled": ("–", "magenta"),
    "missing": ("·", "dim"),
}
_STRETCHES = 10
"""How many stretches of keys are listed below the picture, the latest of them."""


def show_assets(assets: Sequence[AssetStatus], output: Output) -> None:
    if output.json:
        output.value(status_view(assets))
        return
    if not assets:
        output.line("no script of this project materializes anything yet")
        return
    output.table(
        ("asset", "partitioning", *_OUTCOMES),
        (
            (a.asset, a.partitioning or "whole table", *(a.outcomes.get(o, 0) for o in _OUTCOMES))
            for a in assets
        ),
    )


def show_asset(page: PartitionPage, grid: Grid | None, output: Output) -> None:
    if output.json:
        output.value(partitions_view(page, grid))
        return
    if not page.partitions:
        output.line(f"{page.asset} has no partition yet; run the script that makes it")
        return
    wide = output.console.width >= _WIDE
    output.table(
        ("partition", "status", "rows", "at", *(("snapshot", "run") if wide else ()), "error"),
        (
            (
                "whole table" if s.partition is None else s.partition,
                "provisional" if s.provisional and s.status == "succeeded" else s.status,
                "" if s.rows is None else s.rows,
                s.at.isoformat(timespec="seconds"),
                *((s.snapshot or "", s.run) if wide else ()),
                s.error or "",
            )
            for s in page.partitions
        ),
    )
    if page.more:
        output.line("… and more; raise --limit to see them", "dim")


def show_grid(grid: Grid, output: Output) -> None:
    """A picture of all keys: a calendar of days, and bars of other periods."""
    if not grid.cells:
        output.line(f"{grid.asset} has no partition yet; run the script that makes it")
        return
    rows: dict[tuple[str, str], list[tuple[int, Cell]]] = {}
    for cell in grid.cells:
        row, column = _place(grid.kind, cell)
        rows.setdefault((cell.beside, row), []).append((column, cell))
    if grid.earlier:
        output.line(f"… {counted(grid.earlier, 'earlier key')}; --start shows them", "dim")
    width = max(len(row) for _, row in rows)
    above = ""
    for (beside, row), cells in rows.items():
        if beside != above:
            output.line(shown(beside), "bold")
            above = beside
        line = [(f"{row.ljust(width)}  ", "")]
        column = 0
        for place, cell in cells:
            # Hours that come twice stand beside each other.
            line += ((" " * max(0, place - column), ""), _SIGNS[cell.standing])
            column = max(column, place) + 1
        output.pieces(*line)
    counts = grid.counts
    output.pieces(
        *(
            piece
            for standing, (sign, style) in _SIGNS.items()
            if standing in counts
            for piece in ((f"{sign} ", style), (f"{counts[standing]:,} {standing}   ", ""))
        )
    )
    others = [s for s in grid.stretches() if s.standing != "succeeded"]
    for stretch in others[-_STRETCHES:]:
        keys = shown(stretch.first)
        if stretch.keys > 1:
            keys += f" … {shown(stretch.last)} ({counted(stretch.keys, 'key')})"
        output.line(f"{stretch.standing}  {keys}")
    if len(others) > _STRETCHES:
        output.line(f"… and {len(others) - _STRETCHES:,} stretches before them", "dim")


def _place(kind: str, cell: Cell) -> tuple[str, int]:
    """The row of a key, and its column in it."""
    at = cell.begins
    match kind:
        case "hourly":
            return f"{at:%Y-%m-%d}", at.hour
        case "daily":
            return f"{at:%Y-%m}", at.day - 1
        case "weekly":
            year, week, _ = at.isocalendar()
            return str(year), week - 1
        case "monthly":
            return f"{at:%Y}", at.month - 1
        case "quarterly":
            return f"{at:%Y}", (at.month - 1) // 3
        case _:
            return f"{at.year // 10 * 10}s", at.year % 10
