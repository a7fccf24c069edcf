"""The Spark settings that make a project's lakes known to a session."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tranche.lakes.buckets import bucket_conf
from tranche.lakes.jars import BUCKETS, DELTA, ICEBERG, LOCAL_FILES, SQLITE
from tranche.model.asset import DEFAULT_SCHEMA
from tranche.model.project import Lake, Settings

_ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_SESSION_CATALOG = "spark_catalog"
_BUSY_MILLISECONDS = 60_000
_CATALOG = (
    "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL,"
    " table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,"
    " metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),"
    " iceberg_type VARCHAR(5), PRIMARY KEY (catalog_name, table_namespace, table_name))",
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL,"
    " namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255), property_value VARCHAR(1000),"
    " PRIMARY KEY (catalog_name, namespace, property_key))",
)
"""The tables of a catalog in a database, as version 1 of Iceberg's schema has them."""
_DUCKLAKE = {
    # Files of DuckDB know their columns by numbers, whatever these are called by now.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    # DuckDB takes the other kind, which Spark still writes, for nanoseconds.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Files are listed one by one, and a task for each would take many times as long.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
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
        *((LOCAL_FILES,) if any(_has_folders(lake) for lake in settings.lakes.values()) else ()),
        *(BUCKETS if any(lake.bucket for lake in settings.lakes.values()) else ()),
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
    if "ducklake" in formats:
        conf |= _DUCKLAKE
    for lake in settings.lakes.values():
        if lake.bucket is not None:
            conf |= bucket_conf(lake.bucket)
    return conf


def binds_late(settings: Settings) -> bool:
    """Whether parameters are bound when a statement is analysed, and not when it is parsed.

    Delta's parser drops them (delta-io/delta#7640).
    """
    return "delta" in _formats(settings)


def _formats(settings: Settings) -> set[str]:
    return {lake.format for lake in settings.lakes.values()} | settings.task_formats


def _has_folders(lake: Lake) -> bool:
    return lake.format == "ducklake" and lake.bucket is None


def prepare_folders(settings: Settings) -> None:
    """Makes the folders of embedded catalogs, and the tables of those of Iceberg."""
    for lake in settings.lakes.values():
        if lake.catalog is None and lake.database is None and "://" not in lake.warehouse:
            Path(lake.warehouse).mkdir(parents=True, exist_ok=True)
            database = embedded_catalog(lake)
            if database is not None:
                _make_catalog(database)


def _make_catalog(database: Path) -> None:
    """Makes the tables of a new catalog. Iceberg would do so itself, in every session that finds
    none: of several that begin at once, all but one break."""
    if database.exists():
        return
    with closing(sqlite3.connect(database, timeout=_BUSY_MILLISECONDS / 1000)) as catalog, catalog:
        for statement in _CATALOG:
            catalog.execute(statement)


def embedded_catalog(lake: Lake) -> Path | None:
    """The database with the catalog of a lake of Iceberg that has no other one."""
    if lake.format != "iceberg" or lake.catalog is not None:
        return None
    return Path(lake.warehouse) / "catalog.db"


def _iceberg(lake: Lake) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{lake.name}"
    conf = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.warehouse": lake.warehouse,
        f"{prefix}.default-namespace": DEFAULT_SCHEMA,
        # With the cache, other sessions and processes would see rows that are out of date.
        f"{prefix}.cache-enabled": "false",
    }
    database = embedded_catalog(lake)
    if database is not None:
        conf |= {
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": f"jdbc:sqlite:{database}?busy_timeout={_BUSY_MILLISECONDS}",
            f"{prefix}.jdbc.schema-version": "V1",
        }
    if lake.catalog is not None:
        conf |= {f"{prefix}.{key}": value for key, value in lake.catalog.items()}
    return conf
