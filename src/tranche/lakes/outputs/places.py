"""The places of tasks: which table or which files an asset is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from tranche.errors import ColumnsRejected
from tranche.lakes.delta.table import DeltaTable
from tranche.lakes.ducklake.table import DuckLakeTable
from tranche.lakes.folders import TaskFolder
from tranche.lakes.iceberg.table import IcebergTable
from tranche.lakes.outputs.ducklake import DuckLakePlace
from tranche.lakes.outputs.files import FilesPlace
from tranche.lakes.outputs.merges import MergePlace
from tranche.lakes.outputs.parts import values_of
from tranche.lakes.outputs.place import DividedPlace
from tranche.lakes.outputs.tables import DeltaPlace, IcebergPlace
from tranche.lakes.tables import Tables
from tranche.model.asset import AssetUri, FileSet, LakeTable
from tranche.model.output import Kind, telling_column
from tranche.model.project import Settings


class Places:
    """The places as one session sees them."""

    def __init__(self, session: SparkSession, settings: Settings) -> None:
        self.session = session
        self.settings = settings
        self.tables = Tables(session, settings.lakes)

    def of(self, asset: AssetUri, kind: Kind) -> DividedPlace:
        """The place of an asset that an IO of some kind keeps."""
        if isinstance(asset, LakeTable):
            found = self.table(asset)
            if found is None:
                format_ = self.settings.lakes[asset.lake].format
                raise _cannot(f"{asset} is a {format_} table, which an IO cannot write")
            return found
        assert isinstance(asset, FileSet), f"{asset} is no place"
        root, _, task = self.folder(asset).rpartition("/")
        if kind == "delta":
            return self.delta(root, task)
        if asset.remote:
            raise _cannot(f"{asset} lies where files cannot be moved at once, as {kind} needs")
        assert kind in ("parquet", "csv", "json"), kind
        return FilesPlace(self.session, Path(root), task, kind)

    def merging(self, asset: AssetUri, kind: Kind) -> MergePlace:
        """The same for rows that are merged into it."""
        table = self.tables.of(asset) if isinstance(asset, LakeTable) else None
        if isinstance(table, DuckLakeTable) and kind == "lake":
            return DuckLakePlace(table)
        if table is not None and kind == "lake" and self.table(table.address) is None:
            raise ColumnsRejected(
                f"{asset} is a {self.settings.lakes[table.address.lake].format} table, which cannot"
                " take a Merge",
                "say key= and return its rows, or keep it in a lake of iceberg, delta or ducklake",
            )
        place = self.of(asset, kind)
        if not isinstance(place, MergePlace):
            raise ColumnsRejected(
                f"{place} cannot take a Merge: its files have no rows that change",
                "keep it with IcebergIO or DeltaIO, or return all rows of its parts",
            )
        return place

    def there(self, asset: FileSet) -> DividedPlace | None:
        """The place that is found in a folder, whatever IO keeps it; None if nothing is there."""
        root, _, task = self.folder(asset).rpartition("/")
        if asset.remote or (Path(root) / task / "_delta_log").exists():
            table = self.delta(root, task)
            return None if table.columns() is None else table
        # Whoever asks wants to know of commits, not of rows.
        return FilesPlace(self.session, Path(root), task, "parquet")

    def table(self, table: LakeTable) -> DividedPlace | None:
        found = self.tables.of(table)
        if isinstance(found, IcebergTable):
            return IcebergPlace(found)
        return DeltaPlace(found) if isinstance(found, DeltaTable) else None

    def delta(self, root: str, task: str) -> DeltaPlace:
        folder = TaskFolder(root)
        return DeltaPlace(DeltaTable(self.session, LakeTable(folder.lake, task), folder))

    def folder(self, asset: FileSet) -> str:
        """The folder of a task, as Spark and this process take it."""
        if asset.remote:
            return str(asset)
        if asset.scheme != "file":
            return self.settings.storage.path(asset)
        path = Path(asset.path)
        return str(path if path.is_absolute() else Path(self.settings.root) / path)


def parts_by_key(parts: frozenset[str], keys: Sequence[str]) -> dict[str | None, tuple[str, ...]]:
    """Which of the parts of a write are of each of its keys; of all, if they do not tell."""
    if not keys:
        return {None: tuple(sorted(parts))}
    values = {part: values_of(part) for part in sorted(parts)}
    column = telling_column(list(values.values()), keys)
    if column is None:
        return dict.fromkeys(keys, tuple(values))
    found: dict[str | None, list[str]] = {key: [] for key in keys}
    for part, of in values.items():
        found[of[column]].append(part)
    return {key: tuple(own) for key, own in found.items()}


def _cannot(what: str) -> ColumnsRejected:
    return ColumnsRejected(what, "use DeltaIO or IcebergIO there")
