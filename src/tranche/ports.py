"""What the inside asks of the outside: the engine, the store, the clock, and who watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from tranche.model.asset import AssetUri, LakeTable
from tranche.model.backfill import Backfill, BackfillStatus
from tranche.model.columns import Columns, SchemaVersion
from tranche.model.data_test import DataTestResult
from tranche.model.digest import ColumnDigests
from tranche.model.event import Event
from tranche.model.explanation import Scanned
from tranche.model.layout import SetLayout
from tranche.model.lineage import ScriptLineage, TracedLineage
from tranche.model.pending import Decisions, Pending, PendingStatus, Ready, Rejected, Reserved
from tranche.model.plan import Step
from tranche.model.rows import Rows
from tranche.model.run import (
    Attempt,
    Claim,
    KeyParts,
    KeyTally,
    Materialization,
    Outcome,
    PartitionState,
    Run,
    RunStatus,
    StepRecord,
)
from tranche.model.snapshot import Preview, Snapshots
from tranche.model.statement import Statement
from tranche.model.token import Token
from tranche.model.wanted import EVERYTHING, Wanted


class Clock(Protocol):
    """Tells the time, always aware and in UTC."""

    def __call__(self) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an attempt asks of an engine."""

    step: Step
    attempt: Attempt
    fire_time: datetime
    rows: object = None
    """A frame of the engine's own, where no script says what to write."""
    past: tuple[Materialization, ...] | None = None
    """Earlier successes of its key, the latest first, whose rows the new ones may turn out to be;
    None if nobody has looked."""

    standing: Mapping[str, Materialization] = field(default_factory=dict)
    """Of a slice of several keys, the latest success of each that was there before."""

    parts: Mapping[str, Mapping[str | None, tuple[str, ...]]] = field(default_factory=dict)
    """By asset: the parts that keys of it were written to, of what it reads and of its own."""

    read: tuple[frozenset[str], ...] = ()
    """The sets of columns that other scripts read of what it makes, in lower case. Where the rows
    are digested, each of these sets is too."""

    traced: tuple[str, ...] | None = None
    """The columns of which it is known where they come from, for a step as this one is; None if
    nobody has asked yet."""

    sole_parts: frozenset[str] = frozenset()
    """The parts of its own asset that are of its keys and of no others: what it may remove."""

    @property
    def compares(self) -> bool:
        """Whether it may matter that the rows are those of an earlier time."""
        return self.step.is_read and (self.past is None or bool(self.past))


@dataclass(frozen=True, slots=True)
class Restored:
    """A key whose slice goes back to what it was."""

    partition: str | None
    rows: int
    """How many it had; 0 if it was not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What is known of a slice before its readers can see it."""

    sources: Mapping[str, str] = field(default_factory=dict)
    """The snapshot at which each table was read, by address."""
    tests: tuple[DataTestResult, ...] = ()
    key_tests: Mapping[str, tuple[DataTestResult, ...]] = field(default_factory=dict)
    """The same for each key of a slice of several."""
    warnings: tuple[str, ...] = ()
    restored: tuple[Restored, ...] = ()
    """The keys that a rollback changes."""
    lineage: frozenset[str] = frozenset()
    """The snapshot that a rollback goes back to, and all that it was built on."""
    traced: ScriptLineage | None = None
    """Where the columns come from, if that was not known and the rows have a plan that tells."""


