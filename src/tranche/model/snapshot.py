"""Snapshots of a table as its readers saw them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tranche.model.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSnapshot:
    """A snapshot, from when on readers saw it, and what it did to the table."""

    id: str
    at: datetime
    operation: str | None = None
    """The table format's own word for what the commit did."""
    run: str | None = None
    """None if no run of Tranche wrote it."""
    partition: str | None = None
    added: int | None = None
    removed: int | None = None
    """Rows, as the table format counts them: one in a file that was rewritten counts as both."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What readers saw, latest first; `more` says whether there was something before."""

    snapshots: tuple[SeenSnapshot, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a table, or of one slice of it."""

    rows: Rows
    snapshot: SeenSnapshot | None = None
    """The past one that they are of; None for the table as it is now."""
