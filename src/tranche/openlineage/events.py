"""Makes events of what is told of runs: a beginning and an end of each run, and of each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import JobFacet, RunFacet

from tranche.model import run as model
from tranche.model.columns import Columns
from tranche.model.plan import Step
from tranche.model.project import OpenLineageSettings, Settings
from tranche.model.script import Script
from tranche.openlineage import facets
from tranche.openlineage.columns import ColumnOrigins, ColumnsOf
from tranche.openlineage.datasets import Datasets
from tranche.openlineage.facets import PRODUCER
from tranche.openlineage.findings import executions, together
from tranche.openlineage.ids import run_uuid, step_uuid
from tranche.openlineage.partition import FACET, partition_facet
from tranche.openlineage.told import RunBegun, RunEnded, StepBegun, StepRecorded, Told
from tranche.planning.given import GIVEN
from tranche.projects.secrets import without_secrets

_NAMED = 3
"""How many keys an error message tells of."""
_MOST_RUNS = 1_000
"""How many runs can be under way."""
_STATES = {
    "succeeded": RunState.COMPLETE,
    "failed": RunState.FAIL,
    "cancelled": RunState.ABORT,
}


@dataclass(slots=True)
class _Progress:
    """What is known of a step that has not ended."""

    step: Step
    begun: bool = False
    entries: list[model.Materialization] = field(default_factory=list)
    columns: Columns = ()


@dataclass(slots=True)
class _Known:
    """A run that began in this process."""

    run: model.Run
    steps: dict[int, _Progress]


class Events:
    """Remembers the runs that are under way, since what is told of their end is not all of it."""

    def __init__(
        self,
        settings: Settings,
        told: OpenLineageSettings,
        columns_of: ColumnsOf,
        text_of: Callable[[Script], str | None],
    ) -> None:
        self._settings = settings
        self._namespace = told.namespace
        self._datasets = Datasets(settings, told.namespace)
        self._columns_of = columns_of
        self._text_of = text_of
        self._runs: dict[str, _Known] = {}

    def of(self, told: Told) -> list[RunEvent]:
        """The events that follow from what is told; often none."""
        match told:
            case RunBegun(run, steps):
                known = {step.position: _Progress(step) for step in steps}
                self._runs[run.id] = _Known(run, known)
                if len(self._runs) > _MOST_RUNS:
                    # Its end was dropped on the way here.
                    del self._runs[next(iter(self._runs))]
                return [self._of_run(run, RunState.START, run.started_at)]
            case StepBegun(run, step, at):
                return [self._begun(run, step, at)]
            case StepRecorded():
                return self._recorded(told)
            case RunEnded(run):
                self._runs.pop(run.id, None)
                at = run.finished_at or run.started_at
                return [self._of_run(run, _STATES[run.status], at)]

    def _of_run(self, run: model.Run, state: RunState, at: datetime) -> RunEvent:
        found: dict[str, RunFacet] = {
            "processing_engine": facets.engine(self._settings),
            "nominalTime": facets.fired(run.fire_time),
        }
        if state is not RunState.START and run.error is not None:
            found["errorMessage"] = facets.error(self._without_secrets(run.error))
        return RunEvent(
            eventType=state,
            eventTime=facets.instant(at),
            run=Run(run_uuid(self._namespace, run.id), found),
            job=Job(self._namespace, _run_job(run.target), {"jobType": facets.job_type("RUN")}),
            producer=PRODUCER,
        )

    def _begun(self, run: str, step: Step, at: datetime) -> RunEvent:
        known = self._runs.get(run)
        if known is not None and step.position in known.steps:
            known.steps[step.position].begun = True
        keys = [key for key in step.keys if key is not None]
        return RunEvent(
            eventType=RunState.START,
            eventTime=facets.instant(at),
            run=Run(
                step_uuid(self._namespace, run, step.position, step.partition),
                self._run_facets(run, step, keys),
            ),
            job=self._job(job_name(step), step, begins=True),
            inputs=self._datasets.inputs(step),
            outputs=self._datasets.outputs(step),
            producer=PRODUCER,
        )

    def _recorded(self, told: StepRecorded) -> list[RunEvent]:
        record = told.record
        known = self._runs.get(record.run)
        progress = known.steps.get(record.position) if known is not None else None
        if progress is not None:
            progress.entries += told.entries
            progress.columns = told.columns or progress.columns
        if record.status not in _STATES:
            return []
        if progress is None:
            # Of a run whose process is gone, which has told of its beginning.
            began = record.status != "cancelled" or record.started_at is not None
            return [self._ended(told, None)] if began else []
        if not progress.begun and record.status == "cancelled":
            return []
        ended = self._ended(told, progress)
        progress.entries = []
        if progress.begun:
            return [ended]
        # It could not even be tried, or its beginning was dropped on the way here.
        at = record.started_at or _ended_at(record)
        return [self._begun(record.run, progress.step, at), ended]

    def _ended(self, told: StepRecorded, progress: _Progress | None) -> RunEvent:
        record, step = told.record, progress.step if progress is not None else None
        entries = progress.entries if progress is not None else list(told.entries)
        columns = progress.columns if progress is not None else told.columns
        own = [entry for entry in entries if entry.asset == record.asset]
        keys = [key for key in (step.keys if step else _keys(record, own)) if key is not None]
        tests = together(test for entry in own for test in entry.tests)
        failed = [e.partition for e in own if e.status == "failed" and e.partition is not None]
        found = self._run_facets(record.run, step, keys, failed)
        if tests:
            found["test"] = executions(tests, PRODUCER)
        message = _message(record, own)
        if message is not None:
            found["errorMessage"] = facets.error(self._without_secrets(message))
        return RunEvent(
            eventType=_STATES[record.status],
            eventTime=facets.instant(_ended_at(record)),
            run=Run(
                step_uuid(self._namespace, record.run, record.position, record.partition), found
            ),
            job=self._job(job_name(step) if step else _recovered_name(record), step),
            inputs=self._datasets.inputs(step, own),
            outputs=self._datasets.written(record, step, columns, tests, self._origins(step)),
            producer=PRODUCER,
        )

    def _without_secrets(self, message: str) -> str:
        return without_secrets(message, self._settings.secrets)

    def _origins(self, step: Step | None) -> ColumnOrigins | None:
        if step is None or not runs_script(step):
            return None
        try:
            return self._columns_of(step.script)
        except Exception:
            # Without it, an event still tells a lot.
            return None

    def _run_facets(
        self, run: str, step: Step | None, keys: list[str], failed: list[str] | None = None
    ) -> dict[str, RunFacet]:
        known = self._runs.get(run)
        rule = step.script.partitioning if step is not None else None
        found: dict[str, RunFacet | None] = {
            "processing_engine": facets.engine(self._settings),
            "nominalTime": facets.nominal_time(rule, keys),
            FACET: partition_facet(rule, keys, PRODUCER, failed=failed),
        }
        if known is not None:
            found["parent"] = facets.parent(
                self._namespace,
                _run_job(known.run.target),
                run_uuid(self._namespace, run),
            )
        return {name: facet for name, facet in found.items() if facet is not None}

    def _job(self, name: str, step: Step | None, *, begins: bool = False) -> Job:
        found: dict[str, JobFacet] = {"jobType": facets.job_type("STEP")}
        if step is not None and runs_script(step):
            # Later, its file may have another text already.
            text = self._text_of(step.script) if begins else None
            found |= facets.code(step.script, text)
        return Job(self._namespace, name, found)


def runs_script(step: Step) -> bool:
    """Whether a step does what its script says; rows may also be given, or go back or over."""
    script = step.script
    return not step.is_of_table and bool(script.query or script.code or script.setup)


def job_name(step: Step) -> str:
    """A job is a script. What else is done to its asset is none of the script's, and another job."""
    if runs_script(step):
        return step.script.name
    return f"{step.strategy if step.is_of_table else 'write'}:{step.script.label}"


def _recovered_name(record: model.StepRecord) -> str:
    if record.strategy in ("rollback", "copy"):
        return f"{record.strategy}:{record.asset}"
    return f"write:{record.asset}" if record.script == GIVEN else record.script


def _run_job(target: str) -> str:
    return f"run:{target}"


def _keys(
    record: model.StepRecord, entries: Sequence[model.Materialization]
) -> tuple[str | None, ...]:
    return tuple(entry.partition for entry in entries) or (record.partition,)


def _message(record: model.StepRecord, entries: Sequence[model.Materialization]) -> str | None:
    if record.error is None or record.keys == 1:
        return record.error
    broken = [entry for entry in entries if entry.error is not None]
    told = "".join(f"; {entry.partition}: {entry.error}" for entry in broken[:_NAMED])
    return f"{record.error}{told}"


def _ended_at(record: model.StepRecord) -> datetime:
    return record.finished_at or datetime.now(UTC)