@dataclass(frozen=True, slots=True)
class WrittenKey:
    """What readers see of one key of a slice of several."""

    rows: int | None
    digest: str | None = None
    changed: bool = True
    column_digests: ColumnDigests = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What readers see of a slice since an attempt published it."""

    rows: int | None = None
    """How many the slice has."""
    snapshot: str | None = None
    digest: str | None = None
    column_digests: ColumnDigests = field(default_factory=dict)
    changed: bool = True
    """Whether there was anything to publish; if not, all is as it was."""
    committed_at: datetime | None = None
    """When the table says that its readers could see it."""
    columns: Columns = ()
    keys: Mapping[str, WrittenKey] = field(default_factory=dict)
    """Each key of a slice of several that was published."""
    parts: Mapping[str | None, tuple[str, ...]] | None = None
    """The parts that each key was written to, where columns of the rows say which."""
    result: Rows | None = None
    """The rows of a script that materializes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What may go from a table, and what may not."""

    before: datetime
    """What readers could not see any more by then is of no interest."""
    needed: frozenset[str]
    """Snapshots that the ledger names, and which stay."""
    running: frozenset[str]
    """Runs that have not ended, whose staged commits stay."""
    left_before: datetime
    """Staged commits and files that nobody knows of may go if they are older than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained:
    """What upkeep did to a table."""

    table: LakeTable
    snapshots: int = 0
    """How many snapshots went."""
    compacted: int = 0
    """How many data files were made into fewer."""
    compacted_into: int = 0
    orphans: int = 0
    """How many files went that no snapshot had."""
    files: tuple[int, int] = (0, 0)
    """How many data files there were, and are."""
    bytes: tuple[int, int] = (0, 0)


class Trial(Protocol):
    """One attempt in an engine. What it staged and does not publish, nobody ever sees."""

    def stage(self) -> Staged:
        """Does the work up to the point where readers would see it, and tests it."""
        ...

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        """Lets readers see the slice, in one commit and at most once.

        Of a slice of several keys, some can be left out: they stay what they were.
        """
        ...


class Engine(Protocol):
    """Runs steps and answers queries. Each call has a Spark session of its own."""

    linger: float
    """How many seconds a commit may still take to land after its process has died."""

    def start(self) -> None:
        """Gets ready, so that what follows is only the work itself."""
        ...

    def revive(self) -> None:
        """Starts anew if it has died, whoever of those that use it notices first."""
        ...

    def attempt(self, work: Work) -> AbstractContextManager[Trial]: ...

    def recover(
        self, asset: AssetUri, keys: Sequence[str | None], attempt: Attempt
    ) -> Written | None:
        """What a table or a task's files have of an attempt that nobody waits for any more.

        None if it did not publish anything, and never will: what it staged is removed.
        """
        ...

    def maintain(self, table: LakeTable, upkeep: Upkeep) -> Sequence[Maintained]:
        """Makes few files of many small ones, and removes what nobody needs any more.

        A table that Tranche keeps beside it is looked after too. Runs may go on meanwhile.
        """
        ...

    def query(self, statement: Statement | SetLayout, *, limit: int) -> Rows:
        """Any statement, against the project's lakes."""
        ...

    def preview(
        self,
        table: LakeTable,
        partition: str | None,
        *,
        limit: int,
        snapshot: str | None = None,
        at: datetime | None = None,
        wanted: Wanted = EVERYTHING,
    ) -> Preview:
        """The first rows of a table, or of one slice of it: as it is, at a snapshot that readers
        saw, or as they saw it at a time. Of all its rows, those that are wanted come, in the order
        in which they are."""
        ...

    def snapshots(self, table: LakeTable, *, limit: int) -> Snapshots:
        """The snapshots that readers of a table saw, latest first."""
        ...

    def scan(self, step: Step) -> Scanned:
        """Runs the SELECT of a step, writes its rows nowhere, and tells what was read for them."""
        ...

    def cancel(self, attempt: str | None = None) -> None:
        """Interrupts an attempt, or all that are running; each ends with `Cancelled`."""
        ...

    def close(self) -> None: ...


