"""Where the columns of a frame come from: Spark is asked for its analysed plan, and nothing runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from tranche.errors import Cancelled, EngineUnavailable, FileRejected, KeyRejected
from tranche.lakes.failures import comes_from_spark, explained
from tranche.lakes.folders import OWN
from tranche.lakes.tuning import set_meanwhile
from tranche.model.asset import AssetUri, BadAddress, FileSet, LakeTable, parse_address
from tranche.model.lineage import ScriptLineage
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.storage import filled, takes_key
from tranche.script.lineage.plans import VIEW, Assets, nothing_known, read_plan

_UNASKED = "Spark tells no plan of the frame"
# Of a view that is only named, nothing is optimized: what it shows is analysed and no more.
_ANALYSED = (
    f"EXPLAIN EXTENDED CREATE OR REPLACE TEMPORARY VIEW {VIEW}_named AS SELECT * FROM {VIEW}"  # noqa: S608
)
_PLANNED = f"EXPLAIN EXTENDED SELECT * FROM {VIEW}"  # noqa: S608
_WHOLE = {
    "spark.sql.debug.maxToStringFields": "1000000",
    "spark.sql.maxPlanStringLength": "100000000",
    "spark.sql.maxMetadataStringLength": "1000000",
}
"""What lets Spark leave nothing out of its plans."""


def traced(
    session: SparkSession, rows: DataFrame, names: list[str], assets: Assets
) -> ScriptLineage:
    """What the plan of a frame says of these columns. Whatever is wrong with it, no step fails."""
    try:
        return _traced(session, rows, names, assets)
    except Exception as error:
        if comes_from_spark(error) and isinstance(explained(error), Cancelled | EngineUnavailable):
            raise
        return nothing_known(names, _UNASKED)


def _traced(
    session: SparkSession, rows: DataFrame, names: list[str], assets: Assets
) -> ScriptLineage:
    # It goes when the session is tidied: to drop a view of rows is to drop them from memory, too.
    rows.createOrReplaceTempView(VIEW)
    with set_meanwhile(session, _WHOLE):
        found = read_plan(_explained(session, _ANALYSED), rows.columns, assets)
        if found.placeless:
            found = read_plan(_explained(session, _PLANNED), rows.columns, assets)
    return only(found.lineage, names)


def only(lineage: ScriptLineage, names: list[str]) -> ScriptLineage:
    kept = tuple(column for column in lineage.columns if column.column in names)
    return ScriptLineage(
        columns=kept, rows=lineage.rows, unknown=lineage.unknown, tables=lineage.tables
    )


def _explained(session: SparkSession, statement: str) -> str:
    return str(session.sql(statement).collect()[0][0])


@dataclass(slots=True)
class Known:
    """The names and paths in plans of a step, and the assets that they stand for."""

    settings: Settings
    step: Step
    aliases: dict[str, AssetUri] = field(default_factory=dict)
    """What rows were given to the code under."""

    def given(self, rows: DataFrame, asset: AssetUri) -> DataFrame:
        """Rows that can be told apart in a plan, though it does not say where files lie."""
        name = f"tranche_given_{len(self.aliases)}"
        self.aliases[name] = asset
        return rows.alias(name)

    @property
    def assets(self) -> Assets:
        return Assets(self.table, self.files, self.aliases)

    def table(self, name: tuple[str, ...]) -> AssetUri | None:
        match name:
            case ("spark_catalog", "delta", path):
                return self.files(path)
            case (lake, schema, table) if lake in self.settings.lakes:
                return LakeTable(lake, table, schema)
        return None

    def files(self, path: str) -> AssetUri | None:
        place = _place(path)
        return self._lake_table(place) or self._read_by_step(place) or self._any(place)

    def _lake_table(self, place: str) -> LakeTable | None:
        """The table of a lake without a catalog, whose folder it is."""
        for lake in self.settings.lakes.values():
            below = _below(place, _place(lake.warehouse))
            if below is not None and lake.format != "iceberg":
                schema, _, table = below.partition("/")
                if schema != OWN and table and "/" not in table:
                    return LakeTable(lake.name, table, schema)
        return None

    def _read_by_step(self, place: str) -> FileSet | None:
        """The files that a script says it reads, also where there are some for each key."""
        for asset in self.step.script.reads:
            if isinstance(asset, FileSet) and place in self._places(asset):
                return asset
        return None

    def _places(self, asset: FileSet) -> Iterator[str]:
        rule = self.step.script.partitioning
        keys: list[str | None] = [None]
        if takes_key(asset):
            keys = [key for key in self.step.keys if key is not None]
        for key in keys:
            with suppress(FileRejected, KeyRejected):
                one = asset if key is None else filled(asset, rule, key)
                yield _place(self.settings.storage.path(one))

    def _any(self, place: str) -> AssetUri | None:
        storage = self.settings.storage
        stored = _below(place, _place(storage.folder))
        if stored is not None:
            return FileSet("s3", f"/{stored}")
        own = _below(place, _place(storage.root))
        if own is not None:
            return FileSet("file", own)
        try:
            return FileSet("file", place) if place.startswith("/") else parse_address(place)
        except BadAddress:
            return None


def _place(path: str) -> str:
    """A path as Spark tells it, without what says that it is one of this machine.

    >>> _place("file:///shop/data/"), _place("file:/shop"), _place("s3a://bucket/a")
    ('/shop/data', '/shop', 's3a://bucket/a')
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path.rstrip("/")


def _below(place: str, folder: str) -> str | None:
    return place[len(folder) + 1 :] if place.startswith(f"{folder}/") else None
