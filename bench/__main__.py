"""`make bench`: runs all measurements, prints a table, keeps the figures as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import asof, commands, small_slice, strategies
from bench.figure import Figure


def main() -> int:
    figures: list[Figure] = [
        *commands.measure(),
        *small_slice.measure(),
        *asof.measure(),
        *strategies.measure(),
    ]
    table = Table("what", "measured", "limit", "")
    for figure in figures:
        table.add_row(
            figure.what,
            f"{figure.value:.2f} {figure.unit}",
            f"{figure.limit:g} {figure.unit}" if figure.limit is not None else "",
            "" if figure.limit is None else "held" if figure.held else "[red]missed[/red]",
        )
    Console().print(table)
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    result = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(result, indent=2))
    return 0 if all(figure.held for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