class PartitionReader(Protocol):
    """Questions about where keys and columns stand. None enumerates more than it returns."""

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

    def standing(
        self, asset: str, keys: Sequence[str | None]
    ) -> Mapping[str | None, PartitionState]:
        """Where these keys of an asset stand; those that nobody ever tried are missing."""
        ...

    def outcomes(self, assets: Sequence[str]) -> dict[str, dict[str, int]]:
        """How many keys of each asset stand at each status."""
        ...

    def schemas(self, asset: str, *, limit: int) -> Sequence[SchemaVersion]:
        """The versions of an asset's columns, latest first."""
        ...

    def traced(self, asset: str, fingerprint: str) -> ScriptLineage | None:
        """Where the columns of an asset come from, as it was seen when a step of that fingerprint
        ran; None if it was not."""
        ...

    def close(self) -> None: ...


class StoryReader(PartitionReader, Protocol):
    """Questions about one key: what is told of it, by whom it is asked for, and who is at it."""

    def run(self, run: str) -> Run | None: ...

    def entries(self, materializations: Sequence[str]) -> Sequence[Materialization]:
        """These entries of the log, in no order; tests come without their samples."""
        ...

    def materializations(
        self, asset: str, partition: str | None, *, limit: int
    ) -> Sequence[Materialization]:
        """The log of one key, latest first; tests come without their samples."""
        ...

    def backfill(self, backfill: str) -> Backfill | None: ...

    def backfills(self, *, limit: int, unfinished: bool = False) -> Sequence[Backfill]:
        """The latest first, or the latest of those that have not ended; without their keys."""
        ...

    def claims(
        self, asset: str, *, limit: int, keys: Sequence[str | None] | None = None
    ) -> Sequence[Claim]:
        """Who works on an asset's keys, or on these of them, in the order of the keys."""
        ...

    def pending(self, places: Sequence[tuple[str, str | None]]) -> Sequence[Pending]:
        """These keys of scripts, as far as they are pending."""
        ...

    def paused(self) -> Mapping[str, datetime]:
        """The scripts whose keys are given to nobody, with when that began."""
        ...

    def rejected(self, consumer: str | None = None, *, limit: int) -> Sequence[Rejected]:
        """Events of which scripts can make nothing, the latest first."""
        ...

    def is_served(self, server: str) -> bool:
        """Whether a server is there."""
        ...

    def abandoned(self) -> Sequence[Run]:
        """Runs that have not ended and whose process has."""
        ...


