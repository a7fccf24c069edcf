"""What commands print: words and tables for people, or one JSON value for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from tranche.views.plain import as_json
from tranche.views.plain import counted as counted
from tranche.views.plain import harmless as harmless

if TYPE_CHECKING:
    from rich.console import Console

    from tranche.model.rows import Rows

_UNBOUNDED = 240

STATUS_STYLE = {
    "succeeded": "green",
    "failed": "red",
    "skipped": "yellow",
    "cancelled": "yellow",
    "running": "cyan",
    "provisional": "yellow",
}


@dataclass
class Output:
    """Where a command's words go. With `json`, standard output holds the JSON alone."""

    json: bool = False
    debug: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stdout, repr=False)
    """Where the JSON goes, whatever is done to standard output meanwhile."""

    @cached_property
    def console(self) -> Console:
        from rich.console import Console

        # Into a file or a pipe, a table is as wide as it needs to be.
        wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _UNBOUNDED
        return Console(highlight=False, soft_wrap=True, width=wide)

    @cached_property
    def notes(self) -> Console:
        """For warnings and progress; a copy of standard error that Spark's start cannot redirect."""
        from rich.console import Console

        stream = os.fdopen(os.dup(2), "w", buffering=1) if _has_descriptor() else sys.stderr
        return Console(file=stream, highlight=False, soft_wrap=True)

    def value(self, value: Any) -> None:
        """The JSON of a command."""
        self.stream.write(as_json(value, indent=2) + "\n")
        self.stream.flush()

    def line(self, text: str = "", style: str | None = None) -> None:
        self.console.print(harmless(text), style=style, markup=False)

    def pieces(self, *pieces: tuple[str, str]) -> None:
        """A line of several colours: texts, each with its style."""
        from rich.text import Text

        line = Text()
        for text, style in pieces:
            line.append(harmless(text), style)
        self.console.print(line)

    def note(self, text: str, style: str | None = None) -> None:
        self.notes.print(harmless(text), style=style, markup=False)

    def warn(self, text: str) -> None:
        self.note(f"warning: {text}", "yellow")

    def error(self, text: str) -> None:
        self.note(f"error: {text}", "red")

    def table(self, headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(Text(harmless(heading)), overflow="fold")
        for row in rows:
            cells = [shown(cell) for cell in row]
            table.add_row(*(Text(cell, style=STATUS_STYLE.get(cell, "")) for cell in cells))
        self.console.print(table)

    def rows(self, rows: Rows) -> None:
        if not rows.columns:
            self.line("done")
            return
        self.table((name for name, _ in rows.columns), rows.values)
        count = counted(len(rows.values), "row")
        self.line(f"{count}, and more; raise --limit to see them" if rows.more else count, "dim")


def shown(value: Any) -> str:
    """A value in a table.

    >>> shown(None), shown(True), shown("a\\nb")
    ('NULL', 'true', 'a\\\\nb')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return harmless(as_json(value))
    text = str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _has_descriptor() -> bool:
    try:
        return sys.stderr.fileno() == 2
    except (OSError, ValueError, AttributeError):
        return False
