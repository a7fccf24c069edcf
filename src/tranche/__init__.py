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
    Yearly,
)
from tranche.model.trigger import OnAssets

if TYPE_CHECKING:
    from tranche.open_lake import OpenLake

__all__ = [
    "All",
    "AllBefore",
    "AllowedKeys",
    "Asset",
    "Composite",
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
    "Yearly",
    "lake",
]


def lake(name: str = "main", *, project: str | Path = ".", target: str | None = None) -> OpenLake:
    """A lake of the project that a folder belongs to, to read and write from Python."""
    # Imported only when it is used: most programs that import Tranche want its words alone.
    from tranche.open_lake import OpenLake

    return OpenLake(name, Path(project), target)
