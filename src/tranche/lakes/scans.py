"""The scans of a query, from what Spark noted about its operators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tranche.lakes.events import Node
from tranche.lakes.predicates import split_filters
from tranche.lakes.pruning import FilesRead
from tranche.model.asset import LakeTable
from tranche.model.scan import Portion, Scan

_TABLE = "BatchScan "
_ICEBERG = re.compile(
    r"IcebergScan\(table=(?P<table>[^,]+), .*?snapshotId=(?P<snapshot>\d+|null), .*?filters="
    r"(?P<filters>.*), runtimeFilters=(?P<late>.*), groupedBy=.*?\) RuntimeFilters: \[(?P<pruned>.*)\]",
    re.DOTALL,
)
_STOPS_EARLY = ("LocalLimit", "GlobalLimit", "CollectLimit", "CollectTail")
_TAKES_ALL = (
    "Exchange", "BroadcastExchange", "Sort", "HashAggregate", "ObjectHashAggregate", "Window",
    "TakeOrderedAndProject", "Subquery",
)  # fmt: skip
_FILES = "number of files read"
_ROWS = "number of output rows"
_LOCATION = re.compile(r"\w+\(.*?\)\[(?P<paths>.*)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IcebergScan:
    """A scan of an Iceberg table, whose partitions and files its metadata can tell."""

    table: LakeTable
    snapshot: str | None
    read: FilesRead
    rows: int
    bytes: int | None
    filters: tuple[str, ...] = ()
    late_filters: tuple[str, ...] = ()
    """Those that other tables gave while the query ran."""


def found_scans(
    nodes: Sequence[Node], lakes: Collection[str], root: str
) -> Iterator[IcebergScan | Scan]:
    """What was read where; a place that the query left out in the end counts if it read before."""
    for node in nodes:
        if not (node.final or node.metrics):
            continue
        if _FILES in node.metrics:
            yield _files(node, root)
        elif node.name.startswith(_TABLE):
            yield _table(node, lakes)


def _limited(node: Node) -> bool:
    """Whether somebody may have stopped asking for rows before all were read.

    >>> _limited(Node("Scan json ", "", {}, {}, 0, True, ("GlobalLimit", "Project")))
    True
    >>> _limited(Node("Scan json ", "", {}, {}, 0, True, ("GlobalLimit", "HashAggregate")))
    False
    """
    for name in reversed(node.above):
        if name in _STOPS_EARLY:
            return True
        if name.startswith(_TAKES_ALL):
            return False
    return False


def _table(node: Node, lakes: Collection[str]) -> IcebergScan | Scan:
    name = node.name.removeprefix(_TABLE).strip()
    rows = node.metrics.get(_ROWS, 0)
    described = _ICEBERG.search(node.text)
    parts = name.split(".")
    if described is None or len(parts) != 3 or parts[0] not in lakes:
        return Scan(source=name, rows=rows, bytes=_fetched(node, rows))
    lake, schema, table = parts
    pruned = bool(described["late"] or described["pruned"])
    return IcebergScan(
        table=LakeTable(lake, table, schema),
        snapshot=None if described["snapshot"] == "null" else described["snapshot"],
        read=_iceberg_files(node, rows, pruned=pruned),
        rows=rows,
        bytes=_fetched(node, rows),
        filters=split_filters(described["filters"]),
        late_filters=split_filters(described["late"]),
    )


def _iceberg_files(node: Node, rows: int, *, pruned: bool) -> FilesRead:
    """What was planned before the query ran, and what of it was given to tasks.

    What was found only while the query ran may have left files out that had been planned. Tasks
    count pieces of files. A file has at least one, so that there cannot be more files than pieces;
    but how many pieces a file has is not known.
    """
    planned = node.metrics.get("ResultDataFiles", 0)
    given = node.metrics.get("NumSplits", 0)
    if given >= planned and not pruned and not _limited(node):
        return FilesRead(planned, planned, node.metrics.get("TotalDataFileSize", 0))
    most = min(given, planned)
    return FilesRead(min(most, 1) if rows else 0, most)


def _files(node: Node, root: str) -> Scan:
    read = node.metrics[_FILES]
    rows = node.metrics.get(_ROWS, 0)
    chosen = node.metadata.get("PartitionFilters", "[]") != "[]"
    least = min(read, 1 if rows else 0) if _limited(node) else read
    pushed = node.metadata.get("PushedFilters", "[]")
    return Scan(
        source=f"{node.metadata.get('Format', '').lower()} {_path(node, root)}".strip(),
        files=Portion(least, read, None if chosen else read),
        rows=rows,
        bytes=_fetched(node, rows),
        file_bytes=node.metrics.get("size of files read") if least == read else None,
        filters=() if pushed == "[]" else (pushed[1:-1],),
    )


def _path(node: Node, root: str) -> str:
    location = node.metadata.get("Location", "")
    found = _LOCATION.fullmatch(location)
    paths = location if found is None else found["paths"]
    return ", ".join(path.removeprefix(f"file:{root}/") for path in paths.split(", "))


def _fetched(node: Node, rows: int) -> int | None:
    """Not every file system counts; none has rows without bytes."""
    return None if rows and not node.bytes else node.bytes
