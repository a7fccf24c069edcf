"""The tables of a project's lakes, each in the format of its lake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import SparkSession

from tranche.lakes.catalogs import embedded_catalog
from tranche.lakes.delta.table import DeltaTable
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.lakes.folders import warehouse_of
from tranche.lakes.iceberg.table import IcebergTable
from tranche.lakes.parquet.table import ParquetTable
from tranche.lakes.table import Table
from tranche.model.asset import LakeTable
from tranche.model.project import Lake


class Tables:
    """The tables as one session sees them."""

    def __init__(self, session: SparkSession, lakes: Mapping[str, Lake]) -> None:
        self.session = session
        self.lakes = lakes

    def of(self, address: LakeTable) -> Table:
        lake = self.lakes[address.lake]
        match lake.format:
            case "iceberg":
                return IcebergTable(self.session, address, embedded_catalog(lake))
            case "delta":
                return DeltaTable(self.session, address, warehouse_of(lake))
            case "parquet":
                return ParquetTable(self.session, address, warehouse_of(lake))
            case "ducklake":
                return DuckLakeTable(self.session, address, lake)
            case _:
                assert_never(lake.format)
