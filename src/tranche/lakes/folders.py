"""Where the tables of a lake lie that has no catalog: a folder for each, below the warehouse."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tranche.lakes.commit import Commit
from tranche.model.asset import LakeTable
from tranche.model.project import Lake
from tranche.script.binding import escaped_path

OWN = "_tranche"
"""The folder of a warehouse for what Tranche keeps there besides the tables."""
ASIDE = "waiting-"
"""What folders are called in which rows wait, before the attempt that they are of."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The folder of a lake, on this machine or elsewhere."""

    root: str

    @property
    def local(self) -> Path | None:
        """The same as a path, if it is a folder that this process can see."""
        if "://" not in self.root and not self.root.startswith("file:"):
            return Path(self.root)
        if self.root.startswith("file:"):
            return Path("/" + self.root.removeprefix("file:").lstrip("/"))
        return None

    def folder(self, table: LakeTable) -> str:
        return f"{self.root.rstrip('/')}/{table.schema}/{table.table}"

    def local_folder(self, table: LakeTable) -> Path | None:
        return None if self.local is None else self.local / table.schema / table.table

    def own(self, table: LakeTable) -> str:
        """Where Tranche keeps what belongs to a table and is not the table."""
        return f"{self.root.rstrip('/')}/{OWN}/{table.schema}/{table.table}"

    def local_own(self, table: LakeTable) -> Path | None:
        return None if self.local is None else self.local / OWN / table.schema / table.table


@dataclass(frozen=True, slots=True)
class TaskFolder(Warehouse):
    """The folder of an IO, in which each task has one of its own."""

    lake: str = "io"

    def folder(self, table: LakeTable) -> str:
        return f"{self.root.rstrip('/')}/{table.table}"

    def local_folder(self, table: LakeTable) -> Path | None:
        return None if self.local is None else self.local / table.table

    def own(self, table: LakeTable) -> str:
        return f"{self.root.rstrip('/')}/{OWN}/{table.table}"

    def local_own(self, table: LakeTable) -> Path | None:
        return None if self.local is None else self.local / OWN / table.table


def warehouse_of(lake: Lake) -> Warehouse:
    return Warehouse(lake.warehouse)


class Side:
    """Rows that wait in files of their own until they may enter a table."""

    def __init__(
        self, session: SparkSession, warehouse: Warehouse, table: LakeTable, commit: Commit
    ) -> None:
        self.session = session
        self.path = f"{warehouse.own(table)}/{ASIDE}{commit.attempt.id}"
        local = warehouse.local_own(table)
        self.folder = None if local is None else local / f"{ASIDE}{commit.attempt.id}"
        self.columns: StructType | None = None

    def put(self, rows: DataFrame) -> None:
        rows.write.parquet(self.path)
        self.columns = rows.schema

    def rows(self) -> DataFrame:
        assert self.columns is not None, f"nothing waits in {self.path}"
        return self.session.read.schema(self.columns).parquet(escaped_path(self.path))

    def drop(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif self.columns is not None:
            # There is no statement that removes files, but one that leaves none with rows.
            nothing: list[Any] = []
            empty = self.session.createDataFrame(nothing, self.columns)
            empty.write.mode("overwrite").parquet(self.path)
