"""The tables of a project's lakes, each in the format of its lake."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from tranche.errors import NotBuiltYet
from tranche.lakes.iceberg.table import IcebergTable
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
                return IcebergTable(self.session, address)
            case other:
                raise NotBuiltYet(f"the lake {lake.name!r} has the format {other}")
