"""Events: facts about assets that ask for runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something new in an asset: a slice that a run published, or what somebody outside says of it."""

    id: str
    asset: str
    partition: str | None
    """The key that it is about; None if it is about the whole."""
    at: datetime
    payload: Any = None
    run: str | None = None
    """The run that published the slice; None of what comes from outside."""
    materialization: str | None = None
    """The ledger's entry of the slice."""
    snapshot: str | None = None
    digest: str | None = None
    """What tells the rows of the slice from others."""
    retracted_at: datetime | None = None
