"""What is wrong with a project."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.errors import StateError
from tranche.model.project import Project
from tranche.model.script import Script
from tranche.planning.column_drift import dropped_columns, reads_of_others
from tranche.service.opening import open_partitions

_CHECK_PATIENCE = 2.0
"""Seconds that a check waits for the state, which it can do without."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    scripts: tuple[Script, ...]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]


def check(project: Project) -> CheckReport:
    """The faults of all scripts, and what runs have shown."""
    warnings = [warning for script in project.scripts for warning in script.warnings]
    warnings += _dropped_columns(project)
    return CheckReport(
        project.scripts,
        tuple(str(fault) for fault in project.faults),
        tuple(dict.fromkeys(warnings)),
    )


def _dropped_columns(project: Project) -> tuple[str, ...]:
    """What the state says about columns. A check is of scripts, so it does without one."""
    if not reads_of_others(project):
        return ()
    try:
        with open_partitions(project, timeout=_CHECK_PATIENCE) as state:
            return dropped_columns(project, state)
    except StateError as error:
        return (f"columns were not compared with those of past runs: {error}",)
