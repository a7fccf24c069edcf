"""What `show` shows: rows, snapshots, rows that violate data tests, versions of columns."""

from __future__ import annotations

from collections.abc import Sequence

from tranche.cli.output import Output, counted, shown
from tranche.errors import UsageError
from tranche.model.asset import LakeTable
from tranche.model.data_test import DataTestResult
from tranche.model.rows import Rows
from tranche.model.snapshot import Preview, Snapshots
from tranche.model.strategy import PARTITION_COLUMN
from tranche.service import ColumnsLog, Violations
from tranche.views.assets import columns_view, preview_view, snapshots_view, violations_view

_LARGEST_SNAPSHOT = 2**63 - 1
_NAMED = 5
"""How many partitions are named that rows come from."""


def check_together(
    *,
    partition: str | None,
    whole: bool,
    snapshot: str | None,
    at: str | None,
    where: Sequence[str],
    order: Sequence[str],
    snapshots: bool,
    violations: bool,
    schema: bool,
    limited: bool,
) -> None:
    """Rejects options that contradict each other."""
    questions = {"--snapshots": snapshots, "--violations": violations, "--schema": schema}
    asked = [option for option, given in questions.items() if given]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} are {len(asked)} questions", "ask one at a time")
    if whole and partition is not None:
        raise UsageError("--whole and --partition contradict each other", "give one of them")
    if snapshot is not None and at is not None:
        raise UsageError("--snapshot and --at both say which snapshot", "give one of them")
    about_rows = {
        "--whole": whole,
        "--snapshot": snapshot is not None,
        "--at": at is not None,
        "--where": bool(where),
        "--order": bool(order),
    }
    for option, given in about_rows.items():
        if given and asked:
            raise UsageError(
                f"{option} is about rows, and {asked[0]} shows none of the table's", "drop it"
            )
    if snapshot is not None and not _is_snapshot(snapshot):
        raise UsageError(f"{snapshot!r} is no snapshot", "a snapshot's id is a number")
    if schema and partition is not None:
        raise UsageError("all partitions of a table have its columns", "leave --partition out")
    if snapshots and partition is not None:
        raise UsageError("a snapshot is of all partitions", "leave --partition out")
    if violations and limited:
        raise UsageError("--violations shows all rows that were kept", "leave --limit out")


def show_rows(table: LakeTable, partition: str | None, preview: Preview, output: Output) -> None:
    keys = _keys(preview.rows)
    if output.json:
        output.value(preview_view(table, partition, preview, keys))
        return
    output.rows(preview.rows)
    if partition is None and keys:
        named = ", ".join(shown(key) for key in keys[:_NAMED])
        more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
        output.line(f"of the whole table; these are from {named}{more}", "dim")
    if preview.snapshot is not None:
        since = preview.snapshot.at.isoformat(timespec="milliseconds")
        output.line(f"at snapshot {preview.snapshot.id}, which readers saw from {since}", "dim")


def show_snapshots(table: LakeTable, found: Snapshots, output: Output) -> None:
    if output.json:
        output.value(snapshots_view(table, found))
        return
    if not found.snapshots:
        output.line(f"{table} has no snapshot yet; run the script that makes it")
        return
    output.table(
        ("snapshot", "at", "operation", "run", "partition", "added", "removed"),
        (
            (
                seen.id,
                seen.at.isoformat(timespec="milliseconds"),
                *(
                    "" if value is None else value
                    for value in (
                        seen.operation,
                        seen.run,
                        seen.partition,
                        seen.added,
                        seen.removed,
                    )
                ),
            )
            for seen in found.snapshots
        ),
    )
    if found.more:
        output.line("… and more; raise --limit to see them", "dim")


def show_violations(found: Violations, output: Output) -> None:
    if output.json:
        output.value(violations_view(found))
        return
    key = "" if found.partition is None else f" {shown(found.partition)}"
    if found.entry is None:
        output.line(f"no data test has found anything in {found.asset}{key}")
        return
    at = found.entry.finished_at.isoformat(timespec="seconds")
    what = (
        "was published all the same" if found.entry.status == "succeeded" else "was not published"
    )
    output.line(f"{found.asset}{key}: the run {shown(found.entry.run)} at {at}; its slice {what}")
    if found.since is not None:
        since = found.since.finished_at.isoformat(timespec="seconds")
        output.line(f"a run at {since} has passed since")
    for test in found.tests:
        _show_test(test, output)


def _show_test(test: DataTestResult, output: Output) -> None:
    style = "yellow" if test.severity == "warn" else "red"
    kept = len(test.sample.values) if test.sample is not None else 0
    some = f", {kept} of them:" if kept < test.violations else ":"
    output.line(f"\n{test.test}: {counted(test.violations, 'row')}{some}", style)
    if test.sample is not None:
        output.table((name for name, _ in test.sample.columns), test.sample.values)


def show_columns(log: ColumnsLog, output: Output) -> None:
    if output.json:
        output.value(columns_view(log))
        return
    if not log.versions:
        output.line(f"no columns of {log.asset} are known yet; run the script that makes it")
        return
    for found in log.versions:
        version = found.version
        change = "" if found.change is None else f": {found.change}"
        at = version.at.isoformat(timespec="seconds")
        output.line(f"version {version.version}, {at}, run {shown(version.run)}{change}")
    output.line()
    output.table(("column", "type"), log.versions[0].version.columns)
    if log.more:
        output.line("… and more versions; raise --limit to see them", "dim")


def _is_snapshot(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text[:20]) <= _LARGEST_SNAPSHOT


def _keys(rows: Rows) -> tuple[str, ...]:
    """The partitions that rows are of, in their order."""
    names = [name for name, _ in rows.columns]
    if PARTITION_COLUMN not in names:
        return ()
    at = names.index(PARTITION_COLUMN)
    return tuple(dict.fromkeys(row[at] for row in rows.values))
