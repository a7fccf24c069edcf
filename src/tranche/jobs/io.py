"""Where tasks keep what they return: formats that Tranche knows, and the protocol of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tranche.model.code import Frame
from tranche.model.output import Mode


@dataclass(frozen=True, slots=True)
class _Known:
    where: str
    mode: Mode = "overwrite"
    auto_filter: bool = True
    """Whether who reads it gets the keys of its run, and not everything."""


@dataclass(frozen=True, slots=True)
class IcebergIO(_Known):
    """Tables of an Iceberg lake of the project, in the schema of the job: `IcebergIO("lake://main")`."""


@dataclass(frozen=True, slots=True)
class DeltaIO(_Known):
    """A Delta table for each task, in a folder: `DeltaIO("data/lake")`."""


@dataclass(frozen=True, slots=True)
class ParquetIO(_Known):
    """Parquet files for each task, in a folder, with a Hive folder for each value."""


@dataclass(frozen=True, slots=True)
class CsvIO(_Known):
    """CSV files with a header for each task, in a folder, with a Hive folder for each value."""


@dataclass(frozen=True, slots=True)
class JsonIO(_Known):
    """Files of a JSON object a line for each task, in a folder, with a Hive folder for each value."""


KnownIO: TypeAlias = IcebergIO | DeltaIO | ParquetIO | CsvIO | JsonIO

Parts: TypeAlias = Mapping[str, tuple[Any, ...]]
"""The values of each partition column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """What an IO is told of what it is to keep."""

    job: str
    task: str
    keys: tuple[str, ...] = ()
    """The keys that the rows are of; none in a job without partitions."""
    partition_by: tuple[str, ...] = ()
    mode: Mode = "overwrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """What an IO is told of what somebody wants to read."""

    job: str
    task: str
    """The task that wrote it."""
    keys: tuple[str, ...] = ()
    """The keys of it that are wanted; none in a job without partitions."""
    partition_by: tuple[str, ...] = ()
    mode: Mode = "overwrite"
    all_partitions: bool = False
    """Whether all keys are wanted, and not just those."""
    parts: Parts = field(default_factory=dict)
    """The values that the task wrote for these keys, by partition column, as text."""
    frame: Frame = "spark"
    """The kind of frame that whoever reads it asks for; it may be given another, which is
    converted."""


@runtime_checkable
class IO(Protocol):
    """Keeps what tasks return, and finds it again. Both may be called from several threads.

    An IO may have the attributes `mode` and `auto_filter`, like those that come with Tranche.
    """

    def write(self, context: WriteContext, data: Any) -> None:
        """Keeps what a task returned; doing it twice leaves the same as doing it once."""
        ...

    def read(self, context: ReadContext) -> Any:
        """What was kept of the keys that are wanted."""
        ...
