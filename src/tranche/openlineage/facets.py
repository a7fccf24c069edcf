"""The facets of runs and jobs: what a step belongs to, what it is for, and how it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from openlineage.client.facet_v2 import (
    JobFacet,
    error_message_run,
    job_type_job,
    nominal_time_run,
    parent_run,
    processing_engine_run,
    source_code_job,
    sql_job,
    tags_job,
)

from tranche.errors import KeyRejected
from tranche.model.partitioning import Composite, Partitioning, TimePartitioning, Window, time_of
from tranche.model.project import Settings
from tranche.model.script import Script

VERSION = version("tranche")
PRODUCER = f"urn:tranche:{VERSION}"
_INTEGRATION = "TRANCHE"
_SPARK = version("pyspark")


def parent(namespace: str, job: str, run: str) -> parent_run.ParentRunFacet:
    """The run that a step is of, which is also where all of it began."""
    return parent_run.ParentRunFacet(
        run=parent_run.Run(run),
        job=parent_run.Job(namespace, job),
        root=parent_run.Root(run=parent_run.RootRun(run), job=parent_run.RootJob(namespace, job)),
        producer=PRODUCER,
    )


def engine(settings: Settings) -> processing_engine_run.ProcessingEngineRunFacet:
    """The Spark of this process; of one elsewhere, nobody knows the version."""
    name, found = ("Spark", _SPARK) if settings.spark.remote is None else ("Tranche", VERSION)
    return processing_engine_run.ProcessingEngineRunFacet(
        version=found, name=name, openlineageAdapterVersion=VERSION, producer=PRODUCER
    )


def job_type(kind: str) -> job_type_job.JobTypeJobFacet:
    return job_type_job.JobTypeJobFacet("BATCH", _INTEGRATION, kind, producer=PRODUCER)


def code(script: Script, text: str | None) -> dict[str, JobFacet]:
    """The text of a script, if it is to be told, and its tags."""
    found: dict[str, JobFacet] = {}
    if text is not None and script.language == "sql":
        dialect = script.annotations.dialect
        found["sql"] = sql_job.SQLJobFacet(text, dialect, producer=PRODUCER)
    elif text is not None:
        found["sourceCode"] = source_code_job.SourceCodeJobFacet(
            script.language.upper(), text, producer=PRODUCER
        )
    if script.tags:
        tags = [tags_job.TagsJobFacetFields(tag, "true", _INTEGRATION) for tag in script.tags]
        found["tags"] = tags_job.TagsJobFacet(tags, producer=PRODUCER)
    return found


def error(message: str) -> error_message_run.ErrorMessageRunFacet:
    return error_message_run.ErrorMessageRunFacet(message, "PYTHON", producer=PRODUCER)


def nominal_time(
    rule: Partitioning | None, keys: Sequence[str]
) -> nominal_time_run.NominalTimeRunFacet | None:
    """The window of a key of time; of several keys, from the first window to the last."""
    found = [window for key in (keys[:1], keys[-1:]) for window in _windows(rule, key)]
    if not found:
        return None
    start = min(window.start_utc for window in found)
    end = max(window.end_utc for window in found)
    return nominal_time_run.NominalTimeRunFacet(instant(start), instant(end), producer=PRODUCER)


def fired(at: datetime) -> nominal_time_run.NominalTimeRunFacet:
    """The time that a run goes by."""
    return nominal_time_run.NominalTimeRunFacet(instant(at), producer=PRODUCER)


def instant(at: datetime) -> str:
    """
    >>> instant(datetime(2026, 5, 16, 6, tzinfo=UTC))
    '2026-05-16T06:00:00Z'
    """
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _windows(rule: Partitioning | None, keys: Sequence[str]) -> list[Window]:
    time = time_of(rule)
    if time is None:
        return []
    found = []
    for key in keys:
        try:
            found.append(time.window(_of_time(rule, key)))
        except KeyRejected:
            # Of a table that was partitioned otherwise.
            continue
    return found


def _of_time(rule: Partitioning | TimePartitioning | None, key: str) -> str:
    """The segment of a key that is of time."""
    if isinstance(rule, Composite) and rule.in_time is not None:
        return rule.parse(key)[rule.in_time]
    return key
