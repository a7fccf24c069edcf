"""Every error that Tranche raises on purpose.

A message says what is wrong, where, and what to do about it::

    pipelines/orders.sql:3: unknown kind 'dayly' in 'partitioned'; use daily, hourly, …

The tree::

    TrancheError                     exit 1: something failed
    ├── UsageError                   exit 2: the command was used wrongly
    │   ├── ProjectNotFound          no project here or above
    │   ├── ConfigError              tranche.toml cannot be used
    │   ├── UnknownTarget            no such script, asset or folder
    │   ├── ArgumentRejected         an argument that a script does not take, lacks, or that has another type
    │   ├── KeyRejected              a key that does not fit its partitioning
    │   ├── FilterRejected           a filter or an order that the rows cannot have
    │   ├── UnknownSnapshot          no such version of a table, or none at that time
    │   ├── NotPartitioned           a key given where nothing has partitions
    │   └── KeysTaken                keys that a running backfill is at
    ├── ScriptFaults                 scripts with faults, all of them together
    ├── PartitioningError            a rule that cannot divide anything
    │   ├── UnknownTimeZone
    │   ├── BadKind
    │   ├── BadFormat                a format that does not identify its period
    │   ├── BadBound                 a start or end that is no date and no key
    │   └── MapperRejected           a mapper that does not fit the partitionings at its ends
    ├── TriggerRejected              a condition, given from Python, that nothing could be started by
    ├── MergeRejected                a Merge that does not say enough
    ├── TaskMisused                  a task, or what it will return, used where that cannot be
    ├── ResolutionError              a run for which no key can be found
    │   ├── PayloadMissing           dynamic, and the run has no payload
    │   ├── PayloadKeyMissing        dynamic, and the payload has nothing at the path
    │   ├── PayloadKeyNotScalar      dynamic, and there is an object or a list at the path
    │   ├── StaticKeyMissing         static, and no key was given
    │   └── MappingMissing           a key that does not carry over to the next asset
    ├── NotBuiltYet                  valid, understood, and not available in this version
    ├── SliceBusy                    another run is writing the same slice
    ├── ServerBusy                   a server that takes on nothing more for now
    ├── ServerError                  a server that cannot be started, or that did not answer
    ├── NotAllowed                   a token that is missing, wrong, or not enough
    ├── NotPublished                 rows given from Python that readers do not see
    ├── OutsideRun                   asked for something of the run where there is none
    ├── CodeFailed                   Python code of a user that raised something
    ├── ResultRejected               a function that returned something which cannot be written
    ├── FileRejected                 an address, a key or data that no file can have
    ├── DataTestsFailed              a slice that broke its data tests and was not published
    ├── EngineError                  Spark could not do it
    │   ├── EngineUnavailable        no Java, no jars, no cluster
    │   ├── SourceMissing            a table or file that is not there
    │   ├── ColumnsRejected          columns that do not fit the table, or reserved names
    │   ├── RowsRejected             rows that a strategy cannot take, such as two with one key
    │   ├── RangeRefused             a query that cannot be asked for several keys at once
    │   ├── RangeTooLarge            keys that would read more at once than one job should
    │   ├── KeysFailed               some keys of a slice of several cannot be written, each for its reason
    │   ├── StatementFailed          a statement that broke while running
    │   │   └── StatementRejected    one that Spark does not understand, whatever the data
    │   ├── CommitLost               other writers won every race for the commit
    │   ├── CommitUnknown            nobody said whether the commit arrived
    │   ├── CatalogLost              the database of a catalog went away
    │   └── BucketLost               a bucket did not answer, or not now
    ├── StateError                   the store could not do it
    │   ├── StateUnavailable         cannot be opened
    │   ├── StateLocked              held by another process for too long
    │   └── StateTooNew              written by a newer Tranche
    └── Cancelled                    stopped by the user
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file, as a reader would look it up.

    >>> str(Place("pipelines/orders.sql", 3))
    'pipelines/orders.sql:3'
    """

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong in a script, with its place and remedy."""

    place: Place
    what: str
    remedy: str | None = None

    def __str__(self) -> str:
        return f"{self.place}: {sentence(self.what, self.remedy)}"


def sentence(what: str, remedy: str | None) -> str:
    """
    >>> sentence("no lake 'mian'", "use main")
    "no lake 'mian'; use main"
    """
    return what if remedy is None else f"{what}; {remedy}"


class TrancheError(Exception):
    """Something that failed and can be explained."""

    exit_code: ClassVar[int] = 1
    transient: bool = False

    def __init__(self, what: str, remedy: str | None = None, *, place: Place | None = None) -> None:
        super().__init__(what, remedy, place)
        self.what = what
        self.remedy = remedy
        self.place = place

    def __str__(self) -> str:
        text = sentence(self.what, self.remedy)
        return text if self.place is None else f"{self.place}: {text}"


class UsageError(TrancheError):
    """The command was used wrongly."""

    exit_code = 2


class ProjectNotFound(UsageError):
    """There is no project here or in a folder above."""


class ConfigError(UsageError):
    """A tranche.toml that cannot be used."""


class UnknownTarget(UsageError):
    """No script, asset or folder has that name."""


class ArgumentRejected(UsageError):
    """An argument that a script does not take, lacks, or that has another type."""


class KeyRejected(UsageError):
    """A key that does not fit its partitioning."""


class FilterRejected(UsageError):
    """A filter or an order that the rows of a table cannot have."""


class UnknownSnapshot(UsageError):
    """No such version of a table, or none at that time."""


class NotPartitioned(UsageError):
    """A key was given, and nothing that would run has partitions."""


class KeysTaken(UsageError):
    """Keys that a running backfill is at."""

    def __init__(self, what: str, remedy: str, backfill: str) -> None:
        super().__init__(what, remedy)
        self.backfill = backfill


class ScriptFaults(TrancheError):
    """Scripts with faults, all of them together."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class PartitioningError(TrancheError):
    """A rule that cannot divide anything."""


