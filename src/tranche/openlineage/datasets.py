"""The datasets of a step: what it reads and writes, at which versions, with what in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
)

from tranche.model.asset import AssetUri, BadAddress, LakeTable, parse_address
from tranche.model.columns import Columns
from tranche.model.data_test import DataTestResult
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.run import Materialization, StepRecord
from tranche.openlineage.columns import ColumnOrigins, Origin
from tranche.openlineage.facets import PRODUCER
from tranche.openlineage.findings import assertions
from tranche.openlineage.naming import DatasetName, Named, dataset_name

_LAYERS = ("iceberg", "delta")
"""The formats that OpenLineage has a word for."""


@dataclass(frozen=True, slots=True)
class Datasets:
    """Makes datasets of the assets of a project."""

    settings: Settings
    namespace: str

    def named(self, asset: AssetUri) -> Named:
        return dataset_name(asset, self.settings, self.namespace)

    def name(self, asset: AssetUri) -> DatasetName:
        return self.named(asset).first

    def inputs(
        self, step: Step | None, entries: Sequence[Materialization] = ()
    ) -> list[InputDataset]:
        """What a step reads, with the snapshots that its keys were made of."""
        versions = {item.asset: item.snapshot for entry in entries for item in entry.inputs}
        assets = dict.fromkeys((*_read_by(step), *_addresses(versions)))
        return [
            InputDataset(
                *self.name(asset),
                facets=self.facets(asset) | _version(versions.get(str(asset))),
            )
            for asset in assets
        ]

    def outputs(self, step: Step) -> list[OutputDataset]:
        """What a step is about to write."""
        return [
            OutputDataset(*self.name(asset), facets=self.facets(asset))
            for asset in _written_by(step)
        ]

    def written(
        self,
        record: StepRecord,
        step: Step | None,
        columns: Columns,
        tests: Sequence[DataTestResult],
        origins: ColumnOrigins | None,
    ) -> list[OutputDataset]:
        """What a step has written; of what was not published, only what its tests found."""
        assets = _written_by(step) if step is not None else _addresses([record.asset])
        return [
            self._written(asset, record, columns, tests, origins)
            if str(asset) == record.asset
            else OutputDataset(*self.name(asset), facets=self.facets(asset))
            for asset in assets
        ]

    def _written(
        self,
        asset: AssetUri,
        record: StepRecord,
        columns: Columns,
        tests: Sequence[DataTestResult],
        origins: ColumnOrigins | None,
    ) -> OutputDataset:
        facets = self.facets(asset) | _version(record.snapshot)
        if columns:
            facets["schema"] = _schema(columns)
        if origins is not None:
            facets["columnLineage"] = column_lineage(origins, self.name)
        if tests:
            # The standard has it among the facets of inputs, where one tests what is there
            # already. Here it is the slice itself, and no dataset should be read by its own job.
            facets["dataQualityAssertions"] = assertions(tests, PRODUCER)  # type: ignore[assignment]
        made = OutputDataset(*self.name(asset), facets=facets)
        if record.rows is not None:
            statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=record.rows, producer=PRODUCER
            )
            made.outputFacets = {"outputStatistics": statistics}
        return made

    def facets(self, asset: AssetUri) -> dict[str, DatasetFacet]:
        """What holds for a dataset whoever reads or writes it."""
        found: dict[str, DatasetFacet] = {}
        others = self.named(asset).others
        if others:
            found["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(
                identifiers=[symlinks_dataset.Identifier(*other, "TABLE") for other in others],
                producer=PRODUCER,
            )
        lake = self.settings.lakes.get(asset.lake) if isinstance(asset, LakeTable) else None
        if lake is not None and lake.format in _LAYERS:
            found["storage"] = storage_dataset.StorageDatasetFacet(
                lake.format, "parquet", producer=PRODUCER
            )
        return found


def column_lineage(
    origins: ColumnOrigins, name: Callable[[AssetUri], DatasetName]
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """The facet that says what columns are made of."""
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            column: column_lineage_dataset.Fields(_input_fields(found, name))
            for column, found in origins.items()
            if column is not None
        },
        dataset=_input_fields(origins.get(None, ()), name),
        producer=PRODUCER,
    )


def _input_fields(
    origins: Iterable[Origin], name: Callable[[AssetUri], DatasetName]
) -> list[column_lineage_dataset.InputField]:
    """Each column once, with all that it is used for."""
    found: dict[tuple[DatasetName, str], dict[tuple[str, str | None], None]] = {}
    for origin in origins:
        uses = found.setdefault((name(origin.asset), origin.column), {})
        uses[origin.kind, origin.subtype] = None
    return [
        column_lineage_dataset.InputField(
            *dataset,
            column,
            [column_lineage_dataset.Transformation(kind, subtype) for kind, subtype in uses],
        )
        for (dataset, column), uses in found.items()
    ]


def _schema(columns: Columns) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(name, type_, ordinal_position=place)
            for place, (name, type_) in enumerate(columns, 1)
        ],
        producer=PRODUCER,
    )


def _version(snapshot: str | None) -> dict[str, DatasetFacet]:
    if snapshot is None:
        return {}
    facet = dataset_version_dataset.DatasetVersionDatasetFacet(snapshot, producer=PRODUCER)
    return {"version": facet}


def _read_by(step: Step | None) -> tuple[AssetUri, ...]:
    if step is None or step.restores is not None:
        return ()
    return step.script.reads if step.copies is None else (step.copies,)


def _written_by(step: Step) -> tuple[AssetUri, ...]:
    asset = step.script.asset
    return tuple(dict.fromkeys((*(() if asset is None else (asset,)), *step.script.writes)))


def _addresses(texts: Iterable[str | None] | Mapping[str, object]) -> tuple[AssetUri, ...]:
    found = []
    for text in texts:
        try:
            found += [] if text is None else [parse_address(text)]
        except BadAddress:
            # Of a version that knew other addresses.
            continue
    return tuple(found)
