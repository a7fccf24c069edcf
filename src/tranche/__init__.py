"""Partitioned lakehouse pipelines on Spark."""

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

__all__ = [
    "Composite",
    "Daily",
    "Dynamic",
    "Hourly",
    "Monthly",
    "Quarterly",
    "Static",
    "Weekly",
    "Yearly",
]
