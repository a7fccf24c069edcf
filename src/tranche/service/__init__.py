"""One function per user action. Nothing here prints; callers bring engine, store and clock."""

from tranche.service.assets import find_asset, find_job, find_made
from tranche.service.checking import CheckReport, check
from tranche.service.explaining import check_scan, explain, scan
from tranche.service.lineage import column_lineage
from tranche.service.looking import (
    AssetStatus,
    ColumnsLog,
    ColumnsVersion,
    PartitionPage,
    Violations,
    columns_log,
    grid,
    key_bounds,
    partition_status,
    preview_target,
    resolve_sql,
    show,
    show_target,
    snapshots,
    status,
    violations,
)
from tranche.service.opening import (
    now,
    open_engine,
    open_partitions,
    open_project,
    open_settings,
    open_state,
    open_story,
)
from tranche.service.running import Given, copy, plan, repeat, rollback, run, write
from tranche.service.upkeep import maintain, managed_tables

__all__ = [
    "AssetStatus",
    "CheckReport",
    "ColumnsLog",
    "ColumnsVersion",
    "Given",
    "PartitionPage",
    "Violations",
    "check",
    "check_scan",
    "column_lineage",
    "columns_log",
    "copy",
    "explain",
    "find_asset",
    "find_job",
    "find_made",
    "grid",
    "key_bounds",
    "maintain",
    "managed_tables",
    "now",
    "open_engine",
    "open_partitions",
    "open_project",
    "open_settings",
    "open_state",
    "open_story",
    "partition_status",
    "plan",
    "preview_target",
    "repeat",
    "resolve_sql",
    "rollback",
    "run",
    "scan",
    "show",
    "show_target",
    "snapshots",
    "status",
    "violations",
    "write",
]
