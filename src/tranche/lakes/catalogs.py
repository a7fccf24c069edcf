"""The Spark settings that make a project's lakes known to a session."""

from __future__ import annotations

from pathlib import Path

from tranche.errors import NotBuiltYet
from tranche.lakes.jars import DELTA, ICEBERG, SQLITE
from tranche.model.asset import DEFAULT_SCHEMA
from tranche.model.project import Lake, Settings

_ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_SESSION_CATALOG = "spark_catalog"
_BUSY_MILLISECONDS = 60_000
_BOUND_LATE = "spark.sql.legacy.parameterSubstitution.constantsOnly"


def packages(settings: Settings) -> tuple[str, ...]:
    """The libraries that the lakes of a project need."""
    formats = _formats(settings)
    embedded = any(
        lake.format == "iceberg" and lake.catalog is None for lake in settings.lakes.values()
    )
    return (
        *((ICEBERG,) if "iceberg" in formats else ()),
        *((SQLITE,) if embedded else ()),
        *((DELTA,) if "delta" in formats else ()),
    )


def lake_conf(settings: Settings) -> dict[str, str]:
    formats = _formats(settings)
    extensions = {"iceberg": _ICEBERG_EXTENSIONS, "delta": _DELTA_EXTENSION}
    first = settings.lakes[settings.default_lake]
    conf = {
        "spark.sql.extensions": ",".join(
            name for format_, name in extensions.items() if format_ in formats
        ),
        "spark.sql.defaultCatalog": first.name if first.format == "iceberg" else _SESSION_CATALOG,
    }
    if "delta" in formats:
        conf[f"spark.sql.catalog.{_SESSION_CATALOG}"] = _DELTA_CATALOG
        conf[_BOUND_LATE] = "true"
    for lake in settings.lakes.values():
        if lake.format == "iceberg":
            conf |= _iceberg(lake)
        elif lake.format == "ducklake":
            raise NotBuiltYet(
                f"the lake {lake.name!r} has the format {lake.format}, which is not available yet",
                "use iceberg, delta or parquet for now",
            )
    return conf


def binds_late(settings: Settings) -> bool:
    """Whether parameters are bound when a statement is analysed, and not when it is parsed.

    Delta's parser drops them (delta-io/delta#7640).
    """
    return "delta" in _formats(settings)


def _formats(settings: Settings) -> set[str]:
    return {lake.format for lake in settings.lakes.values()} | settings.task_formats


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