class UnknownTimeZone(PartitioningError):
    """A name that is not in the time zone database."""


class BadKind(PartitioningError):
    """A kind of partitioning, or an option of one, that does not exist."""


class BadFormat(PartitioningError):
    """A format that does not identify its period."""


class BadBound(PartitioningError):
    """A start or end that is no date and no key."""


class MapperRejected(PartitioningError):
    """A mapper that does not fit the partitionings at its ends, or its own arguments."""


class TriggerRejected(TrancheError):
    """A condition, or a part of it, that nothing could be started by."""


class MergeRejected(TrancheError):
    """A Merge that does not say enough to be carried out."""


class TaskMisused(TrancheError):
    """A task, or what it will return, used where that cannot be."""


class ResolutionError(TrancheError):
    """A run for which no key can be found."""


class PayloadMissing(ResolutionError):
    """Dynamic partitioning, and the run has no payload."""


class PayloadKeyMissing(ResolutionError):
    """Dynamic partitioning, and the payload has nothing at the path."""


class PayloadKeyNotScalar(ResolutionError):
    """Dynamic partitioning, and the payload has an object or a list at the path."""


class StaticKeyMissing(ResolutionError):
    """Static partitioning, and no key was given."""


class MappingMissing(ResolutionError):
    """A key that does not carry over to the next asset."""


class NotBuiltYet(TrancheError):
    """Valid, understood, and not available in this version."""


class SliceBusy(TrancheError):
    """Another run is writing the same slice."""


class ServerBusy(TrancheError):
    """A server that takes on nothing more for now."""

    transient = True


class ServerError(TrancheError):
    """A server that cannot be started, or that did not answer."""


class NotAllowed(TrancheError):
    """A token that is missing, wrong, or not enough for what was asked."""

    def __init__(self, what: str, remedy: str | None = None, *, known: bool = False) -> None:
        super().__init__(what, remedy)
        self.known = known
        """Whether it is known who asks, who only may not."""


class NotPublished(TrancheError):
    """Rows given from Python that readers do not see, with what data tests found in them."""

    def __init__(self, what: str, *, tests: tuple[object, ...] = ()) -> None:
        super().__init__(what)
        self.tests = tests


class OutsideRun(TrancheError):
    """Something of the run that was asked for where there is none."""


class CodeFailed(TrancheError):
    """Python code of a user that raised something; what it raised is the cause."""

    transient = True


class ResultRejected(TrancheError):
    """A function that returned something which cannot be written."""


class FileRejected(TrancheError):
    """An address, a key or data that no file can have."""


class DataTestsFailed(TrancheError):
    """A slice that broke its data tests and was not published."""


class EngineError(TrancheError):
    """Spark could not do it."""


class EngineUnavailable(EngineError):
    """No Java, no jars, no cluster."""


class SourceMissing(EngineError):
    """A table or file that is not there."""


class ColumnsRejected(EngineError):
    """Columns that do not fit the table, or reserved names."""


class RowsRejected(EngineError):
    """Rows that a strategy cannot take, such as two with one key."""


class RangeRefused(EngineError):
    """A query that cannot be asked for several keys at once."""


class RangeTooLarge(EngineError):
    """Keys that would read more at once than one job should."""

    def __init__(self, what: str, parts: int) -> None:
        super().__init__(what)
        self.parts = parts
        """Into how many jobs they should go."""


class KeysFailed(EngineError):
    """Some keys of a slice of several cannot be written, each for its own reason."""

    def __init__(self, errors: Mapping[str, TrancheError]) -> None:
        super().__init__(f"{len(errors)} keys cannot be written")
        self.errors = dict(errors)


class StatementFailed(EngineError):
    """A statement that Spark refused or that broke while running."""


class StatementRejected(StatementFailed):
    """A statement that Spark does not understand, whatever the data."""


class CommitLost(EngineError):
    """Other writers won every race for the commit."""

    transient = True


class CommitUnknown(EngineError):
    """Nobody said whether the commit arrived."""

    transient = True


class CatalogLost(EngineError):
    """The database of a catalog went away while it was used."""

    transient = True


class BucketLost(EngineError):
    """A bucket did not answer, or not now."""

    transient = True


class StateError(TrancheError):
    """The store could not do it."""


class StateUnavailable(StateError):
    """A store that cannot be opened."""


class StateLocked(StateError):
    """A store that another process held for too long."""

    transient = True


class StateTooNew(StateError):
    """A store written by a newer Tranche."""


class Cancelled(TrancheError):
    """Stopped by the user."""
