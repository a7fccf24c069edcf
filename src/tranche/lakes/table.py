"""A table of a lake, whatever its format: what readers, writers and upkeep ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tranche.lakes.commit import Commit
from tranche.lakes.merging import Merging
from tranche.lakes.type_text import type_text
from tranche.model.asset import LakeTable
from tranche.model.layout import Transform
from tranche.model.snapshot import SeenSnapshot
from tranche.model.strategy import CURRENT_SUFFIX, HISTORY_COLUMNS, PARTITION_COLUMN, Strategy
from tranche.ports import Maintained, Restored, Upkeep
from tranche.script.binding import quoted_name, text_literal

if TYPE_CHECKING:
    from tranche.lakes.columns import Fit
    from tranche.lakes.digest import Watch
    from tranche.lakes.target import Target

ADDED, ADDED_SIZE = "added-records", "added-files-size"
"""What a snapshot's summary says of the rows that it brought, and of their bytes."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as it is now."""

    columns: StructType
    snapshot: str | None
    """The snapshot that readers see; None for a table without one, and for a view."""
    properties: Mapping[str, str]
    fields: frozenset[str] = frozenset()
    """The names of all fields that its layout ever had."""

    @property
    def sliced(self) -> bool:
        return PARTITION_COLUMN in self.columns.names


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a table, whether readers see it or not."""

    id: str
    parent: str | None
    summary: Mapping[str, str]
    at: datetime | None
    rows_by_key: Mapping[str, int] | None = None
    """How many rows it brought to each key; None if it does not say so."""
    changed: int | None = None
    """How many rows a MERGE has changed, if it was one."""
    inserted: int | None = None
    """How many of them are new."""
    own: bool = True
    """Whether it is of the attempt that asks, and not of another one of its step."""

    def count(self, name: str) -> int:
        return int(self.summary.get(name, "0"))


@dataclass(frozen=True, slots=True)
class Shown:
    """A snapshot that readers could see at some time."""

    id: str
    parent: str | None
    at: int
    """When, in microseconds."""


@dataclass(frozen=True, slots=True)
class Returning:
    """What a table has to change to be again what it was at a snapshot."""

    snapshot: str
    facts: TableFacts
    then: StructType
    keys: tuple[Restored, ...] = field(default=())
    """The slices that change; the whole table is one if it has none."""


class Waiting(Protocol):
    """Rows that wait beside a table."""

    def put(self, rows: DataFrame) -> None:
        """Writes them, once."""
        ...

    def rows(self) -> DataFrame: ...

    def drop(self) -> None:
        """Removes what is there, if anything is."""
        ...


class Table(ABC):
    """A table as one session sees it. One object is used by one writer, or by readers."""

    stages: ClassVar[bool]
    """Whether a write can be kept beside the table, unseen, and be made visible later."""
    watched_making: ClassVar[bool] = True
    """Whether Spark tells what passed by on its way into a table that is made of it."""
    merges: ClassVar[bool] = True
    """Whether rows of it can change by a MERGE; if not, whole slices are written anew."""
    travels: ClassVar[bool] = True
    """Whether it can be read as it was."""

    def __init__(self, session: SparkSession, address: LakeTable) -> None:
        self.session = session
        self.address = address
        self.split = False
        """Whether its layout splits slices, once somebody has looked."""
        self.ordered = False
        """Whether somebody wants its rows in some order."""

    def __str__(self) -> str:
        return str(self.address)

    # What readers ask

    @property
    @abstractmethod
    def name(self) -> str:
        """What stands for it in SQL."""

    @abstractmethod
    def at(self, snapshot: str) -> str:
        """What stands for it as it was at a snapshot."""

    def rows(self, snapshot: str | None = None) -> DataFrame:
        if snapshot is None:
            return self.session.table(self.name)
        return self.session.sql(f"SELECT * FROM {self.at(snapshot)}")  # noqa: S608

    @abstractmethod
    def columns(self) -> StructType | None:
        """Its columns, or None if there is no such table."""

    @abstractmethod
    def readable(self) -> tuple[StructType, str | None] | None:
        """Its columns, and the snapshot at which to read it; None if there is no such table.

        There is no snapshot where what is there is all that can be read.
        """

    @abstractmethod
    def facts(self) -> TableFacts | None:
        """None if there is no such table."""

    @abstractmethod
    def has(self, snapshot: str) -> bool:
        """Whether it can be read as it was at a snapshot."""

    @abstractmethod
    def slice_rows(self, partition: str | None, snapshot: str | None) -> int | None:
        """How many rows a slice, or the whole, has at a snapshot; None if only a scan could tell."""

    @abstractmethod
    def key_rows(self, keys: Sequence[str], snapshot: str) -> dict[str, int] | None:
        """The same for each of several keys; those without rows are missing."""

    # What its snapshots tell

    @abstractmethod
    def attempted(self, commit: Commit) -> Snapshot | None:
        """What the attempt has written, whether it is staged or seen by readers."""

    @abstractmethod
    def published(self, commit: Commit) -> Snapshot | None:
        """What readers see, or saw before later commits, of the attempt or of another of its step."""

    @abstractmethod
    def seen(
        self,
        *,
        limit: int,
        snapshot: str | None = None,
        until: int | None = None,
        first: bool = False,
    ) -> Sequence[SeenSnapshot]:
        """The snapshots that readers saw, latest first, or the very first ones.

        `snapshot` asks for that one, `until` for those that they saw by then (in microseconds).
        """

    # How it is written

    @abstractmethod
    def check(self, strategy: Strategy, layout: Collection[Transform]) -> None:
        """Rejects what the format cannot do."""

    @abstractmethod
    def create(
        self, rows: DataFrame, target: Target, layout: tuple[Transform, ...] | None, commit: Commit
    ) -> None:
        """Makes the table with these rows, which its readers see at once."""

    @abstractmethod
    def rebuild(
        self,
        rows: DataFrame,
        target: Target,
        layout: tuple[Transform, ...] | None,
        facts: TableFacts,
        commit: Commit,
    ) -> None:
        """Makes the table anew, with other columns."""

    def alter(self, fitted: Fit) -> None:
        """Gives it the columns that rows need."""
        for field_ in fitted.widened:
            column, type_ = quoted_name(field_.name), type_text(field_.dataType)
            self.session.sql(f"ALTER TABLE {self.name} ALTER COLUMN {column} TYPE {type_}")
        if fitted.added:
            columns = ", ".join(
                f"{quoted_name(field_.name)} {type_text(field_.dataType)}"
                for field_ in fitted.added
            )
            self.session.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({columns})")

    @abstractmethod
    def lay_out(self, layout: tuple[Transform, ...] | None, facts: TableFacts) -> None:
        """Sees to it that what is written next has the layout of the script."""

    @abstractmethod
    def set_layout(self, transforms: tuple[Transform, ...]) -> None:
        """Gives it a layout that somebody asks for by hand; none of a script's holds any more."""

    @abstractmethod
    def overwrite(
        self, rows: DataFrame, target: Target, commit: Commit | None, since: str | None = None
    ) -> None:
        """Replaces the slice; not if it was changed since a snapshot, where one is given.

        With a commit, readers see it at once; without, whatever is around it says who sees it.
        """

    @abstractmethod
    def append(self, rows: DataFrame, target: Target) -> None:
        """Brings rows to the slice."""

    def merging(self, rows: DataFrame) -> Merging:
        """A MERGE of these rows into the table."""
        return Merging(self.name, rows)

    @abstractmethod
    def committing(self, commit: Commit) -> AbstractContextManager[None]:
        """Whatever is written to it in here is seen at once, and says whose commit it is."""

    @abstractmethod
    def made(
        self, commit: Commit, target: Target, *, before: TableFacts | None, watch: Watch | None
    ) -> Snapshot:
        """The snapshot of a commit that was just made.

        `before` is what the table was, if it is known; `watch` has seen the rows of one slice on
        their way to its files.
        """

    @abstractmethod
    def side(self, commit: Commit) -> Waiting:
        """Where an attempt's rows wait while the table cannot take them yet."""

    def beside(self, ending: str) -> Table:
        """Another table of the same lake, named after it."""
        return self.called(self.address.table + ending)

    def called(self, name: str) -> Table:
        """Another table of the same schema."""
        return type(self)(self.session, replace(self.address, table=name))

    def current(self) -> Table:
        """What shows the current rows of a history."""
        return self.beside(CURRENT_SUFFIX)

    def history(self) -> Table | None:
        """The history whose current rows the name means, if there is one."""
        name = self.address.table.removesuffix(CURRENT_SUFFIX)
        if name == self.address.table:
            return None
        history = self.called(name)
        columns = history.columns()
        keeps = columns is not None and set(HISTORY_COLUMNS) <= set(columns.names)
        return history if keeps else None

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Notes something in the table's properties."""

    # Writes that wait; only where `stages` says so

    def staging(self, commit: Commit, facts: TableFacts) -> AbstractContextManager[None]:
        """Whatever is written to it in here is staged and not seen by its readers."""
        raise NotImplementedError

    def staged(self, commit: Commit) -> Snapshot:
        """What this attempt has staged."""
        raise NotImplementedError

    def pick(self, snapshot: str) -> str | None:
        """Makes a staged commit visible, and returns the snapshot that readers see since.

        None if that is not done by picking.
        """
        raise NotImplementedError

    def tidy(self, commit: Commit) -> None:  # noqa: B027
        """Removes what an attempt has left that published and had no time to clear up, or that had
        nothing to publish."""

    @abstractmethod
    def forget(self, commit: Commit) -> None:
        """Removes what an attempt has staged, of which readers see nothing."""

    # Going back, and upkeep

    @abstractmethod
    def shown(self) -> Sequence[Shown]:
        """What its readers could see at any time, the latest first."""

    @abstractmethod
    def returning(self, snapshot: str) -> Returning:
        """What has to change to go back to a snapshot."""

    @abstractmethod
    def restore(self, to: Returning, commit: Commit) -> None:
        """Makes the table what it was, seen at once and marked as this commit's."""

    @abstractmethod
    def maintain(self, upkeep: Upkeep) -> Maintained:
        """Makes few files of many small ones, and removes what nobody needs any more."""

    # The view of a history's current rows

    def has_view(self) -> bool:
        """Whether the name is that of a view."""
        return False

    def show_current(self, columns: Sequence[str], history: Table, condition: str) -> None:
        """Makes the name show some rows of another table, where the format has views."""
        return


def in_keys(column: str, keys: Sequence[str]) -> Column:
    """Whether a column has one of these keys."""
    return F.expr(f"{quoted_name(column)} IN ({', '.join(map(text_literal, keys))})")


def slice_condition(target: Target) -> Column:
    """Whether a row is of the slice."""
    if not target.sliced:
        return F.lit(True)
    if target.ranged:
        return in_keys(PARTITION_COLUMN, target.keys)
    return F.col(PARTITION_COLUMN) == F.lit(target.partition)
