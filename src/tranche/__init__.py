"""Partitioned lakehouse pipelines on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
from tranche.model.trigger import OnAssets

if TYPE_CHECKING:
    from typing import Any

    from tranche.files import read_file, write_file
    from tranche.jobs.calling import CurrentRun
    from tranche.jobs.context import current_partition, current_partitions, logical_date
    from tranche.open_lake import OpenLake

__all__ = [
    "All",
    "AllBefore",
    "AllowedKeys",
    "Asset",
    "Composite",
    "CurrentRun",
    "Daily",
    "Dynamic",
    "FanOut",
    "FixedKey",
    "Hourly",
    "Identity",
    "Last",
    "Monthly",
    "Offset",
    "OnAssets",
    "Product",
    "Quarterly",
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
    "Window",
    "Yearly",
    "current_partition",
    "current_partitions",
    "lake",
    "logical_date",
    "read_file",
    "write_file",
]


def lake(name: str = "main", *, project: str | Path = ".", target: str | None = None) -> OpenLake:
    """A lake of the project that a folder belongs to, to read and write from Python."""
    # Imported only when it is used: most programs that import Tranche want its words alone.
    from tranche.open_lake import OpenLake

    return OpenLake(name, Path(project), target)


_LATER = {
    "CurrentRun": "tranche.jobs.calling",
    "current_partition": "tranche.jobs.context",
    "current_partitions": "tranche.jobs.context",
    "logical_date": "tranche.jobs.context",
    "read_file": "tranche.files",
    "write_file": "tranche.files",
}
"""What is imported when it is first used, and where it is: commands should not wait for it."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
