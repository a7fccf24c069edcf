"""Backfills: a person asks for many keys at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from tranche.model.plan import Plan

BackfillStatus: TypeAlias = Literal[
    "waiting", "queued", "running", "cancelling", "succeeded", "failed", "cancelled"
]
"""One that is queued is for whichever server has time; one that waits has a process of its own."""
UNFINISHED: tuple[BackfillStatus, ...] = ("waiting", "queued", "running", "cancelling")
Why: TypeAlias = Literal["missing", "failed", "stale", "succeeded"]
"""Where a key stood when the work list was made."""

Overlap: TypeAlias = Literal["fail", "wait", "exclude"]

MOST_KEYS = 2_000
"""How many keys one job has at most, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """What somebody asks for. The time is fixed here, and nothing later looks at a clock."""

    target: str
    at: datetime
    start: str | None = None
    end: str | None = None
    keys: tuple[str, ...] = ()
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of keys of several dimensions, the segments that are meant, by the dimension's name."""
    every: bool = False
    """Whether keys run that have succeeded already."""
    stale: bool = False
    """Whether keys run too that were made of something else than there is now."""
    exact: bool = False
    """Whether lookback is left out."""
    reverse: bool = False
    only: bool = False
    """Whether nothing downstream follows."""
    one_by_one: bool = False
    most_keys: int = MOST_KEYS
    arguments: Mapping[str, str] = field(default_factory=dict)
    resumes: bool = False
    """Whether of the given keys only those run that are not done."""
    since: datetime | None = None
    """Only what succeeded since then is done."""
    resumed: str | None = None
    """The backfill that it goes on with."""
    overlap: Overlap = "fail"
    """What to do about keys that another backfill is at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What runs at once: an asset, some of its keys, and how."""

    asset: str
    keys: tuple[str | None, ...]
    mode: Literal["range", "per-key"]
    reason: str | None = None
    """Why keys run one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """The work list of a backfill, and the steps that it becomes."""

    request: BackfillRequest
    asset: str
    standing: Mapping[Why, int]
    """How many keys of what was asked for stand where."""
    keys: tuple[str, ...]
    """The work list."""
    plan: Plan
    jobs: tuple[Job, ...]
    stale: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why keys of an asset are stale, where that was asked."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What an asset lacks."""

    asset: str
    standing: Mapping[Why, int]
    active: int
    """How many keys somebody is at already."""
    waiting: int = 0
    """How many keys have nothing upstream yet to be made of."""
    keys: tuple[str, ...]
    """What runs."""
    fires: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The times at which its schedule fired for keys that are missing, each with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchupPlan:
    """What all assets lack, and the steps that fill it."""

    request: BackfillRequest
    caught: tuple[Caught, ...]
    plan: Plan
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A backfill as the store keeps it."""

    id: str
    target: str
    asset: str
    status: BackfillStatus
    created_at: datetime
    finished_at: datetime | None = None
    run: str | None = None
    """The run that works on it, or did last."""
    server: str | None = None
    """The server that works on it, if one does."""
    keys: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
