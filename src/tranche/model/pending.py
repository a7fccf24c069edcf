"""Pending keys: asked for, and still waiting for some of their inputs or for somebody to run them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

PendingStatus: TypeAlias = Literal["waiting", "ready", "claimed"]
SCHEDULE = "schedule"
"""What stands among the askers for a fire of the script's own schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A key of a script that should run. There is one for each, however often it is asked for."""

    consumer: str
    """How people know the script: by its asset, else by its name."""
    partition: str | None
    ordinal: datetime | None = None
    status: PendingStatus = "waiting"
    since: datetime
    """When it was asked for first."""
    fire_time: datetime
    """The time that its run is for."""
    asked_by: tuple[str, ...] = ()
    """Who has asked for it: assets, as the script names them, and its schedule."""
    lacking: tuple[str, ...] = ()
    """What it waits for."""
    look_at: datetime | None = None
    """When it is looked at again, though nothing has happened."""
    server: str | None = None
    """Who has it, since it was ready."""
    run: str | None = None
    again: bool = False
    """Whether it has been asked for again since."""

    @property
    def place(self) -> tuple[str, str | None]:
        return self.consumer, self.partition
