"""A step's SELECT, run for what it reads: nothing is written anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from uuid import uuid4

from pyspark.sql import SparkSession

from tranche.errors import NotBuiltYet
from tranche.lakes.events import DESCRIPTIONS, EventLog
from tranche.lakes.execution import Execution
from tranche.lakes.predicates import read_predicate
from tranche.lakes.pruning import FilesRead, partitions_read, table_parts
from tranche.lakes.scans import IcebergScan, found_scans
from tranche.model.asset import LakeTable, parse_address
from tranche.model.explanation import Scanned, SentStatement
from tranche.model.plan import Step
from tranche.model.project import Settings
from tranche.model.run import Attempt
from tranche.model.scan import Portion, Scan
from tranche.ports import Work

_DOUBTFUL = ("''", '"', "\\")
"""What may put a quote into a literal."""


def unattempted(session: SparkSession, settings: Settings, step: Step) -> Execution:
    """A step that is no attempt: it is not recorded, and has no commit."""
    at = datetime.now(UTC)
    nobody = Attempt(id="", run="", position=0, number=0, status="running", started_at=at)
    return Execution(session, settings, Work(step=step, attempt=nobody, fire_time=at))


def scanned(execution: Execution, log: EventLog) -> Scanned:
    """Runs the statements of a step up to its SELECT, whose rows go nowhere."""
    script = execution.step.script
    if script.query is None or any(statement.kind == "other" for statement in script.setup):
        raise NotBuiltYet(f"{script.path} does more than a SELECT, and cannot be scanned")
    session = execution.session
    for name, value in DESCRIPTIONS.items():
        session.conf.set(name, value)
    for statement in script.setup:
        execution.sql(statement)
    rows = execution.rows(script.query)
    tag = f"tranche-scan-{uuid4()}"
    since = log.mark()
    session.addTag(tag)
    try:
        execution.located(
            script.query.line, lambda: rows.write.format("noop").mode("overwrite").save()
        )
    finally:
        session.removeTag(tag)
    nodes = log.query(tag, since)
    settings = execution.settings
    found = list(found_scans(nodes, settings.lakes, settings.root))
    sent = tuple(execution.sent)
    return Scanned(sent, (*_scans(session, found, sent), *_untouched(execution, found)))


def _scans(
    session: SparkSession, found: Iterable[IcebergScan | Scan], sent: Iterable[SentStatement]
) -> Iterator[Scan]:
    plain = _plain(sent)
    for scan in found:
        if isinstance(scan, Scan):
            yield scan
            continue
        filters = scan.filters if plain else ()
        yield _with_partitions(session, scan, filters)


def _with_partitions(session: SparkSession, scan: IcebergScan, filters: Iterable[str]) -> Scan:
    files, partitions = Portion(0, 0, 0), None
    if scan.snapshot is not None:
        predicates = [p for text in filters if (p := read_predicate(text)) is not None]
        parts = table_parts(session, scan.table, scan.snapshot, predicates)
        files = Portion(scan.read.least, scan.read.most, parts.every.files)
        partitions = partitions_read(scan.read, parts) if parts.partitioned else None
    return Scan(
        source=str(scan.table),
        snapshot=scan.snapshot,
        files=files,
        partitions=partitions,
        rows=scan.rows,
        bytes=scan.bytes,
        file_bytes=scan.read.bytes,
        filters=(*scan.filters, *scan.late_filters),
    )


def _untouched(execution: Execution, found: Iterable[IcebergScan | Scan]) -> Iterator[Scan]:
    """Tables that the statements name and of which no file was needed: their metadata was enough."""
    read = {str(scan.table) for scan in found if isinstance(scan, IcebergScan)}
    for address, snapshot in execution.sources.items():
        table = parse_address(address)
        if address not in read and isinstance(table, LakeTable):
            nothing = IcebergScan(table, snapshot, FilesRead(0, 0, 0), 0, 0)
            yield _with_partitions(execution.session, nothing, ())


def _plain(sent: Iterable[SentStatement]) -> bool:
    """Whether no value has a quote in it, which would make a filter look like several."""
    for statement in sent:
        if any("'" in value for _, value in statement.parameters):
            return False
        if any(doubtful in statement.text for doubtful in _DOUBTFUL):
            return False
    return True
