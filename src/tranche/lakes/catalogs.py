"""The Spark settings that make a project's lakes known to a session."""

from __future__ import annotations

from pathlib import Path

from tranche.errors import NotBuiltYet
from tranche.lakes.jars import ICEBERG, SQLITE
from tranche.model.asset import DEFAULT_SCHEMA
from tranche.model.project import Lake, Settings

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_BUSY_MILLISECONDS = 60_000


def packages(settings: Settings) -> tuple[str, ...]:
    embedded = any(lake.catalog is None for lake in settings.lakes.values())
    return (ICEBERG, SQLITE) if embedded else (ICEBERG,)


def lake_conf(settings: Settings) -> dict[str, str]:
    conf = {
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.defaultCatalog": settings.default_lake,
    }
    for lake in settings.lakes.values():
        if lake.format != "iceberg":
            raise NotBuiltYet(
                f"the lake {lake.name!r} has the format {lake.format}, which is not available yet",
                "use iceberg for now",
            )
        conf |= _iceberg(lake)
    return conf


def prepare_folders(settings: Settings) -> None:
    """Makes the folders of embedded catalogs; Iceberg makes the rest."""
    for lake in settings.lakes.values():
        if lake.catalog is None and "://" not in lake.warehouse:
            Path(lake.warehouse).mkdir(parents=True, exist_ok=True)


def _iceberg(lake: Lake) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{lake.name}"
    conf = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.warehouse": lake.warehouse,
        f"{prefix}.default-namespace": DEFAULT_SCHEMA,
        # With the cache, other sessions and processes would see rows that are out of date.
        f"{prefix}.cache-enabled": "false",
    }
    if lake.catalog is None:
        database = Path(lake.warehouse) / "catalog.db"
        conf |= {
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": f"jdbc:sqlite:{database}?busy_timeout={_BUSY_MILLISECONDS}",
            f"{prefix}.jdbc.schema-version": "V1",
        }
    else:
        conf |= {f"{prefix}.{key}": value for key, value in lake.catalog.items()}
    return conf
