"""Operators of a plan as scans."""

from __future__ import annotations

from typing import Any

from tranche.lakes.events import Node
from tranche.lakes.pruning import FilesRead
from tranche.lakes.scans import IcebergScan, found_scans
from tranche.model.asset import LakeTable
from tranche.model.scan import Portion, Scan

ICEBERG = (
    "BatchScan main.x.days[id#1] IcebergScan(table=main.x.days, schemaId=0, snapshotId=57,"
    " branch=null, filters={filters}, runtimeFilters={late}, groupedBy=) RuntimeFilters: [{pruned}]"
)


def table(
    *above: str, filters: str = "", late: str = "", pruned: str = "", **metrics: int
) -> IcebergScan:
    text = ICEBERG.format(filters=filters, late=late, pruned=pruned)
    rows = {"number of output rows": metrics.pop("rows")} if "rows" in metrics else {}
    node = Node("BatchScan main.x.days", text, {}, {**metrics, **rows}, 9, True, above)
    (found,) = found_scans([node], {"main"}, "/p")
    assert isinstance(found, IcebergScan)
    return found


def other(name: str, metadata: dict[str, str], metrics: dict[str, int], **rest: Any) -> list[Scan]:
    node = Node(name, rest.get("text", name), metadata, metrics, 9, rest.get("final", True))
    return [scan for scan in found_scans([node], {"main"}, "/p") if isinstance(scan, Scan)]


def test_what_was_planned_was_read() -> None:
    found = table(
        filters="a IS NOT NULL, a = 'x, y'", rows=5, ResultDataFiles=2, NumSplits=3,
        TotalDataFileSize=100,
    )  # fmt: skip
    assert found == IcebergScan(
        LakeTable("main", "days", "x"),
        "57",
        FilesRead(2, 2, 100),
        5,
        9,
        ("a IS NOT NULL", "a = 'x, y'"),
    )


def test_what_was_left_out_while_the_query_ran() -> None:
    late = "a IN ('x')"
    found = table(late=late, pruned="p", rows=5, ResultDataFiles=5, NumSplits=1)
    assert (found.read, found.filters, found.late_filters) == (FilesRead(1, 1), (), (late,))
    assert table(pruned="p", rows=5, ResultDataFiles=5, NumSplits=3).read == FilesRead(1, 3)
    assert table(pruned="p", ResultDataFiles=5, NumSplits=3).read == FilesRead(0, 3)


def test_a_scan_that_keeps_its_partitions_apart() -> None:
    text = ICEBERG.format(filters="a = 1", late="", pruned="").replace(
        "groupedBy=", "groupedBy=a, b"
    )
    node = Node("BatchScan main.x.days", text, {}, {}, 0, True)
    (found,) = found_scans([node], {"main"}, "/p")
    assert isinstance(found, IcebergScan) and found.filters == ("a = 1",)


def test_a_limit_may_stop_before_the_end() -> None:
    full = {"rows": 5, "ResultDataFiles": 5, "NumSplits": 5, "TotalDataFileSize": 9}
    assert table("GlobalLimit", "Exchange", "LocalLimit", **full).read == FilesRead(1, 5)
    assert table("GlobalLimit", "Exchange", "HashAggregate", **full).read == FilesRead(5, 5, 9)
    assert table("TakeOrderedAndProject", **full).read == FilesRead(5, 5, 9)


def test_what_never_ran_has_read_nothing() -> None:
    assert table().read == FilesRead(0, 0, 0)
    assert table(ResultDataFiles=5).read == FilesRead(0, 0)
    assert other("BatchScan main.x.days", {}, {}, final=False) == []


def test_files() -> None:
    metadata = {
        "Format": "JSON",
        "Location": "InMemoryFileIndex(2 paths)[file:/p/data/a.json, s3a://b/c.json]",
        "PushedFilters": "[IsNotNull(a), EqualTo(a,1)]",
        "PartitionFilters": "[]",
    }
    counted = {"number of files read": 2, "size of files read": 27, "number of output rows": 3}
    assert other("Scan json ", metadata, counted) == [
        Scan(
            source="json data/a.json, s3a://b/c.json",
            files=Portion(2, 2, 2),
            rows=3,
            bytes=9,
            file_bytes=27,
            filters=("IsNotNull(a), EqualTo(a,1)",),
        )
    ]
    chosen = {**metadata, "PartitionFilters": "[isnotnull(p#1)]", "PushedFilters": "[]"}
    (found,) = other("Scan json ", chosen, counted)
    assert (found.files, found.filters) == (Portion(2, 2, None), ())


def test_what_is_neither_is_named_or_left_out() -> None:
    (found,) = other("BatchScan main.x.days.snapshots", {}, {"number of output rows": 1})
    assert (found.source, found.files, found.rows) == ("main.x.days.snapshots", None, 1)
    assert other("LocalTableScan", {}, {"number of output rows": 1}) == []
    assert other("Scan OneRowRelation", {}, {"number of output rows": 1}) == []
