"""Partitioned lakehouse pipelines on Spark."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tranche.model.condition import Asset
from tranche.model.mapping import (
    All,
    AllBefore,
    AllowedKeys,
    FanOut,
    FixedKey,
    Identity,
    Last,
    Offset,
    Product,
    Rollup,
    StartOfDay,
    StartOfHour,
    StartOfMonth,
    StartOfQuarter,
    StartOfWeek,
    StartOfYear,
    Trailing,
)
from tranche.model.partitioning import (
    Composite,
    Daily,
    Dynamic,
    Hourly,
    Monthly,
    Quarterly,
    Static,
    Weekly,
    Window,
    Yearly,
)
from tranche.model.script import Retry
from tranche.model.trigger import OnAssets

if TYPE_CHECKING:
    from tranche.files import read_file, write_file
    from tranche.jobs.calling import CurrentRun
    from tranche.jobs.context import current_partition, current_partitions, logical_date
    from tranche.jobs.cron import Cron
    from tranche.jobs.decorators import job, task
    from tranche.jobs.io import (
        IO,
        CsvIO,
        DeltaIO,
        IcebergIO,
        JsonIO,
        ParquetIO,
        ReadContext,
        WriteContext,
    )
    from tranche.jobs.merge import Merge, When
    from tranche.jobs.proxies import all_partitions
    from tranche.notebook.project import ShownProject
    from tranche.open_lake import OpenLake

_LATER = {
    "Cron": "tranche.jobs.cron",
    "job": "tranche.jobs.decorators",
    "task": "tranche.jobs.decorators",
    "IO": "tranche.jobs.io",
    "CsvIO": "tranche.jobs.io",
    "DeltaIO": "tranche.jobs.io",
    "IcebergIO": "tranche.jobs.io",
    "JsonIO": "tranche.jobs.io",
    "ParquetIO": "tranche.jobs.io",
    "ReadContext": "tranche.jobs.io",
    "WriteContext": "tranche.jobs.io",
    "Merge": "tranche.jobs.merge",
    "When": "tranche.jobs.merge",
    "all_partitions": "tranche.jobs.proxies",
    "CurrentRun": "tranche.jobs.calling",
    "current_partition": "tranche.jobs.context",
    "current_partitions": "tranche.jobs.context",
    "logical_date": "tranche.jobs.context",
    "read_file": "tranche.files",
    "write_file": "tranche.files",
}
"""Where names are that are imported only once somebody asks for them."""

__all__ = [
    "IO",
    "All",
    "AllBefore",
    "AllowedKeys",
    "Asset",
    "Composite",
    "Cron",
    "CsvIO",
    "CurrentRun",
    "Daily",
    "DeltaIO",
    "Dynamic",
    "FanOut",
    "FixedKey",
    "Hourly",
    "IcebergIO",
    "Identity",
    "JsonIO",
    "Last",
    "Merge",
    "Monthly",
    "Offset",
    "OnAssets",
    "ParquetIO",
    "Product",
    "Quarterly",
    "ReadContext",
    "Retry",
    "Rollup",
    "StartOfDay",
    "StartOfHour",
    "StartOfMonth",
    "StartOfQuarter",
    "StartOfWeek",
    "StartOfYear",
    "Static",
    "Trailing",
    "Weekly",
    "When",
    "Window",
    "WriteContext",
    "Yearly",
    "all_partitions",
    "current_partition",
    "current_partitions",
    "job",
    "lake",
    "logical_date",
    "project",
    "read_file",
    "task",
    "write_file",
]


def lake(name: str = "main", *, project: str | Path = ".", target: str | None = None) -> OpenLake:
    """A lake of the project that a folder belongs to, to read and write from Python."""
    # Imported only when it is used: most programs that import Tranche want its words alone.
    from tranche.open_lake import OpenLake

    return OpenLake(name, Path(project), target)


def project(folder: str | Path = ".", *, target: str | None = None) -> ShownProject:
    """The project that a folder belongs to, to look at in a notebook: its graph, and its assets."""
    from tranche.notebook.project import shown_project

    return shown_project(Path(folder), target)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tranche' has no attribute {name!r}")
    found = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found
