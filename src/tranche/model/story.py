"""The story of a key: all that is known of it, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from tranche.model.pending import Pending, Rejected
from tranche.model.run import Materialization, PartitionState
from tranche.model.trigger import Wait

KeyStatus: TypeAlias = Literal[
    "running",
    "abandoned",
    "cannot_run",
    "paused",
    "waiting",
    "ready",
    "failed",
    "provisional",
    "cancelled",
    "stale",
    "built",
    "not_due",
    "unasked",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFacts:
    """A schedule of the key's script, and the fire that is for the key."""

    cron: str | None
    """None if each period begins with a fire."""
    tz: str
    fire: datetime | None = None
    """The first fire that is for this key; None if there is none, or if every one is."""
    every: bool = False
    """Whether every fire is for this key."""
    past: bool = False
    """Whether that was before now."""
    next: datetime
    """The next fire of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An asset that a key is made of or waits for, and how much of that is there."""

    asset: str
    triggers: bool
    """Whether an `on` line names it; otherwise it is only read."""
    mapper: str | None = None
    """As an annotation writes it; None if one of the two has no keys."""
    inferred: bool = False
    """Whether nobody has written the mapper."""
    wait: Wait | None = None
    """How much of it must be there; None if the key does not wait for it."""
    source: bool = False
    """Whether no script makes it, so that only events tell of it."""
    asked: bool = False
    """Whether it is why the key is pending."""
    needed: int | None = None
    """How many of its keys are needed; None if it has none, or if nobody can list them."""
    unlisted: str | None = None
    """Which keys are needed that nobody can list."""
    there: tuple[str, ...] = ()
    """Some of the needed keys that are there."""
    missing: tuple[str, ...] = ()
    """Some of those that are not."""
    missing_count: int | None = None
    """How many are not; None if nobody has looked."""
    enough: bool | None = None
    """Whether there is enough of it; None if nobody knows."""

    @property
    def there_count(self) -> int | None:
        if self.needed is None or self.missing_count is None:
            return None
        return self.needed - self.missing_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """Who is at a key."""

    run: str
    since: datetime | None = None
    abandoned: bool = False
    """Whether its process has ended, and the run has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """What is known of a key, each only where there is something to say."""

    schedules: tuple[ScheduleFacts, ...] = ()
    needs: tuple[Need, ...] = ()
    pending: Pending | None = None
    lacking: tuple[str, ...] = ()
    """What a pending key still lacks; less than when somebody last looked, if something has come."""
    rejected: tuple[Rejected, ...] = ()
    """The latest events of which its script could make nothing, whichever key they were for."""
    paused_since: datetime | None = None
    working: Working | None = None
    backfill: str | None = None
    """A backfill that has the key on its work list and has not come to it."""
    standing: PartitionState | None = None
    built: Materialization | None = None
    """The entry of what readers see."""
    stale: str | None = None
    """Why it is stale."""
    tested: Materialization | None = None
    """The latest entry of its log that has data tests."""
    log: tuple[Materialization, ...] = ()
    """The latest entries of its log, the latest first."""


@dataclass(frozen=True, slots=True)
class KeyVerdict:
    """What the facts come to: why the key does not run, what would release it, or that it is fine."""

    status: KeyStatus
    sentence: str
    remedy: str | None = None
    """The command that would change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that is known of a key, and what it comes to."""

    label: str
    """How people know its script: by the asset, else by its name."""
    partition: str | None
    """None of an asset without partitions."""
    verdict: KeyVerdict
    facts: KeyFacts
    violations: str
    """The command that shows what data tests found in it."""
