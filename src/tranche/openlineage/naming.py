"""The names of datasets, as the naming rules of OpenLineage have them: by where data lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from tranche.errors import FileRejected
from tranche.model.asset import AssetUri, FileSet, LakeTable
from tranche.model.project import Lake, Settings

_FILE = "file"
_GLUE = "arn:aws:glue:"
_SAME_AS_S3 = ("s3a", "s3n")
_BUCKETS = ("s3", "gs", "abfs", "abfss", "wasb", "wasbs")
"""Stores in which names of objects begin without a slash."""


class DatasetName(NamedTuple):
    """What a dataset is called; the namespace says where its name is unique."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """A dataset by its first name, and by those that others may know it by."""

    first: DatasetName
    others: tuple[DatasetName, ...] = ()


def dataset_name(asset: AssetUri, settings: Settings, namespace: str) -> Named:
    """How an asset is called; `namespace` is that of what no store has."""
    if isinstance(asset, LakeTable):
        lake = settings.lakes.get(asset.lake)
        if lake is None:
            return Named(DatasetName(f"lake://{asset.lake}", f"{asset.schema}.{asset.table}"))
        return _table(asset, lake)
    if isinstance(asset, FileSet):
        return Named(_files(asset, settings))
    return Named(DatasetName(namespace, f"{asset.job}.{asset.task}"))


def located(address: str) -> DatasetName:
    """The name of what lies at a path or an address.

    >>> located("s3a://bucket/raw/orders"), located("/shop/data/"), located("hdfs://n:8020/a")
    (DatasetName(namespace='s3://bucket', name='raw/orders'), \
DatasetName(namespace='file', name='/shop/data'), \
DatasetName(namespace='hdfs://n:8020', name='/a'))
    """
    if "://" not in address:
        path = address.removeprefix("file:")
        return DatasetName(_FILE, path.rstrip("/") or "/")
    parts = urlsplit(address, allow_fragments=False)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    path = path.rstrip("/") or "/"
    if parts.scheme == _FILE:
        return DatasetName(f"file://{parts.netloc}" if parts.netloc else _FILE, path)
    scheme = "s3" if parts.scheme in _SAME_AS_S3 else parts.scheme
    return DatasetName(
        f"{scheme}://{parts.netloc}", path.lstrip("/") or "/" if scheme in _BUCKETS else path
    )


def _files(files: FileSet, settings: Settings) -> DatasetName:
    """Where files lie; a key in their path stays open, so that all of them are one dataset."""
    try:
        return located(settings.storage.path(files))
    except FileRejected:
        return located(str(files))


def _table(table: LakeTable, lake: Lake) -> Named:
    """A table lies in the folder that its lake has for it, unless its catalog decides where."""
    warehouse = located(lake.warehouse)
    qualified = f"{table.schema}.{table.table}"
    if lake.format == "iceberg" and lake.catalog is not None:
        catalog = _catalog(lake.catalog)
        if catalog is not None and catalog.startswith(_GLUE):
            return Named(DatasetName(catalog, f"table/{table.schema}/{table.table}"))
        if catalog is not None:
            return Named(DatasetName(catalog, qualified))
    place = located(f"{lake.warehouse.rstrip('/')}/{table.schema}/{table.table}")
    return Named(place, (DatasetName(_address(warehouse), qualified),))


def _catalog(catalog: Mapping[str, str]) -> str | None:
    """What a catalog is known by; who may use it stands in other parts of its address."""
    parts = urlsplit(catalog.get("uri", ""))
    host = parts.netloc.rpartition("@")[2]
    match catalog.get("type"):
        case "rest" if host:
            return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        case "hive" if host:
            return f"hive://{host}"
        case "glue" if "glue.id" in catalog and "client.region" in catalog:
            return f"{_GLUE}{catalog['client.region']}:{catalog['glue.id']}"
    return None


def _address(place: DatasetName) -> str:
    """
    >>> _address(DatasetName("s3://bucket", "lake")), _address(DatasetName("file", "/shop/lake"))
    ('s3://bucket/lake', 'file:/shop/lake')
    """
    if place.namespace == _FILE:
        return f"{_FILE}:{place.name}"
    return f"{place.namespace}/{place.name.lstrip('/')}"
