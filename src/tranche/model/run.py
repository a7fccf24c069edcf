"""What happened: runs, their steps and attempts, and the ledger of materializations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from tranche.model.data_test import DataTestResult
from tranche.model.digest import ColumnDigests, Digests

RunStatus: TypeAlias = Literal["running", "succeeded", "failed", "cancelled"]
StepStatus: TypeAlias = Literal["waiting", "running", "succeeded", "failed", "skipped", "cancelled"]
AttemptStatus: TypeAlias = Literal["running", "succeeded", "failed", "cancelled"]
Outcome: TypeAlias = Literal["succeeded", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a plan. Its fire time is the only clock that its steps ever see."""

    id: str
    target: str
    status: RunStatus
    fire_time: datetime
    started_at: datetime
    finished_at: datetime | None = None
    partition: str | None = None
    """The key that was asked for, when one was."""
    payload: Any = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a run as the store keeps it."""

    run: str
    position: int
    script: str
    asset: str | None
    partition: str | None
    ordinal: datetime | None
    strategy: str | None
    status: StepStatus
    rows: int | None = None
    snapshot: str | None = None
    keys: int = 1
    """How many keys it handles."""
    error: str | None = None
    """Why it failed, or why it was skipped."""
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a step."""

    id: str
    run: str
    position: int
    number: int
    status: AttemptStatus
    started_at: datetime
    finished_at: datetime | None = None
    error: str | None = None
    part: str = ""
    """Which of its keys a try of a slice of several is for; empty if for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that an attempt is working on, and nobody else may. None stands for all keys."""

    asset: str
    partition: str | None
    run: str
    attempt: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a step read: an upstream key with the materialization it had, or a source's snapshot."""

    asset: str
    partition: str | None = None
    materialization: str | None = None
    snapshot: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialization:
    """A ledger entry: this key, written by this run, at this snapshot, from these inputs.

    An asset without partitions has one key, which is None.
    """

    id: str
    asset: str
    partition: str | None
    ordinal: datetime | None
    status: Outcome
    run: str
    attempt: str
    fingerprint: str
    started_at: datetime
    """What it is made of was read then or later: of a slice that was there before and came back,
    it is when it was made."""
    finished_at: datetime
    rows: int | None = None
    digest: str | None = None
    column_digests: ColumnDigests = field(default_factory=dict)
    """What stands for the sets of columns that other scripts read, where somebody went over them."""
    snapshot: str | None = None
    inputs: tuple[Input, ...] = ()
    tests: tuple[DataTestResult, ...] = ()
    error: str | None = None
    seconds: float | None = None
    """How long it took; of a job for several keys, its share."""
    provisional: bool = False
    """Whether it was built without something that a link with a deadline had waited for."""

    @property
    def digests(self) -> Digests:
        return Digests(self.digest, self.column_digests)


@dataclass(frozen=True, slots=True)
class KeyParts:
    """The parts of a table that a key was written to, where columns of its rows say which.

    A part is the values of these columns, as JSON. What another key has written since is its own.
    """

    asset: str
    partition: str | None
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """Where one key of an asset stands now.

    `status`, `run` and `at` tell of the latest attempt; `rows`, `snapshot`, `digest`, `fingerprint`,
    `provisional` and `materialization` of the latest success, which is what readers see.
    """

    asset: str
    partition: str | None
    ordinal: datetime | None
    status: Outcome
    run: str
    at: datetime
    error: str | None = None
    materialization: str | None = None
    rows: int | None = None
    snapshot: str | None = None
    digest: str | None = None
    fingerprint: str | None = None
    provisional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTally:
    """Keys of an asset whose ordinals lie in one month, and whose latest attempts ended alike."""

    month: tuple[int, int]
    """Its year and number, by the clock of the store."""
    status: Outcome
    keys: int
    """How many they are."""
    first: datetime
    last: datetime
    """The lowest and the highest of their ordinals."""
    shortest: int
    longest: int
    """How many characters the keys have."""
