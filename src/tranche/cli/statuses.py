"""What `status` shows."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.cli.output import Output
from tranche.cli.views import partition_view
from tranche.service import AssetStatus, PartitionPage

_WIDE = 120
"""Columns of a terminal that has room for snapshots and runs."""

_OUTCOMES = ("succeeded", "failed", "cancelled")


def show_assets(assets: Sequence[AssetStatus], output: Output) -> None:
    if output.json:
        output.value(
            {
                "assets": [
                    {"asset": a.asset, "partitioning": a.partitioning, "partitions": a.outcomes}
                    for a in assets
                ]
            }
        )
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


def show_asset(page: PartitionPage, output: Output) -> None:
    if output.json:
        output.value(
            {
                "asset": page.asset,
                "partitions": [partition_view(state) for state in page.partitions],
                "more": page.more,
            }
        )
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
                s.status,
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
