"""What the inside asks of the outside: the engine, the store and the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from tranche.model.asset import LakeTable
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import (
    Attempt,
    Materialization,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)


class Clock(Protocol):
    """Tells the time, always aware and in UTC."""

    def __call__(self) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an engine did for one step."""

    rows: int | None = None
    snapshot: str | None = None
    digest: str | None = None
    committed_at: datetime | None = None
    """When the table says that its readers could see it."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The snapshot at which each table was read, by address."""
    result: Rows | None = None
    """The rows of a script that materializes nothing."""


class Engine(Protocol):
    """Runs steps and answers queries. Each call has a Spark session of its own."""

    def start(self) -> None:
        """Gets ready, so that what follows is only the work itself."""
        ...

    def execute(self, step: Step, *, run: str, attempt: str) -> Written: ...

    def query(self, text: str, *, limit: int) -> Rows:
        """Any statement, against the project's lakes."""
        ...

    def preview(self, table: LakeTable, partition: str | None, *, limit: int) -> Rows:
        """The first rows of a table, or of one slice of it."""
        ...

    def cancel(self, attempt: str | None = None) -> None:
        """Interrupts an attempt, or all that are running; each ends with `Cancelled`."""
        ...

    def close(self) -> None: ...


class PartitionReader(Protocol):
    """Questions about where keys stand. None of them enumerates more than it returns."""

    def partition(self, asset: str, partition: str | None) -> PartitionState | None: ...

    def partitions(
        self,
        asset: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: PartitionState | None = None,
    ) -> Sequence[PartitionState]:
        """A page in order of ordinal, then key; `start` and `end` bound ordinals as [start, end)."""
        ...

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        """How many keys of each asset stand at each status."""
        ...

    def close(self) -> None: ...


class StateReader(PartitionReader, Protocol):
    """Questions to the store. None of them enumerates more than it returns."""

    def run(self, run: str) -> Run | None: ...

    def runs(self, *, limit: int, before: str | None = None) -> Sequence[Run]:
        """The latest runs first; `before` is the id of the last run of the page before."""
        ...

    def steps(self, run: str) -> Sequence[StepRecord]: ...

    def attempts(self, run: str) -> Sequence[Attempt]: ...

    def materialization(self, materialization: str) -> Materialization | None: ...

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        """The log of one key, latest first."""
        ...


class StateStore(StateReader, Protocol):
    """The store: each method is one transaction."""

    def begin_run(self, run: Run, steps: Sequence[StepRecord]) -> None: ...

    def finish_run(
        self, run: str, status: RunStatus, *, at: datetime, error: str | None = None
    ) -> None: ...

    def begin_attempt(self, attempt: Attempt) -> None:
        """Records the attempt and marks its step as running."""
        ...

    def finish_attempt(self, attempt: Attempt) -> None: ...

    def finish_step(
        self,
        step: StepRecord,
        materializations: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
    ) -> None:
        """Writes the step's outcome and its last attempt's, appends to the ledger and moves each
        key's latest state, all or nothing."""
        ...
