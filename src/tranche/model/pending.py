"""Pending keys: asked for, and still waiting for some of their inputs or for somebody to run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from tranche.model.mapped_keys import Unlisted

PendingStatus: TypeAlias = Literal["waiting", "ready", "claimed", "reserved"]
"""A key that is claimed was ready, and a run was begun for it. One that is reserved is made by a run
along with what is upstream of it; if nobody else asks for it meanwhile, it ends with that run."""


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
    def held(self) -> bool:
        """Whether a run has it."""
        return self.status in ("claimed", "reserved")

    @property
    def place(self) -> tuple[str, str | None]:
        return self.consumer, self.partition


@dataclass(frozen=True, slots=True)
class Reserved:
    """A key that a run makes along with what is upstream of it."""

    consumer: str
    partition: str | None
    ordinal: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A script that has keys which wait for nothing but somebody to run them."""

    consumer: str
    keys: int
    since: datetime
    """Since when the first of them is pending."""


@dataclass(frozen=True, slots=True)
class Released:
    """Keys of a script that wait, and of which nobody knows whether they still must."""

    consumer: str
    which: Unlisted


@dataclass(frozen=True, slots=True)
class Rejected:
    """An event of which a script can make nothing."""

    consumer: str
    event: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Decisions:
    """What follows from a turn. Nothing of it has been done yet."""

    handled: tuple[str, ...] = ()
    """The events that were looked at."""
    fired: Mapping[str, datetime] = field(default_factory=dict)
    """Up to when schedules have been looked at."""
    pending: tuple[Pending, ...] = ()
    """Keys as they are from now on."""
    dropped: tuple[tuple[str, str | None], ...] = ()
    """Keys that need not run any more."""
    released: tuple[Released, ...] = ()
    fallen: tuple[str, ...] = ()
    """Scripts that have faults since the turn before, and hear of nothing until they are mended."""
    mended: tuple[str, ...] = ()
    """Scripts that have heard of what they had missed."""
    rejected: tuple[Rejected, ...] = ()
    more: bool = False
    """Whether something is left for a turn that may follow at once."""
