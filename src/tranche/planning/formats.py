"""What the formats of lakes cannot do, found before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tranche.errors import Fault, Place
from tranche.model.asset import LakeTable
from tranche.model.project import Lake
from tranche.model.script import Script
from tranche.model.strategy import History

_LAYOUTS = {
    "delta": ({"identity", "year", "month", "day", "hour"}, "Delta has no buckets"),
    "parquet": ({"identity"}, "a Parquet table is laid out by columns as they are"),
}


def format_faults(scripts: Sequence[Script], lakes: Mapping[str, Lake]) -> Iterable[Fault]:
    for script in scripts:
        table = script.asset
        if isinstance(table, LakeTable) and table.lake in lakes and script.managed:
            yield from _faults(script, lakes[table.lake])
            yield from _faults_of_io(script, lakes[table.lake])


def _faults(script: Script, lake: Lake) -> Iterable[Fault]:
    annotations = script.annotations
    made = annotations.materialize
    if lake.format == "parquet" and made is not None and isinstance(made.strategy, History):
        yield Fault(
            Place(script.path, annotations.line("materialize")),
            f"{script.asset} is to keep a history, and the Parquet tables of the lake"
            f" {lake.name!r} have no rows that change",
            "put it into a lake of iceberg, delta or ducklake",
        )
    known, what = _LAYOUTS.get(lake.format, (None, ""))
    for transform in annotations.layout:
        if known is not None and transform.name not in known:
            yield Fault(
                Place(script.path, annotations.line("layout")),
                f"the layout asks for {transform}, and {what}",
                "use columns as they are"
                + (", or year, month, day or hour of one" if lake.format == "delta" else ""),
            )


def _faults_of_io(script: Script, lake: Lake) -> Iterable[Fault]:
    """A task whose rows columns divide needs a format whose tables they can divide."""
    code = script.code
    if code is None or code.output is None or code.output.kind != "iceberg":
        return
    if lake.format not in ("iceberg", "delta"):
        yield Fault(
            Place(script.path, code.line),
            f"the task {script.name!r} keeps its rows with IcebergIO, and the tables of the lake"
            f" {lake.name!r} are of {lake.format}",
            f'write writes="lake://{lake.name}/…" without partition_by=, or use DeltaIO or ParquetIO'
            " with a folder",
        )
