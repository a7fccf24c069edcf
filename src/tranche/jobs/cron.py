"""The schedule of a job."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.model.trigger import Catchup


@dataclass(frozen=True, slots=True)
class Cron:
    """Runs by the clock: at the fires of a cron, or at the start of each period without one.

    >>> Cron("0 6 * * 1-5", tz="Europe/Berlin").cron
    '0 6 * * 1-5'
    """

    cron: str | None = None
    tz: str | None = None
    """The time zone of the job's partitioning unless it is given."""
    offset: int = 0
    """How many fires later or earlier the time is that a key follows from."""
    catchup: Catchup | None = None
    """What becomes of fires that nobody was there for: "all", "latest" or "none"."""