class StateReader(StoryReader, Protocol):
    """Questions to the store. None of them enumerates more than it returns."""

    def runs(
        self, *, limit: int, before: str | None = None, status: RunStatus | None = None
    ) -> Sequence[Run]:
        """The latest runs first; `before` is the id of the last run of the page before."""
        ...

    def runs_of(
        self,
        asset: str,
        *,
        limit: int,
        before: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[Run]:
        """Runs with a step that makes an asset, the latest first by their ids."""
        ...

    def steps(self, run: str) -> Sequence[StepRecord]: ...

    def attempts(self, run: str) -> Sequence[Attempt]: ...

    def materialization(self, materialization: str) -> Materialization | None: ...

    def violations(self, materialization: str) -> Sequence[DataTestResult]:
        """The tests of an entry that something violated, with their samples."""
        ...

    def parts(self, asset: str, keys: Sequence[str | None]) -> Mapping[str | None, tuple[str, ...]]:
        """The parts of a table that each of these keys was the last to be written to, sorted; keys
        without any are missing."""
        ...

    def sole_parts(self, asset: str, keys: Sequence[str | None]) -> frozenset[str]:
        """The parts that were last written for some of these keys, and for no other key."""
        ...

    def provisional(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        """Keys of an asset whose slice is provisional, in no order."""
        ...

    def statuses(
        self, asset: str, *, start: datetime, end: datetime, but: Outcome | None = None
    ) -> Mapping[str, Outcome]:
        """How the latest attempt ended at each key whose ordinal lies in [start, end), without
        those that ended as `but` says."""
        ...

    def tallies(self, asset: str, *, start: datetime, end: datetime) -> Sequence[KeyTally]:
        """The same, counted by month, in the order of months."""
        ...

    def newest(self, asset: str, *, limit: int) -> Sequence[PartitionState]:
        """The keys with the latest ordinals first; those without one only if there are no others."""
        ...

    def staged(self, attempt: str) -> Sequence[Materialization]:
        """What an attempt was about to publish."""
        ...

    def used(self, asset: str, *, since: datetime) -> Sequence[str]:
        """The snapshots of an asset that entries since then name, as their own or as an input's."""
        ...

    def backfill_status(self, backfill: str) -> BackfillStatus | None:
        """Where it stands, without its keys, which may be many."""
        ...

    def events(
        self, asset: str | None = None, *, limit: int, before: str | None = None
    ) -> Sequence[Event]:
        """What came from outside, the latest first; `before` is the id of the last event of the
        page before."""
        ...

    def event(self, event: str) -> Event | None:
        """An event from outside."""
        ...

    def all_pending(
        self,
        consumer: str | None = None,
        *,
        limit: int,
        after: tuple[str, str | None] | None = None,
    ) -> Sequence[Pending]:
        """A page of the keys that are pending, in some order that stays; `after` is the script and
        the key of the last of the page before."""
        ...

    def ready(self, *, limit: int) -> Sequence[Ready]:
        """The scripts that have keys which somebody may run, the longest waiting first."""
        ...

    def pending_counts(self) -> Mapping[PendingStatus, int]:
        """How many keys are pending at each status."""
        ...

    def tokens(self) -> Sequence[Token]:
        """All tokens that were ever made, also those that hold no more, the oldest first."""
        ...

    def running(self) -> Sequence[Run]:
        """Runs that have not ended, the oldest first."""
        ...


class TriggerReader(StateReader, Protocol):
    """Questions about what asks for runs, within one turn of a scheduler."""

    def news(self, *, limit: int) -> Sequence[Event]:
        """Events that no turn has handled yet, the oldest first."""
        ...

    def missed(self) -> Sequence[str]:
        """Scripts that had faults, and have not heard since of what happened meanwhile."""
        ...

    def missed_by(self, script: str, *, limit: int) -> Sequence[Event]:
        """Events that were handled while a script had faults, the oldest first."""
        ...

    def fired(self) -> Mapping[str, datetime]:
        """Up to when each schedule has been looked at."""
        ...

    def due(self, now: datetime, *, limit: int) -> Sequence[Pending]:
        """Keys that wait and are to be looked at by now."""
        ...


class Watcher(Protocol):
    """Is told what becomes of runs, once it is recorded. It holds nobody up and never raises."""

    def run_begun(self, run: Run, steps: Sequence[Step]) -> None: ...

    def step_begun(self, run: str, step: Step, at: datetime) -> None:
        """A step is about to be tried."""
        ...

    def step_recorded(
        self, step: StepRecord, entries: Sequence[Materialization] = (), columns: Columns = ()
    ) -> None:
        """How a step ended or, while its status is running, how some of its keys did."""
        ...

    def run_ended(self, run: Run) -> None:
        """A run of this process has ended, or one of a process that is gone."""
        ...


class Unwatched:
    """A watcher for runs that nobody watches."""

    def run_begun(self, run: Run, steps: Sequence[Step]) -> None: ...

    def step_begun(self, run: str, step: Step, at: datetime) -> None: ...

    def step_recorded(
        self, step: StepRecord, entries: Sequence[Materialization] = (), columns: Columns = ()
    ) -> None: ...

    def run_ended(self, run: Run) -> None: ...


class Turn(TriggerReader, Protocol):
    """A turn of a scheduler, which nobody else takes at the same time."""

    def apply(self, decisions: Decisions, at: datetime) -> None:
        """Carries out what it has led to, all of it or nothing."""
        ...


class StateStore(StateReader, Protocol):
    """The store: each method is one transaction."""

    watcher: Watcher
    """Who is told what becomes of the runs that are recorded here, whoever starts them."""

    def emit(self, event: Event) -> None:
        """Records an event from outside."""
        ...

    def retract(self, event: str, *, at: datetime) -> bool:
        """Takes an event from outside back; False if there is none, or not any more."""
        ...

    def turn(self) -> AbstractContextManager[Turn]:
        """Waits for its turn. Whatever it decides is done when it ends well, and not otherwise."""
        ...

    def claim(self, consumer: str, *, server: str, run: str, limit: int) -> Sequence[Pending]:
        """Gives keys that are ready to a run; nobody else can have them until it ends."""
        ...

    def pause(self, consumer: str, *, at: datetime) -> bool:
        """Gives keys of a script to nobody; they wait. False if that was so already."""
        ...

    def resume(self, consumer: str) -> bool:
        """Gives keys of a script to runs again. False if it was not paused."""
        ...

    def serve(self, server: str) -> None:
        """Keeps a server alive, as long as this process and this store."""
        ...

    def leave(self, server: str) -> None:
        """Ends a server that has stopped."""
        ...

    def give_back(self) -> int:
        """Lets others have the keys and backfills of servers that are gone, and says how many."""
        ...

    def take_backfill(self, backfill: str, *, server: str, run: str) -> bool:
        """Gives a backfill that is queued to a run of a server; False if it is so no more."""
        ...

    def add_token(self, token: Token) -> bool:
        """Records a token; False if there is or was one of its name."""
        ...

    def revoke_token(self, name: str, *, at: datetime) -> bool:
        """Ends a token; False if there is none, or not any more."""
        ...

    def begin_run(
        self, run: Run, steps: Sequence[StepRecord], reserved: Sequence[Reserved] = ()
    ) -> Mapping[Reserved, str]:
        """Records the run. Until it is finished, it lives as long as this process and this store.

        Keys that it makes along with what is upstream are reserved for it: what it publishes starts
        no other run of them. Those are returned that were given to another run already, with it.
        """
        ...

    def adopt(self, run: str) -> bool:
        """Takes an abandoned run over, so that it is not abandoned any more.

        False if somebody else has it by now, or if it has ended.
        """
        ...

    def finish_run(
        self,
        run: str,
        status: RunStatus,
        *,
        at: datetime,
        error: str | None = None,
        hand_over: bool = False,
    ) -> None:
        """Ends a run. Keys that were pending for it are so no more, whatever became of them; but if
        they are handed over, other runs may have those that it did not make."""
        ...

    def begin_backfill(self, backfill: Backfill) -> None:
        """Records a backfill with its work list."""
        ...

    def change_backfill(
        self,
        backfill: str,
        *,
        status: BackfillStatus,
        run: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Says where a backfill stands, and which run works on it; `at` is when it ended."""
        ...

    def begin_attempt(
        self, attempt: Attempt, *, asset: str | None = None, keys: Sequence[str | None] = ()
    ) -> Sequence[Claim]:
        """Records the attempt, marks its step as running and claims the keys of the asset for it.

        All or nothing: where others have claims on these keys, those are returned and nothing has
        changed. The claims end with the attempt.
        """
        ...

    def stage(self, attempt: str, materializations: Sequence[Materialization]) -> None:
        """Notes what the attempt is about to publish, should its process not live to tell."""
        ...

    def finish_attempt(self, attempt: Attempt) -> None: ...

    def finish_step(
        self,
        step: StepRecord,
        materializations: Sequence[Materialization] = (),
        *,
        attempt: Attempt | None = None,
        columns: Columns = (),
        parts: Sequence[KeyParts] = (),
        traced: TracedLineage | None = None,
    ) -> None:
        """Writes the step's outcome and its last attempt's, appends to the ledger and moves each
        key's latest state, all or nothing. Columns that differ from those of the latest version
        become a new one. Parts belong to the keys that were written to them together, and to
        nobody else any more; what these keys had before is nobody's. Of where columns come from, the latest word
        counts."""
        ...
