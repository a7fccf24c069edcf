"""`make bench`: runs all measurements, prints a table, keeps the figures as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import (
    asof,
    backfill,
    commands,
    ducklake,
    ledger,
    lineage,
    pages,
    serving,
    small_slice,
    strategies,
    tasks,
    triggers,
)
from bench.figure import Figure

PARTS = {
    "commands": commands.measure,
    "small_slice": small_slice.measure,
    "asof": asof.measure,
    "strategies": strategies.measure,
    "backfill": backfill.measure,
    "ducklake": ducklake.measure,
    "ledger": ledger.measure,
    "lineage": lineage.measure,
    "triggers": triggers.measure,
    "serving": serving.measure,
    "pages": pages.measure,
    "tasks": tasks.measure,
}


def main() -> int:
    """Measures all parts, or those that are named: `python -m bench backfill`."""
    names = sys.argv[1:] or list(PARTS)
    figures: list[Figure] = [figure for name in names for figure in PARTS[name]()]
    table = Table("what", "measured", "limit", "")
    for figure in figures:
        table.add_row(
            figure.what,
            f"{figure.value:.2f} {figure.unit}",
            f"{figure.limit:g} {figure.unit}" if figure.limit is not None else "",
            "" if figure.limit is None else "held" if figure.held else "[red]missed[/red]",
        )
    Console().print(table)
    machine = {
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": platform.system(),
        "python": platform.python_version(),
        "spark": version("pyspark"),
    }
    result = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(result, indent=2))
    if "backfill" in names:
        from bench import chart, page

        chart.draw(result)
        page.write()
    return 0 if all(figure.held for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
