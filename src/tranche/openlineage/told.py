"""What a watcher hears of runs, as values that wait until they are made into events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from tranche.model.columns import Columns
from tranche.model.plan import Step
from tranche.model.run import Materialization, Run, StepRecord


@dataclass(frozen=True, slots=True)
class RunBegun:
    run: Run
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class StepBegun:
    run: str
    step: Step
    at: datetime


@dataclass(frozen=True, slots=True)
class StepRecorded:
    """How a step ended or, while its status is running, how some of its keys did."""

    record: StepRecord
    entries: tuple[Materialization, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class RunEnded:
    run: Run


Told: TypeAlias = RunBegun | StepBegun | StepRecorded | RunEnded
